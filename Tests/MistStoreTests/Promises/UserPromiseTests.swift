import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Promise 28: a folder belongs to one user.
@Suite(.timeLimit(.minutes(10)))
struct UserPromiseTests {
    private func open(_ folder: URL, _ service: any SyncService) throws -> MistStore {
        try MistStore(at: folder, records: [Shelf.self, Book.self], service: service)
    }

    @Test(
        "28, P4. Another user's session on the same folder is a typed error, and nothing is sent or fetched",
        arguments: [true, false]
    )
    func otherUsersAreRefused(hasZoneOfTheName: Bool) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
                if hasZoneOfTheName {
                    let own = try open(folder.appending(path: "ben"), emulator.service(asUser: ben))
                    try await own.privateDatabase.add(Book(title: "Ben's"), named: "b")
                    try await own.sync()
                    try own.close()
                }
                let ofBen = try emulator.contents(of: .private, ofUser: ben)
                #expect(ofBen == (hasZoneOfTheName ? "Records\n  Book b: loans=0 tags=[] title=Ben's" : ""))
                let shared = folder.appending(path: "shared")
                var store = try open(shared, emulator.service(as: .user))
                try await store.privateDatabase.add(Book(title: "Mei's"), named: "a")
                #expect(try await store.sync().sent == 1)
                try await store.privateDatabase.add(Book(title: "pending"), named: "p")
                try store.close()

                store = try open(shared, try emulator.service(asUser: ben))
                emulator.faults.forgetRequests()
                let error = await #expect(throws: StoreError.self) { try await store.sync() }
                #expect(error?.code == .otherUser)
                #expect(error?.message.contains(ben) == true)
                #expect(error?.message.contains(emulator.userRecordName) == true)
                #expect(emulator.faults.requests == ["public/users/caller"])
                #expect(try emulator.contents(of: .private, ofUser: ben) == ofBen)
                let status = try await store.privateDatabase.status()
                #expect(status.conditions == [.otherUser])
                #expect(status.detail == error?.message)
                #expect(status.pending == 1)
                #expect(!status.isSynchronised)
                try store.close()

                store = try open(shared, emulator.service(as: .user))
                let summary = try await store.sync()
                #expect(summary.sent == 1)
                #expect(try await store.privateDatabase.status().isSynchronised)
                #expect(
                    try emulator.contents(of: .private)
                        == "Records\n  Book a: loans=0 tags=[] title=Mei's\n  Book p: loans=0 tags=[] title=pending"
                )
                try store.close()
            }
        }
    }

    @Test("28, P4. The user is asked for once after an opening, and again after each sign-in on the same service")
    func signInsAreNoticed() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
                let session = UserSession(emulator, webAuthToken: emulator.webAuthToken)
                let store = try open(folder, session.service)
                for _ in 1...3 { try await store.sync() }
                func calls() -> Int { emulator.faults.requests.count { $0 == "public/users/caller" } }
                #expect(calls() == 1)
                try await store.privateDatabase.add(Book(title: "Mei's"), named: "a")
                try await session.begin(ben)
                let error = await #expect(throws: StoreError.self) { try await store.sync() }
                #expect(error?.code == .otherUser)
                #expect(try emulator.contents(of: .private, ofUser: ben) == "")
                try await session.end()
                #expect(try await store.sync().scopes[.private]?.condition == .signedOut)
                try await session.begin(emulator.userRecordName)
                #expect(try await store.sync().sent == 1)
                #expect(calls() == 4)
                try store.close()
            }
        }
    }

    @Test("28, P4. Changes of the public scope wait for their user, too; reading it needs no user")
    func publicChangesWaitForTheirUser() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
                var store = try open(folder, emulator.service(as: .user))
                try await store.publicDatabase.add(Book(title: "Mei's"), named: "a")
                try await store.sync()
                try await store.publicDatabase.add(Book(title: "pending"), named: "p")
                try await store.publicDatabase.follow(Query<Book>())
                try store.close()
                let other = try emulator.service(asUser: ben)
                _ = try await other.publicDatabase.create(ServiceRecord(recordType: "Book", recordName: "of Ben"))

                store = try open(folder, other)
                emulator.faults.forgetRequests()
                let error = await #expect(throws: StoreError.self) { try await store.sync() }
                #expect(error?.code == .otherUser)
                #expect(try await store.publicDatabase.find(Query<Book>()).map(\.recordName) == ["a", "of Ben", "p"])
                #expect(try await store.publicDatabase.status().conditions == [.otherUser])
                #expect(!emulator.faults.requests.contains { $0.hasSuffix("records/modify") })
                try store.close()

                store = try open(folder, emulator.service(as: .user))
                #expect(try await store.sync().sent == 1)
                let author = try await other.publicDatabase.fetch("p").created?.userRecordName
                #expect(author == emulator.userRecordName)
                try store.close()
            }
        }
    }

    @Test("28. A server-to-server key may write to the public scope of a folder without an owner")
    func keysNeedNoUser() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let store = try open(folder, emulator.service(as: .serverKey))
                try await store.publicDatabase.add(Book(title: "P"), named: "p")
                let summary = try await store.sync()
                #expect(summary.sent == 1)
                #expect(summary.scopes[.private]?.condition == .signedOut)
                try store.close()
            }
        }
    }

    @Test("28. The engine asks for the user before everything else, and again when the answer did not come")
    func enginesAskFirst() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone") { $0.checksUser = true }
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        let trace = try phone.sync { $0 == .caller ? .lostReply : .answered }
        #expect(trace.lines == ["users/caller"])
        #expect(try phone.local.file.database.read { try phone.local.status($0) }.conditions == [.offline])
        scenario.clock.advance(by: 10)
        #expect(try phone.sync().lines.prefix(2) == ["users/caller", "changes/database"])
        #expect(try phone.sync().lines == ["changes/database", "changes/zone"])
        try phone.restart()
        #expect(try phone.sync().lines.first == "users/caller")
        try scenario.expect(["Book a title=A"])
    }

    @Test("34. A file from before users were compared is updated")
    func olderFilesAreUpdated() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone") { $0.checksUser = true }
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.takeAwayParts(sinceFormat: 2)
        try phone.restart()
        try phone.sync()
        try scenario.expect(["Book a title=A"])
        #expect(try phone.value("SELECT count(*) FROM mist_state WHERE owner IS NOT NULL AND visitor IS NULL") == 1)
        #expect(try phone.value("SELECT format FROM mist_state") == SystemTables.format)
    }
}
