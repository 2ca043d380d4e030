import CloudKitModel
import Foundation
import MistKit
import MistTesting
import StreamingJSON
import Synchronization
import TestSupport
import Testing

@testable import CloudKitEmulator
@testable import MistStore

/// Promise 45: pushes wake what they are about. And reads that ask the service first.
struct AutomaticPromiseTests {
    private static let types: [any CloudKitRecord.Type] = [Shelf.self, Book.self]
    private static let home = ZoneID(zoneName: "Records")

    /// A service that notes its requests, and whose subscriptions and pushes can be made to fail.
    private final class NotedService: NotifyingService {
        let service: CloudKitService
        let requests = Mutex<[(scope: DatabaseScope, request: SyncRequest)]>([])
        let refused = Mutex<DatabaseScope?>(nil)
        let hasPushes: Bool

        init(_ service: CloudKitService, hasPushes: Bool = true) {
            (self.service, self.hasPushes) = (service, hasPushes)
        }

        func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
            requests.withLock { $0.append((scope, request)) }
            return try await service.send(request, to: scope)
        }

        func save(_ subscriptions: [Subscription], toNotifyAbout scope: DatabaseScope) async throws {
            if refused.withLock({ $0 }) == scope { throw CloudKitError(code: .serviceUnavailable, message: "refused") }
            try await service.save(subscriptions, toNotifyAbout: scope)
        }

        func deleteSubscriptions(_ names: [String], about scope: DatabaseScope) async throws {
            if refused.withLock({ $0 }) == scope { throw CloudKitError(code: .serviceUnavailable, message: "refused") }
            try await service.deleteSubscriptions(names, about: scope)
        }

        func pushes() -> AsyncThrowingStream<CloudKitNotification, any Error> {
            guard hasPushes else { return AsyncThrowingStream { $0.finish(throwing: CancellationError()) } }
            return service.pushes()
        }
    }

    private func withStores(
        random: Double = 1,
        _ services: (RunningEmulator) -> [any SyncService],
        _ body: ([MistStore], RunningEmulator) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                var configuration = StoreConfiguration()
                configuration.syncInterval = .seconds(3600)
                // The longest waits, so that they are not over before they are looked at; or none.
                configuration.random = { random }
                let stores = try services(emulator).enumerated().map { index, service in
                    try MistStore(
                        at: folder.appending(path: "device\(index)"),
                        records: Self.types,
                        service: service,
                        configuration: configuration
                    )
                }
                try await body(stores, emulator)
                for store in stores { try store.close() }
            }
        }
    }

    /// Waits until a value is there.
    private func wait<Value>(_ value: () async throws -> Value?) async throws -> Value? {
        for _ in 0..<1200 {
            if let value = try await value() { return value }
            try await Task.sleep(for: .milliseconds(25))
        }
        return nil
    }

    /// Waits until a store that runs has asked twice for all changes, and the second synchronisation is over: it does so
    /// when it begins, and when it listens to pushes, or could not. Nothing else wakes it then.
    private func waitForFirstLooks(of store: MistStore, _ service: NotedService) async throws {
        let isOver = try await wait { () -> Bool? in
            let looks = service.requests.withLock { requests in requests.count { $0.request.isLook } }
            guard looks >= 2 else { return nil }
            for database in [store.privateDatabase, store.publicDatabase] {
                guard try await database.status().synchroniser == nil else { return nil }
            }
            return true
        }
        try #require(isOver == true)
    }

    @Test("45. What a push wakes: its database and its zone; nothing for the subscription of another copy")
    func pushesWakeWhatTheyAreAbout() throws {
        let own: [DatabaseScope: [String]] = [.private: ["MistStore.a.private"], .public: ["MistStore.a.public.0"]]
        func wake(_ payload: String) throws -> PushWake {
            PushWake(CloudKitNotification(try JSONReader.read(PushPayload.self, from: payload)), of: own)
        }
        let zone = #""zid":"Notes","zoid":"_u""#
        let notes = ZoneID(zoneName: "Notes", ownerRecordName: "_u")
        for (payload, expected) in [
            (#"{"ck":{"met":{"sid":"MistStore.a.private",\#(zone)}}}"#, PushWake.scope(.private, [notes])),
            (#"{"ck":{"fet":{"sid":"MistStore.a.private",\#(zone)}}}"#, .scope(.private, [notes])),
            (#"{"ck":{"met":{"sid":"MistStore.a.private"}}}"#, .scope(.private, [])),
            (#"{"ck":{"qry":{"sid":"MistStore.a.public.0","rid":"r","fo":1,\#(zone)}}}"#, .scope(.public, [])),
            (#"{"ck":{"met":{"sid":"MistStore.b.private",\#(zone)}}}"#, .nothing),
            (#"{"ck":{"met":{"sid":"notes of the program",\#(zone)}}}"#, .all), (#"{"aps":{}}"#, .all),
        ] {
            #expect(try wake(payload) == expected, "\(payload)")
        }
        var work = Work()
        work.add(.scope(.private, [notes]))
        work.add(.scope(.private, [Self.home]))
        #expect(work.pushed == [.private: [notes, Self.home]])
        work.add(.scope(.private, []))
        work.add(.scope(.private, [notes]))
        #expect(work.pushed == [.private: []])
        work.add(.nothing)
        #expect(!work.needsAll)
        work.add(.all)
        #expect(work.needsAll)
    }

    @Test("45. A push wakes exactly its database and its zone, and a change is sent at once")
    func aPushFetchesItsZoneAlone() async throws {
        let phoneService = Mutex<NotedService?>(nil)
        let services: (RunningEmulator) -> [any SyncService] = { emulator in
            let noted = NotedService(emulator.service(as: .user))
            phoneService.withLock { $0 = noted }
            return [noted, emulator.service(as: .user)]
        }
        try await withStores(services) { stores, emulator in
            let (phone, laptop) = (stores[0], stores[1])
            let service = try #require(phoneService.withLock { $0 })
            try await phone.privateDatabase.add(Book(title: "A"), named: "a")
            try await phone.sync()
            try await laptop.sync()
            try await phone.setSynchronisesAutomatically(true)
            #expect(try await phone.synchronisesAutomatically)
            service.requests.withLock { $0 = [] }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await phone.run() }
                defer { group.cancelAll() }
                await emulator.rules.waitForCouriers(1)
                try await waitForFirstLooks(of: phone, service)
                service.requests.withLock { $0 = [] }
                try await laptop.privateDatabase.update(Book.self, named: "a") { $0.title = "B" }
                try await laptop.sync()
                let title = try await wait {
                    let title = try await phone.privateDatabase.fetch(Book.self, named: "a").model.title
                    return title == "B" ? title : nil
                }
                #expect(title == "B")
                let requests = service.requests.withLock { $0 }
                #expect(requests.map(\.scope) == [.private])
                #expect(requests.first?.request.zoneNames == ["Records"])

                try await phone.privateDatabase.add(Book(title: "C"), named: "c")
                let found = try await wait {
                    try await laptop.sync()
                    return try await laptop.privateDatabase.read { try $0.fetchIfPresent(Book.self, named: "c") }
                }
                #expect(found?.model.title == "C")
                group.cancelAll()
                while let result = await group.nextResult() { _ = result }
            }
        }
    }

    @Test("45. Subscriptions appear and disappear with the flag; those of another copy stay")
    func subscriptionsFollowTheFlag() async throws {
        let services: (RunningEmulator) -> [any SyncService] = { [$0.service(as: .user), $0.service(as: .user)] }
        try await withStores(services) { stores, emulator in
            let service = emulator.service(as: .user)
            func names() async throws -> [Int] {
                var counts: [Int] = []
                for scope in [DatabaseScope.private, .public] {
                    counts.append(try await service.database(scope).fetchSubscriptions().count)
                }
                return counts
            }
            try await stores[0].publicDatabase.follow(Query<Book> { Filter(\.title == "A") })
            try await stores[0].setSynchronisesAutomatically(true)
            #expect(try await names() == [1, 1])
            try await stores[1].setSynchronisesAutomatically(true)
            #expect(try await names() == [2, 1])
            // Again, with another query.
            try await stores[0].publicDatabase.follow(Query<Book> { Filter(\.title == "B") })
            try await stores[0].setSynchronisesAutomatically(true)
            #expect(try await names() == [2, 2])
            try await stores[0].setSynchronisesAutomatically(false)
            #expect(try await names() == [1, 0])
            #expect(try await !stores[0].synchronisesAutomatically)
            #expect(try await stores[1].synchronisesAutomatically)
        }
    }

    @Test("45. The flag changes only where the service has done all of it")
    func theFlagChangesOnlyIfItWorked() async throws {
        let noted = Mutex<NotedService?>(nil)
        let services: (RunningEmulator) -> [any SyncService] = { emulator in
            let service = NotedService(emulator.service(as: .user))
            noted.withLock { $0 = service }
            return [service, OnlySyncService(service: service)]
        }
        try await withStores(services) { stores, _ in
            let service = try #require(noted.withLock { $0 })
            try await stores[0].publicDatabase.follow(Query<Book>())
            service.refused.withLock { $0 = .public }
            await #expect(throws: CloudKitError.self) { try await stores[0].setSynchronisesAutomatically(true) }
            #expect(try await !stores[0].synchronisesAutomatically)
            #expect(try await service.service.privateDatabase.fetchSubscriptions().isEmpty)
            service.refused.withLock { $0 = nil }
            try await stores[0].setSynchronisesAutomatically(true)
            service.refused.withLock { $0 = .private }
            await #expect(throws: CloudKitError.self) { try await stores[0].setSynchronisesAutomatically(false) }
            #expect(try await stores[0].synchronisesAutomatically)
            // A service without pushes.
            let error = await #expect(throws: StoreError.self) {
                try await stores[1].setSynchronisesAutomatically(true)
            }
            #expect(error?.code == .noService)
        }
    }

    private struct OnlySyncService: SyncService {
        let service: NotedService
        func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
            try await service.send(request, to: scope)
        }
    }

    @Test("45, 27. Without a connection for pushes, a local change is sent about a second later")
    func changesAreSentWithoutPushes() async throws {
        let phoneService = Mutex<NotedService?>(nil)
        let services: (RunningEmulator) -> [any SyncService] = { emulator in
            let noted = NotedService(emulator.service(as: .user), hasPushes: false)
            phoneService.withLock { $0 = noted }
            return [noted, emulator.service(as: .user)]
        }
        try await withStores(services) { stores, _ in
            try await stores[0].setSynchronisesAutomatically(true)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await stores[0].run() }
                defer { group.cancelAll() }
                let service = try #require(phoneService.withLock { $0 })
                try await waitForFirstLooks(of: stores[0], service)
                try await stores[0].privateDatabase.add(Book(title: "A"), named: "a")
                let found = try await wait {
                    try await stores[1].sync()
                    return try await stores[1].privateDatabase.read { try $0.fetchIfPresent(Book.self, named: "a") }
                }
                #expect(found != nil)
                group.cancelAll()
                while let result = await group.nextResult() { _ = result }
            }
        }
    }

    @Test("1, 27. A read that asks the service first has its changes, or says why not")
    func readsAskTheServiceFirst() async throws {
        let held = Mutex<SlowService?>(nil)
        let services: (RunningEmulator) -> [any SyncService] = { emulator in
            let slow = SlowService(emulator.service(as: .user))
            held.withLock { $0 = slow }
            return [slow, emulator.service(as: .user), OfflineOnly()]
        }
        try await withStores(services) { stores, _ in
            let service = try #require(held.withLock { $0 })
            try await stores[1].privateDatabase.add(Book(title: "A"), named: "a")
            try await stores[1].sync()
            let database = stores[0].privateDatabase
            #expect(try await database.find(Query<Book>(), freshness: .local).records.isEmpty)
            let fresh = try await database.find(Query<Book>(), freshness: .fetchFirst(within: .seconds(60)))
            #expect(fresh.staleness == nil)
            #expect(fresh.records.map(\.model.title) == ["A"])
            // A slow network: what is here, and the synchronisation goes on.
            try await stores[1].privateDatabase.add(Book(title: "B"), named: "b")
            try await stores[1].sync()
            service.hold()
            let late = try await database.find(Query<Book>(), freshness: .fetchFirst(within: .milliseconds(100)))
            #expect(late.records.count == 1)
            #expect(late.staleness?.condition == nil)
            #expect(late.staleness?.description.contains("did not answer within") == true)
            service.release()
            let count = try await wait {
                let count = try await database.find(Query<Book>()).count
                return count == 2 ? count : nil
            }
            #expect(count == 2)
            // No network, and no service.
            try await stores[2].privateDatabase.add(Book(title: "C"), named: "c")
            let offline = try await stores[2].privateDatabase.find(
                Query<Book>(),
                freshness: .fetchFirst(within: .seconds(60))
            )
            #expect(offline.records.map(\.model.title) == ["C"])
            #expect(offline.staleness?.condition == .offline)
        }
    }

    @Test("1, 27. A read is out of date where nothing was fetched, also when the wait is over already")
    func whatWasNotFetchedIsOutOfDate() async throws {
        let services: (RunningEmulator) -> [any SyncService] = { _ in [OfflineOnly()] }
        try await withStores(random: 0, services) { stores, _ in
            let found = try await stores[0].privateDatabase.find(Query<Book>(), freshness: .fetchFirst)
            #expect(found.staleness != nil)
        }
    }

    /// A service that can be made to wait.
    private final class SlowService: SyncService {
        private let service: any SyncService
        private let isHeld = Mutex(false)

        init(_ service: any SyncService) {
            self.service = service
        }

        func hold() { isHeld.withLock { $0 = true } }
        func release() { isHeld.withLock { $0 = false } }

        func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
            while isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(10)) }
            return try await service.send(request, to: scope)
        }
    }

    private struct OfflineOnly: SyncService {
        func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
            throw CloudKitError(code: .network, message: "There is no connection.")
        }
    }
}

extension SyncRequest {
    /// Whether it asks for the zones that have changed.
    fileprivate var isLook: Bool {
        guard case .databaseChanges = self else { return false }
        return true
    }

    /// The zones whose changes are asked for; `nil` for another request.
    fileprivate var zoneNames: [String]? {
        guard case .zoneChanges(let cursors) = self else { return nil }
        return cursors.map(\.zoneID.zoneName)
    }
}
