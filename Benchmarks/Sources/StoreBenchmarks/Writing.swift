import Foundation
import GRDB
import MistStore

/// Inserts and updates in plain SQL, 200 in a transaction, into a table of the store and into one without triggers.
///
/// The baseline has the same columns and the same unique index of names. Neither table checks its columns.
struct Writing {
    let options: Main.Options

    private static let batch = 200

    static let baseline = """
        CREATE TABLE "Article" (
            _id INTEGER PRIMARY KEY AUTOINCREMENT, _zone INTEGER NOT NULL DEFAULT 1, _recordName TEXT NOT NULL,
            _createdTimestamp INTEGER, _createdUser INTEGER, _modifiedTimestamp INTEGER, _modifiedUser INTEGER,
            _changeTag TEXT,
            "title" TEXT, "author" TEXT, "link" TEXT, "summary" TEXT, "body" TEXT,
            UNIQUE (_zone, _recordName)
        )
        """

    static let insert = """
        INSERT INTO "Article" (_recordName, "title", "author", "link", "summary", "body") VALUES (?, ?, ?, ?, ?, ?)
        """
    private static let updateOne = #"UPDATE "Article" SET "title" = ? WHERE _zone = ? AND _recordName = ?"#
    private static let updateAll = """
        UPDATE "Article" SET "title" = ?, "author" = ?, "link" = ?, "summary" = ?, "body" = ?
        WHERE _zone = ? AND _recordName = ?
        """

    func findings() async throws -> [Finding] {
        try await withTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Article.self])
            try store.close()
            let ours = try Self.open(folder.appending(path: "user.sqlite"))
            let plain = try Self.open(folder.appending(path: "plain.sqlite"))
            try await plain.write { try $0.execute(sql: Self.baseline) }
            let zone = try await ours.read { db in
                try Int64.fetchOne(db, sql: "SELECT id FROM mist_zone WHERE scope = 1") ?? 0
            }
            let inserts = try await compare(ours, plain) { number in
                [.text(Article.name(number))] + Article.texts(number).map(Argument.text)
            } sql: {
                Self.insert
            }
            let count = options.records
            try await ours.write { try Self.makeClean($0) }
            let one = try await compare(ours, plain) { number in
                [.text(Article.texts(number + count)[0]), .number(zone), .text(Article.name(number))]
            } sql: {
                Self.updateOne
            }
            try await ours.write { try Self.makeClean($0) }
            let all = try await compare(ours, plain) { number in
                Article.texts(number + 2 * count).map(Argument.text) + [.number(zone), .text(Article.name(number))]
            } sql: {
                Self.updateAll
            }
            return [
                inserts.finding("insert, 200 a transaction", atMost: 1.5),
                one.finding("update one field of five, 200 a transaction", atMost: 2),
                all.finding("update five fields of five, 200 a transaction", atMost: 2),
            ]
        }
    }

    private enum Argument: Sendable {
        case text(String)
        case number(Int64)
    }

    private struct Times {
        var ours: [Double] = []
        var plain: [Double] = []

        func finding(_ what: String, atMost: Double) -> Finding {
            Finding(
                what,
                store: "\(decimals(median(ours) * 1e6, 1)) µs",
                baseline: "\(decimals(median(plain) * 1e6, 1)) µs",
                ratios: zip(ours, plain).map { $0 / $1 },
                atMost: atMost
            )
        }
    }

    /// The processor seconds for each row, in rounds that cover all records. In each round the files take turns by
    /// batches.
    private func compare(
        _ ours: DatabasePool,
        _ plain: DatabasePool,
        values: (Int) -> [Argument],
        sql: () -> String
    ) async throws -> Times {
        var times = Times()
        let batches = max(options.rounds, options.records / Self.batch)
        let statement = sql()
        for round in 0..<options.rounds {
            var seconds = [0.0, 0.0]
            let range = (batches * round / options.rounds)..<(batches * (round + 1) / options.rounds)
            for number in range {
                let rows = (number * Self.batch..<(number + 1) * Self.batch).map(values)
                for turn in 0..<2 {
                    let index = (turn + number) % 2
                    let start = processorTime()
                    try await [ours, plain][index].write { db in
                        let statement = try db.cachedStatement(sql: statement)
                        for row in rows {
                            try statement.execute(
                                arguments: StatementArguments(
                                    row.map { value -> any DatabaseValueConvertible in
                                        switch value {
                                        case .text(let text): text
                                        case .number(let number): number
                                        }
                                    }
                                )
                            )
                        }
                    }
                    seconds[index] += processorTime() - start
                }
            }
            let rows = Double(range.count * Self.batch)
            times.ours.append(seconds[0] / rows)
            times.plain.append(seconds[1] / rows)
        }
        return times
    }

    /// Opens a file as the store does.
    static func open(_ file: URL) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            if db.configuration.readonly { try db.execute(sql: "PRAGMA temp_store = MEMORY") }
        }
        return try DatabasePool(path: file.path, configuration: configuration)
    }

    /// Makes all rows look as if they were acknowledged.
    private static func makeClean(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM mist_edit;
                INSERT INTO mist_record (type, zone, name, row, tag, created, modified)
                    SELECT (SELECT id FROM mist_type WHERE name = 'Article'), _zone, _recordName, _id, 'tag', 0, 0 FROM "Article"
                    WHERE true ON CONFLICT DO NOTHING;
                """
        )
    }
}
