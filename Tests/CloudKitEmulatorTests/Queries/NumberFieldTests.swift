import CloudKitEmulator
import CloudKitModel
import Testing

/// Queries over a field that untagged numbers created, so that it has integers and fractions.
struct NumberFieldTests {
    private struct Prices {
        let world: World

        /// Integers and fractions, one number in both forms, and numbers that are equal as doubles.
        static let values: [(name: String, json: String)] = [
            ("a", #"{"value":9.99}"#),
            ("b", #"{"value":10}"#),
            ("c", #"{"value":10,"type":"DOUBLE"}"#),
            ("d", #"{"value":10.5}"#),
            ("e", #"{"value":-3}"#),
            ("f", #"{"value":-3.5}"#),
            ("g", #"{"value":9007199254740992,"type":"DOUBLE"}"#),
            ("h", #"{"value":9007199254740993}"#),
            ("i", #"{"value":9223372036854775807}"#),
            ("j", #"{"value":9223372036854775808,"type":"DOUBLE"}"#),
        ]

        init() throws {
            world = try World()
            for (name, json) in Self.values {
                #expect(try world.modify(.note(.create, name, ["price": try value(json)]))[0].hasPrefix("\(name)@"))
            }
            try world.modify(.note(.create, "none"))
        }

        func find(_ comparator: QueryFilter.Comparator, _ json: String) throws -> String {
            let filter = QueryFilter("price", comparator, try value(json))
            return try world.find(RecordQuery(recordType: "Note", filters: [filter])).sorted().joined()
        }
    }

    @Test(arguments: [
        (QueryFilter.Comparator.equals, #"{"value":10}"#, "bc"),
        (.equals, #"{"value":10,"type":"INT64"}"#, "bc"),
        (.equals, #"{"value":10,"type":"DOUBLE"}"#, "bc"),
        (.equals, #"{"value":9.99}"#, "a"),
        (.equals, #"{"value":9007199254740992}"#, "g"),
        (.equals, #"{"value":9007199254740993}"#, "h"),
        (.notEquals, #"{"value":10}"#, "adefghij"),
        (.lessThan, #"{"value":10}"#, "aef"),
        (.lessThan, #"{"value":-3.25}"#, "f"),
        (.lessThanOrEquals, #"{"value":10.0,"type":"DOUBLE"}"#, "abcef"),
        (.greaterThan, #"{"value":10}"#, "dghij"),
        (.greaterThan, #"{"value":9007199254740992,"type":"DOUBLE"}"#, "hij"),
        (.greaterThan, #"{"value":9223372036854775807}"#, "j"),
        (.greaterThanOrEquals, #"{"value":9007199254740993}"#, "hij"),
        (.in, #"{"value":[10,-3],"type":"INT64_LIST"}"#, "bce"),
        (.in, #"{"value":[10,9.99],"type":"DOUBLE_LIST"}"#, "abc"),
    ])
    func everyFormOfANumberIsCompared(comparator: QueryFilter.Comparator, json: String, expected: String) throws {
        #expect(try Prices().find(comparator, json) == expected)
    }

    @Test func numbersAreInOneOrderPageByPage() throws {
        let prices = try Prices()
        for (ascending, expected) in [(true, "none f e a b c d g h i j"), (false, "j i h g d c b a e f none")] {
            for limit in 1...4 {
                let query = RecordQuery(recordType: "Note", sorts: [QuerySort("price", ascending: ascending)])
                var names: [String] = []
                var marker: String?
                repeat {
                    let page = try prices.world.asAnn().queryRecords(
                        query,
                        zoneID: World.notes,
                        resultsLimit: limit,
                        continuationMarker: marker
                    )
                    names += page.records.compactMap(\.itemID)
                    marker = page.continuationMarker
                } while marker != nil && names.count < 20
                #expect(names.joined(separator: " ") == expected, "pages of \(limit)")
            }
            let second = [
                QuerySort("price", ascending: ascending), QuerySort(system: .recordName, ascending: ascending),
            ]
            #expect(
                try prices.world.find(RecordQuery(recordType: "Note", sorts: second)).joined(separator: " ") == expected
            )
        }
    }

    @Test func aNumberIsFoundByItsPresentFormOnly() throws {
        let prices = try Prices()
        for json in [#"{"value":10.0,"type":"DOUBLE"}"#, #"{"value":10}"#, #"{"value":11.5}"#, #"{"value":12}"#] {
            try prices.world.modify(.note(.forceUpdate, "b", ["price": try value(json)]))
        }
        #expect(try prices.find(.equals, #"{"value":10}"#) == "c")
        #expect(try prices.find(.equals, #"{"value":11.5}"#) == "")
        #expect(try prices.find(.equals, #"{"value":12,"type":"DOUBLE"}"#) == "b")
        try prices.world.modify(.note(.forceDelete, "b"), .note(.forceDelete, "c"))
        #expect(try prices.find(.equals, #"{"value":10}"#) == "")
    }

    @Test func whatIsNoNumberIsNoComparand() throws {
        let prices = try Prices()
        for json in [#"{"value":"10"}"#, #"{"value":10,"type":"TIMESTAMP"}"#] {
            #expect(refusal { try prices.find(.equals, json) } == "BAD_REQUEST Invalid value, expected type NUMBER.")
        }
        #expect(
            refusal { try prices.find(.beginsWith, #"{"value":"1"}"#) }
                == "BAD_REQUEST Field 'price' has a value type of NUMBER and cannot be queried using filter type BEGINS_WITH"
        )
    }
}
