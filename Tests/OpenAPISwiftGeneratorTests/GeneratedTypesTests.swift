import OpenAPISwiftRuntime
import StreamingJSON
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reading and writing the JSON of generated types.
struct GeneratedTypesTests {
    private typealias Schemas = Components.Schemas

    private func read<T: JSONReadable>(_ type: T.Type, _ json: String) throws -> T {
        try JSONReader.read(type, from: json)
    }

    private func read<T: JSONReadable>(_ json: String) throws -> T {
        try JSONReader.read(T.self, from: json)
    }

    private func text(_ value: some JSONWritable) throws -> String {
        String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self)
    }

    // MARK: Objects

    private let bookText =
        #"{"$type":"t","anything":{"x":[1,null]},"author":{"born":"2023-11-14T22:13:20Z","name":"n"},"big":9007199254740993,"#
        + #""cover":"AQID","extra_info":[1,"a"],"genre":"3d","id":"1","lent":false,"list":[{"a":1},{}],"#
        + #""loans":["2023-11-14T22:13:20Z"],"mark":[1,2],"matrix":[[1,null],[]],"maybe":{"text":"m"},"pages":3,"#
        + #""prequels":[],"price":1.5,"published":"2023-11-14T22:13:20Z","rank":-5,"score":2.0,"self":"s","#
        + #""sequel":{"id":"2","title":"u"},"title":"t","titles":["a","b"],"weight":0.1}"#

    @Test func everyPropertyIsReadAndWritten() throws {
        let book: Schemas.Book = try read(bookText)
        #expect(book.rank == ._n5)
        #expect(book.genre == ._3d)
        #expect(book.big == 9_007_199_254_740_993)
        #expect(book.cover == [1, 2, 3])
        #expect(book.sequel?.title == "u")
        #expect(book.matrix == [[1, nil], []])
        #expect(book.author?.born == Date(timeIntervalSince1970: 1_700_000_000))
        let extra: [any Sendable] = [1, "a"]
        #expect(try book.extraInfo == OpenAPIValueContainer(unvalidatedValue: extra))
        #expect(book._self == "s")
        #expect(try text(book) == bookText)
    }

    @Test func nullAndAbsenceAreNil() throws {
        let book: Schemas.Book = try read(
            #"{"id":"1","title":"t","score":null,"pages":null,"published":null,"author":null,"sequel":null,"maybe":null}"#
        )
        #expect(book == Schemas.Book(id: "1", title: "t"))
        #expect(try text(book) == #"{"id":"1","title":"t"}"#)
    }

    @Test func unknownKeysAreIgnored() throws {
        let note: Schemas.Note = try read(#"{"other":{"deep":[1,2]},"text":"t","more":null}"#)
        #expect(note == Schemas.Note(text: "t"))
    }

    @Test func ofDuplicateKeysTheLastCounts() throws {
        #expect(try read(Schemas.Note.self, #"{"text":"a","text":"b"}"#) == Schemas.Note(text: "b"))
    }

    @Test func aWrongTypeIsAnErrorWithPathAndOffset() {
        let error = #expect(throws: JSONError.self) {
            try read(Schemas.Book.self, #"{"id":"1","author":{"name":3}}"#)
        }
        #expect(error?.code == .typeMismatch)
        #expect(error?.offset != nil)
        #expect(error?.path?.contains("author") == true && error?.path?.contains("name") == true)
    }

    @Test func propertiesChangeInPlaceThroughBoxes() throws {
        var book = Schemas.Book(id: "1", title: "a", sequel: Schemas.Book(id: "2", title: "b"))
        let copy: Schemas.Book = book
        book.sequel?.title = "c"
        book.sequel?.sequel = Schemas.Book(id: "3", title: "d")
        #expect(book.sequel?.sequel?.id == "3")
        #expect(copy.sequel == Schemas.Book(id: "2", title: "b"))
        #expect(book != copy)
    }

    @Test func aClosedObjectRefusesOtherKeys() throws {
        #expect(try read(Schemas.Closed.self, #"{"a":1}"#) == Schemas.Closed(a: 1))
        let error = #expect(throws: JSONError.self) { try read(Schemas.Closed.self, #"{"a":1,"b":2}"#) }
        #expect(error?.message.contains("'b'") == true)
    }

    @Test func anOpenObjectKeepsOtherKeys() throws {
        let open: Schemas.Open = try read(#"{"z":[true],"a":1,"b":null}"#)
        #expect(open.a == 1)
        let others: [String: (any Sendable)?] = ["z": [true] as [any Sendable], "b": nil]
        #expect(try open.additionalProperties == OpenAPIObjectContainer(unvalidatedValue: others))
        #expect(try text(open) == #"{"a":1,"b":null,"z":[true]}"#)
        #expect(try text(Schemas.Open()) == "{}")
    }

    @Test func aMapIsAStructWithOneProperty() throws {
        let counts: Schemas.Counts = try read(#"{"b":2,"a":1}"#)
        #expect(counts == Schemas.Counts(additionalProperties: ["a": 1, "b": 2]))
        #expect(try text(counts) == #"{"a":1,"b":2}"#)
        #expect(throws: JSONError.self) { try read(Schemas.Counts.self, #"{"b":"2"}"#) }
    }

    @Test func aMapKeepsItsNulls() throws {
        let gaps: Schemas.Gaps = try read(#"{"b":null,"a":"x"}"#)
        #expect(gaps == Schemas.Gaps(additionalProperties: ["a": "x", "b": nil]))
        #expect(try text(gaps) == #"{"a":"x","b":null}"#)
    }

    @Test func aMapOfInlineObjectsHasATypeForThem() throws {
        let named: Schemas.Named = try read(#"{"a":1,"x":{"n":"2023-11-14T22:13:20Z"}}"#)
        #expect(
            named
                == Schemas.Named(
                    a: 1,
                    additionalProperties: ["x": .init(n: Date(timeIntervalSince1970: 1_700_000_000))]
                )
        )
        #expect(try text(named) == #"{"a":1,"x":{"n":"2023-11-14T22:13:20Z"}}"#)
    }

    // MARK: Compositions

    @Test func allOfReadsEachMemberFromTheSameObject() throws {
        let both: Schemas.Both = try read(#"{"b":2,"text":"t","other":1}"#)
        #expect(both == Schemas.Both(value1: .init(text: "t"), value2: .init(b: 2)))
        #expect(try text(both) == #"{"b":2,"text":"t"}"#)
        #expect(throws: JSONError.self) { try read(Schemas.Both.self, #"{"b":2}"#) }
        #expect(throws: JSONError.self) { try read(Schemas.Both.self, #"{"text":"t"}"#) }
    }

    @Test func anyOfReadsEveryMemberThatFits() throws {
        #expect(
            try read(Schemas.Either.self, #"{"b":2,"text":"t"}"#)
                == Schemas.Either(value1: .init(text: "t"), value2: .init(b: 2))
        )
        #expect(try read(Schemas.Either.self, #"{"b":2}"#) == Schemas.Either(value2: .init(b: 2)))
        let moment: Schemas.Either = try read(#""2023-11-14T22:13:20Z""#)
        #expect(moment.value3 == "2023-11-14T22:13:20Z")
        #expect(moment.value4 == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(try text(moment) == #""2023-11-14T22:13:20Z""#)
        #expect(try text(Schemas.Either(value1: .init(text: "t"), value2: .init(b: 2))) == #"{"b":2,"text":"t"}"#)
        #expect(throws: JSONError.self) { try read(Schemas.Either.self, "[1]") }
    }

    @Test func oneOfTakesTheFirstMemberThatFits() throws {
        #expect(try read(Schemas.Choice.self, #""s""#) == .case1("s"))
        #expect(try read(Schemas.Choice.self, "3") == .case2(3))
        #expect(try read(Schemas.Choice.self, #"{"text":"t","c":1}"#) == .Note(.init(text: "t")))
        #expect(try read(Schemas.Choice.self, #"{"c":1}"#) == .case4(.init(c: 1)))
        #expect(throws: JSONError.self) { try read(Schemas.Choice.self, #"{"d":1}"#) }
        for text in [#""s""#, "3", #"{"text":"t"}"#, #"{"c":1}"#] {
            #expect(try self.text(read(Schemas.Choice.self, text)) == text)
        }
    }

    @Test func oneOfWithADiscriminatorGoesByItsValue() throws {
        #expect(try read(Schemas.Pet.self, #"{"meow":true,"kind":"cat"}"#) == .cat(.init(kind: "cat", meow: true)))
        #expect(try read(Schemas.Pet.self, #"{"kind":"kitten"}"#) == .kitten(.init(kind: "kitten")))
        #expect(try read(Schemas.Pet.self, #"{"kind":"Dog","bark":2}"#) == .dog(.init(kind: "Dog", bark: 2)))
        #expect(try text(Schemas.Pet.dog(.init(kind: "Dog", bark: 2))) == #"{"bark":2,"kind":"Dog"}"#)
        let unknown = #expect(throws: JSONError.self) { try read(Schemas.Pet.self, #"{"kind":"cow"}"#) }
        #expect(unknown?.message.contains("cow") == true)
        let missing = #expect(throws: JSONError.self) { try read(Schemas.Pet.self, "{}") }
        #expect(missing?.code == .missingKey)
    }

    @Test func recursiveTypesRoundTrip() throws {
        let text = #"{"heart":"x","trees":["a",{"trees":[]},{"trees":["b"]}]}"#
        let forest: Schemas.Forest = try read(text)
        #expect(forest.trees.first == .case2("a"))
        #expect(try self.text(forest) == text)
        let knot = Schemas.Knot(rope: .init(value1: .init(knot: nil), value2: .init(length: 3)))
        let outer = Schemas.Knot(rope: .init(value1: .init(knot: knot), value2: .init()))
        #expect(try self.text(outer) == #"{"rope":{"knot":{"rope":{"length":3}}}}"#)
        #expect(try read(Schemas.Knot.self, try self.text(outer)) == outer)
    }

    // MARK: Enumerations

    @Test func enumerationsKeepTheDocumentsValues() throws {
        #expect(Schemas.Genre.allCases.map(\.rawValue) == ["novel", "non-fiction", "3d", "default", ""])
        #expect(Schemas.Genre.allCases == [.novel, .nonFiction, ._3d, ._default, ._empty_])
        #expect(Schemas.Rank.allCases.map(\.rawValue) == [0, 10, -5])
        #expect(throws: JSONError.self) { try read(Schemas.Rank.self, "1") }
    }

    // MARK: Codable and Hashable

    @Test func codingKeysNameThePropertiesAndKeepTheKeys() {
        #expect(Schemas.Book.CodingKeys._dollar_type.rawValue == "$type")
        #expect(Schemas.Book.CodingKeys.extraInfo.stringValue == "extra_info")
        #expect(Schemas.Pet.CodingKeys.kind.rawValue == "kind")
    }

    @Test func otherCodersWork() throws {
        struct Wrapper: Codable, Equatable {
            var book: Schemas.Book
            var choices: [Schemas.Choice]
            var genre: Schemas.Genre
        }
        let wrapper = Wrapper(
            book: try read(bookText),
            choices: [.case1("s"), .case2(3), .Note(.init(text: "t"))],
            genre: .novel
        )
        let data: Data = try JSONEncoder().encode(wrapper)
        #expect(try JSONDecoder().decode(Wrapper.self, from: data) == wrapper)
    }

    @Test func equalValuesHashEqually() throws {
        let one: Schemas.Book = try read(bookText)
        let other: Schemas.Book = try read(bookText)
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(Set([one, other, Schemas.Book(id: "1", title: "t")]).count == 2)
    }
}

/// The parts of inputs and outputs are compared one by one.
struct OperationValueTests {
    private typealias List = Operations.ListBooks

    @Test func inputsCompareEveryPart() {
        let input = List.Input(query: .init(limit: 1, tag: ["a"]), headers: .init(trace: "t"))
        #expect(input == List.Input(query: .init(limit: 1, tag: ["a"]), headers: .init(trace: "t")))
        #expect(input != List.Input(query: .init(limit: 1, tag: ["b"]), headers: .init(trace: "t")))
        #expect(input != List.Input(query: .init(limit: 1), headers: .init(trace: "t")))
        #expect(input != List.Input(query: .init(limit: 1, tag: ["a"])))
        #expect(input.hashValue == List.Input(query: .init(limit: 1, tag: ["a"]), headers: .init(trace: "t")).hashValue)
    }

    @Test func outputsCompareCaseStatusAndPayload() {
        let problem = Components.Responses.Problem(body: .json(.init(code: 1)))
        let other = Components.Responses.Problem(body: .json(.init(code: 2)))
        let outputs: [List.Output] = [
            .notFound, .clientError(statusCode: 400, problem), .clientError(statusCode: 401, problem),
            .clientError(statusCode: 400, other), .undocumented(statusCode: 400, .init()),
            .ok(.init(headers: .init(xTotal: 1), body: .json([]))),
            .ok(.init(headers: .init(xTotal: 1, xNext: "n"), body: .json([]))),
        ]
        for (index, output) in outputs.enumerated() {
            #expect(outputs.firstIndex(of: output) == index)
        }
        #expect(Set(outputs + outputs).count == outputs.count)
    }

    @Test func bodiesOfBytesCompareByIdentity() {
        let body: HTTPBody = "text"
        #expect(List.Output.Ok.Body.plainText(body) == .plainText(body))
        #expect(List.Output.Ok.Body.plainText(body) != .plainText("text"))
    }
}
