import CloudKitModel
import GRDB
import Testing

@testable import CloudKitEmulator

/// SQLite's query plans: a query on one field is one scan of an index, regardless of the number of records.
struct QueryPlanTests {
    /// The steps of SQLite's plan, and whether the records come in order.
    private func explain(_ filters: [QueryFilter] = [], _ sorts: [QuerySort] = []) throws -> (
        steps: [String], streams: Bool
    ) {
        let items = try Items()
        let (steps, streams) = try items.world.asAnn().explain(
            RecordQuery(recordType: "Item", filters: filters, sorts: sorts),
            zoneID: World.notes
        )
        #expect(steps.first == "CO-ROUTINE walk")
        #expect(steps.suffix(2) == ["SCAN walk", "SEARCH record USING INTEGER PRIMARY KEY (rowid=?)"])
        return (Array(steps.dropFirst().dropLast(2)), streams)
    }

    @Test func oneFieldIsOneWalkWithoutSorting() throws {
        let walk = "SEARCH e USING PRIMARY KEY (field=? AND zone=?"
        let cases: [([QueryFilter], [QuerySort], String)] = [
            ([QueryFilter("count", .equals, 1)], [], walk + " AND value=?)"),
            ([QueryFilter("tags", .listContains, "red")], [], walk + " AND value=?)"),
            ([QueryFilter("name", .containsAllTokens, "Anna")], [], walk + " AND word=?)"),
            ([QueryFilter("name", .containsAnyTokens, "anna")], [], walk + " AND word=?)"),
            ([QueryFilter("count", .greaterThan, 1)], [], walk + " AND value>?)"),
            ([QueryFilter("count", .lessThan, 1)], [], walk + " AND value>? AND value<?)"),
            ([QueryFilter("name", .beginsWith, "A")], [], walk + " AND value>? AND value<?)"),
            ([], [QuerySort("count")], walk + ")"),
            ([], [QuerySort("count", ascending: false)], walk + ")"),
            ([QueryFilter("count", .greaterThan, 1)], [QuerySort("count", ascending: false)], walk + " AND value>?)"),
            ([], [], "SEARCH r USING INDEX record_created_order (zone=? AND type=?)"),
            (
                [], [QuerySort(system: .createdTimestamp)],
                "SEARCH r USING INDEX record_created_order (zone=? AND type=?)"
            ),
            (
                [], [QuerySort(system: .modifiedTimestamp, ascending: false)],
                "SEARCH r USING INDEX record_modified_order (zone=? AND type=?)"
            ),
        ]
        for (filters, sorts, expected) in cases {
            let plan = try explain(filters, sorts)
            #expect(plan.steps == [expected])
            #expect(plan.streams)
        }
    }

    @Test func severalValuesAreMergedInOrder() throws {
        let plan = try explain([QueryFilter("count", .in, .list([1, 2] as [Int64]))])
        #expect(plan.streams)
        #expect(!plan.steps.contains { $0.contains("SCAN") || $0.contains("TEMP B-TREE") })
    }

    @Test func aSecondFilterIsASingleStepForEachRecord() throws {
        let plan = try explain([QueryFilter("count", .equals, 1), QueryFilter("tags", .listContains, "red")])
        #expect(plan.steps.contains { $0.hasPrefix("SEARCH p ") && $0.contains("record=?") })
        #expect(!plan.steps.contains { $0.contains("SCAN") && !$0.contains("CONSTANT ROW") })
    }

    @Test func aWordIsASingleStepForEachRecordOfAnotherWord() throws {
        let plan = try explain([QueryFilter("name", .containsAllTokens, "anna b")])
        #expect(plan.steps.first == "SEARCH e USING PRIMARY KEY (field=? AND zone=? AND word=?)")
        #expect(plan.steps.last == "SEARCH p USING PRIMARY KEY (field=? AND zone=? AND word=? AND record=?)")
        let any = try explain([QueryFilter("name", .containsAnyTokens, "anna b c")])
        #expect(!any.steps.contains { $0.contains("SCAN") || $0.contains("TEMP B-TREE") })
        let anyField = try explain([QueryFilter(comparator: .containsAllTokens, fieldValue: "anna b")])
        #expect(!anyField.steps.contains { $0.contains("SCAN") || $0.contains("TEMP B-TREE") })
        #expect(plan.streams && any.streams)
    }

    /// The number of words of a filter is not the number of terms of a statement.
    @Test func veryManyWordsAreASmallStatement() throws {
        let items = try Items()
        let words = (0..<40_000).map { "w\($0)" }.joined(separator: " ")
        for comparator in [QueryFilter.Comparator.containsAllTokens, .containsAnyTokens] {
            for filter in [
                QueryFilter("name", comparator, .string(words)),
                QueryFilter(comparator: comparator, fieldValue: .string(words)),
            ] {
                #expect(try items.world.find(RecordQuery(recordType: "Item", filters: [filter])) == [])
            }
        }
    }

    /// A filter that leaves few of many records is gathered, also where these few are thousands.
    @Test(arguments: [
        // Matches, records, whether each record on the way is read, whether records come in the order of the sort.
        (100, 100, false, true), (100, 100, true, false), (1000, 1000, false, true), (100, 100_000, false, false),
        (1999, 99_950, false, false), (2000, 100_000, false, false), (2000, 100_000, true, false),
        (4000, 100_000, true, false), (10_000, 100_000, false, true), (10_000, 100_000, true, true),
        (5000, 1_000_000, false, false), (15_000, 1_000_000, false, true), (15_000, 1_000_000, true, true),
        (20_000, 1_000_000, true, true),
    ])
    func whetherAQueryFollowsItsSortDependsOnTheCost(
        _ matches: Int,
        _ records: Int,
        _ readsEachRecord: Bool,
        _ streams: Bool
    ) {
        #expect(
            QueryPlan.streams(page: 200, matches: matches, records: records, readsEachRecord: readsEachRecord)
                == streams
        )
    }

    @Test func nearLooksOnlyBetweenTwoLatitudes() throws {
        let here = FieldValue.location(Location(latitude: 59.9, longitude: 10.7))
        let plan = try explain([QueryFilter("place", .near, here, distance: 1000)])
        #expect(plan.steps.first == "SEARCH e USING PRIMARY KEY (field=? AND zone=? AND latitude>? AND latitude<?)")
    }
}

extension RequestContext {
    /// How SQLite answers a query: the lines of its plan, and whether the records come in order.
    fileprivate func explain(_ query: RecordQuery, zoneID: ZoneID) throws -> (steps: [String], streams: Bool) {
        try read { context in
            let zone = try context.zone(zoneID)
            let type = try #require(try context.schema()[query.recordType])
            let plan = try QueryPlan(
                conditions: try query.filters.map { try QueryCondition($0, of: type, configuration: configuration) },
                sorts: try QueryOrder(query.sorts, of: type),
                type: type,
                zones: [zone.id],
                limit: 200,
                db: context.db
            )
            let (sql, arguments) = plan.access.recordsStatement(zones: [zone.id])
            let rows = try context.db.rows("EXPLAIN QUERY PLAN " + sql, arguments)
            return (rows.map { $0["detail"] }, plan.streams)
        }
    }
}
