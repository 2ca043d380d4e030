import Foundation
import Testing

/// Users of an emulator on this machine, who sign in without a browser.
struct LocalUserTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    private func mistkit(_ arguments: String...) throws -> CommandTests.Outcome {
        try commands.mistkit(arguments: arguments)
    }

    private func notes(_ options: String...) throws -> String {
        try commands.mistkit(arguments: ["records", "count", "Note"] + options).output
    }

    @Test func aSecondUserHasRecordsOfTheirOwn() throws {
        #expect(try mistkit("records", "create", "--type", "Note", "--name", "mine").status == 0)
        let created = try mistkit("users", "create", "Mei Lin", "--email", "mei@example.com", "-f", "csv")
        #expect(created.status == 0 && created.output.contains(",Mei Lin,mei@example.com"), "\(created.output)")
        #expect(try notes("--as", "Mei Lin") == "0\n")
        #expect(try mistkit("records", "create", "--type", "Note", "--as", "mei").status == 0)
        #expect(try mistkit("records", "create", "--type", "Note", "--as", "mei").status == 0)
        #expect(try notes("--as", "mei") == "2\n")
        #expect(try notes() == "1\n")
        let found = try mistkit("users", "lookup", "mei@example.com", "-f", "csv")
        #expect(found.output.contains("Mei Lin"), "\(found.errors)")
    }

    @Test func aUserStaysSignedInUntilTheySignOut() throws {
        try commands.mistkit("records", "create", "--type", "Note")
        try commands.mistkit("users", "create", "Mei")
        let signedIn = try mistkit("auth", "sign-in", "--user", "Mei")
        #expect(signedIn.status == 0 && signedIn.output.hasPrefix("Signed in as _"), "\(signedIn.errors)")
        #expect(try notes() == "0\n")
        #expect(try mistkit("users", "me").output.contains("Mei"))
        #expect(try notes("--as", "Local User") == "1\n")
        #expect(try mistkit("auth", "sign-out").output.hasPrefix("Signed out _"))
        #expect(try notes() == "1\n")
        #expect(try mistkit("auth", "sign-out").output == "No user was signed in.\n")
    }

    @Test func ambiguousAndUnknownUserNamesAreRefused() throws {
        try commands.mistkit("users", "create", "Mei Lin")
        try commands.mistkit("users", "create", "Mei Berg")
        let address = try mistkit("users", "create", "mei@example.com")
        #expect(address.status == 64 && address.errors.contains("\"mei@example.com\" is an e-mail address"))
        let twice = try mistkit("users", "create", "mei lin")
        #expect(twice.status == 64 && twice.errors.contains("There is a user Mei Lin already: _"), "\(twice.errors)")
        let both = try mistkit("users", "me", "--as", "Mei")
        #expect(both.status == 64 && both.errors.contains("2 users have the name Mei."), "\(both.errors)")
        let none = try mistkit("users", "me", "--as", "Mai Lin")
        #expect(none.status == 64 && none.errors.contains("There is no user Mai Lin."), "\(none.errors)")
        #expect(none.errors.contains("Did you mean Mei Lin?"))
        for arguments in [
            ["users", "me", "--as", "Mei Lin"], ["users", "create", "Ben"], ["auth", "sign-in", "--user", "Mei Lin"],
        ] {
            let address = ["--server-url", "https://example.com", "--container", "c", "--api-token", "t"]
            let elsewhere = try commands.mistkit(arguments: arguments + address)
            #expect(elsewhere.status == 64)
            #expect(elsewhere.errors.contains("https://example.com is not an emulator on this machine"))
        }
    }

    /// The data folder shows that the users of a running emulator are the developer's own.
    @Test func usersOfARunningEmulatorSignIn() throws {
        let program = "'\(CommandTests.executable.path)'"
        let script = """
            set -e
            \(program) records create --type Note
            \(program) users create Mei
            \(program) records count Note --as Mei
            unset MISTKIT_WEB_AUTH_TOKEN
            \(program) auth sign-in --user Mei
            \(program) records create --type Note --name hers
            \(program) records lookup hers
            \(program) users me --data-folder elsewhere --as Mei || echo status $?
            """
        let outcome = try commands.mistkit("emulator", "--exec", "--", "/bin/sh", "-c", script)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("\n0\n") && outcome.output.contains("The token is in .mistkit/session-"))
        #expect(outcome.output.hasSuffix("status 64\n"), "\(outcome.output)")
        #expect(outcome.errors.contains("does not have its data in elsewhere"), "\(outcome.errors)")
        #expect(try notes("--as", "Mei") == "1\n")
    }
}
