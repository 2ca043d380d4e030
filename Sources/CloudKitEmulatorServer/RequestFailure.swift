import CloudKitEmulator
import CloudKitModel
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

/// The failure of a whole request: the status of the response, and the error dictionary that is its body.
///
/// Every error between the request line and the response becomes one.
struct RequestFailure: Error {
    var status: HTTPResponse.Status
    var error: ErrorResponse
    /// The value of the header field `Allow`.
    var allowedMethods: String?
    /// An error that none of the emulator's rules throws. It is logged, as the response does not name it.
    private(set) var unexpected: (any Error)?

    /// Makes the failure for an error.
    init(_ error: any Error) {
        switch error {
        case let failure as RequestFailure:
            self = failure
        case let error as EmulatorError:
            self.init(error)
        case let error as ServerError
        where error.underlyingError is EmulatorError || error.underlyingError is RequestFailure:
            self.init(error.underlyingError)
        case let error as ServerError where error.operationInput == nil:
            // The request could not be read: it is not JSON, or does not have the expected form (observed live).
            self.init(EmulatorError.unexpectedInput)
        default:
            self.init(EmulatorError(.internalError, "an unexpected error in the emulator"))
            unexpected = error
        }
    }

    init(_ error: EmulatorError) {
        self.status = HTTPResponse.Status(of: error.serverErrorCode)
        self.error = error.response
    }

    /// The failure for a known path with another method. The service was seen to answer 405 with `Allow`; its words are
    /// not known.
    static func methodNotAllowed(allowed: [HTTPRequest.Method]) -> RequestFailure {
        var failure = RequestFailure(EmulatorError(.badRequest, "method not allowed"))
        failure.status = .methodNotAllowed
        failure.allowedMethods = (allowed.filter { $0 != .options } + [.options]).map(\.rawValue).joined(
            separator: ", "
        )
        return failure
    }

    /// The failure for a body that is longer than the limit. The service's words are not known.
    static func tooLong(limit: Int) -> RequestFailure {
        var failure = RequestFailure(EmulatorError(.badRequest, "the request body is longer than \(limit) bytes"))
        failure.status = .contentTooLarge
        return failure
    }
}

extension EmulatorError {
    /// The error behind a failure, or one with the code and the words of the failure.
    init(answering error: any Error, as failure: RequestFailure) {
        let own = error as? EmulatorError ?? (error as? ServerError)?.underlyingError as? EmulatorError
        self = own ?? EmulatorError(failure.error.serverErrorCode, failure.error.reason ?? "")
    }

    /// The service's response to an unknown path (observed live).
    static let noHandler = EmulatorError(.notFound, "could not find handler for endpoint")

    /// The service's response to a request that does not have the expected form (observed live).
    static let unexpectedInput = EmulatorError(.badRequest, "BadRequestException: Unexpected input")
}

extension HTTPResponse.Status {
    /// The status that goes with a code when a whole request fails (Apple's archived page "Error Codes").
    init(of code: ServerErrorCode) {
        self =
            switch code {
            case .accessDenied: .forbidden
            case .authenticationFailed: .unauthorized
            case .authenticationRequired: .misdirectedRequest
            case .conflict, .exists: .conflict
            case .internalError: .internalServerError
            case .notFound, .zoneNotFound: .notFound
            case .quotaExceeded: .contentTooLarge
            case .throttled: .tooManyRequests
            // No source gives the status of ZONE_BUSY.
            case .tryAgainLater, .zoneBusy: .serviceUnavailable
            case .validatingReferenceError: .preconditionFailed
            default: .badRequest
            }
    }
}
