import Foundation
import GRDB
import MistKit
import MistStore
import StreamingJSON
import Testing

@testable import MistKitCLI

/// `mistkit store sync`, `verify`, `backup`, `restore` and `log restore`: working on the store of a program, while it
/// runs.
struct StoreWritingCommandTests {
    private let program: OperatedStore
    private var commands: CommandTests { program.commands }

    init() throws {
        program = try OperatedStore()
    }

    /// A store with a list and a to-do, which the service has.
    private func synchronisedStore() async throws -> MistStore {
        let store = try program.open()
        let home = try await store.privateDatabase.add(DemoList(name: "Home"), named: "home")
        try await store.privateDatabase.add(DemoTodo(list: home.reference(), title: "Milk"), named: "milk")
        try await store.sync()
        return store
    }

    private func title(_ store: MistStore) async throws -> String {
        try await store.privateDatabase.fetch(DemoTodo.self, named: "milk").model.title
    }

    @Test func aStoreIsSynchronisedBesideItsProgram() async throws {
        let store = try await synchronisedStore()
        try await store.privateDatabase.update(DemoTodo.self, named: "milk") { $0.title = "Oat milk" }
        let sync = try commands.mistkit("store", "sync", "notes", "--format", "csv")
        #expect(sync.status == 0, "\(sync.errors)")
        #expect(
            sync.output == """
                database,fetched,removed,sent,deleted,merged,lost,parked,waits\r
                private,0,0,1,0,0,0,0,\r
                public,0,0,0,0,0,0,0,\r

                """
        )
        #expect(try await store.privateDatabase.status().isSynchronised)
        let other = try program.open("other")
        try await other.sync()
        #expect(try await title(other) == "Oat milk")
        try await other.privateDatabase.update(DemoTodo.self, named: "milk") { $0.title = "Soy milk" }
        try await other.sync()
        let json = try commands.mistkit("store", "sync", "notes", "--format", "ndjson", "--database", "private")
        #expect(
            json.output == #"{"database":"private","fetched":1,"removed":0,"sent":0,"deleted":0,"merged":0,"lost":0,"#
                + #""parked":0}"# + "\n"
        )
        #expect(try await title(store) == "Soy milk")
        for store in [store, other] { try store.close() }
    }

    @Test func aRecordThatCannotBeSentIsAFailure() async throws {
        let store = try await synchronisedStore()
        try program.execute("UPDATE DemoTodo SET title = NULL")
        let sync = try commands.mistkit("store", "sync", "notes")
        #expect(sync.status == 1)
        #expect(
            sync.errors == """
                mistkit: 1 record cannot be sent; everything else was fetched and sent.
                  `mistkit store status notes` prints them with their reasons.

                """
        )
        let status = try commands.mistkit("store", "status", "notes")
        #expect(
            status.output.contains("  record waits  milk: value. The field \"title\" cannot be read."),
            "\(status.output)"
        )
        try store.close()
    }

    @Test func aSessionOfAnotherUserIsRefusedBeforeAnythingIsWritten() async throws {
        let store = try await synchronisedStore()
        let owner = try #require(try await store.account.owner)
        #expect(try commands.mistkit("users", "create", "Ben").status == 0)
        try await store.publicDatabase.add(DemoList(name: "Mine"), named: "mine")
        for command in ["sync", "verify"] {
            let refused = try commands.mistkit("store", command, "notes", "--as", "Ben")
            #expect(refused.status == 77)
            #expect(
                refused.errors.hasPrefix("mistkit: The store belongs to the user \(owner), and _"),
                "\(refused.errors)"
            )
            #expect(refused.errors.contains(" is signed in. Nothing was sent or fetched.\n"))
            #expect(refused.errors.contains("the service is the embedded emulator, data in "), "\(refused.errors)")
        }
        // Another user's session would stop the public changes of the program.
        try await store.publicDatabase.add(DemoList(name: "More"), named: "more")
        let keyless = try commands.mistkit(
            arguments: [
                "store", "sync", "notes", "--server-url", "http://127.0.0.1:1", "--api-token",
                String(repeating: "0", count: 64),
            ]
        )
        #expect(keyless.status == 77)
        #expect(keyless.errors.contains("the credentials are those of no user.\n  Run `mistkit auth sign-in`"))
        try store.close()
    }

    @Test func theRecordsOfAUserWhoIsNotSignedInAreSynchronisedAlone() async throws {
        #expect(try commands.mistkit("users", "create", "Ben").status == 0)
        let first = try await synchronisedStore()
        let owner = try #require(try await first.account.owner)
        try await first.privateDatabase.add(DemoList(name: "Work"), named: "work")
        try first.close()
        let store = try program.open(as: "Ben")
        try await store.openSignedInUser()
        try await store.publicDatabase.add(DemoList(name: "Bens"), named: "bens")
        let sync = try commands.mistkit("store", "sync", "notes", "--user", owner, "--format", "csv")
        #expect(sync.status == 0, "\(sync.errors)")
        #expect(
            sync.output == """
                database,fetched,removed,sent,deleted,merged,lost,parked,waits\r
                private,0,0,1,0,0,0,0,\r

                """
        )
        let verified = try commands.mistkit("store", "verify", "notes", "--user", owner)
        #expect(verified.status == 0, "\(verified.errors)")
        #expect(verified.lines.first == "private, Records: 3 records compared, no differences")
        let refused = try commands.mistkit("store", "sync", "notes", "--user", owner, "--database", "public")
        #expect(refused.status == 64)
        #expect(refused.errors.hasPrefix("mistkit: The public database is not synchronised with this file.\n"))
        // Public changes stay those of the user whose records are open. They would be refused after a look of the other
        // user's session at the public database.
        try await store.publicDatabase.add(DemoList(name: "More"), named: "more")
        #expect(try await store.publicDatabase.status().pending == 2)
        #expect(try await store.sync().sent == 2)
        try store.close()
    }

    @Test func theServiceIsThatOfTheProgram() async throws {
        let store = try await synchronisedStore()
        for (option, value, reason) in [
            ("--environment", "production", "environment development, and the settings have production."),
            (
                "--container", "iCloud.example.other",
                "container iCloud.example.mistkit, and the settings have iCloud.example.other."
            ),
        ] {
            let refused = try commands.mistkit("store", "sync", "notes", option, value)
            #expect(refused.status == 64)
            #expect(
                refused.errors.hasPrefix("mistkit: The program synchronises with the \(reason)\n"),
                "\(refused.errors)"
            )
        }
        try program.execute("DELETE FROM mist_service", in: "public.sqlite")
        let unknown = try commands.mistkit("store", "sync", "notes", "--environment", "production")
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("--container and --environment"), "\(unknown.errors)")
        #expect(try await title(store) == "Milk")
        try store.close()
        // A store that no user has synchronised yet belongs to no one.
        try program.open("new").close()
        let new = try commands.mistkit("store", "sync", "new")
        #expect(new.status == 64)
        #expect(new.errors.hasPrefix("mistkit: The private records of the store do not belong to a user yet.\n"))
    }

    @Test func aStoreWithoutADeclarationIsNotChanged() async throws {
        let store = try await synchronisedStore()
        try program.execute("DELETE FROM mist_setting", in: "public.sqlite")
        for arguments in [["sync", "notes"], ["verify", "notes"], ["log", "restore", "notes", "1"]] {
            let refused = try commands.mistkit(arguments: ["store"] + arguments)
            #expect(refused.status == 65)
            #expect(refused.errors.contains("does not have the merge policies and settings"), "\(refused.errors)")
        }
        #expect(try commands.mistkit("store", "status", "notes").status == 0)
        #expect(try commands.mistkit("store", "backup", "notes", "copy").status == 0)
        try store.close()
    }

    @Test func aDifferenceIsReportedAndRepaired() async throws {
        let store = try await synchronisedStore()
        let equal = try commands.mistkit("store", "verify", "notes")
        #expect(equal.status == 0, "\(equal.errors)")
        #expect(equal.lines.first == "private, Records: 2 records compared, no differences")
        #expect(equal.lines.last == "This device equals the service.")
        // A program that removes the triggers changes a value that no edit records.
        try program.execute("DROP TRIGGER \"mist_update_DemoTodo.title\"; UPDATE DemoTodo SET title = 'Beer'")
        #expect(try commands.mistkit("store", "verify", "notes").status == 0)
        let found = try commands.mistkit("store", "verify", "notes", "--values")
        #expect(found.status == 1)
        #expect(found.lines.contains("  DemoTodo milk: other values"), "\(found.output)")
        #expect(found.errors.hasPrefix("mistkit: The store differs from the service.\n"))
        #expect(try await title(store) == "Beer")
        let repaired = try commands.mistkit("store", "verify", "notes", "--values", "--repair")
        #expect(repaired.status == 0, "\(repaired.errors)")
        #expect(repaired.lines.last == "This device equals the service after the repair.")
        #expect(try await title(store) == "Milk")
        #expect(try commands.mistkit("store", "log", "notes").output.contains("title=Beer"))
        let both = try commands.mistkit("store", "verify", "notes", "--repair", "--resync")
        #expect(both.status == 64)
        #expect(try commands.mistkit("store", "verify", "notes", "--database", "private").status == 64)
        try store.close()
    }

    @Test func aComparisonIsReadByPrograms() async throws {
        let store = try await synchronisedStore()
        try program.execute("DROP TRIGGER \"mist_update_DemoTodo.title\"; UPDATE DemoTodo SET title = 'Beer'")
        let json = try commands.mistkit("store", "verify", "notes", "--values", "--format", "ndjson")
        #expect(json.status == 1)
        #expect(json.errors.hasPrefix("mistkit: The store differs from the service.\n"))
        let digest = try #require(json.output.firstMatch(of: /"digestHere":"([0-9a-f]{64})"/)).1
        #expect(
            json.output == #"{"database":"private","isComplete":true,"zone":"Records","compared":2,"skipped":0,"#
                + #""digestHere":"\#(digest)","digestThere":"\#(digest)","differences":["#
                + #"{"recordType":"DemoTodo","recordName":"milk","kind":"otherValues","outcome":"reported"}]}"# + "\n"
        )
        let csv = try commands.mistkit("store", "verify", "notes", "--values", "--repair", "--format", "csv")
        #expect(csv.status == 0, "\(csv.errors)")
        #expect(
            csv.output == """
                database,zone,compared,skipped,differences,digestHere,digestThere,failure,waits\r
                private,Records,2,0,1,\(digest),\(digest),,\r

                """
        )
        let array = try commands.mistkit("store", "verify", "notes", "--format", "json")
        #expect(array.status == 0, "\(array.errors)")
        #expect(array.output.hasPrefix("[\n") && array.output.contains(#""differences" : []"#), "\(array.output)")
        try store.close()
        let waiting = try JSONWriter.bytes(of: [ComparisonResult.unfinished(.private, .offline)])
        #expect(
            String(decoding: waiting, as: UTF8.self)
                == #"[{"database":"private","isComplete":false,"condition":"offline"}]"#
        )
    }

    @Test func aBackupIsPlannedAndRestored() async throws {
        let store = try await synchronisedStore()
        let backup = try commands.mistkit("store", "backup", "notes", "backups/one")
        #expect(backup.status == 0, "\(backup.errors)")
        #expect(backup.output.hasPrefix("backups/one: 1 DemoList, 1 DemoTodo; 2 files, "))
        let again = try commands.mistkit("store", "backup", "notes", "backups/one")
        #expect(again.status == 64)
        #expect(
            again.errors == "mistkit: backups/one exists, and a backup needs a new folder.\n  Choose another name.\n"
        )
        try await store.privateDatabase.update(DemoTodo.self, named: "milk") { $0.title = "Oat milk" }
        try await store.privateDatabase.add(DemoList(name: "Work"), named: "work")
        let plan = try commands.mistkit("store", "restore", "notes", "backups/one", "--remove-others", "--plan")
        #expect(plan.status == 0, "\(plan.errors)")
        #expect(
            plan.lines == [
                "changed DemoTodo milk (title)", "removed DemoList work",
                "0 created, 1 changed, 1 removed, 1 unchanged, 0 not restored",
            ]
        )
        let asked = try commands.mistkit("store", "restore", "notes", "backups/one")
        #expect(asked.status == 64)
        #expect(asked.errors.hasPrefix("mistkit: Change 1 record of notes? Standard input is not a terminal"))
        #expect(try await title(store) == "Oat milk")
        let restored = try commands.mistkit("store", "restore", "notes", "backups/one", "--yes")
        #expect(restored.lines.last == "0 created, 1 changed, 0 removed, 1 unchanged, 0 not restored")
        #expect(try await title(store) == "Milk")
        #expect(try await store.privateDatabase.fetch(DemoList.self, named: "work").model.name == "Work")
        let missing = try commands.mistkit("store", "restore", "notes", "backups/two", "--plan")
        #expect(missing.status == 65)
        #expect(missing.errors.contains("/backups/two is no backup: it has no manifest.json"), "\(missing.errors)")
        try store.close()
    }

    @Test func anEntryOfTheLogIsRestored() async throws {
        let store = try await synchronisedStore()
        #expect(try commands.mistkit("store", "backup", "notes", "copy").status == 0)
        try await store.privateDatabase.update(DemoTodo.self, named: "milk") { $0.title = "Oat milk" }
        #expect(try commands.mistkit("store", "restore", "notes", "copy", "--yes").status == 0)
        #expect(
            try commands.mistkit("store", "log", "notes").output.contains("restored  DemoTodo  milk    title=Oat milk")
        )
        let unknown = try commands.mistkit("store", "log", "restore", "notes", "1", "9")
        #expect(unknown.status == 64)
        #expect(
            unknown.errors == """
                mistkit: The recovery log has no entry 9. Nothing was changed.
                  `mistkit store log notes` prints the entries.

                """
        )
        #expect(try await title(store) == "Milk")
        let restored = try commands.mistkit("store", "log", "restore", "notes", "1")
        #expect(restored.output == "DemoTodo milk: restored title\n", "\(restored.errors)")
        #expect(try await title(store) == "Oat milk")
        #expect(try commands.mistkit("store", "log", "restore", "notes").errors.contains("Missing expected argument"))
        try store.close()
    }

    @Test func aFileThatAnotherProcessWritesToIsBusy() async throws {
        let store = try await synchronisedStore()
        let other = try DatabaseQueue(path: program.folder().appending(path: "user.sqlite").path)
        let (busy, reading) = try await other.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            defer { try? db.execute(sql: "ROLLBACK") }
            return (
                try commands.mistkit("store", "log", "restore", "notes", "1"),
                try commands.mistkit("store", "status", "notes")
            )
        }
        #expect(busy.status == 69)
        #expect(
            busy.errors.contains("busy: \(program.folder().path)/user.sqlite: Another process was writing"),
            "\(busy.errors)"
        )
        // Reading needs no turn.
        #expect(reading.status == 0)
        try store.close()
    }

    @Test func aFailureOfTheServiceIsTheExitCode() async throws {
        let store = try await synchronisedStore()
        let refused = try commands.mistkit(
            arguments: [
                "store", "sync", "notes", "--server-url", "http://127.0.0.1:1", "--api-token",
                String(repeating: "0", count: 64), "--web-auth-token", "token",
            ]
        )
        #expect(refused.status == 75)
        #expect(refused.errors.contains("Could not connect"), "\(refused.errors)")
        let conditions: [(SyncCondition, CommandError.Code)] = [
            (.offline, .tryAgain), (.throttled, .tryAgain), (.signedOut, .permission), (.massDeletion, .failure),
        ]
        for (condition, code) in conditions {
            var summary = ScopeSummary()
            summary.condition = condition
            #expect(ScopeResult(scope: .private, summary: summary).failure?.code == code)
        }
        #expect(ScopeResult(scope: .private, summary: ScopeSummary()).failure == nil)
        try store.close()
    }
}
