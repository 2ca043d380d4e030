import Foundation
import GRDB
import MistModels
import MistStore

@CloudKitRecord
struct Item {
    @CloudKitField(.queryable) var shelf: Int
    @CloudKitField(.sortable) var title: String
    var author: String
    var pages: Int
    var price: Double
    var added: Date
}

/// Finds 100 of a million records by an indexed field, beside the same statement in GRDB.
///
/// ```
/// swift run -c release LocalQueries
/// // 1000000 records, 100 of each shelf
/// // MistStore, typed records: 1299 µs, 1.00
/// // GRDB, rows: 882 µs, 1.47
/// // GRDB, by position into a struct: 845 µs, 1.54
/// ```
///
/// These are medians of 1,400 queries in turns, on two busy cores. Most of the time goes to pages of the file, which is far larger than
/// SQLite's cache.
///
/// GRDB runs the store's statement from its cache, on a connection of its own to the same file. It reads rows, or rows whose columns are
/// read by their positions into a struct. The store gives typed records, with their system fields. The last line reads the table
/// alone: the change tag of a record is in another table.
@main
struct Main {
    static let perShelf = 100

    static func main() async throws {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
        let folder = FileManager.default.temporaryDirectory.appending(path: "LocalQueries-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try MistStore(at: folder, records: [Item.self])
        let path = folder.appending(path: "user.sqlite").path
        let pool = try DatabasePool(path: path)
        try await fill(pool, count)
        print("\(count) records, \(perShelf) of each shelf")

        let items = store.privateDatabase
        let columns = "\"shelf\", \"title\", \"author\", \"pages\", \"price\", \"added\""
        let end = "WHERE +_zone = ? AND \"shelf\" = ? ORDER BY \"title\", _recordName"
        let same = """
            SELECT _recordName, _createdTimestamp, _modifiedTimestamp, \(columns), service.tag, service.other
            FROM "Item" LEFT JOIN mist_record AS service ON service.zone = _zone AND service.name = _recordName \(end)
            """
        let tableAlone = "SELECT _recordName, _createdTimestamp, _modifiedTimestamp, \(columns) FROM \"Item\" \(end)"
        let shelves = count / perShelf
        let zone = try await pool.read { db in try Int64.fetchOne(db, sql: "SELECT _zone FROM \"Item\"") ?? 0 }
        var times: [[Double]] = [[], [], [], []]
        for round in 0..<1500 {
            let shelf = (round &* 7919) % shelves
            // In turns, each first for as often.
            for turn in 0..<4 {
                let contestant = (turn + round) % 4
                let start = ContinuousClock.now
                let found: Int
                switch contestant {
                case 0:
                    found = try await items.find(
                        Query<Item> {
                            Filter(\.shelf == shelf)
                            Sort(\.title)
                        }
                    ).count
                case 1:
                    found = try await pool.read { db in
                        try Row.fetchAll(db.cachedStatement(sql: same), arguments: [zone, shelf]).count
                    }
                default:
                    let sql = contestant == 2 ? same : tableAlone
                    found = try await pool.read { db in
                        let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [zone, shelf])
                        var items: [RowItem] = []
                        while let row = try rows.next() { items.append(RowItem(row)) }
                        return items.count
                    }
                }
                let duration = start.duration(to: .now)
                guard found == perShelf else { throw Failure("\(found) records were found, not \(perShelf).") }
                if round >= 100 { times[contestant].append(duration / .microseconds(1)) }
            }
        }
        let names = [
            "MistStore, typed records", "GRDB, rows", "GRDB, by position into a struct",
            "GRDB, without the service's version",
        ]
        let medians = times.map { $0.sorted()[$0.count / 2] }
        for (name, median) in zip(names, medians) {
            print("\(name): \(Int(median.rounded())) µs, \(String(format: "%.2f", medians[0] / median))")
        }
    }

    struct RowItem {
        let name: String
        let created: Int64?
        let modified: Int64?
        let shelf: Int
        let title: String
        let author: String
        let pages: Int
        let price: Double
        let added: Date

        init(_ row: Row) {
            name = row[0]
            created = row[1]
            modified = row[2]
            shelf = row[3]
            title = row[4]
            author = row[5]
            pages = row[6]
            price = row[7]
            added = Date(timeIntervalSince1970: Double(row[8] as Int64) / 1000)
        }
    }

    /// Records that were synchronised: the store's triggers rest, and each has its row in `mist_record`.
    static func fill(_ pool: DatabasePool, _ count: Int) async throws {
        try await pool.write { db in
            try db.execute(sql: "UPDATE mist_state SET applying = 1")
            try db.execute(
                sql: """
                    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
                    INSERT INTO "Item" (_createdTimestamp, _modifiedTimestamp, "shelf", "title", "author", "pages", "price", "added")
                    SELECT 1700000000000 + i, 1700000000000 + i, i * 31 % ?, 'Title ' || (i * 7919 % 100003), 'Author ' || (i % 977),
                        i % 1000, i / 100.0, 1600000000000 + i * 1000
                    FROM n
                    """,
                arguments: [count, count / perShelf]
            )
            try db.execute(
                sql: """
                    INSERT INTO mist_record (type, zone, name, row, tag, created, modified)
                    SELECT (SELECT id FROM mist_type WHERE name = 'Item'), _zone, _recordName, _id, 'tag', _createdTimestamp,
                        _modifiedTimestamp
                    FROM "Item"
                    """
            )
            try db.execute(sql: "UPDATE mist_state SET applying = 0")
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }
}
