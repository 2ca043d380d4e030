import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Promises 28 and 33: what a process does when another one, on the same folder, opens the records of another user.
@Suite(.timeLimit(.minutes(10)))
struct SwitchPromiseTests {
    /// A process on a folder that others use, too, with a session of its own.
    private struct Process {
        let session: UserSession
        let store: MistStore

        init(on folder: URL, _ emulator: RunningEmulator) throws {
            session = UserSession(emulator)
            store = try MistStore(at: folder, records: [Shelf.self, Book.self], service: session.service)
        }

        func signIn(_ user: String) async throws { try await session.signIn(user, to: store) }

        func titles() async throws -> [String] {
            try await store.privateDatabase.find(Query<Book>()).compactMap(\.title)
        }
    }

    private func withTwoProcesses(
        _ body: (_ app: Process, _ tool: Process, _ mei: String, _ ben: String) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
                let app = try Process(on: folder, emulator)
                let tool = try Process(on: folder, emulator)
                try await app.signIn(emulator.userRecordName)
                try await tool.signIn(emulator.userRecordName)
                try await body(app, tool, emulator.userRecordName, ben)
                for process in [app, tool] { try process.store.close() }
            }
        }
    }

    @Test("28, 33. Records that another process has opened are opened at the next synchronisation, and never mixed")
    func switchIsFollowed() async throws {
        try await withTwoProcesses { app, tool, mei, ben in
            let ofMei = tool.store.privateDatabase
            try await ofMei.add(Book(title: "Mei's"), named: "m")
            try await app.signIn(ben)
            // Before it looks, the process goes on with the records that it has open.
            try await ofMei.add(Book(title: "Mei's, too"), named: "n")
            let error = await #expect(throws: StoreError.self) { try await tool.store.sync() }
            #expect(error?.code == .otherUser)
            #expect(error?.message.contains("records in this folder are those of the user \(ben)") == true)
            #expect(try await tool.titles() == [])
            let late = await #expect(throws: StoreError.self) { try await ofMei.add(Book(title: "late"), named: "l") }
            #expect(late?.code == .accountChanged)
            try await tool.signIn(ben)
            try await tool.store.privateDatabase.add(Book(title: "Ben's"), named: "b")
            #expect(try await tool.store.sync().sent == 1)
            #expect(try await app.titles() == ["Ben's"])

            try await app.signIn(mei)
            #expect(try await tool.store.account.owner == mei)
            #expect(try await tool.titles().sorted() == ["Mei's", "Mei's, too"])
            #expect(try await app.store.sync().sent == 2)
        }
    }

    @Test("28, 33. An observation of the account shows what another process opens")
    func switchIsObserved() async throws {
        try await withTwoProcesses { app, tool, mei, ben in
            var accounts = tool.store.accountUpdates.makeAsyncIterator()
            #expect(try await accounts.next()?.owner == mei)
            try await app.signIn(ben)
            while let account = try await accounts.next(), account.owner != ben {}
            #expect(try await tool.store.account.owner == ben)
        }
    }

    @Test("28, 33. run() goes on with the records that another process opens")
    func runFollowsASwitch() async throws {
        try await withTwoProcesses { app, tool, mei, ben in
            try await app.signIn(ben)
            try await tool.signIn(ben)
            // Nothing is asked in the session of one user for the records of the other, which would end the run.
            try await tool.session.end()
            let run = Task { try await tool.store.run() }
            defer { run.cancel() }
            try await app.signIn(mei)
            while tool.store.openPlace != app.store.openPlace { try await Task.sleep(for: .milliseconds(20)) }
            try await tool.session.begin(mei)
            try await app.store.privateDatabase.add(Book(title: "Mei's"), named: "m")
            var pending = app.store.privateDatabase.statusUpdates().makeAsyncIterator()
            while let status = try await pending.next(), status.pending > 0 {}
            #expect(try await tool.store.account.owner == mei)
            run.cancel()
            await #expect(throws: CancellationError.self) { try await run.value }
        }
    }

    @Test("28. Signing out in one process leaves alone what another process has opened")
    func signOutIsForTheOpenRecords() async throws {
        try await withTwoProcesses { app, tool, _, ben in
            let seen = try await tool.store.pendingChanges()
            try await app.signIn(ben)
            var hasEnded = false
            let error = await #expect(throws: StoreError.self) {
                try await tool.store.signOut(.removed(seen)) { hasEnded = true }
            }
            #expect(error?.code == .accountChanged)
            #expect(!hasEnded)
            #expect(try await app.store.account.owner == ben)
        }
    }

    @Test("28, 33. No change of another process is lost with records that are removed")
    func changesBesideARemoval() async throws {
        try await withTwoProcesses { app, tool, mei, _ in
            let ofMei = tool.store.privateDatabase
            let seen = try await app.store.pendingChanges()
            // The other process changes something after the person was asked.
            let error = await #expect(throws: StoreError.self) {
                try await app.store.signOut(.removed(seen)) { try await ofMei.add(Book(title: "between"), named: "b") }
            }
            #expect(error?.code == .pendingChanges)
            #expect(try await tool.titles() == ["between"])

            let all = try await app.store.pendingChanges()
            try await app.session.signOut(of: app.store, .removed(all))
            // The file is gone, and the process still has it open.
            let late = await #expect(throws: StoreError.self) { try await ofMei.add(Book(title: "late"), named: "l") }
            #expect(late?.code == .accountChanged)
            let summary = try await tool.store.sync()
            #expect(summary.scopes[.private]?.condition == nil)
            #expect(try await tool.titles() == [])
            #expect(try await tool.store.account.owner == mei)
        }
    }

    @Test("29, 33. A record that another process makes while a user signs in belongs to the user, or is refused")
    func recordsBesideAJoin() async throws {
        try await withTwoProcesses { app, tool, mei, ben in
            try await app.session.signOut(of: app.store)
            try await app.store.privateDatabase.add(Book(title: "made signed out"), named: "s")
            #expect(try await tool.store.account.owner == nil)
            let ofNoOne = tool.store.privateDatabase
            try await ofNoOne.add(Book(title: "made by the tool"), named: "t")
            try await app.signIn(ben)
            #expect(try await app.titles().sorted() == ["made by the tool", "made signed out"])
            let late = await #expect(throws: StoreError.self) { try await ofNoOne.add(Book(title: "late"), named: "l") }
            #expect(late?.code == .accountChanged)
            #expect(try await tool.store.account.owner == ben)
            #expect(try await tool.titles().sorted() == ["made by the tool", "made signed out"])
        }
    }

    @Test("28, 29, 33. A user signs in where another process has added the open records of no one to those of a user")
    func signInsBesideAJoin() async throws {
        try await withTwoProcesses { app, tool, mei, ben in
            try await app.session.signOut(of: app.store)
            try await app.store.privateDatabase.add(Book(title: "made signed out"), named: "s")
            #expect(try await tool.store.account.owner == nil)
            try await tool.store.privateDatabase.add(Book(title: "made by the tool"), named: "t")
            try await app.signIn(ben)
            try await tool.signIn(mei)
            for process in [app, tool] {
                #expect(try await process.store.account.owner == mei)
                #expect(try await process.titles() == [])
            }
            try await tool.signIn(ben)
            for process in [app, tool] {
                #expect(try await process.store.account.owner == ben)
                #expect(try await process.titles().sorted() == ["made by the tool", "made signed out"])
            }
        }
    }

    @Test("28. A removal that has ended before it was noted is completed when the store is opened")
    func withdrawnFileIsRemoved() async throws {
        try await withTwoProcesses { app, tool, _, ben in
            try await app.signIn(ben)
            try await tool.signIn(ben)
            try await app.store.privateDatabase.add(Book(title: "gone"), named: "g")
            try app.store.file(of: .private).withdraw { _ in }
            #expect(try await tool.titles() == ["gone"])
            try await tool.store.followOtherProcesses()
            #expect(try await tool.titles() == [])
            #expect(try await tool.store.account.owner == ben)
            try await tool.store.privateDatabase.add(Book(title: "new"), named: "n")
            #expect(try await app.store.account.owner == ben)
            #expect(try await app.titles() == ["new"])
        }
    }
}
