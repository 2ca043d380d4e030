import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitWebServices
import Foundation
import MistKit
import MistTesting
import Synchronization
import Testing

/// Batches of any length on the emulator.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct WritingManyTests {
    @Test func aThousandRecordsGoOutFourRequestsAtATime() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = ObservedTransport(emulator.transport, holdingUntil: 4)
            let database = emulator.observedService(as: .serverKey, through: transport).publicDatabase
            let records = (0..<1000).map { Record.note("r\($0)", "\($0)") }
            let progress = Mutex<[BatchProgress]>([])
            let results = try await database.save(records) { step in progress.withLock { $0.append(step) } }
            #expect(results.map { try? $0.get().recordName } == records.map(\.recordName))
            #expect(transport.counts.most == 4)
            #expect(transport.counts.sizes.count == 5)
            #expect(
                progress.withLock { $0 }
                    == [200, 400, 600, 800, 1000].map { BatchProgress(completed: $0, total: 1000) }
            )
            let fetched = try await database.fetch(records.compactMap(\.recordName))
            #expect(fetched.map { try? $0.get()["title"]?.stringValue } == records.map { $0["title"]?.stringValue })
        }
    }

    @Test func aRotatingTokenHasOneRequestAtATime() async throws {
        var configuration = EmulatorConfiguration()
        configuration.webAuthTokens.areSingleUse = true
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let transport = ObservedTransport(emulator.transport)
            let database = emulator.observedService(as: .user, through: transport).privateDatabase
            let results = try await database.save((0..<700).map { Record.note("r\($0)", "new") })
            #expect(results.allSatisfy { summary($0) == "ok" })
            #expect(transport.counts.most == 1)
            #expect(transport.counts.sizes.count == 4)
        }
    }

    @Test func longRecordsAreSplitByTheirSize() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = ObservedTransport(emulator.transport)
            let database = emulator.observedService(as: .serverKey, through: transport).publicDatabase
            let text = String(repeating: "å", count: 150_000)
            let records = (0..<20).map { Record.note("r\($0)", text) }
            let results = try await database.save(records)
            #expect(results.map { try? $0.get().recordName } == records.map(\.recordName))
            // Six records of 300 kB are less than 2 MB.
            #expect(transport.counts.sizes.count == 4)
            #expect(transport.counts.sizes.allSatisfy { $0 < 2_000_000 })
        }
    }

    @Test func whatRefersToAnEarlierRequestIsSentAfterIt() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = ObservedTransport(emulator.transport)
            let database = emulator.observedService(as: .serverKey, through: transport).publicDatabase
            var records = (0..<500).map { Record.note("r\($0)", "new") }
            records[450]["feed"] = .reference(Reference(recordName: "r1", action: .validate))
            let results = try await database.save(records)
            #expect(results.allSatisfy { summary($0) == "ok" })
            #expect(transport.counts.most == 1)
        }
    }

    @Test func anAtomicBatchThatDoesNotFitIsRefusedAndNotSplit() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Notes").zoneID
            emulator.faults.forgetRequests()
            for records in [
                (0..<201).map { Record.note("r\($0)", "new") },
                (0..<8).map { Record.note("r\($0)", String(repeating: "a", count: 300_000)) },
            ] {
                let error = try await failure {
                    try await database.save(records, inZone: zone, atomic: true)
                }
                #expect(error.code == .invalidArgument)
                #expect(error.message.contains("It is not split"))
            }
            #expect(emulator.faults.requests.isEmpty)
        }
    }

    @Test func conflictsCarryTheRecordsOfTheService() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let records = try await database.save((0..<3).map { Record.note("r\($0)", "old") }).map { try $0.get() }
            try await database.forceUpdate(Record.note("r1", "theirs"))
            let mine = records.map { record in
                var record = record
                record["title"] = "mine"
                return record
            }
            emulator.faults.forgetRequests()
            for results in [try await database.update(mine), try await database.delete(mine)] {
                #expect(summary(results[1]) == "CONFLICT r1")
                guard case .failure(let error) = results[1] else { continue }
                #expect(error.serverRecord?["title"] == "theirs")
            }
            let exists = try await failure {
                try await database.create(Record.note("r1", "mine"))
            }
            #expect(exists.serverRecord?["title"] == "theirs")
            #expect(emulator.faults.requests.count == 6)
        }
    }

    @Test func zonesAreSplitLikeRecords() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let names = (0..<450).map { "zone\($0)" }
            let made = try await database.createZones(names)
            #expect(made.map { try? $0.get().zoneID.zoneName } == names)
            let found = try await database.fetchZones(names.map { ZoneID(zoneName: $0) } + [ZoneID(zoneName: "none")])
            #expect(found.map { summary($0) } == names.map { _ in "ok" } + ["ZONE_NOT_FOUND none"])
            let gone = try await database.deleteZones(names.map { ZoneID(zoneName: $0) })
            #expect(gone.allSatisfy { summary($0) == "ok" })
            #expect(emulator.faults.requests.count == 9)
        }
    }

    /// If another client creates the record between a lost request and its retry, the client does not mistake that
    /// record for its own.
    @Test func aRecordOfAnotherClientIsNotTakenForTheOneThatWasSent() async throws {
        let lost = FaultRule(.loseRequest, on: "records/modify", calls: .only(1))
        try await withCloudKitEmulator(faults: [lost]) { emulator in
            let address = DatabaseAddress(emulator.containerIdentifier, .development, .private)
            // The random source is called before the retry, so the other client's write happens in its closure.
            let database = emulator.service(as: .user) {
                $0.retryPolicy = RetryPolicy()
                $0.clock = TestClock(skippingWaits: true).timer
                $0.random = {
                    _ = try? emulator.rules.request(in: address, as: .user(emulator.userRecordName)).modifyRecords(
                        .init(operations: [RecordOperation(.create, record: .note("n", "theirs"))])
                    )
                    return 0.5
                }
            }.privateDatabase
            let error = try await failure {
                try await database.create(Record.note("n", "mine"))
            }
            #expect(error.code == .conflict || error.code == .exists)
            #expect(error.serverRecord?["title"] == "theirs")
            #expect(
                emulator.faults.requests.map { $0.split(separator: "/").last } == [
                    "modify", "modify", "lookup", "lookup",
                ]
            )
        }
    }
}
