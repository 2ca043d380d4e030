import CloudKitEmulator
import CloudKitModel
import Testing

/// The index rows of a record follow each change of its fields.
struct IndexRowTests {
    /// Creates a record with a field in its JSON form, or updates that field.
    private func save(_ json: String, _ type: RecordOperation.OperationType, in world: World) throws -> [String] {
        try world.modify(.note(type, "a", ["f": try value(json)]))
    }

    private func find(_ wanted: FieldValue, _ comparator: QueryFilter.Comparator, in world: World) throws -> [String] {
        try world.find(RecordQuery(recordType: "Note", filters: [QueryFilter("f", comparator, wanted)]))
    }

    @Test func doublesBeyondWholeNumbersAreFoundAndSavedAgain() throws {
        let world = try World()
        let large = #"{"value":1e300,"type":"DOUBLE"}"#
        #expect(try !save(large, .create, in: world)[0].contains("!"))
        #expect(try find(.double(1e300), .equals, in: world) == ["a"])
        #expect(try find(.double(5), .greaterThan, in: world) == ["a"])
        #expect(try !save(large, .forceUpdate, in: world)[0].contains("!"))
        #expect(try find(.double(1e300), .equals, in: world) == ["a"])
        #expect(try !save(#"{"value":2.5,"type":"DOUBLE"}"#, .forceUpdate, in: world)[0].contains("!"))
        #expect(try find(.double(1e300), .equals, in: world) == [])
        #expect(try find(.double(2.5), .equals, in: world) == ["a"])
    }

    @Test func aStringIsFoundByItsPresentUnicodeFormOnly() throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["f": "\u{E9}"]))
        try world.modify(.note(.forceUpdate, "a", ["f": "e\u{301}"]))
        #expect(try find("e\u{301}", .equals, in: world) == ["a"])
        #expect(try find("\u{E9}", .equals, in: world) == [])
    }

    @Test func theWordsOfATextFollowItsChanges() throws {
        let world = try World()
        func find(_ words: FieldValue, anyField: Bool = false) throws -> [String] {
            let inAnyField = QueryFilter(comparator: .containsAllTokens, fieldValue: words)
            let filter = anyField ? inAnyField : QueryFilter("f", .containsAllTokens, words)
            return try world.find(RecordQuery(recordType: "Note", filters: [filter]))
        }
        let long = String(repeating: "long", count: 400)
        try world.modify(
            .note(.create, "a", ["f": .string("Ceci n’est pas une Pipe. \(long)1"), "g": "leaf"]),
            .note(.create, "b", ["f": .string("pipe \(long)2")])
        )
        #expect(try find("pipe") == ["a", "b"])
        #expect(try find("PIPE une") == ["a"])
        // Words are cut in the index, and compared whole.
        #expect(try find(.string("\(long)2")) == ["b"])
        #expect(try find(.string(long)) == [])
        #expect(try find("pipe leaf", anyField: true) == ["a"])
        try world.modify(.note(.forceUpdate, "a", ["f": "une pomme"]))
        #expect(try find("pipe") == ["b"])
        #expect(try find("pomme une") == ["a"])
        try world.modify(.note(.forceUpdate, "a", ["f": .null]))
        #expect(try find("une") == [])
        try world.modify(.note(.forceDelete, "b"))
        #expect(try find("pipe") == [])
        try world.modify(.note(.create, "b", ["f": "pipe"]))
        #expect(try find("pipe") == ["b"])
    }

    @Test func stringsThatDifferAfterANullCharacterAreKeptApart() throws {
        let world = try World()
        let saved = try world.modify(
            .note(.create, "a", ["f": .stringList(["a", "a\0b"])]),
            .note(.create, "b", ["g": "a\0b"])
        )
        #expect(!saved.contains { $0.contains("!") })
        #expect(try find("a\0b", .listContains, in: world) == ["a"])
        #expect(
            try world.find(RecordQuery(recordType: "Note", filters: [QueryFilter("g", .greaterThan, "a")])) == ["b"]
        )
    }
}
