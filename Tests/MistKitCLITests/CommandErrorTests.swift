import Foundation
import MistKit
import Testing

@testable import MistKitCLI

struct CommandErrorTests {
    @Test(arguments: [
        CloudKitError.Code.accessDenied, .assetAddressExpired, .atomicError, .authenticationFailed,
        .authenticationRequired,
        .badRequest, .cancelled, .changeTokenExpired, .conflict, .decoding, .encoding, .exists, .internalError,
        .invalidArgument, .invalidCredentials, .limitExceeded, .localData, .middleware, .misdirectedRequest, .network,
        .notFound, .outcomeUnknown, .quotaExceeded, .responseTooLarge, .serviceUnavailable, .signInFailed, .signing,
        .throttled, .tokenStorage, .tryAgainLater, .unexpectedResponse, .uniqueFieldError, .validatingReferenceError,
        .zoneBusy, .zoneNotFound, .init(serverErrorCode: "NEW_CODE"),
    ]) func everyFailureOfTheServiceSaysWhatToDo(_ code: CloudKitError.Code) {
        let error = CommandError(CloudKitError(code: code, message: "It\nfailed."))
        let lines = error.text(in: .plain).split(separator: "\n")
        #expect(lines.count == 2)
        let message = code == .authenticationRequired ? "A user must sign in." : "It failed."
        #expect(lines.first == "mistkit: \(message) [\(code)]")
        #expect(lines.last?.hasSuffix(".") == true)
    }

    @Test(arguments: [
        (
            "Unknown option '--foo'",
            "mistkit: Unknown option '--foo'.\n  `mistkit --help` lists the arguments and options."
        ),
        (
            "Unknown option '--foo'. Did you mean '--for'?",
            "mistkit: Unknown option '--foo'. Did you mean '--for'?\n  `mistkit --help` lists the arguments and options."
        ),
        ("A is wrong.\nWrite B.", "mistkit: A is wrong.\n  Write B."),
        ("A is wrong.\nWrite B\nor C.", "mistkit: A is wrong.\n  Write B or C."),
        ("", "mistkit: The command line cannot be read.\n  `mistkit --help` lists the arguments and options."),
    ]) func mistakesOnTheCommandLineAreTwoLines(_ message: String, text: String) {
        #expect(CommandError(commandLine: message, help: "mistkit --help").text(in: .plain) == text)
    }

    @Test func adviceForProgramsIsLeftOut() throws {
        let commands = try CommandTests()
        func create() throws -> CommandTests.Outcome {
            try commands.mistkit("records", "create", "--type", "Note", "--name", "n1")
        }
        #expect(try create().status == 0)
        let outcome = try create()
        #expect(
            outcome.errors.hasPrefix("mistkit: Record n1: A record of this name exists already. ["),
            "\(outcome.errors)"
        )
        #expect(!outcome.errors.contains("serverRecord") && outcome.errors.contains("mistkit records update"))
    }

    @Test func theDetailsStandBehindTheMessage() {
        var error = CloudKitError(code: .notFound, message: "There is none.")
        error.item = .record(name: "n1")
        error.reason = "Record not\nfound"
        error.requestUUID = "5b1f"
        let style = TextStyle(isTerminal: true, environment: ["TERM": "xterm"])
        let details = "[\"Record not found\", NOT_FOUND, request 5b1f]"
        #expect(CommandError(error).statement(in: .plain) == "Record n1: There is none. " + details)
        #expect(
            CommandError(error).text(in: style).hasPrefix(
                "mistkit: Record n1: There is none. \u{1B}[90m\(details)\u{1B}[39m\n  "
            )
        )
        let plain = CommandError(code: .usage, message: "A is wrong.", remedy: "Write B.")
        #expect(plain.text(in: style) == "mistkit: A is wrong.\n  Write B.")
    }

    /// No message of the client reaches the command with the name of a function, whatever the text around it is. The
    /// texts are all string literals of the client's sources that name one.
    @Test func noMessageNamesAFunction() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/MistKit")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)?.allObjects ?? []
        var found = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let text = line.trimmingCharacters(in: .whitespaces)
                guard !text.hasPrefix("//"), text.contains(#/[A-Za-z]\w*\((?:\w+:)+\)/#),
                    text.hasPrefix("\"") || text.contains(#/^[A-Z'][a-z']+ /#)
                else { continue }
                found += 1
                let message = text.trimmingCharacters(in: CharacterSet(charactersIn: "\",\\"))
                for code in [CloudKitError.Code.invalidArgument, .conflict, .badRequest] {
                    let error = CommandError(CloudKitError(code: code, message: message))
                    #expect(
                        !error.description.contains(#/\((?:\w+:)+\)/#),
                        "\(file.lastPathComponent): \(error.message)"
                    )
                    #expect(!error.message.isEmpty)
                }
            }
        }
        #expect(found > 2)
    }

    @Test(arguments: [
        ("It is wrong. Call stopSharing(_:) for it.", "It is wrong."),
        ("It is wrong; see fetchShare(of:).", "It is wrong."),
        ("Call leave(_:).", "The request cannot be sent as it is."),
        ("See https://a.b/c (of: it).", "See https://a.b/c (of: it)."),
    ]) func adviceForProgramsIsCutOff(_ message: String, _ expected: String) {
        #expect(CommandError.withoutAdvice(message) == expected)
    }

    @Test func errorsOfFilesAreWords() {
        for (code, text) in [
            (CocoaError.Code.fileNoSuchFile, "No such file"), (.fileWriteNoPermission, "Permission denied"),
        ] {
            #expect(CommandError.reason(of: CocoaError(code)).hasPrefix(text))
        }
        for code in 0...4000 {
            let error = NSError(domain: NSCocoaErrorDomain, code: code)
            #expect(!CommandError.reason(of: error).contains("Domain"))
        }
    }

    @Test func subscriptionsHaveTextsOfTheirOwn() {
        for code in [CloudKitError.Code.notFound, .exists, .badRequest] {
            var error = CloudKitError(code: code, message: "It failed.")
            error.item = .subscription(id: "s")
            #expect(!CommandError.remedy(for: error).contains("records"), "\(code)")
        }
    }

    /// The nearest command of the group in which the word is.
    @Test(arguments: [
        (["recrods"], "recrods", "mistkit", "Did you mean `mistkit records`? "),
        (["records", "qurey", "Note"], "qurey", "mistkit records", "Did you mean `mistkit records query`? "),
        (["-v", "auth", "log-in"], "log-in", "mistkit auth", "Did you mean `mistkit auth login`? "),
        (["zones", "zzzzzz"], "zzzzzz", "mistkit zones", "`mistkit zones --help` explains the commands: "),
    ]) func mistypedCommandsAreRecognised(_ arguments: [String], _ word: String, _ group: String, _ remedy: String)
        throws
    {
        let found = try #require(MistKitCommand.suggestion(for: word, in: arguments))
        #expect(found.group == group)
        #expect(found.remedy.hasPrefix(remedy), "\(found.remedy)")
    }

    @Test func anArgumentIsNotACommand() {
        #expect(MistKitCommand.suggestion(for: "x", in: ["records", "query", "Note", "x"]) == nil)
    }

    @Test func commandsSayWhatIsWrongInTheirOwnWords() throws {
        let commands = try CommandTests()
        let typo = try commands.mistkit("records", "qurey", "Note")
        #expect(typo.status == 64)
        #expect(
            typo.errors.hasPrefix("mistkit: There is no command mistkit records qurey.\n  Did you mean"),
            "\(typo.errors)"
        )
        let type = try commands.mistkit("records", "query", "Note")
        #expect(type.status == 1)
        #expect(type.errors.hasPrefix("mistkit: The container has no record type Note yet. ["), "\(type.errors)")
        #expect(type.errors.contains("In development, the first record that is saved creates its type"))
        let zone = try commands.mistkit("zones", "create", "_x")
        #expect(zone.errors.contains("A zone name has 1 to 255 ASCII characters"), "\(zone.errors)")
        let comparator = try commands.mistkit("records", "query", "Note", "--filter", "title begin_with a=b")
        #expect(
            comparator.status == 64 && comparator.errors.contains("Did you mean BEGINS_WITH?"),
            "\(comparator.errors)"
        )
        let kind = try commands.mistkit("records", "create", "--type", "Note", "-F", "a:STRNG=x")
        #expect(kind.status == 64 && kind.errors.contains("Did you mean STRING?"), "\(kind.errors)")
        let key = try commands.mistkit("auth", "keygen", "--output", "none/key.pem")
        #expect(key.status == 73, "\(key.errors)")
        try Data().write(to: commands.folder.appendingPathComponent("file"))
        let folder = try commands.mistkit("records", "count", "Note", "--data-folder", "file/x")
        #expect([65, 73].contains(folder.status) && !folder.errors.contains("Domain"), "\(folder.errors)")
        let subscription = try commands.mistkit("subscriptions", "delete", "none")
        #expect(!subscription.errors.contains("records"), "\(subscription.errors)")
    }
}
