import Foundation
import GRDB
import MistMutationQueue
import Peated
import PeatedOffline
import PeatedStub
import Synchronization
import Testing

/// Tokens, sessions and users while changes wait, over HTTP.
@Suite(.timeLimit(.minutes(2)))
struct AccountStoryTests {
    @Test func aTokenThatExpiresInMidQueueIsRenewedOnce() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            for number in 1...8 { try await notebook.taste("b1", notes: "Dram \(number)") }
            let sent = Mutex(0)
            machine.network.before { operation in
                guard operation == Operations.AddTasting.id else { return }
                let isFifth = sent.withLock { sent in
                    sent += 1
                    return sent == 5
                }
                if isFifth { await machine.stub.expireAccessTokens() }
            }
            let drain = try await notebook.send()
            #expect(drain.sent == 8 && drain.status.isEmpty)
            #expect(await machine.stub.refreshCount == 1)
            #expect(await machine.added().sorted() == (1...8).map { "ada: Dram \($0)" })
            #expect(await machine.stub.log.contains("addTasting 401"))
        }
    }

    @Test func aRefusedRenewalPausesTheQueueUntilTheUserSignsIn() async throws {
        try await Machine.run { machine in
            var notebook = try await machine.signIn()
            try await notebook.refresh(.own, pageSize: 1)
            await machine.stub.revokeAll()
            try await notebook.taste("b1", notes: "One")
            try await notebook.taste("b2", notes: "Two")
            #expect(try await notebook.send().sent == 0)
            let reason = "You are signed out. The refresh token was used before or has expired."
            let credentials = try machine.accounts.credentials(of: notebook.account)
            #expect(try await credentials.load() == nil)

            // The reason lasts, and nothing is asked for meanwhile. Reading and writing go on.
            notebook = try machine.restart()
            let requests = await machine.stub.log.count
            try await notebook.taste("b1", notes: "Three")
            let drain = try await notebook.send()
            #expect(drain.status.pause?.reason == .signedOut && drain.status.waiting == 3)
            let message = drain.status.pause?.message
            #expect(message == reason || message == "You are signed out. No user is logged in.")
            #expect(try await notebook.lines(.own).count == 5)
            await #expect(throws: PeatedError.self) { try await notebook.refresh(.own) }
            #expect(await machine.stub.log.count == requests)

            notebook = try await machine.signIn()
            #expect(try await notebook.send().sent == 3)
            #expect(await machine.added().sorted() == ["ada: One", "ada: Three", "ada: Two"])
        }
    }

    @Test func aSessionThatEndsWhileReadingPausesTheQueue() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            await machine.stub.revokeAll()
            await #expect(throws: PeatedError.self) { try await notebook.refresh(.own) }
            #expect(
                try await notebook.queueLines() == [
                    "queue: everything is sent; paused: You are signed out. The refresh token was used before or has "
                        + "expired."
                ]
            )
        }
    }

    @Test func theQueueOfAnotherUserIsNeitherShownNorSent() async throws {
        try await Machine.run { machine in
            let ada = try await machine.signIn("ada")
            machine.network.setOffline(true)
            try await ada.taste("b1", notes: "Ada's")
            try await machine.accounts.signOut(ada)
            #expect(try machine.accounts.current() == nil)

            machine.network.setOffline(false)
            let bob = try await machine.signIn("bob")
            #expect(try await bob.queueLines() == ["queue: everything is sent"])
            try await bob.taste("b2", notes: "Bob's")
            #expect(try await bob.send().sent == 1)
            // The program of ada still runs: it has no token, and says so.
            #expect(try await ada.send().sent == 0)
            #expect(
                try await ada.queueLines() == [
                    "tasting local-1 of b1  waits", "queue: 1 waiting; paused: ada has signed out.",
                ]
            )
            #expect(await machine.added() == ["bob: Bob's"])
            #expect(try await bob.lines(.own).map { $0.contains("Bob's") } == [true])

            let again = try await machine.signIn("ada")
            #expect(try await again.send().sent == 1)
            #expect(await machine.added() == ["bob: Bob's", "ada: Ada's"])
        }
    }

    @Test func aFileThatThisProgramCannotReadIsNamedAndKept() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            let folder = try machine.accounts.folder(of: notebook.account)
            let file = folder.appending(path: "notebook.sqlite").path
            func failure() -> String {
                do {
                    _ = try machine.restart()
                    return "none"
                } catch {
                    return "\(error)"
                }
            }
            let database = try DatabaseQueue(path: file)
            try await database.write { db in
                try db.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('1000')")
            }
            #expect(failure() == "A later version of this program has changed \(file). Use that version.")
            let account = machine.accounts.folder.appending(path: "account.json")
            try Data("{}".utf8).write(to: account)
            #expect(failure().hasPrefix("\(account.path) does not say who is signed in."))
            #expect(try Data(contentsOf: account) == Data("{}".utf8))

            let other = Account(server: machine.url, userID: "other", username: "other")
            let otherFile = try machine.accounts.folder(of: other).appending(path: "notebook.sqlite")
            let text = Data(repeating: 65, count: 10_000)
            try text.write(to: otherFile)
            try machine.accounts.setCurrent(other)
            #expect(failure().hasPrefix("\(otherFile.path) is not an SQLite database."))
            #expect(try Data(contentsOf: otherFile) == text)
        }
    }

    @Test func aUserOfAnotherServiceHasAnotherFolder() throws {
        let accounts = Accounts(folder: FileManager.default.temporaryDirectory.appending(path: "peated-\(UUID())"))
        defer { try? FileManager.default.removeItem(at: accounts.folder) }
        func folder(_ server: String, _ id: String, _ name: String) throws -> String {
            let url = try #require(URL(string: server))
            return try accounts.folder(of: Account(server: url, userID: id, username: name)).path
        }
        let names = [
            try folder("http://a/v1", "1", "ada"), try folder("http://b/v1", "1", "ada"),
            try folder("http://a/v1", "2", "ada"), try folder("http://a/v1", "../..", "../../etc"),
        ]
        #expect(Set(names).count == 4)
        for name in names { #expect(URL(filePath: name).deletingLastPathComponent().path == accounts.folder.path) }
    }

    #if !canImport(Security)
        @Test func tokensAreInAFileThatOnlyItsOwnerCanRead() async throws {
            try await Machine.run { machine in
                let notebook = try await machine.signIn()
                let folder = try machine.accounts.folder(of: notebook.account)
                let file = folder.appending(path: "credentials.json").path
                let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
        }
    #endif
}
