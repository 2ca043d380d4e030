import CloudKitModel
import Foundation
import GRDB
import MistKit
import SQLiteTables
import Testing

@testable import MistStore

struct LocalQueryTests {
    // MARK: SQL

    @Test func aQueryIsOneStatementWithBoundValues() throws {
        let query = try QueryTable.query(
            [QueryFilter("number", .equals, 1), QueryFilter("text", .beginsWith, "a")],
            sorts: [QuerySort("text", ascending: false)],
            limit: 10
        )
        #expect(
            query.condition == """
                +_zone = ? AND "Item"."number" = ? AND "Item"."text" >= ? AND "Item"."text" < ? \
                ORDER BY "Item"."text" DESC, _recordName DESC LIMIT ?
                """
        )
        #expect(query.values == [.integer(1), .integer(1), .text("a"), .text("b"), .integer(10)])
    }

    @Test func queriesOfOneShapeHaveOneStatement() throws {
        func condition(_ filter: QueryFilter, _ limit: Int) throws -> String {
            try QueryTable.query([filter], sorts: [QuerySort("date")], limit: limit).condition
        }
        let shapes: [[QueryFilter]] = [
            [QueryFilter("text", .equals, "a"), QueryFilter("text", .equals, "'\"; DROP TABLE")],
            [QueryFilter("number", .in, .list([1, 2, 3])), QueryFilter("number", .in, .list([4, 5, 6, 7]))],
            [
                QueryFilter("texts", .listContainsAny, .list(["a"])),
                QueryFilter("texts", .listContainsAny, .list([] as [String])),
            ],
            [QueryFilter("note", .containsAllTokens, "a b"), QueryFilter("note", .containsAnyTokens, "c")],
            [
                QueryFilter("place", .near, .location(Location(latitude: 0, longitude: 0)), distance: 1),
                QueryFilter("place", .near, .location(Location(latitude: 90, longitude: 180)), distance: 1e7),
            ],
        ]
        for filters in shapes {
            #expect(Set(try filters.map { try condition($0, 5) } + filters.map { try condition($0, 6) }).count == 1)
        }
    }

    @Test func aNegativeLimitIsRefused() {
        let error = #expect(throws: StoreError.self) { try QueryTable.query([], limit: -1) }
        #expect(error?.code == .query)
        #expect(error?.message == "The limit of a query cannot be negative, but is -1.")
    }

    @Test func theEndOfAPrefixIsTheNextText() {
        let cases: [(String, String?)] = [
            ("a", "b"), ("az", "a{"), ("a\u{D7FF}", "a\u{E000}"), ("a\u{10FFFF}", "b"), ("\u{10FFFF}\u{10FFFF}", nil),
            ("", nil),
            ("\u{0}", "\u{1}"), ("e\u{301}", "e\u{302}"),
        ]
        for (prefix, end) in cases {
            #expect(QuerySemantics.successor(of: prefix).map { Array($0.utf8) } == end.map { Array($0.utf8) })
        }
    }

    // MARK: Plans

    @Test func indexedFieldsUseTheirIndexes() throws {
        let table = try QueryTable()
        let near = QueryFilter("place", .near, .location(Location(latitude: 1, longitude: 2)), distance: 1000)
        let searches: [(QueryFilter, String)] = [
            (QueryFilter("text", .equals, "a"), #"mist_index_Item.text ("text"=?)"#),
            (QueryFilter("text", .in, .list(["a", "b"])), #"mist_index_Item.text ("text"=?)"#),
            (QueryFilter("text", .beginsWith, "a"), #"mist_index_Item.text ("text">? AND "text"<?)"#),
            (QueryFilter("number", .lessThan, 1), #"mist_index_Item.number ("number"<?)"#),
            (QueryFilter("number", .greaterThanOrEquals, 1), #"mist_index_Item.number ("number">?)"#),
            (QueryFilter("date", .equals, .timestamp(Date())), #"mist_index_Item.date ("date"=?)"#),
            (QueryFilter("data", .equals, .bytes(Data())), #"mist_index_Item.data ("data"=?)"#),
            (QueryFilter("link", .equals, .reference(Reference(recordName: "A"))), #"mist_index_Item.link ("link"=?)"#),
            (near, "mist_index_Item.place (<expr>>? AND <expr><?)"),
            (
                QueryFilter(system: .recordName, .equals, .reference(Reference(recordName: "A"))),
                "sqlite_autoindex_Item_1 (_zone=? AND _recordName=?)"
            ),
        ]
        for (filter, index) in searches {
            let plan = try table.plan(QueryTable.query([filter])).map { $0.replacing("\"", with: "") }
            let expected = "SEARCH Item USING INDEX " + index.replacing("\"", with: "")
            #expect(plan.first == expected)
        }
    }

    @Test func ordersOfIndexesNeedNoSort() throws {
        let table = try QueryTable()
        let queries = [
            try QueryTable.query(),
            try QueryTable.query(sorts: [QuerySort(system: .recordName, ascending: false)]),
            try QueryTable.query(sorts: [QuerySort("text")]),
            try QueryTable.query(sorts: [QuerySort("number", ascending: false)], limit: 5),
            try QueryTable.query(
                [QueryFilter("number", .greaterThan, 1)],
                sorts: [QuerySort("number", ascending: false)]
            ),
            try QueryTable.query([QueryFilter("number", .equals, 1)], limit: 100),
            try QueryTable.query([QueryFilter("order", .equals, 1)], sorts: [QuerySort("text")], limit: 100),
        ]
        for query in queries {
            let plan = try table.plan(query)
            #expect(plan.count == 1, "\(query.condition): \(plan)")
            #expect(plan[0].contains("USING INDEX"), "\(plan)")
        }
        let sorted = try table.plan(QueryTable.query(sorts: [QuerySort("order")]))
        #expect(sorted.last == "USE TEMP B-TREE FOR ORDER BY")
    }

    // MARK: Results

    private func table(_ fields: [(String, CloudKitModel.Record.Fields)]) throws -> QueryTable {
        let table = try QueryTable()
        try table.insert(fields.map { CloudKitModel.Record(recordType: "Item", recordName: $0, fields: $1) })
        return table
    }

    @Test func textsAreComparedToTheirLastByte() throws {
        let table = try table([
            ("a", ["text": "x", "texts": .list(["x"])]), ("b", ["text": "x\u{0}", "texts": .list(["x\u{0}"])]),
            ("c", ["text": "x\u{0}a", "texts": .list(["x\u{0}a"])]),
            ("d", ["text": "x\u{0}b word", "texts": .list([] as [String])]),
            ("e", ["text": "e\u{301}", "texts": .list(["e\u{301}"])]), ("f", ["text": "é", "texts": .list(["é"])]),
        ])
        func find(_ filters: QueryFilter...) throws -> [String] {
            try table.find(QueryTable.query(filters, sorts: [QuerySort("text")]))
        }
        #expect(try find(QueryFilter("text", .equals, "x\u{0}")) == ["b"])
        #expect(try find(QueryFilter("text", .greaterThan, "x\u{0}a")) == ["d", "f"])
        #expect(try find(QueryFilter("text", .beginsWith, "x\u{0}")) == ["b", "c", "d"])
        #expect(try find(QueryFilter("text", .containsAnyTokens, "WORD")) == ["d"])
        #expect(try find(QueryFilter("text", .equals, "é")) == ["f"])
        #expect(try find(QueryFilter("texts", .listContains, "x\u{0}")) == ["b"])
        #expect(try find(QueryFilter("texts", .listContains, "e\u{301}")) == ["e"])
        #expect(try find(QueryFilter("texts", .listMemberBeginsWith, "x\u{0}")) == ["b", "c"])
        #expect(try find() == ["e", "a", "b", "c", "d", "f"])
    }

    @Test func aDateIsFoundByTheDateThatWasSaved() throws {
        let date = Date(timeIntervalSince1970: 1_686_106_171.024_9)
        let table = try table([("a", ["date": .timestamp(date)])])
        for comparator in [QueryFilter.Comparator.equals, .lessThanOrEquals, .greaterThanOrEquals] {
            #expect(try table.find(QueryTable.query([QueryFilter("date", comparator, .timestamp(date))])) == ["a"])
        }
    }

    @Test func negationsDoNotFindRecordsWithoutTheField() throws {
        let table = try table([("a", ["text": "x"]), ("b", [:])])
        for filter in [
            QueryFilter("text", .notEquals, "y"), QueryFilter("text", .notIn, .list([] as [String])),
            QueryFilter("text", .notIn, .list(["y"])), QueryFilter("text", .notBeginsWith, "y"),
        ] {
            #expect(try table.find(QueryTable.query([filter])) == ["a"])
        }
    }

    @Test func aScopeHasAllItsZonesThatAreNotGone() throws {
        let table = try table([("a", ["number": 1]), ("c", ["number": 2])])
        try table.database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO mist_zone (id, scope, name, state) VALUES (2, 1, 'Two', 1), (3, 1, 'Gone', 2), (4, 2, 'Shared', 1)
                    """
            )
        }
        for zone: ZoneRowID in [2, 3, 4] {
            try table.insert(
                [CloudKitModel.Record(recordType: "Item", recordName: zone == 2 ? "b" : "x", fields: ["number": 1])],
                in: zone
            )
        }
        #expect(try table.find(QueryTable.query(zones: .scope(1))) == ["a", "b", "c"])
        #expect(
            try table.find(QueryTable.query(sorts: [QuerySort("number")], limit: 2, zones: .scope(1))) == ["a", "b"]
        )
        #expect(try table.find(QueryTable.query(zones: .scope(2))) == ["x"])
        #expect(try table.find(QueryTable.query([QueryFilter("number", .equals, 1)], zones: .zone(2))) == ["b"])
        #expect(try table.find(QueryTable.query(limit: 0)) == [])
    }

    @Test func theParentIsWhereTheParentFieldPoints() throws {
        let fields = [
            RecordSchema.Field(name: "list", type: .reference, indexes: .queryable, isParent: true),
            RecordSchema.Field(name: "title", type: .string),
        ]
        let table = RecordTable(
            id: 1,
            recordType: "Todo",
            fields: fields.enumerated().map { StoredField(id: FieldID(Int64($0)), schema: $1) }
        )
        let parent = QueryFilter(system: .parent, .equals, .reference(Reference(recordName: "home")))
        let query = try QueryTable.query([parent], in: table)
        #expect(query.condition == #"+_zone = ? AND "Todo"."list" = ? ORDER BY _recordName"#)
    }

    @Test func whatAnotherProgramWroteWrongMatchesNothing() throws {
        let table = try QueryTable()
        try table.database.write { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try db.execute(sql: #"INSERT INTO "Item" (_recordName, "texts", "spot") VALUES ('a', 'no list', '{')"#)
        }
        let near = QueryFilter("spot", .near, .location(Location(latitude: 1, longitude: 2)), distance: 1000)
        for filter in [near, QueryFilter("texts", .listContains, "a"), QueryFilter("texts", .notListContains, "a")] {
            #expect(try table.find(QueryTable.query([filter])).isEmpty)
        }
    }

    // MARK: What is refused

    private static let refused: [(QueryFilter, field: String?, reason: String)] = [
        (QueryFilter("nothing", .equals, 1), "nothing", "The record type has no field of this name."),
        (QueryFilter("recordName", .equals, "a"), "recordName", "The record type has no field of this name."),
        (
            QueryFilter(fieldName: nil, comparator: .equals, fieldValue: 1), nil, "A filter or a sort names no field."
        ),
        (QueryFilter("text", "SOUNDS_LIKE", "a"), "text", "The comparator SOUNDS_LIKE is not known."),
        (
            QueryFilter("secret", .equals, "a"), "secret",
            "The field is encrypted. The service cannot compare encrypted fields."
        ),
        (QueryFilter("texts", .equals, "a"), "texts", "A field of type STRING_LIST has no comparator EQUALS."),
        (QueryFilter("data", .lessThan, .bytes(Data())), "data", "A field of type BYTES has no comparator LESS_THAN."),
        (
            QueryFilter("number", .equals, 1.0), "number",
            "The filter compares a field of type INT64 with a value of type DOUBLE."
        ),
        (
            QueryFilter("ratio", .equals, 18), "ratio",
            "The filter compares a field of type DOUBLE with a value of type INT64."
        ),
        (
            QueryFilter("number", .equals, .null), "number",
            "The filter compares a field of type INT64 with a value of no type."
        ),
        (
            QueryFilter("ratio", .lessThan, .double(.nan)), "ratio",
            "The service has no form for a number that is infinite, or not a number."
        ),
        (QueryFilter("number", .in, 1), "number", "The comparator takes a list of values."),
        (
            QueryFilter("number", .in, .list(Array(0...250))), "number",
            "A filter compares with at most 250 values, not 251."
        ),
        (QueryFilter("text", .beginsWith, 1), "text", "The comparator takes a text."),
        (QueryFilter("text", .containsAllTokens, " ,"), "text", "The text to search for has no letter and no digit."),
        (
            QueryFilter("place", .near, .location(Location(latitude: 91, longitude: 0)), distance: 1), "place",
            "NEAR needs a location with a latitude and a longitude on Earth."
        ),
        (
            QueryFilter("place", .near, .location(Location(latitude: 1, longitude: 0))), "place",
            "NEAR needs a distance of 0 metres or more."
        ),
    ]

    @Test func theErrorNamesTheFieldAndTheReason() throws {
        for (filter, field, reason) in Self.refused {
            let error = #expect(throws: StoreError.self) { try QueryTable.query([filter]) }
            #expect(error == StoreError(.query, reason, recordType: "Item", fieldName: field))
        }
        let sorts: [(QuerySort, String, String)] = [
            (QuerySort("nothing"), "nothing", "The record type has no field of this name."),
            (QuerySort("texts"), "texts", "Records cannot be sorted by a field of type STRING_LIST."),
            (
                QuerySort("text", distanceFrom: Location(latitude: 0, longitude: 0)), "text",
                "Sorting by distance needs a field of type LOCATION and a location on Earth."
            ),
        ]
        for (sort, field, reason) in sorts {
            let error = #expect(throws: StoreError.self) { try QueryTable.query(sorts: [sort]) }
            #expect(error == StoreError(.query, reason, recordType: "Item", fieldName: field))
        }
    }
}
