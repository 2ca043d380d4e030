import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import CloudKitSchema
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

/// The failure of a request to the administration: the status of the response, and its body.
struct AdministrationFailure: Error {
    typealias Problem = Components.Schemas.Problem

    var status: HTTPResponse.Status
    var problem: Problem
    /// The value of the header field `Allow`.
    var allowedMethods: String?
    /// An error that the response does not name. It is logged.
    private(set) var unexpected: (any Error)?

    init(_ status: HTTPResponse.Status, _ code: Components.Schemas.ProblemCode, _ message: String) {
        self.status = status
        problem = Problem(code: code, message: message)
    }

    /// Makes the failure for an error.
    init(_ error: any Error) {
        switch error {
        case let failure as AdministrationFailure: self = failure
        case let error as ServerError where error.underlyingError is EmulatorError: self.init(error.underlyingError)
        case let error as ServerError where error.underlyingError is AdministrationFailure:
            self.init(error.underlyingError)
        case let error as ServerError where error.operationInput == nil: self.init(reading: error.underlyingError)
        case let error as EmulatorError:
            switch error.serverErrorCode {
            case .notFound: self.init(.notFound, .notFound, "\(error.reason).")
            case .internalError: self.init(.internalServerError, .internalError, "\(error.reason).")
            default: self.init(.conflict, .refused, "\(error.reason).")
            }
        case let failure as RequestFailure where failure.status == .contentTooLarge:
            self.init(.contentTooLarge, .tooLong, "\(failure.error.reason ?? "The request body is too long").")
        default:
            self.init(.internalServerError, .internalError, "The emulator met an unexpected error.")
            unexpected = error
        }
    }

    /// Makes the failure for a request that cannot be read.
    private init(reading error: any Error) {
        switch error {
        case let error as JSONError:
            self.init(.badRequest, .invalidRequest, "The body is not the JSON that is expected: \(error)")
            problem.offset = error.offset
        case let error as GeneratedCodeError where error.httpStatus == .unsupportedMediaType:
            self.init(error.httpStatus, .unsupportedType, error.description)
        case let error as GeneratedCodeError: self.init(.badRequest, .invalidRequest, error.description)
        default: self.init(.badRequest, .invalidRequest, "The request cannot be read: \(error)")
        }
    }

    /// The failure for a schema that cannot be read.
    init(_ error: SchemaSyntaxError) {
        self.init(.badRequest, .invalidSchema, "The schema cannot be read: \(error.location): \(error.message).")
        locate(error.location)
    }

    /// The failure for a schema that breaks rules.
    init(_ problems: [SchemaProblem]) {
        let sentences = problems.map { problem in (problem.location.map { "\($0): " } ?? "") + problem.message }
        self.init(
            .badRequest,
            .invalidSchema,
            "The schema breaks rules of schemas: " + sentences.joined(separator: " ")
        )
        if let location = problems.first?.location { locate(location) }
    }

    private mutating func locate(_ location: SchemaLocation) {
        (problem.offset, problem.line, problem.column) = (location.offset, location.line, location.column)
    }

    /// The failure for a request to a host that is not the server's.
    static func foreignHost(_ failure: RequestFailure) -> AdministrationFailure {
        let reason = failure.error.reason ?? "this is not the server's host"
        return AdministrationFailure(.forbidden, .foreignHost, "\(reason.prefix(1).uppercased())\(reason.dropFirst()).")
    }

    static func methodNotAllowed(_ allowed: [HTTPRequest.Method]) -> AdministrationFailure {
        let methods = allowed.map(\.rawValue).joined(separator: ", ")
        var failure = AdministrationFailure(.methodNotAllowed, .methodNotAllowed, "This path has \(methods) only.")
        failure.allowedMethods = methods
        return failure
    }
}
