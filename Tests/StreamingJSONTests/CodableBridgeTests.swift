import Foundation
import StreamingJSON
import Testing

/// A user's own type that conforms only to `Codable`.
private struct Plain: Codable, Equatable {
    enum Color: String, Codable {
        case red
        case green
    }

    struct Inner: Codable, Equatable {
        var flag: Bool
        var values: [UInt8]
    }

    var name: String
    var size: Int
    var ratio: Double
    var color: Color
    var inner: Inner?
    var inners: [String: Inner]
    var anything: JSONValue
    var direct: Direct
    var small: Float
    var optional: [Int?]
}

/// A type that reads and writes JSON itself, and gets everything else from `JSONCodable`.
private struct Direct: JSONCodable {
    static let keys = JSONKeys("a", "list")
    var a: String
    var list: [Double]

    init(a: String, list: [Double]) {
        self.a = a
        self.list = list
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        var a: String?
        list = []
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: a = try reader.read()
            case 1: list = try reader.read()
            default: try reader.skipValue()
            }
        }
        guard let a else { throw reader.error(.missingKey, "the key 'a' is missing") }
        self.a = a
    }

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("a")
        writer.write(a)
        writer.key("list")
        writer.write(list)
        writer.endObject()
    }
}

private class Base: Codable {
    var base = 1
}

private final class Derived: Base {
    enum CodingKeys: CodingKey {
        case own
        case nested
    }

    var own = 2

    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        own = try container.decode(Int.self, forKey: .own)
        var list = try container.nestedUnkeyedContainer(forKey: .nested)
        _ = try list.decode(String.self)
        let inner = try list.nestedContainer(keyedBy: CodingKeys.self)
        own += try inner.decode(Int.self, forKey: .own)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(own, forKey: .own)
        var list = container.nestedUnkeyedContainer(forKey: .nested)
        try list.encode("first")
        var inner = list.nestedContainer(keyedBy: CodingKeys.self)
        try inner.encode(10, forKey: .own)
        try super.encode(to: container.superEncoder())
    }
}

/// A type with the compiler's `Codable`, which it uses for `JSONReadable` and `JSONWritable`.
private struct Sum: Codable, Equatable, JSONReadable, JSONWritable {
    var cents: Int

    init(cents: Int) { self.cents = cents }

    init(json reader: inout JSONReader) throws(JSONError) { self = try reader.readDecodable() }

    func write(json writer: inout JSONWriter) { writer.writeEncodable(self) }
}

struct CodableBridgeTests {
    private let plain = Plain(
        name: "n",
        size: .max,
        ratio: 2.5,
        color: .green,
        inner: nil,
        inners: ["k": Plain.Inner(flag: true, values: [0, 255])],
        anything: ["x": [1, nil]],
        direct: Direct(a: "q", list: [1, 2]),
        small: 0.25,
        optional: [1, nil]
    )

    private func read<T: Decodable>(_ type: T.Type, from json: [UInt8]) throws(JSONError) -> T {
        try JSONReader.withReader(over: json.span) { (reader) throws(JSONError) in try reader.readDecodable(T.self) }
    }

    private func write(_ value: some Encodable) throws(JSONError) -> [UInt8] {
        var writer = JSONWriter(options: .sortedKeys)
        writer.writeEncodable(value)
        return try writer.finish()
    }

    @Test func aTypeThatIsOnlyCodableIsWrittenAndRead() throws {
        let bytes = try write(plain)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"name":"n","size":9223372036854775807,"ratio":2.5,"color":"green","#
                + #""inners":{"k":{"flag":true,"values":[0,255]}},"anything":{"x":[1,null]},"#
                + #""direct":{"a":"q","list":[1.0,2.0]},"small":0.25,"optional":[1,null]}"#
        )
        #expect(try read(Plain.self, from: bytes) == plain)
        // Foundation reads and writes the same.
        #expect(try JSONDecoder().decode(Plain.self, from: Data(bytes)) == plain)
        #expect(try read(Plain.self, from: Array(JSONEncoder().encode(plain))) == plain)
    }

    @Test func aTypeMayReadAndWriteItselfByItsCodable() throws {
        let sums = [Sum(cents: 250), Sum(cents: -1)]
        let bytes = try JSONWriter.bytes(of: sums)
        #expect(String(decoding: bytes, as: UTF8.self) == #"[{"cents":250},{"cents":-1}]"#)
        #expect(try JSONReader.read([Sum].self, from: bytes) == sums)
        #expect(try write(sums) == bytes)
        #expect(try read([Sum].self, from: bytes) == sums)
        #expect(throws: JSONError.self) { try JSONReader.read(Sum.self, from: Array(#"{"cents":"1"}"#.utf8)) }
    }

    @Test func containersOfContainersAndSuperAreCoded() throws {
        let bytes = try write(Derived())
        #expect(
            String(decoding: bytes, as: UTF8.self) == #"{"own":2,"nested":["first",{"own":10}],"super":{"base":1}}"#
        )
        let derived = try read(Derived.self, from: bytes)
        #expect(derived.own == 12)
        #expect(derived.base == 1)
    }

    @Test func errorsOfDecodableBecomeJSONErrors() throws {
        func code(_ json: String) -> JSONError.Code? {
            let json = Array("[0,\(json)]".utf8)
            let error = #expect(throws: JSONError.self) {
                try JSONReader.withReader(over: json.span) { reader throws(JSONError) in
                    try reader.beginArray()
                    _ = try reader.nextElement()
                    try reader.skipValue()
                    _ = try reader.nextElement()
                    _ = try reader.readDecodable(Plain.Inner.self)
                }
            }
            #expect(error?.path == "$[1]")
            return error?.code
        }
        #expect(code(#"{"flag":true}"#) == .missingKey)
        #expect(code(#"{"flag":1,"values":[]}"#) == .typeMismatch)
        #expect(code(#"{"flag":null,"values":[]}"#) == .typeMismatch)
        #expect(code(#"{"flag":true,"values":[256]}"#) == .invalidValue)
        #expect(code(#"{"flag":true,"values":[0.5]}"#) != nil)
        #expect(code("[]") == .typeMismatch)
    }

    @Test func aFailingEncoderMakesTheWriterFail() throws {
        #expect(throws: JSONError.self) { try write(["a": Double.nan]) }
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(1, EncodingError.Context(codingPath: [], debugDescription: "no"))
            }
        }
        let error = #expect(throws: JSONError.self) { try write([Failing()]) }
        #expect(error?.code == .invalidValue)
    }

    @Test func aTypeThatOnlyKnowsJSONGoesThroughFoundation() throws {
        let direct = Direct(a: "ä/", list: [1, 2.5])
        let data = try JSONEncoder().encode([direct])
        #expect(try JSONDecoder().decode([Direct].self, from: data) == [direct])
        #expect(try JSONReader.read([Direct].self, from: Array(data)) == [direct])
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Direct].self, from: Data(#"[{"list":[]}]"#.utf8))
        }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect((context.underlyingError as? JSONError)?.code == .missingKey)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(Direct(a: "", list: [.nan])) }
    }

    @Test func equalityAndHashAreThoseOfTheJSON() {
        let one = Direct(a: "x", list: [1])
        #expect(one == Direct(a: "x", list: [1]))
        #expect(one != Direct(a: "x", list: [2]))
        #expect(one.hashValue == Direct(a: "x", list: [1]).hashValue)
        #expect(Set([one, one, Direct(a: "y", list: [])]).count == 2)
    }

    // MARK: userInfo of readers and writers

    @Test func userInfoReachesTypesInsideOfCodableOnes() throws {
        let shouting = Shout(mark: "!")
        let hosts = [Host(outer: Shouted(text: "a"), own: .init(inner: Shouted(text: "b")))]
        var writer = JSONWriter(userInfo: shouting)
        writer.writeEncodable(hosts)
        let bytes = try writer.finish()
        #expect(String(decoding: bytes, as: UTF8.self) == #"[{"outer":"a!","own":"b!"}]"#)
        let options = JSONReader.Options(userInfo: shouting)
        let read = try JSONReader.withReader(over: bytes.span, options: options) { (reader) throws(JSONError) in
            try reader.readDecodable([Host].self)
        }
        #expect(read == hosts)
        #expect(throws: JSONError.self) {
            try JSONReader.withReader(over: bytes.span) { (reader) throws(JSONError) in
                try reader.readDecodable([Host].self)
            }
        }
    }

    @Test func withoutUserInfoThereIsNone() throws {
        #expect(
            try write(Host(outer: Shouted(text: "a"), own: .init(inner: Shouted(text: "b"))))
                == Array(
                    #"{"outer":"a?","own":"b?"}"#.utf8
                )
        )
    }
}

/// A value in the `userInfo` of a writer.
private final class Shout: Sendable {
    let mark: String

    init(mark: String) {
        self.mark = mark
    }
}

/// Writes its text with the mark of the writer, and reads only text with the mark of the reader.
private struct Shouted: JSONCodable {
    var text: String

    init(text: String) {
        self.text = text
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        let mark = (reader.userInfo as? Shout)?.mark ?? "?"
        let text = try reader.readString()
        guard text.hasSuffix(mark) else { throw reader.error(.invalidValue, "no \(mark)") }
        self.text = String(text.dropLast(mark.count))
    }

    func write(json writer: inout JSONWriter) {
        writer.write(text + ((writer.userInfo as? Shout)?.mark ?? "?"))
    }
}

/// A program's type that passes its coder on.
private struct Host: Codable, Equatable {
    struct Own: Codable, Equatable {
        var inner: Shouted

        init(inner: Shouted) {
            self.inner = inner
        }

        init(from decoder: any Decoder) throws {
            inner = try Shouted(from: decoder)
        }

        func encode(to encoder: any Encoder) throws {
            try inner.encode(to: encoder)
        }
    }

    var outer: Shouted
    var own: Own
}
