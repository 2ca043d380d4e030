import Foundation
import GRDB
import MistKit
import MistModels
import MistStore
import MistTesting

/// A note that twenty devices edit.
@CloudKitRecord
struct Note {
    var title: String
    var text: String
    @CloudKitField(.counter) var views = 0
}

/// What a month of many devices leaves in their files: 20 devices that each edit 100 random records a day for 30 days of
/// virtual time, and synchronise once a day.
///
/// A store keeps the time of each field's last edit, and what each device has added to a counter. Both must stay bounded,
/// however often the records are edited. The baseline is a device that fetches the same records for the first time.
struct ManyDevices {
    static let devices = 20
    static let days = 30
    static let edits = 100

    let options: Main.Options
    private var records: Int { max(options.records / 2, 1) }

    func findings() async throws -> [Finding] {
        try await withTemporaryFolder { folder in
            let clock = TestClock()
            return try await withCloudKitEmulator(clock: clock) { emulator in
                try await findings(folder, emulator, clock)
            }
        }
    }

    private func findings(_ folder: URL, _ emulator: RunningEmulator, _ clock: TestClock) async throws -> [Finding] {
        /// Opens the store of a device, which synchronises at the end.
        func withStore<Value>(_ number: Int, _ body: (MistStore) async throws -> Value) async throws -> Value {
            var configuration = StoreConfiguration()
            configuration.clock = { clock.now }
            let store = try MistStore(
                at: folder.appending(path: "\(number)"),
                records: [Note.self],
                // The token of an earlier day has expired.
                service: emulator.service(asUser: emulator.userRecordName),
                configuration: configuration
            )
            let value = try await body(store)
            let summary = try await store.sync()
            guard summary.scopes[.private]?.condition == nil else { throw Failure("The device did not synchronise.") }
            try store.close()
            return value
        }

        try await withStore(0) { store in
            for first in stride(from: 0, to: records, by: 200) {
                let numbers = first..<min(first + 200, records)
                try await store.privateDatabase.write { notes in
                    for number in numbers {
                        let texts = Article.texts(number)
                        try notes.add(Note(title: texts[0], text: texts[3]), named: Article.name(number))
                    }
                }
            }
        }
        for device in 1..<Self.devices { try await withStore(device) { _ in } }
        let before = try (0..<Self.devices).map { try AgedFile(folder, $0) }

        var generator = SplitMix(state: 20_30)
        for _ in 0..<Self.days {
            for device in 0..<Self.devices {
                clock.advance(by: 86_400 / Double(Self.devices))
                let edits = (0..<Self.edits).map { _ in
                    let record = Int.random(in: 0..<records, using: &generator)
                    return (name: Article.name(record), kind: Int.random(in: 0..<5, using: &generator))
                }
                try await withStore(device) { store in
                    try await store.privateDatabase.write { notes in
                        for (name, kind) in edits {
                            try notes.update(Note.self, named: name) { note in
                                switch kind {
                                case 0, 1: note.title = "Title of device \(device), \(note.title.suffix(30))"
                                case 2, 3: note.text = "Text of device \(device), \(note.text.suffix(170))"
                                default: note.views += 1
                                }
                            }
                        }
                    }
                }
            }
        }
        for device in 0...Self.devices { try await withStore(device) { _ in } }
        let after = try (0..<Self.devices).map { try AgedFile(folder, $0) }
        let fresh = try AgedFile(folder, Self.devices)
        guard after.allSatisfy({ $0.content == fresh.content }) else {
            throw Failure("The devices do not have the same records.")
        }

        let sizes = after.map { Double($0.bytes) / Double(fresh.bytes) }
        let edits = Self.devices * Self.days * Self.edits
        let what = "\(edits) edits of \(records) records by \(Self.devices) devices in \(Self.days) days: "
        return [
            Finding(
                what + "bytes on disk; a device that fetches the records now",
                store: "\(average(after.map(\.bytes)) / records) a record",
                baseline: "\(fresh.bytes / records)",
                ratios: sizes
            ),
            Finding(
                what + "bytes on disk, after the first fetch",
                figure: "\(average(before.map(\.bytes)) / records) a record"
            ),
            Finding(
                what + "bytes of mist_edits",
                figure: "\(fresh.times.reduce(0, +) / records) on average, \(fresh.times.max() ?? 0) at most"
            ),
            Finding(what + "bytes of mist_edits before", figure: "\(average(before[1].times)) on average"),
            Finding(
                what + "rows that wait or are kept for a while, in all tables of a device",
                figure: "\(after.map(\.otherRows).max() ?? 0) at most"
            ),
        ]
    }

    private func average(_ numbers: [Int]) -> Int { numbers.isEmpty ? 0 : numbers.reduce(0, +) / numbers.count }
}

/// What is in the file of a closed store.
private struct AgedFile {
    var bytes = 0
    /// The sizes of the edit times of all records.
    var times: [Int] = []
    /// The rows of the store's own tables, without those of the versions.
    var otherRows = 0
    /// The records, in an order.
    var content: [String] = []

    init(_ folder: URL, _ number: Int) throws {
        let file = folder.appending(path: "\(number)/user.sqlite")
        bytes = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
        let queue = try DatabaseQueue(path: file.path)
        try queue.read { db in
            times = try Int.fetchAll(db, sql: "SELECT coalesce(length(times), 0) FROM mist_record")
            let tables = try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'mist!_%' ESCAPE '!'"
            )
            for table in tables where table != "mist_record" {
                otherRows += try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
            }
            content = try String.fetchAll(
                db,
                sql: #"SELECT _recordName || title || text || views FROM "Note" ORDER BY _recordName"#
            )
        }
        try queue.close()
    }
}
