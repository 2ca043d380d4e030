import CloudKitModel
import Foundation
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Calls that wait for the same work, and a store that is closed meanwhile.
@Suite(.timeLimit(.minutes(10)))
struct WaitingPromiseTests {
    /// A store whose requests can be held, and another store of the same user.
    private func withHeldService(_ body: (MistStore, HeldService, MistStore, URL) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let held = HeldService(emulator.service(as: .user))
                let phone = try MistStore(
                    at: folder.appending(path: "phone"),
                    records: [Shelf.self, Book.self],
                    service: held
                )
                let laptop = try MistStore(
                    at: folder.appending(path: "laptop"),
                    records: [Shelf.self, Book.self],
                    service: emulator.service(as: .user)
                )
                // The zone exists, and both know it.
                try await phone.privateDatabase.add(Shelf(name: "S"), named: "s")
                try await phone.sync()
                try await laptop.sync()
                try await body(phone, held, laptop, folder)
                try phone.close()
                try laptop.close()
            }
        }
    }

    private func wait(for count: Int, in store: MistStore) async {
        while store.loop?.waitingCalls != count { await Task.yield() }
    }

    @Test(
        "31, P10. Of two calls, the one that is cancelled ends at once, and the other has its result",
        arguments: [0, 1]
    )
    func cancellationEndsOneOfTwoCalls(cancelled: Int) async throws {
        try await withHeldService { phone, held, laptop, _ in
            try await phone.privateDatabase.add(Book(title: "A"), named: "a")
            held.holdNextChange()
            var calls = [Task { try await phone.sync() }]
            await held.waitForChange()
            calls.append(Task { try await phone.sync() })
            await wait(for: 2, in: phone)
            calls[cancelled].cancel()
            // The request is still held.
            await #expect(throws: CancellationError.self) { try await calls[cancelled].value }
            #expect(phone.loop?.waitingCalls == 1)
            held.release()
            #expect(try await calls[1 - cancelled].value.sent == 1)
            #expect(try await phone.privateDatabase.status().isSynchronised)
            #expect(try await laptop.sync().fetched == 1)
        }
    }

    @Test("31, P10. Cancelling one of three calls ends that call alone; the others have what was sent")
    func cancellationEndsOneCall() async throws {
        try await withHeldService { phone, held, _, _ in
            try await phone.privateDatabase.add(Book(title: "A"), named: "a")
            held.holdNextChange()
            let first = Task { try await phone.sync() }
            await held.waitForChange()
            let others = [Task { try await phone.sync() }, Task { try await phone.sync() }]
            await wait(for: 3, in: phone)
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            held.release()
            for other in others { #expect(try await other.value.sent == 1) }
            #expect(try await phone.privateDatabase.status().isSynchronised)
        }
    }

    @Test("31, P10. The work ends when the last call that waits for it is cancelled; a later call begins again")
    func workEndsWithItsLastCall() async throws {
        try await withHeldService { phone, held, laptop, _ in
            try await phone.privateDatabase.add(Book(title: "A"), named: "a")
            held.holdNextChange()
            let calls = [Task { try await phone.sync() }, Task { try await phone.sync() }]
            await held.waitForChange()
            await wait(for: 2, in: phone)
            for call in calls { call.cancel() }
            for call in calls { await #expect(throws: CancellationError.self) { try await call.value } }
            #expect(phone.loop?.waitingCalls == 0)
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await phone.sync()
            }
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            #expect(try await phone.sync().sent == 1)
            #expect(try await laptop.sync().fetched == 1)
        }
    }

    @Test("31, P10. run() goes on when the task of another call, whose work it joined, is cancelled")
    func runContinuesWhenAnotherCallIsCancelled() async throws {
        try await withHeldService { phone, held, _, _ in
            try await phone.privateDatabase.add(Book(title: "A"), named: "a")
            held.holdNextChange()
            let call = Task { try await phone.sync() }
            await held.waitForChange()
            let running = Task { try await phone.run() }
            await wait(for: 2, in: phone)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            held.release()
            for try await status in phone.privateDatabase.statusUpdates() where status.pending == 0 { break }
            // Its next synchronisation, after a local change.
            try await phone.privateDatabase.add(Book(title: "B"), named: "b")
            for try await status in phone.privateDatabase.statusUpdates() where status.isSynchronised { break }
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
        }
    }

    @Test("31, P10. A call that joins contains what was there before it: a change elsewhere, and an added record")
    func joinedCallsContainWhatWasBefore() async throws {
        try await withHeldService { phone, held, laptop, _ in
            try await phone.privateDatabase.add(Book(title: "A"), named: "a")
            held.holdNextChange()
            let first = Task { try await phone.sync() }
            await held.waitForChange()
            // The pass under way has fetched all changes already.
            try await laptop.privateDatabase.add(Book(title: "elsewhere"), named: "e")
            try await laptop.sync()
            try await phone.privateDatabase.add(Book(title: "B"), named: "b")
            let second = Task { try await phone.sync() }
            await wait(for: 2, in: phone)
            held.release()
            let (one, two) = try await (first.value, second.value)
            #expect(one.fetched == 0)
            #expect(two.fetched == 1)
            #expect(two.sent == 2)
            #expect(two.scopes[.private]?.counts.sent == 2)
        }
    }

    @Test("31, P10. close() in the middle of a synchronisation: all calls throw closed, and nothing is lost")
    func closingEndsCalls() async throws {
        try await withHeldService { phone, held, laptop, folder in
            try await phone.privateDatabase.add(Book(title: "A"), named: "a")
            held.holdNextChange()
            let calls = [Task { try await phone.sync() }, Task { try await phone.sync() }]
            let running = Task { try await phone.run() }
            await held.waitForChange()
            await wait(for: 3, in: phone)
            try phone.close()
            for call in calls {
                let error = await #expect(throws: StoreError.self) { try await call.value }
                #expect(error?.code == .closed)
            }
            let ofRun = await #expect(throws: StoreError.self) { try await running.value }
            #expect(ofRun?.code == .closed)
            let later = await #expect(throws: StoreError.self) { try await phone.sync() }
            #expect(later?.code == .closed)
            let write = await #expect(throws: StoreError.self) { try await phone.privateDatabase.add(Book(title: "B")) }
            #expect(write?.code == .closed)
            let read = await #expect(throws: StoreError.self) { try await phone.privateDatabase.find(Query<Book>()) }
            #expect(read?.code == .closed)
            let again = try MistStore(
                at: folder.appending(path: "phone"),
                records: [Shelf.self, Book.self],
                service: held
            )
            #expect(try await again.sync().sent == 1)
            #expect(try await laptop.sync().fetched == 1)
            try again.close()
        }
    }
}
