import Testing

@testable import StreamingJSON

/// Objects with a value followed by its type, with the caller's own keys and types.
struct AdjacentTagTests {
    private static let keys = JSONKeys("content", "kind")
    private static let tags = JSONKeys("text", "number", "point")
    private static let firstKeys = JSONKeys("x")

    /// The result of `readTagged`, and the input that is left after it.
    private func tagged(_ json: String) throws -> String {
        let bytes = Array(json.utf8)
        return try JSONReader.withReader(over: bytes.span) { (reader) throws(JSONError) -> String in
            let start = reader.position
            guard let tagged = try reader.readTagged(Self.keys, Self.tags, firstKeys: Self.firstKeys) else {
                let place = reader.position.offset
                try reader.skipValue()
                return "not tagged, at \(place)"
            }
            var description: String
            switch tagged.token {
            case .string(let text): description = reader.string(of: text)
            case .number(let number): description = number.double.map { "\($0)" } ?? "inexact"
            case .other(let kind): description = "\(kind)"
            }
            if let tag = tagged.tag {
                description += " of type \(tag)"
            } else {
                description += " with first key \(tagged.firstKey)"
                try reader.skipValue()
                description += ", of type \(try reader.endTagged(Self.keys, Self.tags).map(String.init) ?? "unknown")"
            }
            reader.rewind(to: start)
            try reader.skipValue()
            return description
        }
    }

    @Test(arguments: [
        (#"{"content":"a","kind":"text"}"#, "a of type 0"),
        (#" { "content" : 1.5 , "kind" : "number" }"#, "1.5 of type 1"),
        (#"{"content":[1],"kind":"text"}"#, "array of type 0"),
        (#"{"content":{"x":1},"kind":"point"}"#, "object with first key 0, of type 2"),
        (#"{"content":{"x":1},"kind":"circle"}"#, "object with first key 0, of type unknown"),
        (#"{"content":{"y":1},"kind":"point"}"#, "object of type 2"),
        // Another order, another type, more members, or no object: the caller has to read these itself.
        (#"{"kind":"text","content":"a"}"#, "not tagged, at 0"),
        (#"{"content":"a","kind":"circle"}"#, "not tagged, at 0"),
        (#"{"content":"a","kind":"text","x":1}"#, "not tagged, at 0"),
        (#"{"content":"a","kind":1}"#, "not tagged, at 0"),
        (#"{"content":"a"}"#, "not tagged, at 0"),
        ("[1]", "not tagged, at 0"),
    ])
    func theUsualShapeIsReadInOnePass(json: String, expected: String) throws {
        #expect(try tagged(json) == expected)
    }

    @Test(arguments: [
        (#"{"content":"a","kind":"text"}"#, "a"),
        (#"{ "content": "a", "kind": "text" }        "#, "a"),
        (#"{"content":"\u0061","kind":"text"}"#, "a"),
        (#"{"content":"a","kind":"number"}"#, "another shape, at 0"),
        (#"{"content":1,"kind":"text"}"#, "another shape, at 0"),
        (#"{"content":"a","kind":"text","x":1}"#, "another shape, at 0"),
        (#"{"content":"a","kind":"te xt"}"#, "another shape, at 0"),
        (#"{"con\u0074ent":"a","kind":"text"}"#, "another shape, at 0"),
        (#"{"content":[],"kind":"text"}"#, "another shape, at 0"),
    ])
    func aTextOfAKnownTypeIsRead(json: String, expected: String) throws {
        let bytes = Array(json.utf8)
        let spelling = JSONReader.TaggedSpelling(#"{"content":"#, #","kind":"text"}"#)
        let found = try JSONReader.withReader(over: bytes.span) { (reader) throws(JSONError) -> String in
            let text = reader.readTagged(spelled: spelling) { (reader) throws(JSONError) in
                try reader.scanStringIfPresent()
            }
            guard let text else {
                let place = reader.position.offset
                try reader.skipValue()
                return "another shape, at \(place)"
            }
            return reader.string(of: text)
        }
        #expect(found == expected)
    }
}
