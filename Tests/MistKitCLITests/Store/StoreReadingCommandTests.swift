import Foundation
import MistKit
import MistStore
import Testing

@testable import MistKitCLI

/// `mistkit store status`, `log` and `sql`: reading the store of a program, while it runs.
struct StoreReadingCommandTests {
    private let program: OperatedStore
    private var commands: CommandTests { program.commands }

    init() throws {
        program = try OperatedStore()
    }

    /// The lines of a table, with a star for each text of a form that differs in each run.
    private func lines(_ outcome: CommandTests.Outcome) -> [String] {
        outcome.lines.map { line in
            String(line).replacing(/_[0-9a-f]{32}/, with: "*")
                .replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "*")
                .replacing(/process \d+, last sign \d+ seconds? ago/, with: "*")
        }
    }

    @Test func theStatusSaysWhatWaitsWhileTheProgramRuns() async throws {
        let store = try program.open()
        let home = try await store.privateDatabase.add(DemoList(name: "Home"), named: "home")
        try await store.privateDatabase.add(DemoTodo(list: home.reference(), title: "Milk"), named: "milk")
        let waiting = try commands.mistkit("store", "status", "notes")
        #expect(waiting.status == 0, "\(waiting.errors)")
        #expect(
            lines(waiting) == [
                "private database, user.sqlite of no one",
                "  state         2 changes to send, changes to fetch",
                "  records       1 DemoList, 1 DemoTodo",
                "  to send       2 changes",
                "  to fetch      the service may have changes",
                "  synchroniser  none at present",
                "  recovery log  empty",
                "public database, public.sqlite",
                "  state         synchronised",
                "  records       0 DemoList, 0 DemoTodo",
                "  synchroniser  none at present",
                "  recovery log  empty",
            ]
        )
        try await store.sync()
        let done = try commands.mistkit("store", "status", "notes")
        #expect(
            lines(done).prefix(4) == [
                "private database, user.sqlite of the user *",
                "  state         synchronised",
                "  records       1 DemoList, 1 DemoTodo",
                "  synchroniser  none at present",
            ]
        )
        let json = try commands.mistkit("store", "status", "notes", "--format", "json")
        let reports = try #require(JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]])
        #expect(reports.map { $0["database"] as? String } == ["private", "public"])
        #expect(reports.first?["isSynchronised"] as? Bool == true)
        #expect(reports.first?["pending"] as? Int == 0)
        #expect(reports.first?["records"] as? [String: Int] == ["DemoList": 1, "DemoTodo": 1])
        try store.close()
    }

    @Test(arguments: [2, 40])
    func theStatusSaysWhetherTheProcessThatSynchronisesLives(secondsSinceItsLastSign seconds: Int) async throws {
        let store = try program.open()
        try await store.sync()
        let time = "unixepoch() * 1000 - \(seconds) * 1000"
        try program.execute(
            "UPDATE mist_lease SET holder = 1, process = 'todo', process_id = 99999, taken_at = \(time), beat_at = \(time)"
        )
        let line = try #require(try commands.mistkit("store", "status", "notes").lines.first { $0.contains("todo, ") })
        #expect(line.hasPrefix("  synchroniser  todo, process 99999, "), "\(line)")
        #expect(line.contains("without a sign for") == (seconds > 5), "\(line)")
        #expect(line.contains(", last sign ") == (seconds <= 5), "\(line)")
        try store.close()
    }

    @Test func theStatusNamesTheRecordsThatWait() async throws {
        let store = try program.open()
        try await store.privateDatabase.add(DemoList(name: "Home"), named: "home")
        try await store.sync()
        try program.execute("UPDATE DemoList SET name = NULL")
        try await store.sync()
        let status = try commands.mistkit("store", "status", "notes")
        #expect(lines(status).contains("  state         1 change to send"), "\(status.output)")
        let waiting = try #require(lines(status).first { $0.contains("record waits") })
        #expect(waiting.hasPrefix("  record waits  home: value. "), "\(waiting)")
        try store.close()
    }

    @Test func theKeyOfASealedStoreIsRead() async throws {
        let key = StoreEncryptionKey()
        var configuration = StoreConfiguration()
        configuration.encryptionKey = key
        let folder = commands.folder
        let store = try MistStore(
            at: folder.appending(path: "notes"),
            records: [DemoList.self, DemoTodo.self],
            configuration: configuration
        )
        try await store.privateDatabase.add(DemoList(name: "Home"), named: "home")
        try store.close()
        let refused = try commands.mistkit("store", "status", "notes")
        #expect(refused.status == 77)
        #expect(refused.errors.contains("--key-file"), "\(refused.errors)")
        try Data("no key".utf8).write(to: folder.appending(path: "wrong"))
        let wrong = try commands.mistkit("store", "status", "notes", "--key-file", "wrong")
        #expect(wrong.status == 64)
        try key.revealBytes().write(to: folder.appending(path: "key"))
        try Data("\(key.revealBytes().base64EncodedString())\n".utf8).write(to: folder.appending(path: "text"))
        for file in ["key", "text"] {
            let status = try commands.mistkit("store", "status", "notes", "--key-file", file)
            #expect(lines(status).contains("  records       1 DemoList, 0 DemoTodo"), "\(status.errors)")
        }
    }

    @Test func theFileOfOneOfSeveralUsersIsChosen() async throws {
        #expect(try commands.mistkit("users", "create", "Ben").status == 0)
        let store = try program.open()
        try await store.privateDatabase.add(DemoList(name: "Home"), named: "home")
        try await store.sync()
        let first = try #require(try await store.account.owner)
        try store.close()
        let second = try program.open(as: "Ben")
        try await second.openSignedInUser()
        try await second.privateDatabase.add([DemoList(name: "Work"), DemoList(name: "Trip")])
        let ben = try #require(try await second.account.owner)
        #expect(first != ben)
        let all = try commands.mistkit("store", "status", "notes")
        #expect(
            all.lines.filter { !$0.hasPrefix(" ") } == [
                "private database, users/\(ben).sqlite of the user \(ben)",
                "private database, user.sqlite of the user \(first), not open", "public database, public.sqlite",
            ]
        )
        let one = try commands.mistkit("store", "status", "notes", "--user", first)
        #expect(one.output.contains("1 DemoList, 0 DemoTodo") && !one.output.contains(ben))
        let unclear = try commands.mistkit("store", "log", "notes")
        #expect(unclear.status == 64)
        #expect(
            unclear.errors == """
                mistkit: The store has private records of several users: \(ben) (open), \(first).
                  Name one of them with --user, or those of no one with --signed-out.

                """
        )
        #expect(try commands.mistkit("store", "log", "notes", "--user", first).output == "The recovery log is empty.\n")
        #expect(try commands.mistkit("store", "log", "notes", "--database", "public").status == 0)
        let absent = try commands.mistkit("store", "log", "notes", "--signed-out")
        #expect(absent.status == 64)
        #expect(absent.errors.hasPrefix("mistkit: The store has no private records of no one.\n"))
        let names = try commands.mistkit(
            arguments: ["store", "sql", "notes", "SELECT name FROM DemoList", "--user", ben, "--format", "csv"]
        )
        #expect(names.output == "name\r\nWork\r\nTrip\r\n", "\(names.errors)")
        // The file of a user who was not signed in since is updated when the user is signed in again.
        try program.execute("UPDATE mist_state SET format = 1")
        let rest = try commands.mistkit("store", "status", "notes")
        #expect(rest.status == 0)
        #expect(
            rest.lines.filter { !$0.hasPrefix(" ") } == [
                "private database, users/\(ben).sqlite of the user \(ben)", "public database, public.sqlite",
            ]
        )
        #expect(rest.errors.hasPrefix("mistkit: note: needsUpdate: "), "\(rest.errors)")
        #expect(try commands.mistkit("store", "status", "notes", "--user", first).status == 65)
        try second.close()
    }

    @Test func theLogHasTheValuesThatLost() throws {
        #expect(try commands.mistkit("demo", "sync", "--count", "10", "--folder", "stores").status == 0)
        let log = try commands.mistkit("store", "log", "stores/laptop")
        #expect(log.status == 0)
        #expect(lines(log).first == "number  time                      reason   type      record  values")
        #expect(
            lines(log).dropFirst(2) == ["1       *  deleted  DemoTodo  eggs    isDone=0, list=→ home, title=Six eggs"]
        )
        let json = try commands.mistkit("store", "log", "list", "stores/phone", "--format", "ndjson")
        let entry = try #require(JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect(entry["reason"] as? String == "laterEdit")
        #expect(entry["recordName"] as? String == "bread")
        #expect((entry["fields"] as? [String: [String: String]])?["title"]?["value"] == "Rye bread")
        #expect(try commands.mistkit("store", "log", "stores/phone", "--limit", "0").status == 64)
    }

    @Test func aStatementReadsAndDoesNotWrite() async throws {
        let store = try program.open()
        try await store.privateDatabase.add(DemoList(name: "Home"), named: "home")
        func sql(_ statement: String, _ format: String = "table") throws -> CommandTests.Outcome {
            try commands.mistkit("store", "sql", "notes", statement, "--format", format)
        }
        #expect(
            try sql("SELECT _recordName, name, NULL AS absent_, x'00ff' AS bytes FROM DemoList").lines == [
                "_recordName  name  absent_  bytes", "-----------  ----  -------  -------",
                "home         Home           x'00ff'",
            ]
        )
        #expect(
            try sql("SELECT 1 AS a, 2.5 AS a, NULL AS b, x'00ff' AS c, 9e999 AS d", "ndjson").output
                == #"{"a":1,"a:2":2.5,"b":null,"c":"AP8=","d":"inf"}"# + "\n"
        )
        #expect(try sql("SELECT 1 WHERE 0").output == "No rows.\n")
        for statement in [
            "DELETE FROM DemoList", "CREATE TABLE own (a)", "PRAGMA user_version = 7", "VACUUM INTO 'copy.sqlite'",
            "WITH a AS (SELECT 1) INSERT INTO DemoList (name) SELECT * FROM a",
        ] {
            let refused = try sql(statement)
            #expect(refused.status == 64)
            #expect(
                refused.errors == """
                    mistkit: The statement writes, and the file is open for reading. Nothing was changed.
                      To change records, use sqlite3 on notes/user.sqlite: the store sends such changes as well.

                    """
            )
        }
        #expect(try await store.privateDatabase.fetch(DemoList.self, named: "home").model.name == "Home")
        for (statement, reason) in [
            ("SELEC 1", "SQLite does not accept the statement: near \"SELEC\": syntax error."),
            ("SELECT 1; SELECT 2", "One statement can be run at a time. Leave the others out."),
            ("ATTACH 'other.sqlite' AS other", "SQLite does not accept the statement: unable to open database"),
        ] {
            let refused = try sql(statement)
            #expect(refused.status == 64)
            #expect(refused.errors.hasPrefix("mistkit: query: \(reason)"), "\(refused.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: commands.folder.appending(path: "other.sqlite").path))
        let missing = try commands.mistkit("store", "sql", "notes")
        #expect(missing.status == 64)
        #expect(missing.errors.hasPrefix("mistkit: Missing expected argument '<statement>'.\n"))
        try store.close()
    }

    @Test func aFileOfAnotherFormatIsNamed() throws {
        try program.open().close()
        for (format, reason) in [
            (
                1,
                "needsUpdate: \(program.folder().path)/user.sqlite: An earlier version of MistStore wrote the file, in the format 1. "
            ),
            (
                99,
                "newerFormat: \(program.folder().path)/user.sqlite: The file has the format 99, and this version of MistStore knows "
            ),
        ] {
            try program.execute("UPDATE mist_state SET format = \(format)")
            for command in ["status", "log", "diagnostics"] {
                let refused = try commands.mistkit("store", command, "notes")
                #expect(refused.status == 65)
                #expect(refused.errors.hasPrefix("mistkit: \(reason)"), "\(refused.errors)")
            }
        }
        // A statement needs no more than SQLite.
        try program.execute("UPDATE mist_state SET format = 1")
        #expect(try commands.mistkit("store", "sql", "notes", "SELECT count(*) FROM DemoList").status == 0)
        for folder in ["missing", "."] {
            #expect(try commands.mistkit("store", "status", folder).status == 65)
            #expect(try commands.mistkit("store", "sql", folder, "SELECT 1").status == 65)
        }
        #expect(
            try commands.mistkit("store", "status").errors.hasPrefix("mistkit: Missing expected argument '<folder>'.")
        )
    }
}
