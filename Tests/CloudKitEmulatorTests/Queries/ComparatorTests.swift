import CloudKitEmulator
import CloudKitModel
import Foundation
import Testing

/// Five records of type Item that have something of everything, and the last of them nothing.
struct Items {
    let world: World

    init(_ configure: (inout EmulatorConfiguration) -> Void = { _ in }) throws {
        world = try World(configure)
        let picture = try world.upload([1], for: "picture", of: "Item", named: "r1")
        let json = [
            #"""
            "r1","fields":{"name":{"value":"Apple"},"count":{"value":1,"type":"INT64"},"price":{"value":1.5},
            "when":{"value":1000,"type":"TIMESTAMP"},"tags":{"value":["red","green"]},"nums":{"value":[1,2]},
            "link":{"value":{"recordName":"t1","action":"NONE"}},"data":{"value":"AQID","type":"BYTES"},
            "place":{"value":{"latitude":59.9,"longitude":10.7}},"note":{"value":"Quick brown fox"},
            "picture":{"value":\#(text(picture)),"type":"ASSETID"},
            "secret":{"value":"x","type":"STRING","isEncrypted":true}}
            """#,
            #"""
            "r2","fields":{"name":{"value":"apple pie"},"count":{"value":2,"type":"INT64"},"price":{"value":2.0,"type":"DOUBLE"},
            "when":{"value":2000,"type":"TIMESTAMP"},"tags":{"value":["red"]},"nums":{"value":[2,3]},
            "link":{"value":{"recordName":"t2","action":"NONE"}},"data":{"value":"AQIE","type":"BYTES"},
            "place":{"value":{"latitude":59.91,"longitude":10.75}},"note":{"value":"brown bear"}}
            """#,
            #"""
            "r3","fields":{"name":{"value":"Banana"},"count":{"value":3,"type":"INT64"},"price":{"value":-1.25},
            "when":{"value":-1000,"type":"TIMESTAMP"},"tags":{"value":["yellow","red"]},
            "nums":{"value":[],"type":"INT64_LIST"},"link":{"value":{"recordName":"t1","action":"NONE"}},
            "place":{"value":{"latitude":60.39,"longitude":5.32}},"note":{"value":"the fox is quick"}}
            """#,
            #"""
            "r4","fields":{"name":{"value":""},"count":{"value":0,"type":"INT64"},"price":{"value":0.0,"type":"DOUBLE"},
            "when":{"value":0,"type":"TIMESTAMP"},"tags":{"value":[],"type":"STRING_LIST"}}
            """#,
            #""r5""#,
        ]
        for record in json {
            world.clock.advance(by: 1)
            let operation: RecordOperation = try value(
                #"{"operationType":"create","record":{"recordType":"Item","recordName":\#(record)}}"#
            )
            try world.modify(operation)
        }
        try world.modify(RecordOperation(.create, record: Record(recordType: "Target", recordName: "t1")))
    }

    /// The names that a filter finds, in their own order, or the refusal.
    func find(_ filters: String...) throws -> String {
        let query: RecordQuery = try value(
            #"{"recordType":"Item","filterBy":[\#(filters.joined(separator: ","))]}"#
        )
        let names = refusalOrValue { try world.find(query).sorted().joined(separator: " ") }
        return names
    }

    func find(_ field: String, _ comparator: String, _ fieldValue: String) throws -> String {
        try find(#"{"fieldName":"\#(field)","comparator":"\#(comparator)","fieldValue":\#(fieldValue)}"#)
    }

    func refusalOrValue(_ body: () throws -> String) -> String {
        var found = ""
        let refusal = refusal { found = try body() }
        return refusal == "accepted" ? found : refusal
    }
}

struct ComparatorTests {
    private let apple = #"{"value":"Apple"}"#
    private let t1 = #"{"value":{"recordName":"t1","action":"NONE"},"type":"REFERENCE"}"#
    private let all = "r1 r2 r3 r4 r5"

    @Test func withoutFiltersAllRecordsOfTheTypeAreFound() throws {
        let items = try Items()
        #expect(try items.find() == all)
        let single: RecordQuery = try value(
            #"""
            {"recordType":"Item","filterBy":{"fieldName":"count","comparator":"EQUALS","fieldValue":{"value":2}}}
            """#
        )
        #expect(try items.world.find(single) == ["r2"])
    }

    @Test func equals() throws {
        let items = try Items()
        #expect(try items.find("name", "EQUALS", apple) == "r1")
        #expect(try items.find("name", "EQUALS", #"{"value":"apple"}"#) == "")
        #expect(try items.find("count", "EQUALS", #"{"value":2}"#) == "r2")
        #expect(try items.find("price", "EQUALS", #"{"value":2.0,"type":"DOUBLE"}"#) == "r2")
        #expect(try items.find("when", "EQUALS", #"{"value":2000,"type":"TIMESTAMP"}"#) == "r2")
        #expect(try items.find("data", "EQUALS", #"{"value":"AQID","type":"BYTES"}"#) == "r1")
        for value in [t1, #"{"value":{"recordName":"t1"}}"#, #"{"value":{"recordName":"t1"},"type":"REFERENCE"}"#] {
            #expect(try items.find("link", "EQUALS", value) == "r1 r3")
        }
        #expect(
            try items.find("link", "EQUALS", #"{"value":"t1"}"#) == "BAD_REQUEST could not decode reference object"
        )
    }

    @Test func notEquals() throws {
        let items = try Items()
        #expect(try items.find("name", "NOT_EQUALS", apple) == "r2 r3 r4")
        #expect(try items.find("link", "NOT_EQUALS", t1) == "r2")
        let wide = try Items { $0.unsettled.negationsMatchMissingFields = true }
        #expect(try wide.find("name", "NOT_EQUALS", apple) == "r2 r3 r4 r5")
        #expect(try wide.find("link", "NOT_EQUALS", t1) == "r2 r4 r5")
    }

    @Test func ranges() throws {
        let items = try Items()
        func time(_ value: Int) -> String { #"{"value":\#(value),"type":"TIMESTAMP"}"# }
        func number(_ value: Double) -> String { #"{"value":\#(value),"type":"DOUBLE"}"# }
        #expect(try items.find("count", "LESS_THAN", #"{"value":2}"#) == "r1 r4")
        #expect(try items.find("price", "LESS_THAN", number(1.5)) == "r3 r4")
        #expect(try items.find("when", "LESS_THAN", time(0)) == "r3")
        #expect(try items.find("name", "LESS_THAN", #"{"value":"B"}"#) == "r1 r4")
        #expect(try items.find("count", "LESS_THAN_OR_EQUALS", #"{"value":2}"#) == "r1 r2 r4")
        #expect(try items.find("price", "LESS_THAN_OR_EQUALS", number(-1.25)) == "r3")
        #expect(try items.find("count", "GREATER_THAN", #"{"value":1}"#) == "r2 r3")
        #expect(try items.find("when", "GREATER_THAN", time(1000)) == "r2")
        #expect(try items.find("price", "GREATER_THAN", number(1.5)) == "r2")
        #expect(try items.find("count", "GREATER_THAN_OR_EQUALS", #"{"value":1}"#) == "r1 r2 r3")
        #expect(try items.find("when", "GREATER_THAN_OR_EQUALS", time(1000)) == "r1 r2")
    }

    @Test func near() throws {
        let items = try Items()
        func near(_ metres: Int) throws -> String {
            try items.find(
                #"""
                {"fieldName":"place","comparator":"NEAR","distance":\#(metres),
                "fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"}}
                """#
            )
        }
        #expect(try near(1000) == "r1")
        #expect(try near(5000) == "r1 r2")
        #expect(try near(400_000) == "r1 r2 r3")
        #expect(try near(30_000_000) == "r1 r2 r3")
        #expect(
            try items.find("place", "NEAR", #"{"value":{"latitude":59.9,"longitude":10.7}}"#)
                == "BAD_REQUEST NEAR needs a value of type LOCATION and a distance in metres"
        )
    }

    @Test func nearWorksAcrossTheDateLineAndAtThePoles() throws {
        let world = try World()
        for (name, latitude, longitude) in [("west", 0.0, 179.99), ("east", 0.0, -179.99), ("pole", 89.99, 100.0)] {
            try world.modify(
                .note(.create, name, ["p": .location(Location(latitude: latitude, longitude: longitude))])
            )
        }
        func near(_ latitude: Double, _ longitude: Double) throws -> [String] {
            let location = Location(latitude: latitude, longitude: longitude)
            return try world.find(
                RecordQuery(
                    recordType: "Note",
                    filters: [QueryFilter("p", .near, .location(location), distance: 5000)]
                )
            )
        }
        #expect(try near(0, 180) == ["west", "east"])
        #expect(try near(0, -180) == ["west", "east"])
        #expect(try near(89.99, -80) == ["pole"])
    }

    @Test func tokens() throws {
        let items = try Items()
        for words in ["fox quick", "QUICK", "quíck"] {
            #expect(try items.find("note", "CONTAINS_ALL_TOKENS", #"{"value":"\#(words)"}"#) == "r1 r3")
        }
        for words in ["qui", "brown missing"] {
            #expect(try items.find("note", "CONTAINS_ALL_TOKENS", #"{"value":"\#(words)"}"#) == "")
        }
        #expect(try items.find("note", "CONTAINS_ANY_TOKENS", #"{"value":"bear fox"}"#) == "r1 r2 r3")
        #expect(try items.find("note", "CONTAINS_ANY_TOKENS", #"{"value":"missing"}"#) == "")
        #expect(
            try items.find(#"{"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"Apple"}}"#) == "r1 r2"
        )
    }

    @Test func membershipInTheValue() throws {
        let items = try Items()
        let names = #"{"value":["Apple","Banana","x"],"type":"STRING_LIST"}"#
        #expect(try items.find("name", "IN", names) == "r1 r3")
        #expect(try items.find("count", "IN", #"{"value":[1,3],"type":"INT64_LIST"}"#) == "r1 r3")
        #expect(try items.find("link", "IN", #"{"value":[{"recordName":"t1"}],"type":"REFERENCE_LIST"}"#) == "r1 r3")
        #expect(try items.find("name", "IN", #"{"value":[],"type":"STRING_LIST"}"#) == "")
        #expect(try items.find("name", "NOT_IN", names) == "r2 r4")
        for comparator in ["IN", "NOT_IN"] {
            for value in [#"{"value":["Apple"]}"#, #"{"value":[]}"#, #"{"value":"Apple","type":"STRING"}"#] {
                #expect(
                    try items.find("name", comparator, value)
                        == "BAD_REQUEST BadRequestException: Unexpected input"
                )
            }
        }
        let many = (0...250).map { "\($0)" }.joined(separator: ",")
        #expect(
            try items.find("count", "IN", #"{"value":[\#(many)],"type":"INT64_LIST"}"#)
                == "BAD_REQUEST a filter compares with at most 250 values, not 251"
        )
    }

    @Test func membershipInTheField() throws {
        let items = try Items()
        func strings(_ list: String) -> String { #"{"value":[\#(list)],"type":"STRING_LIST"}"# }
        #expect(try items.find("tags", "LIST_CONTAINS", #"{"value":"red"}"#) == "r1 r2 r3")
        #expect(try items.find("nums", "LIST_CONTAINS", #"{"value":2}"#) == "r1 r2")
        #expect(try items.find("tags", "LIST_CONTAINS", #"{"value":"blue"}"#) == "")
        #expect(try items.find("tags", "NOT_LIST_CONTAINS", #"{"value":"red"}"#) == "r4")
        #expect(try items.find("tags", "LIST_CONTAINS_ANY", strings(#""green","yellow""#)) == "r1 r3")
        #expect(try items.find("tags", "LIST_CONTAINS_ANY", strings(#""green","red""#)) == "r1 r2 r3")
        #expect(try items.find("tags", "NOT_LIST_CONTAINS_ANY", strings(#""green","yellow""#)) == "r2 r4")
        #expect(try items.find("tags", "LIST_CONTAINS_ALL", strings(#""red","green""#)) == "r1")
        #expect(try items.find("tags", "NOT_LIST_CONTAINS_ALL", strings(#""red","green""#)) == "r2 r3 r4")
    }

    @Test func beginnings() throws {
        let items = try Items()
        #expect(try items.find("name", "BEGINS_WITH", #"{"value":"App"}"#) == "r1")
        #expect(try items.find("name", "BEGINS_WITH", #"{"value":"app"}"#) == "r2")
        #expect(try items.find("name", "BEGINS_WITH", #"{"value":"%"}"#) == "")
        #expect(try items.find("name", "BEGINS_WITH", #"{"value":""}"#) == "r1 r2 r3 r4")
        #expect(try items.find("name", "NOT_BEGINS_WITH", #"{"value":"App"}"#) == "r2 r3 r4")
        let caseless = try Items { $0.unsettled.beginsWithIgnoresCase = true }
        #expect(try caseless.find("name", "BEGINS_WITH", #"{"value":"aPP"}"#) == "r1 r2")
    }

    @Test func beginningsOfMembers() throws {
        let items = try Items()
        #expect(try items.find("tags", "LIST_MEMBER_BEGINS_WITH", #"{"value":"gr"}"#) == "r1")
        #expect(try items.find("tags", "LIST_MEMBER_BEGINS_WITH", #"{"value":"re"}"#) == "r1 r2 r3")
        #expect(try items.find("tags", "NOT_LIST_MEMBER_BEGINS_WITH", #"{"value":"re"}"#) == "r4")
        let first = try Items { $0.unsettled.listMemberBeginsWith = .firstMember }
        #expect(try first.find("tags", "LIST_MEMBER_BEGINS_WITH", #"{"value":"gr"}"#) == "")
        #expect(try first.find("tags", "LIST_MEMBER_BEGINS_WITH", #"{"value":"re"}"#) == "r1 r2")
        #expect(try first.find("tags", "NOT_LIST_MEMBER_BEGINS_WITH", #"{"value":"re"}"#) == "r3 r4")
    }

    @Test func filtersMustAllHold() throws {
        let items = try Items()
        let atLeastOne = #"{"fieldName":"count","comparator":"GREATER_THAN_OR_EQUALS","fieldValue":{"value":1}}"#
        let atMostTwo = #"{"fieldName":"count","comparator":"LESS_THAN_OR_EQUALS","fieldValue":{"value":2}}"#
        let green = #"{"fieldName":"tags","comparator":"LIST_CONTAINS","fieldValue":{"value":"green"}}"#
        #expect(try items.find(atLeastOne, green) == "r1")
        #expect(try items.find(atLeastOne, atMostTwo) == "r1 r2")
    }

    @Test func systemFields() throws {
        let items = try Items()
        let world = items.world
        func reference(_ name: String) -> String { #"{"value":{"recordName":"\#(name)"},"type":"REFERENCE"}"# }
        for name in [#""systemFieldName":"recordName""#, #""fieldName":"___recordID""#] {
            #expect(
                try items.find(#"{\#(name),"comparator":"EQUALS","fieldValue":\#(reference("r1"))}"#) == "r1"
            )
        }
        #expect(
            try items.find(
                #"""
                {"systemFieldName":"recordName","comparator":"IN","fieldValue":
                {"value":[{"recordName":"r1"},{"recordName":"r3"},{"recordName":"t1"}],"type":"REFERENCE_LIST"}}
                """#
            ) == "r1 r3"
        )
        for name in ["createdUserRecordName", "modifiedUserRecordName"] {
            #expect(
                try items.find(
                    #"{"systemFieldName":"\#(name)","comparator":"EQUALS","fieldValue":\#(reference(world.ann))}"#
                ) == all
            )
            #expect(
                try items.find(
                    #"{"systemFieldName":"\#(name)","comparator":"EQUALS","fieldValue":\#(reference(world.ben))}"#
                ) == ""
            )
        }
        // r3 was made in the third second.
        let third = #"{"value":1700000003000,"type":"TIMESTAMP"}"#
        for name in [#""systemFieldName":"createdTimestamp""#, #""fieldName":"___modTime""#] {
            #expect(
                try items.find(#"{\#(name),"comparator":"GREATER_THAN","fieldValue":\#(third)}"#) == "r4 r5"
            )
            #expect(
                try items.find(#"{\#(name),"comparator":"LESS_THAN_OR_EQUALS","fieldValue":\#(third)}"#) == "r1 r2 r3"
            )
        }
        #expect(try items.find("___etag", "EQUALS", #"{"value":"2"}"#) == "r2")
    }

    @Test func whatIsWrongWithAFilterIsSaid() throws {
        let items = try Items()
        func wrong(_ field: String, _ comparator: String, _ value: String = #"{"value":1}"#) throws -> String {
            try items.find(field, comparator, value)
        }
        func misfit(_ field: String, _ kind: String, _ comparator: String) -> String {
            "BAD_REQUEST Field '\(field)' has a value type of \(kind) "
                + "and cannot be queried using filter type \(comparator)"
        }
        #expect(try wrong("secret", "EQUALS", #"{"value":"x"}"#) == misfit("secret", "ENCRYPTED_STRING", "EQUALS"))
        #expect(try wrong("count", "NEAR") == misfit("count", "INT64", "NEAR"))
        #expect(try wrong("name", "LIST_CONTAINS") == misfit("name", "STRING", "LIST_CONTAINS"))
        #expect(try wrong("tags", "EQUALS") == misfit("tags", "STRING_LIST", "EQUALS"))
        #expect(try wrong("count", "BEGINS_WITH") == misfit("count", "INT64", "BEGINS_WITH"))
        #expect(try wrong("picture", "EQUALS") == misfit("picture", "ASSETID", "EQUALS"))
        #expect(try wrong("link", "LESS_THAN") == misfit("link", "REFERENCE", "LESS_THAN"))
        #expect(try wrong("nothing", "EQUALS") == "BAD_REQUEST Unknown field 'nothing'")
        #expect(try wrong("count", "LIKE") == "BAD_REQUEST BadRequestException: Unexpected input")
        #expect(
            try wrong("count", "EQUALS", #"{"value":"1"}"#) == "BAD_REQUEST Invalid value, expected type INT64."
        )
        #expect(
            try wrong("count", "EQUALS", #"{"value":1.0,"type":"DOUBLE"}"#)
                == "BAD_REQUEST Invalid value, expected type INT64."
        )
        #expect(
            try items.find(#"{"comparator":"EQUALS","fieldValue":{"value":1}}"#)
                == "BAD_REQUEST BadRequestException: Unexpected input"
        )
        #expect(
            try items.find(#"{"systemFieldName":"colour","comparator":"EQUALS","fieldValue":{"value":1}}"#)
                == "BAD_REQUEST Unknown field 'colour'"
        )
        #expect(
            items.refusalOrValue { try items.world.find(RecordQuery(recordType: "X")).joined() }
                == "BAD_REQUEST Did not find record type: X"
        )
    }
}
