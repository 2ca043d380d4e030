import HTTPTypes
import MistKit
import Testing

@testable import MistKitCLI

/// Which errors make a line of an import fail, and which end the run.
struct RefusedRecordsTests {
    private static let ofRecord: [CloudKitError.Code] = [
        .accessDenied, .atomicError, .badRequest, .conflict, .exists, .internalError, .limitExceeded, .notFound,
        .uniqueFieldError, .validatingReferenceError, .init(serverErrorCode: "NEW_CODE"),
    ]
    private static let ofRun: [CloudKitError.Code] = [
        .authenticationFailed, .authenticationRequired, .quotaExceeded, .throttled, .tryAgainLater, .zoneBusy,
        .zoneNotFound, .cancelled, .network, .serviceUnavailable, .misdirectedRequest, .unexpectedResponse, .decoding,
        .encoding, .invalidArgument, .invalidCredentials, .signing, .tokenStorage, .outcomeUnknown, .middleware,
        .responseTooLarge,
    ]

    private func error(_ code: CloudKitError.Code) -> CloudKitError {
        var error = CloudKitError(code: code, message: "It failed.")
        error.item = .record(name: "n")
        error.attempts = 1
        return error
    }

    @Test(arguments: ofRecord) func theServiceRefusesOneRecord(_ code: CloudKitError.Code) {
        #expect(error(code).refusesOneRecord)
    }

    @Test(arguments: ofRun) func otherErrorsEndTheRun(_ code: CloudKitError.Code) {
        #expect(!error(code).refusesOneRecord)
    }

    @Test(arguments: ofRecord + ofRun) func anErrorWithoutAnAnswerEndsTheRun(_ code: CloudKitError.Code) {
        var unsent = error(code)
        unsent.attempts = 0
        #expect(!unsent.refusesOneRecord)
        var lost = error(code)
        lost.mayHaveBeenDone = true
        #expect(!lost.refusesOneRecord)
        var whole = error(code)
        whole.item = nil
        #expect(!whole.refusesOneRecord)
    }

    /// A request with one record, such as the last of a file, fails as a whole if the service refuses the record.
    @Test(arguments: [
        (CloudKitError.Code.conflict, 409, true), (.limitExceeded, 413, true), (.badRequest, 400, false),
        (.accessDenied, 403, false), (.internalError, 500, false),
    ]) func theStatusIsThatOfAWholeRequest(_ code: CloudKitError.Code, status: Int, isOfRecord: Bool) {
        var failure = error(code)
        failure.httpStatus = HTTPResponse.Status(code: status)
        #expect(failure.refusesOneRecord == isOfRecord)
    }

    @Test(arguments: [
        (CloudKitError.Code.localData, true), (.limitExceeded, true), (.badRequest, true), (.network, false),
        (.quotaExceeded, false), (.authenticationRequired, false), (.cancelled, false), (.serviceUnavailable, false),
    ]) func aFileFailsAlone(_ code: CloudKitError.Code, isOfFile: Bool) {
        #expect(error(code).refusesOneFile == isOfFile)
    }
}
