import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import MistKit
import MistStore
import MistTesting
import Synchronization
import Testing

/// What MistTesting has for tests of stores: the contents of the service, clocks, commits and undelivered records.
struct StoreToolsTests {
    private struct Note: Hashable, CloudKitRecord {
        var title: String?

        struct Fields: RecordFieldSet {
            let title = RecordField<String>("title")
        }

        static let recordType = "Note"
        static let fields = Fields()
        static let fieldTable = FieldTable(fields.title)

        init(title: String?) {
            self.title = title
        }

        init(fields reader: inout FieldReader) throws(FieldError) {
            while let field = try reader.next() {
                switch field {
                case 0: title = try reader.value()
                default: try reader.skip()
                }
            }
        }

        func write(fields writer: inout FieldWriter) {
            writer.write(0, title)
        }
    }

    private func withStore(
        _ configuration: StoreConfiguration = StoreConfiguration(),
        clock: TestClock? = nil,
        _ body: (RunningEmulator, MistStore) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator(clock: clock) { emulator in
            let folder = FileManager.default.temporaryDirectory.appending(path: "tools-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let store = try MistStore(
                at: folder,
                records: [Note.self],
                service: emulator.service(as: .user),
                configuration: configuration
            )
            try await body(emulator, store)
            try store.close()
        }
    }

    @Test func theContentsOfTheServiceAreText() async throws {
        try await withStore { emulator, store in
            #expect(try emulator.contents(of: .private) == "")
            try await store.privateDatabase.add(Note(title: "B"), named: "b")
            try await store.privateDatabase.add(Note(title: nil), named: "a")
            try await store.publicDatabase.add(Note(title: "P"), named: "p")
            try await store.sync()
            let database = emulator.service(as: .user).privateDatabase
            _ = try await database.create(Fixtures.recordOfEveryFieldType(named: "all"))
            try await database.forceDelete("b", inZone: ZoneID(zoneName: "Records"))
            let lines = try emulator.contents(of: .private).split(separator: "\n")
            #expect(lines.count == 4)
            #expect(lines.first == "Records" && lines[1] == "  Note a:")
            #expect(lines[2] == "_defaultZone" && lines[3].hasPrefix("  Everything all: byteStrings="))
            #expect(try emulator.contents(of: .public) == "_defaultZone\n  Note p: title=P")
        }
    }

    @Test func undeliveredRecordsComeLater() async throws {
        try await withStore { emulator, store in
            let database = emulator.service(as: .user).privateDatabase
            let zone = ZoneID(zoneName: "Records")
            _ = try await database.createZone("Records")
            for name in ["a", "b"] {
                let record = Record(recordType: "Note", recordName: name, fields: ["title": .string(name)])
                _ = try await database.create(record, inZone: zone)
            }
            emulator.faults.add(FaultRule(.undeliveredRecords(named: ["a"]), on: "changes/zone"))
            emulator.faults.add(FaultRule(.undeliveredRecords(named: ["a"]), on: "records/lookup"))
            let summary = try await store.sync()
            #expect(summary.fetched == 1)
            let status = try await store.privateDatabase.status()
            #expect(status.conditions == [.undelivered])
            #expect(status.detail?.contains("did not deliver") == true)
            while try await store.privateDatabase.status().conditions == [.undelivered] { try await store.sync() }
            #expect(try await store.privateDatabase.find(Query<Note>()).map(\.title) == ["a", "b"])
        }
    }

    @Test func queriesMayLeaveRecordsOut() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).publicDatabase
            for name in ["a", "b"] { _ = try await database.create(Record(recordType: "Note", recordName: name)) }
            emulator.faults.add(FaultRule(.undeliveredRecords(named: ["a"]), on: "records/query"))
            var failures: [CloudKitError.Item?] = []
            for try await result in database.records(matching: Query(recordType: "Note")).results {
                if case .failure(let error) = result { failures.append(error.item) }
            }
            #expect(failures == [.record(name: "a")])
        }
    }

    @Test func devicesHaveClocksOfTheirOwn() async throws {
        let clock = TestClock()
        let device = DeviceClock(clock, ahead: .seconds(-60))
        #expect(device.now == clock.now.addingTimeInterval(-60))
        clock.advance(by: 10)
        device.ahead = .seconds(86_400)
        #expect(device.now == Date(timeIntervalSince1970: 1_767_225_600 + 10 + 86_400))
    }

    @Test func everyCommitIsReported() async throws {
        let recorded = RecordedMoments()
        var configuration = StoreConfiguration()
        configuration.onCommit { moment in recorded.moments.withLock { $0.append(moment) } }
        try await withStore(configuration) { _, store in
            let opening = recorded.moments.withLock { $0.count }
            #expect(opening > 0 && opening.isMultiple(of: 2))
            try await store.privateDatabase.add(Note(title: "A"), named: "a")
            #expect(recorded.moments.withLock { Array($0.dropFirst(opening)) } == [.before, .after])
        }
    }

    private final class RecordedMoments: Sendable {
        let moments = Mutex<[CommitMoment]>([])
    }
}
