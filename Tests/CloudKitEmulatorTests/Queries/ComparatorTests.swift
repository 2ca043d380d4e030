import CloudKitEmulator
import CloudKitModel
import Foundation
import MistTesting
import Testing

/// Five records of type Item. Four have values in many fields, and the last one has none.
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

    /// The names that a filter finds, in the order of the names, or the refusal.
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

/// The switches about comparators, and the texts of refusals. The rules of `CloudKitContract` check everything else.
struct ComparatorTests {
    @Test func whetherNegationsFindRecordsWithoutTheFieldIsASwitch() throws {
        let t1 = #"{"value":{"recordName":"t1","action":"NONE"},"type":"REFERENCE"}"#
        let strings = #"{"value":["red","green"],"type":"STRING_LIST"}"#
        let negations = [
            ("name", "NOT_EQUALS", #"{"value":"Apple"}"#, "r2 r3 r4", "r2 r3 r4 r5"),
            ("link", "NOT_EQUALS", t1, "r2", "r2 r4 r5"),
            ("name", "NOT_IN", #"{"value":["Apple","Banana"],"type":"STRING_LIST"}"#, "r2 r4", "r2 r4 r5"),
            ("tags", "NOT_LIST_CONTAINS", #"{"value":"red"}"#, "r4", "r4 r5"),
            ("tags", "NOT_LIST_CONTAINS_ANY", strings, "r4", "r4 r5"),
            ("tags", "NOT_LIST_CONTAINS_ALL", strings, "r2 r3 r4", "r2 r3 r4 r5"),
            ("name", "NOT_BEGINS_WITH", #"{"value":"App"}"#, "r2 r3 r4", "r2 r3 r4 r5"),
            ("tags", "NOT_LIST_MEMBER_BEGINS_WITH", #"{"value":"re"}"#, "r4", "r4 r5"),
        ]
        let (items, wide) = (try Items(), try Items { $0.unsettled.negationsMatchMissingFields = true })
        for (field, comparator, value, names, all) in negations {
            #expect(try items.find(field, comparator, value) == names, "\(comparator)")
            #expect(try wide.find(field, comparator, value) == all, "\(comparator)")
        }
    }

    @Test func whetherBeginningsGoByCaseIsASwitch() throws {
        let (items, caseless) = (try Items(), try Items { $0.unsettled.beginsWithIgnoresCase = true })
        #expect(try items.find("name", "BEGINS_WITH", #"{"value":"app"}"#) == "r2")
        #expect(try caseless.find("name", "BEGINS_WITH", #"{"value":"aPP"}"#) == "r1 r2")
        #expect(try items.find("name", "BEGINS_WITH", #"{"value":""}"#) == "r1 r2 r3 r4")
    }

    @Test func theConfigurationSaysWhichListMemberMatchesAPrefix() throws {
        let (items, first) = (try Items(), try Items { $0.unsettled.listMemberBeginsWith = .firstMember })
        for (value, names, ofFirst) in [("gr", "r1", ""), ("re", "r1 r2 r3", "r1 r2")] {
            let value = #"{"value":"\#(value)"}"#
            #expect(try items.find("tags", "LIST_MEMBER_BEGINS_WITH", value) == names)
            #expect(try first.find("tags", "LIST_MEMBER_BEGINS_WITH", value) == ofFirst)
        }
        #expect(try first.find("tags", "NOT_LIST_MEMBER_BEGINS_WITH", #"{"value":"re"}"#) == "r3 r4")
    }

    /// The contract allows the service to refuse filters on record names, and checks times only to the minute.
    @Test func systemFieldsHaveTwoNames() throws {
        let items = try Items()
        let names = #"{"value":[{"recordName":"r1"},{"recordName":"r3"},{"recordName":"t1"}],"type":"REFERENCE_LIST"}"#
        // r3 was created in the third second.
        let third = #"{"value":1700000003000,"type":"TIMESTAMP"}"#
        for (system, field, comparator, value, found) in [
            ("recordName", "___recordID", "IN", names, "r1 r3"),
            ("createdTimestamp", "___createTime", "GREATER_THAN", third, "r4 r5"),
            ("modifiedTimestamp", "___modTime", "LESS_THAN_OR_EQUALS", third, "r1 r2 r3"),
        ] {
            for name in [#""systemFieldName":"\#(system)""#, #""fieldName":"\#(field)""#] {
                #expect(try items.find(#"{\#(name),"comparator":"\#(comparator)","fieldValue":\#(value)}"#) == found)
            }
        }
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
        #expect(try wrong("link", "EQUALS", #"{"value":"t1"}"#) == "BAD_REQUEST could not decode reference object")
        #expect(
            try wrong("place", "NEAR", #"{"value":{"latitude":59.9,"longitude":10.7}}"#)
                == "BAD_REQUEST NEAR needs a value of type LOCATION and a distance in metres"
        )
        let many = (0...250).map { "\($0)" }.joined(separator: ",")
        #expect(
            try wrong("count", "IN", #"{"value":[\#(many)],"type":"INT64_LIST"}"#)
                == "BAD_REQUEST a filter compares with at most 250 values, not 251"
        )
        #expect(
            try items.find(#"{"comparator":"EQUALS","fieldValue":{"value":1}}"#)
                == "BAD_REQUEST BadRequestException: Unexpected input"
        )
        #expect(
            try items.find(#"{"systemFieldName":"colour","comparator":"EQUALS","fieldValue":{"value":1}}"#)
                == "BAD_REQUEST Unknown field 'colour'"
        )
        // Each of the two spellings has its own names.
        for name in [#""systemFieldName":"___createTime""#, #""fieldName":"createdTimestamp""#] {
            #expect(
                try items.find(#"{\#(name),"comparator":"EQUALS","fieldValue":{"value":1}}"#)
                    .hasPrefix("BAD_REQUEST Unknown field '")
            )
        }
        #expect(
            items.refusalOrValue { try items.world.find(RecordQuery(recordType: "X")).joined() }
                == "BAD_REQUEST Did not find record type: X"
        )
    }
}
