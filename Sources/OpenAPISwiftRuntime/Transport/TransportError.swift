/// An error of carrying a request to its server and the response back, the same whichever client transport is used.
///
/// ```swift
/// } catch let error as ClientError where (error.underlyingError as? TransportError)?.code == .connectionFailed {
///     // Nothing was sent: the call can be made again.
/// }
/// ```
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case invalidURL
            case connectionFailed
            case connectionLost
            case timedOut
        }

        private let value: Value

        /// The URL of the server is not one the transport can send to.
        public static let invalidURL = Code(value: .invalidURL)

        /// No connection came about, so the request was not sent.
        ///
        /// The server does not run, its name is unknown, its certificate is refused, or it does not answer.
        public static let connectionFailed = Code(value: .connectionFailed)

        /// The connection ended before the response did; the server may have handled the request.
        public static let connectionLost = Code(value: .connectionLost)

        /// The response took longer than the transport's timeout; the server may have handled the request.
        public static let timedOut = Code(value: .timedOut)

        /// The name of the code.
        public var description: String { value.rawValue }
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
