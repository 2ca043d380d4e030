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
}
