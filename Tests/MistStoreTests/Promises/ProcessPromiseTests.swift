import Foundation
import GRDB
import MistKit
import MistTesting
import ProcessLeases
import SQLiteTables
import Synchronization
import TestSupport
import Testing

@testable import MistStore

/// Several processes on one file. Two stores in one process behave as two processes.
struct ProcessPromiseTests {
    /// A second process on the file of a device.
    private func secondProcess(on device: ScenarioDevice) throws -> SyncEngine {
        let file = try StoreFile(
            device.database,
            schemas: [Shelf.schema, Book.schema],
            models: [Shelf.self, Book.self],
            scopes: [.private: SyncScenario.zone]
        )
        var configuration = StoreConfiguration()
        configuration.checksUser = false
        return SyncEngine(file: file, scope: .private, configuration: configuration)
    }

    /// Looks at the lease until a process may take it.
    private func wait(_ engine: SyncEngine) throws -> Duration {
        var time = Duration.zero
        while try engine.turn(of: .program, after: .never, at: time) != .free { time += .milliseconds(100) }
        return time
    }

    private func send(_ step: SyncEngine.Step) throws -> (SyncRequest, RequestNumber) {
        guard case .send(let request, let number) = step else { throw NoRequest(step: "\(step)") }
        return (request, number)
    }

    private struct NoRequest: Error { let step: String }

    @Test("33. While a process synchronises, another one neither sends nor asks, until the first has done its work")
    func oneProcessSynchronises() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let second = try secondProcess(on: phone)
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        let epoch = try second.leaseEpoch(for: .program, at: phone.now)
        try phone.engine.requestPull(by: .program, at: phone.now)
        _ = try phone.engine.next(at: phone.now)
        #expect(try second.next(at: phone.now) == .otherProcess)
        #expect(try !second.requestPull(by: .program, at: phone.now))
        #expect(try second.turn(of: .program, after: epoch, at: .zero) == .waiting)
        try phone.go()
        #expect(try second.turn(of: .program, after: epoch, at: .zero) == .done)
        try scenario.expect(["Book b title=B"])
    }

    @Test("22, 33. Records that a program without their type has fetched are rows of a running program, too")
    func recordsOfOtherTypesAreAdopted() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                func open(_ name: String, _ records: [any CloudKitRecord.Type]) throws -> MistStore {
                    try MistStore(
                        at: folder.appending(path: name),
                        records: records,
                        service: emulator.service(as: .user)
                    )
                }
                let app = try open("phone", [Shelf.self, Book.self])
                let tool = try open("phone", [Shelf.self])
                let laptop = try open("laptop", [Shelf.self, Book.self])
                try await laptop.privateDatabase.add(Book(title: "A"), named: "a")
                try await laptop.sync()
                try await tool.sync()
                // The service has nothing new for the phone.
                #expect(try await app.sync().fetched == 1)
                #expect(try await app.privateDatabase.fetch(Book.self, named: "a").title == "A")

                try await laptop.privateDatabase.update(Book.self, named: "a") { $0.title = "AA" }
                try await app.privateDatabase.update(Book.self, named: "a") { $0.loans = 7 }
                try await laptop.sync()
                try await tool.sync()
                try await app.sync()
                let book = try await app.privateDatabase.fetch(Book.self, named: "a")
                #expect(book.title == "AA")
                #expect(book.loans == 7)
                #expect(try await app.privateDatabase.status().pending == 0)
                for store in [app, tool, laptop] { try store.close() }
            }
        }
    }

    @Test("33. What was done for the store's own loop is not what a program waits for")
    func aPassOfTheLoopIsNoPassOfAProgram() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let second = try secondProcess(on: phone)
        let epoch = try second.leaseEpoch(for: .program, at: phone.now)
        try phone.engine.requestPull(by: .loop, at: phone.now)
        try phone.go()
        #expect(try second.turn(of: .program, after: epoch, at: .zero) == .free)
        #expect(try second.turn(of: .loop, after: epoch, at: .zero) == .done)
    }

    @Test(
        "33, 3. Another process takes over from a stopped one within five seconds; the stopped one has no effect any more",
        arguments: [true, false]
    )
    func aStoppedProcessIsReplaced(arrives: Bool) throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        let second = try secondProcess(on: phone)
        try phone.run("INSERT INTO Book (_recordName, title, loans) VALUES ('b', 'B', 2)")
        try phone.engine.requestPull(by: .program, at: phone.now)
        // The process is stopped after it has sent its change.
        var push = try send(phone.engine.next(at: phone.now))
        while !push.0.isWrite {
            try phone.engine.handle(phone.answer(push.0), to: push.1, at: phone.now)
            push = try send(phone.engine.next(at: phone.now))
        }
        let reply = arrives ? phone.answer(push.0) : nil
        #expect(try wait(second) < .seconds(5))
        #expect(try second.requestPull(by: .program, at: phone.now))
        // The stopped process goes on. Its reply has no effect, and it has no next step.
        let late = reply ?? phone.answer(push.0)
        let before = try phone.pending()
        #expect(try phone.engine.handle(late, to: push.1, at: phone.now) == SyncSummary())
        #expect(try phone.engine.next(at: phone.now) == .otherProcess)
        #expect(try phone.engine.keepLease(at: phone.now) == .wait)
        #expect(try phone.pending() == before)
        // The other process reads the zone, and finds out that the change was stored.
        var writes: [SyncRequest] = []
        while case .send(let request, let number) = try second.next(at: phone.now) {
            if request.isWrite { writes.append(request) }
            try second.handle(phone.answer(request), to: number, at: phone.now)
        }
        #expect(writes.isEmpty)
        try scenario.expect(["Book a title=A", "Book b loans=2 title=B"])
    }

    @Test("33. A process that lives and shows it keeps the lease, however long its request takes")
    func aSlowProcessKeepsTheLease() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let second = try secondProcess(on: phone)
        try phone.engine.requestPull(by: .program, at: phone.now)
        for time in 0..<60 {
            #expect(try phone.engine.keepLease(at: phone.now) == .keep)
            for part in 0..<10 {
                let time = Duration.milliseconds(time * 1000 + part * 100)
                #expect(try second.turn(of: .program, after: .never, at: time) == .waiting)
            }
        }
        #expect(try second.next(at: phone.now) == .otherProcess)
    }

    @Test("33. The status says which process synchronises, since when, and when it last showed that it lives")
    func theStatusNamesTheProcess() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let second = try secondProcess(on: phone)
        let other = LocalDatabase(file: second.file, scope: .private, configuration: StoreConfiguration())
        #expect(try await phone.local.status().synchroniser == nil)
        let since = phone.now
        try phone.engine.requestPull(by: .program, at: since)
        scenario.clock.advance(by: 2)
        #expect(try phone.engine.keepLease(at: phone.now) == .keep)
        func expected(isThisStore: Bool) -> Synchroniser {
            Synchroniser(
                isThisStore: isThisStore,
                programName: ProcessInfo.processInfo.processName,
                processIdentifier: ProcessInfo.processInfo.processIdentifier,
                since: ColumnValue.date(since),
                lastSign: ColumnValue.date(phone.now)
            )
        }
        #expect(phone.now != since)
        #expect(try await phone.local.status().synchroniser == expected(isThisStore: true))
        #expect(try await other.status().synchroniser == expected(isThisStore: false))
        try phone.go()
        #expect(try await other.status().synchroniser == nil)
    }

    @Test("33, L2. What another process has fetched within the interval is not asked for again")
    func onePollServesAllProcesses() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let second = try secondProcess(on: phone)
        let interval = Duration.seconds(30)
        #expect(try second.rest(of: interval, at: phone.now) == .zero)
        try phone.engine.requestPull(by: .loop, at: phone.now)
        try phone.go()
        let done = phone.now
        #expect(try second.rest(of: interval, at: done + 10_000) == .seconds(20))
        #expect(try second.rest(of: interval, at: done + 30_000) == .zero)
        // The clock was set back.
        #expect(try second.rest(of: interval, at: done - 10_000) == .zero)
        // Its own work does not let a process wait.
        #expect(try phone.engine.rest(of: interval, at: done + 10_000) == .zero)
        // What the first process has done, or does when the interval ends, is enough.
        func turn(_ asker: SyncEngine.Asker, at time: MachineTime) throws -> SyncEngine.Turn {
            try second.turn(of: asker, after: second.leaseEpoch(for: asker, at: time), at: .zero)
        }
        #expect(try turn(.interval(interval), at: done + 10_000) == .done)
        #expect(try turn(.loop, at: done + 10_000) == .free)
        #expect(try turn(.interval(interval), at: done + 30_000) == .free)
        try phone.engine.requestPull(by: .interval(interval), at: phone.now)
        let epoch = try second.leaseEpoch(for: .interval(interval), at: done + 30_000)
        try phone.go()
        #expect(try second.turn(of: .interval(interval), after: epoch, at: .zero) == .done)
        // A synchronisation that the other process began and did not end does not count.
        try second.requestPull(by: .loop, at: done + 31_000)
        try second.releaseLease()
        #expect(try phone.engine.rest(of: interval, at: done + 31_000) == .zero)
        #expect(try second.rest(of: interval, at: done + 31_000) == .zero)
    }

    // MARK: Over HTTP

    @Test("33, L2. Over HTTP: two processes that run without changes poll as often as one")
    func idleProcessesPollOnce() async throws {
        try await withTwoProcesses(interval: .milliseconds(300)) { one, two, service, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in [one, two] { group.addTask { try await store.run() } }
                // The first two polls are those of the starts.
                while service.polls.withLock({ $0.count }) < 8 { try await Task.sleep(for: .milliseconds(10)) }
                group.cancelAll()
            }
            let polls = service.polls.withLock { $0 }
            for (poll, next) in zip(polls.dropFirst(2), polls.dropFirst(3)) {
                #expect(poll.duration(to: next) >= .milliseconds(300))
            }
        }
    }

    /// Two stores on one folder, each a process of its own.
    private func withTwoProcesses(
        interval: Duration = .seconds(30),
        _ body: (MistStore, MistStore, RecordingService, HeldService) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = RecordingService(emulator.service(as: .user))
                let held = HeldService(service)
                var configuration = StoreConfiguration()
                (configuration.syncInterval, configuration.longestSyncInterval) = (interval, interval)
                let stores = try (0..<2).map { _ in
                    try MistStore(
                        at: folder,
                        records: [Shelf.self, Book.self],
                        service: held,
                        configuration: configuration
                    )
                }
                try await body(stores[0], stores[1], service, held)
                for store in stores { try store.close() }
            }
        }
    }

    @Test("33, A11. Over HTTP: two stores on one file synchronise in turns, and each call is followed by its changes")
    func twoStoresTakeTurns() async throws {
        try await withTwoProcesses { one, two, service, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (name, store) in [("one", one), ("two", two)] {
                    group.addTask {
                        for number in 0..<20 {
                            let book = Book(title: name, loans: 1)
                            try await store.privateDatabase.add(book, named: "\(name)-\(number)")
                            let summary = try await store.sync()
                            #expect(summary.scopes[.private]?.condition == nil)
                            // The changes are at the service, whichever store has sent them.
                            #expect(service.created.withLock { $0.contains("\(name)-\(number)") })
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(service.overlaps.withLock { $0 } == 0)
            #expect(service.created.withLock { $0.count } == 40)
            for store in [one, two] {
                let books = try await store.privateDatabase.find(Query<Book>())
                #expect(books.count == 40)
                #expect(try await store.privateDatabase.status().isSynchronised)
            }
        }
    }

    @Test("33. Over HTTP: a store that is closed while it synchronises frees the file for the other at once")
    func aClosedStoreFreesTheFile() async throws {
        try await withTwoProcesses { one, two, service, held in
            try await one.privateDatabase.add(Book(title: "B"), named: "b")
            held.holdNextChange()
            let first = Task { try await one.sync() }
            await held.waitForChange()
            try one.close()
            let file = two.file(of: .private)
            let lease = try await file.database.read { db in try file.lease.row(db) }
            #expect(lease.holder == nil)
            held.release()
            try await two.sync()
            await #expect(throws: StoreError.self) { try await first.value }
            #expect(service.created.withLock { $0 } == ["b"])
        }
    }

    @Test("33, 32. A store observes the records and the status that another store on its file synchronises")
    func theOtherStoreObserves() async throws {
        try await withTwoProcesses { one, two, _, _ in
            try await one.privateDatabase.add(Book(title: "B"), named: "b")
            async let seen: Bool = {
                for try await status in two.privateDatabase.statusUpdates() where status.isSynchronised { return true }
                return false
            }()
            try await one.sync()
            #expect(try await seen)
        }
    }
}

/// A service that notes whether two requests for the private database are under way together.
private final class RecordingService: SyncService {
    private let service: any SyncService
    private let underWay = Mutex(0)
    let overlaps = Mutex(0)
    /// When changes of the database were asked for.
    let polls = Mutex<[ContinuousClock.Instant]>([])
    let created = Mutex<[String]>([])

    init(_ service: any SyncService) {
        self.service = service
    }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        guard scope == .private else { return try await service.send(request, to: scope) }
        if case .databaseChanges = request { polls.withLock { $0.append(.now) } }
        let others = underWay.withLock { count in
            count += 1
            return count - 1
        }
        if others > 0 { overlaps.withLock { $0 += 1 } }
        defer { underWay.withLock { $0 -= 1 } }
        let reply = try await service.send(request, to: scope)
        if case .modify(let operations, _, _) = request {
            created.withLock { names in
                names += operations.filter { $0.operationType == .create }.compactMap(\.record.recordName)
            }
        }
        return reply
    }
}
