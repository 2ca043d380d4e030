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
                db: context.db
            )
            let (sql, arguments) = plan.access.recordsStatement(zones: [zone.id])
            let rows = try context.db.rows("EXPLAIN QUERY PLAN " + sql, arguments)
            return (rows.map { $0["detail"] }, plan.streams)
        }
    }
}
