import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import Logging
import Testing

@testable import MistKitCLI

/// Commands that reach an emulator of another process through its administration.
struct AdministrationCommandTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    /// Runs a script while `mistkit emulator` runs. `mistkit` in it has no settings but the data folder.
    private func whileRunning(_ script: String, options: [String] = []) throws -> CommandTests.Outcome {
        let prelude = """
            set -e
            mistkit() { env -i "$MISTKIT" "$@"; }
            at() { "$MISTKIT" "$@"; }

            """
        let arguments = ["emulator"] + options + ["--exec", "--", "sh", "-c"]
        let program = "MISTKIT='\(CommandTests.executable.path)'\n"
        return try commands.mistkit(arguments: arguments + [program + prelude + script])
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: commands.folder.appendingPathComponent(name))
    }

    @Test func theSchemaOfARunningEmulatorIsImportedAndExported() throws {
        try write("schema.ckdb", "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);")
        try write("empty.ckdb", "DEFINE SCHEMA")
        let outcome = try whileRunning(
            """
            mistkit schema import schema.ckdb --dry-run
            mistkit schema import schema.ckdb
            at schema show Note
            mistkit schema deploy
            mistkit schema import empty.ckdb --dry-run || echo status $?
            at schema import empty.ckdb || echo status $?
            """
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        let lines = outcome.lines
        #expect(lines.filter { $0 == "+ record type Note (title)" }.count == 3, "\(outcome.output)")
        #expect(lines.contains("        title STRING QUERYABLE"))
        #expect(lines.filter { $0 == "status 1" }.count == 2)
        let refusal = """
            cannot be imported: ! record type Note is dropped: production does not drop record types.
            """
        #expect(outcome.errors.components(separatedBy: refusal).count == 3, "\(outcome.errors)")
    }

    @Test func faultsOfARunningEmulatorAreSetListedAndCleared() throws {
        try write("faults.json", #"[{"fault":"refuse","code":"ACCESS_DENIED","on":"zones/list","calls":"all"}]"#)
        try write("wrong.json", #"[{"fault":"refuse"}]"#)
        let outcome = try whileRunning(
            """
            mistkit faults list
            mistkit faults set faults.json >/dev/null
            at zones list || echo refused
            at faults list --format csv
            echo '[{"fault":"hang","seconds":1.5}]' | mistkit faults set - --format csv
            mistkit faults set wrong.json || echo status $?
            mistkit faults clear
            at zones list >/dev/null && echo listed
            """
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(
            outcome.output == """
                No faults.
                refused
                fault,options,on,database,by,calls,matched,fired\r
                refuse,"code ACCESS_DENIED, reason A fault rule of the emulator refused this request, status 403",zones/list,,,all,1,1\r
                fault,options,on,database,by,calls,matched,fired\r
                hang,seconds 1.5,every request,,,first 1,0,0\r
                status 65
                No faults.
                listed

                """,
            "\(outcome.output)"
        )
        #expect(outcome.errors.contains("Rule 1 of wrong.json has no \"code\""))
    }

    @Test func usersOfARunningEmulatorAreMade() throws {
        let outcome = try whileRunning(
            """
            mistkit users create Mei --format csv
            at users create mei || echo status $?
            mistkit auth sign-in --user Mei >/dev/null
            mistkit users me --format csv
            """
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines.filter { $0.contains(",Mei,") }.count == 2, "\(outcome.output)")
        #expect(outcome.output.contains("status 64") && outcome.errors.contains("There is a user Mei already"))
    }

    @Test func theSecretIsInAFileOfTheOwnerUntilTheEmulatorStops() throws {
        let script = """
            stat -c '%a' .mistkit/administration-*.json
            ls .mistkit | grep -c administration-
            grep -cE '"secret":"[0-9a-f]{64}"' .mistkit/administration-*.json
            env | grep -c "$(sed 's/.*"secret":"//;s/".*//' .mistkit/administration-*.json)" || true
            """
        let outcome = try whileRunning("umask 0\n" + script)
        #expect(outcome.output == "600\n1\n1\n0\n", "\(outcome.errors)")
        let left = try FileManager.default.contentsOfDirectory(atPath: commands.folder.path + "/.mistkit")
        #expect(!left.contains { $0.hasPrefix("administration-") })
    }

    @Test func aFileThatIsLeftOverIsDeleted() throws {
        try commands.mistkit("zones", "list")
        let path = commands.folder.path + "/.mistkit/administration-1.json"
        try write(".mistkit/administration-1.json", #"{"address":"http://127.0.0.1:9","secret":"x"}"#)
        // Others could have written it.
        let listed = try commands.mistkit("faults", "list")
        #expect(listed.status == 69)
        #expect(listed.errors.contains("No emulator of this version runs with its data in .mistkit"))
        #expect(FileManager.default.fileExists(atPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(try commands.mistkit("faults", "list").status == 69)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try commands.mistkit("schema", "export").status == 0)
        #expect(try commands.mistkit("faults", "set", "absent.json").status == 65)
    }

    @Test func anEmulatorThatCannotBeAdministeredIsNamed() async throws {
        let closed = try commands.mistkit("faults", "list", "--server-url", "http://127.0.0.1:9")
        #expect(closed.status == 75, "\(closed.errors)")
        #expect(closed.errors.contains("Nothing answers at http://127.0.0.1:9."))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        // As an emulator of an older version.
        let server = try CloudKitEmulatorServer(CloudKitEmulator(), configuration: .init(logger: logger))
        try await server.withRunningServer { address in
            for arguments in [["faults", "list"], ["schema", "export"], ["users", "create", "Mei"]] {
                let outcome = try await inThread {
                    try commands.mistkit(arguments: arguments + ["--server-url", address.absoluteString])
                }
                #expect(outcome.status == 64)
                #expect(
                    outcome.errors.hasPrefix(
                        "mistkit: The service at \(address.absoluteString) has no administration: it is an emulator of an older version"
                    ),
                    "\(outcome.errors)"
                )
            }
        }
        let other = try whileRunning("at faults list --data-folder other || echo status $?")
        #expect(other.output == "status 64\n" && other.errors.contains("does not have its data in other."))
        let elsewhere = try commands.mistkit("faults", "clear", "--server-url", "https://example.com")
        #expect(elsewhere.status == 64 && elsewhere.errors.contains("is not an emulator on this machine"))
    }

    /// The thread of the task stays free for the server.
    private func inThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
