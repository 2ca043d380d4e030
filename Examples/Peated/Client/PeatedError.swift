import Foundation
import HTTPTypes
import OpenAPISwiftRuntime

/// The errors of all calls.
public enum PeatedError: Error, Sendable {
    /// No user is logged in, or the service does not accept the password, the code or the tokens.
    case unauthorized(message: String)
    /// The service refuses the request. `fields` has the problems of each field of the request.
    case validation(message: String, fields: [String: [String]])
    /// The service responds with any other error. `retryAfter` is the wait that it asks for.
    case server(status: Int, message: String, retryAfter: Duration? = nil)
    /// The service responds with something that its document does not describe.
    case decoding(any Error)
    /// The request did not reach the service, or the response did not arrive.
    case network(TransportError)
    /// An error of this machine: the credentials cannot be saved or read, or the file to upload cannot be read.
    case local(any Error)
    /// The task was cancelled.
    case cancelled
}

extension PeatedError {
    /// Turns any error of generated code into a `PeatedError`.
    static func wrap<Result: Sendable>(
        _ call: () async throws -> Result
    ) async throws(PeatedError) -> Result {
        do {
            return try await call()
        } catch {
            throw PeatedError(error)
        }
    }

    init(_ error: any Error) {
        let clientError = error as? ClientError
        switch clientError?.underlyingError ?? error {
        case let error as PeatedError: self = error
        case let error as TransportError: self = .network(error)
        case is CancellationError: self = .cancelled
        case let error: self = clientError?.response == nil ? .local(error) : .decoding(error)
        }
    }
}

extension PeatedError {
    /// What a person is shown.
    public var sentence: String {
        switch self {
        case .unauthorized(let message): "You are signed out. \(message)"
        case .validation(let message, let fields):
            ([message] + fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.joined(separator: ", "))." })
                .joined(separator: " ")
        case .server(let status, let message, _) where status >= 500:
            "The service has a problem (\(status)). \(message)"
        case .server(let status, let message, _): "The service refuses this (\(status)). \(message)"
        case .decoding: "The service's answer cannot be understood. A newer version of this program may understand it."
        case .network(let error) where error.code == .connectionFailed: "There is no connection to the service."
        case .network: "The connection broke before the service's answer arrived."
        case .local(let error): "This machine has a problem. \(error.localizedDescription)"
        case .cancelled: "Cancelled."
        }
    }
}

/// Turns every response with a status of 400 or more into a `PeatedError`, so that callers only handle success.
struct ProblemMiddleware: ClientMiddleware {
    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let (response, responseBody) = try await next(request, body, baseURL)
        guard response.status.code >= 400 else { return (response, responseBody) }

        var bytes = Data()
        if let responseBody { bytes = try await Data(collecting: responseBody, upTo: 1_000_000) }
        // The error page of a proxy is not a problem document. Then only the status is known.
        let problem = try? JSONDecoder().decode(Components.Schemas.Problem.self, from: bytes)
        let message = problem?.message ?? "The service gives no reason."
        switch (response.status.code, problem?.fields) {
        case (401, _): throw PeatedError.unauthorized(message: message)
        case (400, let fields?), (422, let fields?):
            throw PeatedError.validation(message: message, fields: fields.additionalProperties)
        case (let status, _):
            throw PeatedError.server(
                status: status,
                message: message,
                retryAfter: Duration(retryAfter: response.headerFields, at: Date())
            )
        }
    }
}

extension Duration {
    /// The wait that the header field `Retry-After` asks for: seconds, or a date, which is compared with the response's
    /// own where it has one, as the clock of this machine may be wrong.
    init?(retryAfter fields: HTTPFields, at now: Date) {
        guard let text = fields[.retryAfter] else { return nil }
        let seconds: Double
        if let number = UInt32(text) {
            seconds = Double(number)
        } else if let then = Self.httpDates.date(from: text) {
            let start = fields[.date].flatMap(Self.httpDates.date) ?? now
            seconds = max(then.timeIntervalSince(start), 0)
        } else {
            return nil
        }
        self = .seconds(seconds)
    }

    private static var httpDates: DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = .gmt
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return formatter
    }
}
