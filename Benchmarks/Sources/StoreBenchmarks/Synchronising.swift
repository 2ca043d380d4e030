import Foundation
import GRDB
import MistStore

/// Fetches all articles of an emulator over a socket: a store, beside the client's loop over the same changes.
///
/// Afterwards all rows of the store's file are clean. The size of the file is compared with that of a file that has the
/// same table alone.
struct Pulling {
    let options: Main.Options

    func findings() async throws -> [Finding] {
        try await ChildProcess.withEmulator(records: options.records) { address in
            var bare: [ChildProcess.Outcome] = []
            var stores: [ChildProcess.Outcome] = []
            var size: Finding?
            for round in 0..<options.rounds {
                for turn in 0..<2 {
                    if (round + turn) % 2 == 0 {
                        bare.append(try ChildProcess.outcome(of: .fetchBare, address.arguments))
                    } else {
                        try await withTemporaryFolder { folder in
                            let arguments = [folder.path] + address.arguments
                            stores.append(try ChildProcess.outcome(of: .fetchStore, arguments))
                            if size == nil { size = try sizeOfCleanRows(in: folder) }
                        }
                    }
                }
            }
            guard (bare + stores).allSatisfy({ $0.records == options.records }) else {
                throw Failure("A run did not fetch all records.")
            }
            let idle = stores.map(\.idleRequests).max() ?? 0
            return [
                .rates("first pull over a socket", stores, bare, atLeast: 0.7), .memory("pull", stores, limit: 80),
                .locks("pull", stores),
            ] + [size].compactMap(\.self) + [
                Finding(
                    "a cycle in which nothing changed",
                    figure: "\(idle) request",
                    budget: "1 a scope",
                    isMet: idle == 1
                )
            ]
        }
    }

    /// Compares the file of a store with one that has the same rows in a table with the same columns and the same
    /// unique index.
    private func sizeOfCleanRows(in folder: URL) throws -> Finding {
        let store = folder.appending(path: "user.sqlite")
        let plain = try DatabaseQueue(path: folder.appending(path: "plain.sqlite").path)
        let size = try plain.writeWithoutTransaction { db in
            try db.execute(sql: Writing.baseline)
            try db.execute(sql: "ATTACH ? AS store", arguments: [store.path])
            let columns = try db.columns(in: "Article").map { "\"\($0.name)\"" }.joined(separator: ", ")
            try db.execute(sql: #"INSERT INTO "Article" (\#(columns)) SELECT \#(columns) FROM store."Article""#)
            func bytes(_ schema: String) throws -> Int {
                let pages = try Int.fetchOne(db, sql: "PRAGMA \(schema).page_count") ?? 0
                return try pages * (Int.fetchOne(db, sql: "PRAGMA \(schema).page_size") ?? 0)
            }
            return (try bytes("store"), try bytes("main"))
        }
        return Finding(
            "bytes on disk of clean rows",
            store: "\(size.0 / options.records) a record",
            baseline: "\(size.1 / options.records)",
            ratios: [Double(size.0) / Double(size.1)],
            atMost: 1.25
        )
    }
}

/// Sends articles to an emulator over a socket: a store, beside the client's loop that creates the same records.
struct Pushing {
    let options: Main.Options

    func findings() async throws -> [Finding] {
        try await withTemporaryFolder { folder in
            // The store whose records are sent. It is filled once and copied for each run.
            let template = folder.appending(path: "template")
            try await fill(template)
            var bare: [ChildProcess.Outcome] = []
            var stores: [ChildProcess.Outcome] = []
            for round in 0..<options.rounds {
                for turn in 0..<2 {
                    // Each run has an emulator of its own, so that every run begins with an empty one.
                    try await ChildProcess.withEmulator(records: 0) { address in
                        if (round + turn) % 2 == 0 {
                            let arguments = ["\(options.records)"] + address.arguments
                            bare.append(try ChildProcess.outcome(of: .sendBare, arguments))
                        } else {
                            let copy = folder.appending(path: "copy")
                            try FileManager.default.copyItem(at: template, to: copy)
                            defer { try? FileManager.default.removeItem(at: copy) }
                            let arguments = [copy.path] + address.arguments
                            stores.append(try ChildProcess.outcome(of: .sendStore, arguments))
                        }
                    }
                }
            }
            guard (bare + stores).allSatisfy({ $0.records == options.records }) else {
                throw Failure("A run did not send all records.")
            }
            return [
                .rates("push of local records over a socket", stores, bare, atLeast: 0.5),
                .memory("push", stores, limit: nil), .locks("push", stores),
            ]
        }
    }

    private func fill(_ folder: URL) async throws {
        var configuration = StoreConfiguration()
        configuration.zones = .single(ChildProcess.zone.zoneName)
        let store = try MistStore(at: folder, records: [Article.self], configuration: configuration)
        let pool = try Writing.open(folder.appending(path: "user.sqlite"))
        for first in stride(from: 0, to: options.records, by: 2000) {
            try await pool.write { db in
                let statement = try db.cachedStatement(sql: Writing.insert)
                for number in first..<min(first + 2000, options.records) {
                    let values = [Article.name(number)] + Article.texts(number)
                    try statement.execute(arguments: StatementArguments(values))
                }
            }
        }
        try pool.close()
        try store.close()
    }
}

extension Finding {
    /// Records a second, by wall-clock time.
    fileprivate static func rates(
        _ what: String,
        _ stores: [ChildProcess.Outcome],
        _ bare: [ChildProcess.Outcome],
        atLeast: Double
    ) -> Finding {
        func text(_ outcomes: [ChildProcess.Outcome]) -> String {
            let seconds = decimals(median(outcomes.map(\.processorSeconds)))
            return "\(Int(median(outcomes.map(\.rate)))) a second, \(seconds) s of a processor"
        }
        return Finding(
            what,
            store: text(stores),
            baseline: text(bare),
            ratios: zip(stores, bare).map { $0.rate / $1.rate },
            atLeast: atLeast
        )
    }

    /// The largest peak of memory, against a limit in MB.
    fileprivate static func memory(_ what: String, _ outcomes: [ChildProcess.Outcome], limit: Double?) -> Finding {
        let megabytes = Double(outcomes.map(\.peakBytes).max() ?? 0) / 1e6
        return Finding(
            "peak memory of the \(what)",
            figure: "\(decimals(megabytes, 0)) MB",
            budget: limit.map { "\(decimals($0, 0)) MB" } ?? "-",
            isMet: limit.map { megabytes <= $0 }
        )
    }

    /// How long the engine held the write lock.
    fileprivate static func locks(_ what: String, _ outcomes: [ChildProcess.Outcome]) -> Finding {
        let milliseconds = outcomes.flatMap(\.locks).map { $0 * 1000 }
        let most = percentile(0.99, of: milliseconds)
        return Finding(
            "write lock held by the engine, \(what)",
            figure: """
                99 %: \(decimals(most, 1)) ms; median \(decimals(median(milliseconds), 1)), longest \
                \(decimals(milliseconds.max() ?? 0, 1)) of \(milliseconds.count)
                """,
            budget: "20 ms",
            isMet: most <= 20
        )
    }
}
