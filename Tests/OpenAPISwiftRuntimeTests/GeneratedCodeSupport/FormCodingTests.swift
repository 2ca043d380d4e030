import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import StreamingJSON
import TestSupport
import Testing

struct FormCodingTests {

    private static func written(_ value: JSONValue) async throws -> String {
        var message = SentMessage()
        try message.setFormBody(value, contentType: "application/x-www-form-urlencoded")
        let text = try await message.text
        #expect(
            message.headerFields == [
                .contentType: "application/x-www-form-urlencoded", .contentLength: String(text.utf8.count),
            ]
        )
        return text
    }

    private static let shape = ParameterShape.object(
        ["name": .string, "age": .number, "tags": .array(.string), "isCat": .boolean, "a b[]": .string],
        additional: nil
    )

    private static func read(_ text: String, _ shape: ParameterShape = shape) throws -> JSONValue {
        try ReceivedMessage(contentType: "application/x-www-form-urlencoded", body: HTTPBody(text))
            .form(shape, JSONValue.self)
    }

    @Test func membersAreWrittenInTheOrderOfTheirNames() async throws {
        let value: JSONValue = ["b": 2, "C": true, "a": "x", "d": 1.5, "e": nil, "f": ["1", "2"], "g": []]
        #expect(try await Self.written(value) == "a=x&b=2&C=true&d=1.5&f=1&f=2")
        #expect(try await Self.written([:]) == "")
    }

    @Test func spacesBecomePlusesAndTheRestIsPercentEncoded() async throws {
        #expect(try await Self.written(["a b[]": "c d+e%20&=é/~"]) == "a+b%5B%5D=c+d%2Be%2520%26%3D%C3%A9%2F~")
    }

    @Test func whatNestsDeeperIsRefused() async throws {
        for value in [["a": ["b": 1]], ["a": [[1]]], [[1]], [["a": 1]]] as [JSONValue] {
            await #expect(throws: GeneratedCodeError.self) { try await Self.written(value) }
        }
    }

    @Test func aValueWithoutMembersHasNoName() async throws {
        #expect(try await Self.written("a b") == "=a+b")
        #expect(try await Self.written([1, 2]) == "=1&=2")
        #expect(try await Self.written([]) == "")
        #expect(try Self.read("=a+b", .string) == "a b")
        #expect(try Self.read("=1&=2", .array(.number)) == [1, 2])
        #expect(try Self.read("", .array(.number)) == [])
        #expect(try Self.read("=1&=2", .any) == [1, 2])
        #expect(try Self.read("=1", .choice([.number, .string])) == 1)
        #expect(try Self.read("=1", .object([:], additional: .number)) == ["": 1])
        for text in ["", "1", "a=1"] {
            #expect(throws: GeneratedCodeError.self) { try Self.read(text, .number) }
        }
    }

    @Test func membersAreReadByTheirShape() async throws {
        let text = "age=3&name=Mimi+the%20cat%2B&tags=a&unknown=1&tags=b%26c&isCat=true&a+b%5B%5D=x&name=second"
        #expect(
            try Self.read(text) == [
                "age": 3, "name": "Mimi the cat+", "tags": ["a", "b&c"], "isCat": true, "a b[]": "x",
            ]
        )
        #expect(try Self.read("name=1&tags=2&") == ["name": "1", "tags": ["2"]])
        #expect(try Self.read("name=&&") == ["name": ""])
        #expect(try Self.read("") == [:])
        #expect(try Self.read("x=1", .object([:], additional: .number)) == ["x": 1])
    }

    @Test func whatDoesNotFitIsABadRequest() async throws {
        for text in ["age", "age=x", "isCat=yes", "name=a&b"] {
            let error = #expect(throws: GeneratedCodeError.self) { try Self.read(text) }
            #expect(error?.httpStatus == .badRequest)
        }
        #expect(throws: GeneratedCodeError.self) {
            try ReceivedMessage(contentType: "", body: nil).form(Self.shape, JSONValue.self)
        }
    }

    @Test func datesGoThroughTheTranscoder() async throws {
        let date = Date(timeIntervalSince1970: 1_674_036_251)
        var message = SentMessage()
        try message.setFormBody(date, contentType: "application/x-www-form-urlencoded") { date, writer in
            writer.beginObject()
            writer.key("at")
            writer.writeDate(date)
            writer.endObject()
        }
        #expect(try await message.text == "at=2023-01-18T10%3A04%3A11Z")
        let read = try ReceivedMessage(message).form(.object(["at": .string], additional: nil)) {
            (reader: inout JSONReader) throws(JSONError) -> Date? in
            var date: Date?
            try reader.beginObject()
            while try reader.nextKey() != nil { date = try reader.readDate() }
            return date
        }
        #expect(read == date)
    }

    @Test func randomFormsComeBack() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let letters = Array("ab +&=%20é🐈\n\u{0}")
        for _ in 0..<500 {
            var members: [String: JSONValue] = [:]
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                let texts = (0..<3).map { _ in
                    String(
                        (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                            letters.randomElement(using: &generator) ?? "a"
                        }
                    )
                }
                members["s" + texts[0]] = .string(texts[1])
                members["l" + texts[0]] = [.string(texts[1]), .string(texts[2])]
            }
            let shapes = members.mapValues { value -> ParameterShape in
                if case .array = value { return .array(.string) }
                return .string
            }
            let text = try await Self.written(.object(members))
            #expect(try Self.read(text, .object(shapes, additional: nil)) == .object(members), "seed \(seed)")
        }
    }

    @Test func anyBytesGiveAnErrorOrAValue() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let original = Array("age=3&name=Mimi+the%20cat%2B&tags=a&tags=b%26c&isCat=true&a+b%5B%5D=x".utf8)
        for _ in 0..<fuzzRuns {
            let bytes = original.mutated(with: ["%", "&", "=", "+", "%f", "&&", "age="], using: &generator)
            let message = ReceivedMessage(contentType: "", body: HTTPBody(bytes))
            do {
                let value = try message.form(Self.shape, JSONValue.self)
                guard case .object = value else {
                    Issue.record("\(value) is no object, seed \(seed)")
                    continue
                }
            } catch {
                #expect(error is GeneratedCodeError, "seed \(seed)")
            }
        }
    }

    // MARK: Styles

    private static let styles: [String: FormMemberStyle] = [
        "meta": FormMemberStyle(.deepObject, explode: true),
        "flat": FormMemberStyle(.form, explode: false),
        "spaced": FormMemberStyle(.spaceDelimited, explode: false),
        "json": FormMemberStyle(.json, explode: false),
    ]

    private static let styledShape = ParameterShape.object(
        [
            "name": .string,
            "meta": .object(["a": .string, "b": .object(["c": .number], additional: nil)], additional: nil),
            "flat": .array(.number), "spaced": .array(.string), "json": .json,
        ],
        additional: .string
    )

    @Test func membersAreSpreadByTheirStyles() async throws {
        let value: JSONValue = [
            "name": "n", "meta": ["a": "x y", "b": ["c": 1]], "flat": [1, 2], "spaced": ["a+", "b"],
            "json": ["k": [1, "+"]],
            "other": "o",
        ]
        var message = SentMessage()
        try message.setFormBody(
            value,
            contentType: "application/x-www-form-urlencoded",
            styles: Self.styles
        )
        let text = try await message.text
        #expect(
            text
                == "flat=1,2&json=%7B%22k%22%3A%5B1%2C%22%2B%22%5D%7D&meta%5Ba%5D=x+y&meta%5Bb%5D%5Bc%5D=1&name=n&other=o"
                + "&spaced=a%2B+b"
        )
        let read = try ReceivedMessage(message).form(Self.styledShape, JSONValue.self, styles: Self.styles)
        #expect(read == value)
    }

    @Test func aRequiredArrayWithoutElementsIsEmpty() async throws {
        let shape = ParameterShape.object(["all": .requiredArray(.string), "some": .array(.string)], additional: nil)
        #expect(try Self.read("", shape) == ["all": []])
        #expect(try Self.read("all=a", shape) == ["all": ["a"]])
        #expect(try await Self.written(["all": []]) == "")
    }

    @Test func membersOfOneNameAreAllReadWhereTheirShapeIsOpen() async throws {
        #expect(try Self.read("a=1&a=x&b=2", .object([:], additional: .any)) == ["a": [1, "x"], "b": 2])
    }
}
