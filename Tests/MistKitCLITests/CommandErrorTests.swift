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
        let lines = CommandError(CloudKitError(code: code, message: "It\nfailed.")).text.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first == "mistkit: It failed. [\(code)]")
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
        #expect(CommandError(commandLine: message, help: "mistkit --help").text == text)
    }
}
