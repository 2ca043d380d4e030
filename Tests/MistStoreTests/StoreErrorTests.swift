import Foundation
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// The errors of a store that is closed, and of one that has no service.
@Suite(.timeLimit(.minutes(10)))
struct StoreErrorTests {
    /// An operation of a store, with the value that it needs: a record, and an entry of the recovery log.
    struct Operation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let run: @Sendable (MistStore, StoredRecord<Shelf>, RecoveredValues) async throws -> Void

        init(
            _ name: String,
            _ run: @escaping @Sendable (MistStore, StoredRecord<Shelf>, RecoveredValues) async throws -> Void
        ) {
            testDescription = name
            self.run = run
        }
    }

    /// The operations on records, all of which a store without a service has.
    static let localOperations: [Operation] = [
        Operation("add(_:named:)") { store, _, _ in try await store.privateDatabase.add(Shelf(name: "N"), named: "n") },
        Operation("add(_:), a record") { store, shelf, _ in try await store.privateDatabase.add(shelf) },
        Operation("add(_:), several") { store, _, _ in try await store.privateDatabase.add([Shelf(name: "M")]) },
        Operation("update") { store, _, _ in
            try await store.privateDatabase.update(Shelf.self, named: "s") { $0.name = "T" }
        },
        Operation("increment") { store, _, _ in
            try await store.privateDatabase.increment(\.loans, of: Book.self, named: "b")
        },
        Operation("fetch") { store, _, _ in _ = try await store.privateDatabase.fetch(Shelf.self, named: "s") },
        Operation("fetch, a reference") { store, shelf, _ in
            _ = try await store.privateDatabase.fetch(shelf.reference())
        },
        Operation("fetch, including") { store, shelf, _ in
            _ = try await store.privateDatabase.fetch(shelf.reference(), including: .all)
        },
        Operation("find") { store, _, _ in _ = try await store.privateDatabase.find(Query<Shelf>()) },
        Operation("findUnreadable") { store, _, _ in
            _ = try await store.privateDatabase.findUnreadable(Query<Shelf>())
        },
        Operation("recordUpdates") { store, _, _ in
            for try await _ in store.privateDatabase.recordUpdates(of: Query<Shelf>()) { return }
        },
        Operation("unreadableUpdates") { store, _, _ in
            for try await _ in store.privateDatabase.unreadableUpdates(of: Query<Shelf>()) { return }
        },
        Operation("status") { store, _, _ in _ = try await store.privateDatabase.status() },
        Operation("status, of a record") { store, _, _ in
            _ = try await store.privateDatabase.status(of: Shelf.self, named: "s")
        },
        Operation("statusUpdates") { store, _, _ in
            for try await _ in store.privateDatabase.statusUpdates() { return }
        },
        Operation("statusUpdates, of a record") { store, _, _ in
            for try await _ in store.privateDatabase.statusUpdates(of: Shelf.self, named: "s") { return }
        },
        Operation("follow") { store, _, _ in try await store.publicDatabase.follow(Query<Shelf>()) },
        Operation("unfollow") { store, _, _ in try await store.publicDatabase.unfollow(Query<Shelf>()) },
        Operation("recoveryLog") { store, _, _ in _ = try await store.privateDatabase.recoveryLog() },
        Operation("restore") { store, _, entry in try await store.privateDatabase.restore(entry) },
        Operation("retryParked") { store, _, _ in try await store.privateDatabase.retryParked() },
        Operation("read") { store, _, _ in
            _ = try await store.privateDatabase.read { try $0.fetchIfPresent(Shelf.self, named: "s") }
        },
        Operation("write") { store, _, _ in
            _ = try await store.publicDatabase.write { try $0.add(Shelf(name: "P")) }
        },
        Operation("remove") { store, _, _ in try await store.privateDatabase.remove(Shelf.self, named: "s") },
        Operation("remove, a record") { store, shelf, _ in try await store.privateDatabase.remove(shelf) },
    ]

    /// The operations that need a service.
    static let synchronisations: [Operation] = [
        Operation("sync") { store, _, _ in try await store.sync() },
        Operation("run") { store, _, _ in try await store.run() },
    ]

    private static let entry = RecoveredValues(
        id: 1,
        time: Date(timeIntervalSince1970: 0),
        recordType: "Shelf",
        recordName: "r",
        zoneID: ZoneID(zoneName: "Records"),
        reason: .deleted,
        fields: ["name": "R"]
    )

    /// A store with a shelf and a book.
    private func withStore(
        service: (any SyncService)? = nil,
        _ body: (MistStore, StoredRecord<Shelf>) async throws -> Void
    ) async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self], service: service)
            let shelf = try await store.privateDatabase.add(Shelf(name: "S"), named: "s")
            try await store.privateDatabase.add(Book(), named: "b")
            try await body(store, shelf)
            try store.close()
        }
    }

    @Test("1. Every operation of a store that is closed throws `closed`", arguments: localOperations + synchronisations)
    func closedStoresSaySo(_ operation: Operation) async throws {
        try await withCloudKitEmulator { emulator in
            try await withStore(service: emulator.service(as: .user)) { store, shelf in
                try store.close()
                let error = await #expect(throws: StoreError.self) {
                    try await operation.run(store, shelf, Self.entry)
                }
                #expect(error?.code == .closed)
            }
        }
    }

    @Test("1. A store without a service refuses to synchronise with `noService`, also when it is closed")
    func storesWithoutAServiceDoNotSynchronise() async throws {
        for operation in Self.synchronisations {
            try await withStore { store, shelf in
                for _ in 1...2 {
                    let error = await #expect(throws: StoreError.self) {
                        try await operation.run(store, shelf, Self.entry)
                    }
                    #expect(error?.code == .noService, "\(operation.testDescription)")
                    try store.close()
                }
            }
        }
    }

    @Test("1. A store without a service does everything that needs none", arguments: localOperations)
    func storesWithoutAServiceAreLocal(_ operation: Operation) async throws {
        try await withStore { store, shelf in try await operation.run(store, shelf, Self.entry) }
    }
}
