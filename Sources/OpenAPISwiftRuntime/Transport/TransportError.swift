/// An error of sending a request or of receiving its response. All client transports throw the same codes.
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

        /// The transport cannot send to the URL of the server.
        public static var invalidURL: Code { Code(name: #function) }

        /// No connection was established, so the request was not sent.
        ///
        /// The server does not run, its name is unknown, its certificate is refused, or it does not respond.
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

    /// The error of the underlying library, if there is one.
    public var cause: (any Error)?

    /// Creates an error.
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: A description for people.
    ///   - cause: The error of the underlying library, if there is one.
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
