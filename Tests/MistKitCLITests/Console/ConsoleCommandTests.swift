import Foundation
import Testing

/// The console on the command line: what it prints, and whom it lets in.
struct ConsoleCommandTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    @Test func optionsThatContradictEachOtherAreRefused() throws {
        let both = try commands.mistkit("console", "--allow-writes", "--read-only")
        #expect(both.status == 64 && both.errors.contains("contradict"), "\(both.errors)")
        #expect(try commands.mistkit("console", "--port", "65536").status == 64)
        let network = try commands.mistkit("console", "--host", "0.0.0.0")
        #expect(network.status == 64 && network.errors.contains("needs a password"), "\(network.errors)")
        let incomplete = try commands.mistkit("console", "--server-url", "http://127.0.0.1:9")
        #expect(incomplete.status == 64 && incomplete.errors.contains("no container"), "\(incomplete.errors)")
    }

    /// Runs a script with the address of the console in `$base`, and a session of it in the file `jar`.
    private func withConsole(_ arguments: String, _ script: String) throws -> [String] {
        let program = CommandTests.executable.path
        let whole = """
            set -e
            mkfifo out
            '\(program)' console --port 0 \(arguments) >out &
            console=$!
            trap 'kill $console' EXIT
            exec 3<out
            read -r first second address <&3
            base=${address%/*}
            curl -s -c jar "$address"
            \(script)
            """
        let outcome = try commands.mistkit(
            arguments: ["emulator", "--data-folder", "data", "--exec", "--", "sh", "-c", whole]
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.lines.map(String.init)
    }

    @Test(.enabled(if: CommandTests.installed("curl") != nil, "curl"))
    func theConsoleOfARunningEmulatorHasItsAdministration() throws {
        let lines = try withConsole(
            "--data-folder data",
            """
            curl -s -b jar "$base/_emulator/page" | grep -o '"administration":[a-z]*'
            curl -s -b jar "$base/_emulator/users" | grep -o '"givenName":"[A-Za-z]*"'
            curl -s "$base/_emulator/users" | grep -o '"code":"[a-z]*"'
            curl -s "$base/" | head -c 15; echo
            """
        )
        #expect(
            lines == [#""administration":true"#, #""givenName":"Local""#, #""code":"unauthorized""#, "<!doctype html>"]
        )
    }

    @Test(.enabled(if: CommandTests.installed("curl") != nil, "curl"))
    func withoutItsFolderAnEmulatorIsAServiceOfCredentials() throws {
        let lines = try withConsole(
            "--data-folder other",
            """
            curl -s -b jar "$base/_emulator/page" | grep -o '"administration":[a-z]*\\|"readOnlyEnvironments":[^]]*]'
            curl -s -b jar "$base/_emulator/users" | grep -o '"code":"[a-zA-Z]*"'
            path="$base/database/1/$MISTKIT_CONTAINER/development/private/zones/list"
            curl -s -b jar -H "Origin: $base" -H 'X-MistKit-Act-As: user' -d '{}' "$path" | grep -o '"zoneName":"[^"]*"'
            curl -s -b jar -H 'Origin: http://127.0.0.1:1' -H 'X-MistKit-Act-As: user' -d '{}' "$path" | grep -o '"code":"[a-z]*"'
            """
        )
        #expect(
            lines == [
                #""administration":false"#, #""readOnlyEnvironments":["production"]"#, #""code":"notFound""#,
                #""zoneName":"_defaultZone""#, #""code":"unauthorized""#,
            ]
        )
    }
}
