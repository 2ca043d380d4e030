import Foundation
import GRDB
import MistStore

/// A store of many items that are all synchronised, 100 of each shelf.
enum LargeStore {
    static let perShelf = 100

    static func fill(_ folder: URL, _ count: Int) async throws {
        try MistStore(at: folder, records: [Item.self]).close()
        let pool = try Writing.open(folder.appending(path: "user.sqlite"))
        try await pool.write { db in
            try db.execute(sql: "UPDATE mist_state SET applying = 1")
            try db.execute(
                sql: """
                    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
                    INSERT INTO "Item" (
                        _createdTimestamp, _modifiedTimestamp, _changeTag, "shelf", "title", "author", "pages", "price", "added"
                    )
                    SELECT 1700000000000 + i, 1700000000000 + i, 'tag', i * 31 % ?, 'Title ' || (i * 7919 % 100003),
                        'Author ' || (i % 977), i % 1000, i / 100.0, 1600000000000 + i * 1000
                    FROM n
                    """,
                arguments: [count, max(1, count / perShelf)]
            )
            try db.execute(
                sql: """
                    INSERT INTO mist_record (type, zone, name, row, tag, created, modified)
                    SELECT (SELECT id FROM mist_type WHERE name = 'Item'), _zone, _recordName, _id, _changeTag,
                        _createdTimestamp, _modifiedTimestamp
                    FROM "Item"
                    """
            )
            try db.execute(sql: "UPDATE mist_state SET applying = 0")
        }
        try pool.close()
    }

    /// Runs `body` with a store of `count` items, and a connection of GRDB to the same file.
    static func with<Value>(
        _ count: Int,
        _ body: (URL, MistStore, DatabasePool) async throws -> Value
    ) async throws -> Value {
        try await withTemporaryFolder { folder in
            try await fill(folder, count)
            let store = try MistStore(at: folder, records: [Item.self])
            let pool = try Writing.open(folder.appending(path: "user.sqlite"))
            let value = try await body(folder, store, pool)
            try pool.close()
            try store.close()
            return value
        }
    }
}

/// Opens a store with nothing pending.
struct Opening {
    let options: Main.Options

    func findings() async throws -> [Finding] {
        try await LargeStore.with(options.rows) { folder, _, _ in
            var milliseconds: [Double] = []
            for _ in 0..<max(7, options.rounds) {
                let start = ContinuousClock.now
                let store = try MistStore(at: folder, records: [Item.self])
                milliseconds.append(start.duration(to: .now) / .milliseconds(1))
                try store.close()
            }
            let time = median(milliseconds)
            return [
                Finding(
                    "opening a store of \(options.rows) rows",
                    figure: "\(decimals(time, 1)) ms",
                    budget: "100 ms",
                    isMet: time <= 100
                )
            ]
        }
    }
}

/// Finds 100 of many records by an indexed field, beside the same statement in GRDB, which reads the columns by their
/// positions.
struct Finding100 {
    let options: Main.Options

    func findings() async throws -> [Finding] {
        try await LargeStore.with(options.rows) { _, store, pool in
            let items = store.privateDatabase
            let shelves = max(1, options.rows / LargeStore.perShelf)
            let zone = try await pool.read { db in try Int64.fetchOne(db, sql: #"SELECT _zone FROM "Item""#) ?? 0 }
            let end = #"FROM "Item" WHERE +_zone = ? AND "shelf" = ? ORDER BY "title", _recordName"#
            let same = "SELECT \(PositionalItem.columns), \(LocalStatement.otherFields) \(end)"
            let joined = """
                SELECT _recordName, _createdTimestamp, _modifiedTimestamp, service.tag, "shelf", "title", "author", "pages",
                    "price", "added", service.other
                FROM "Item" LEFT JOIN mist_record AS service ON service.zone = _zone AND service.name = _recordName
                WHERE +_zone = ? AND "shelf" = ? ORDER BY "title", _recordName
                """
            var times: [[Double]] = [[], [], []]
            let queries = 300 * options.rounds
            for round in 0..<queries {
                let shelf = (round &* 7919) % shelves
                // The contenders run in turns; each is the first in a third of the rounds.
                for turn in 0..<3 {
                    let contender = (turn + round) % 3
                    let start = ContinuousClock.now
                    let found: Int
                    if contender == 0 {
                        found = try await items.find(
                            Query<Item> {
                                Filter(\.shelf == shelf)
                                Sort(\.title)
                            }
                        ).count
                    } else {
                        let sql = contender == 1 ? same : joined
                        found = try await pool.read { db in
                            let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [zone, shelf])
                            var items: [PositionalItem] = []
                            while let row = try rows.next() { items.append(PositionalItem(row)) }
                            return items.count
                        }
                    }
                    let time = start.duration(to: .now) / .microseconds(1)
                    guard found == LargeStore.perShelf else { throw Failure("\(found) records were found.") }
                    if round >= queries / 10 { times[contender].append(time) }
                }
            }
            let medians = times.map(median)
            return [
                Finding(
                    "find 100 of \(options.rows) by an indexed field; the same statement in GRDB",
                    store: "\(decimals(medians[0], 0)) µs",
                    baseline: "\(decimals(medians[1], 0)) µs",
                    ratios: [medians[0] / medians[1]],
                    atMost: 1.3
                ),
                Finding(
                    "the same; a statement that joins the engine's table",
                    store: "\(decimals(medians[0], 0)) µs",
                    baseline: "\(decimals(medians[2], 0)) µs",
                    ratios: [medians[0] / medians[2]]
                ),
            ]
        }
    }
}

enum LocalStatement {
    /// The fields of a record that have no column, as the store's statement reads them.
    static let otherFields = """
        (SELECT other FROM mist_record WHERE type = 1 AND row = "Item"._id AND other IS NOT NULL)
        """
}

/// Reads all records as typed ones, beside GRDB.
struct ReadingAll {
    let options: Main.Options

    func findings() async throws -> [Finding] {
        try await LargeStore.with(options.records) { _, store, pool in
            let items = store.privateDatabase
            let zone = try await pool.read { db in try Int64.fetchOne(db, sql: #"SELECT _zone FROM "Item""#) ?? 0 }
            let columns = PositionalItem.columns
            let same = """
                SELECT \(columns), \(LocalStatement.otherFields) FROM "Item" WHERE _zone = ? ORDER BY _recordName
                """
            let plain = "SELECT \(columns) FROM \"Item\" WHERE _zone = ?"
            var times: [[Double]] = [[], [], [], []]
            for round in 0..<options.rounds {
                for turn in 0..<4 {
                    let contender = (turn + round) % 4
                    let start = processorTime()
                    let count: Int
                    switch contender {
                    case 0: count = try await items.find(Query<Item>()).count
                    case 3:
                        count = try await pool.read { db in
                            try DecodableItem.fetchAll(db, sql: plain, arguments: [zone]).count
                        }
                    default:
                        let sql = contender == 1 ? same : plain
                        count = try await pool.read { db in
                            let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [zone])
                            var items: [PositionalItem] = []
                            while let row = try rows.next() { items.append(PositionalItem(row)) }
                            return items.count
                        }
                    }
                    times[contender].append(Double(options.records) / (processorTime() - start))
                    guard count == options.records else { throw Failure("\(count) records were read.") }
                }
            }
            func rate(_ index: Int) -> String { "\(Int(median(times[index]))) a second" }
            func finding(_ baseline: String, _ index: Int, atLeast: Double) -> Finding {
                Finding(
                    "reading typed records; \(baseline)",
                    store: rate(0),
                    baseline: rate(index),
                    ratios: zip(times[0], times[index]).map { $0 / $1 },
                    atLeast: atLeast
                )
            }
            return [
                finding("GRDB by position, the same statement", 1, atLeast: 0.35),
                finding("GRDB by position, the table alone", 2, atLeast: 0.35),
                finding("GRDB's Codable, the table alone", 3, atLeast: 1),
            ]
        }
    }
}
