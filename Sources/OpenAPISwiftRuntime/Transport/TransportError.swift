/// An error of carrying a request to its server and the response back, the same whichever client transport is used.
///
/// ```swift
/// } catch let error as ClientError where (error.underlyingError as? TransportError)?.code == .connectionFailed {
///     // Nothing was sent: the call can be made again.
/// }
/// ```
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: ErrorCode {
        /// The name of the code.
        public let name: String

        /// The URL of the server is not one the transport can send to.
        public static var invalidURL: Code { Code(name: #function) }

        /// No connection came about, so the request was not sent.
        ///
        /// The server does not run, its name is unknown, its certificate is refused, or it does not answer.
        public static var connectionFailed: Code { Code(name: #function) }

        /// The connection ended before the response did; the server may have handled the request.
        public static var connectionLost: Code { Code(name: #function) }

        /// The response took longer than the transport's timeout; the server may have handled the request.
        public static var timedOut: Code { Code(name: #function) }
    }

    /// What went wrong.
    public var code: Code

    /// A description for people, with the likely cause and the way out.
    public var message: String

    /// The error of the library below, if there is one.
    public var cause: (any Error)?

    /// Creates an error.
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: A description for people.
    ///   - cause: The error of the library below, if there is one.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The code, the message and the cause.
    public var description: String {
        let text = "\(code): \(message)"
        return cause.map { "\(text) Cause: \($0)" } ?? text
    }
}
