/// An error of reading a body that does not come from the sequence behind it.
public struct HTTPBodyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: ErrorCode {
        /// The name of the code.
        public let name: String

        /// The body is longer than the reader allowed.
        ///
        /// Thrown by the collecting initialisers, before reading if the length is known. A server handler usually
        /// answers 413.
        public static var tooManyBytes: Code { Code(name: #function) }

        /// The body can be read once and was read before.
        ///
        /// Collect the bytes of a streamed body first if they are needed twice.
        public static var alreadyIterated: Code { Code(name: #function) }
    }

    /// What went wrong.
    public var code: Code

    /// A description for people, with the way out.
    public var message: String

    /// Creates an error.
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: A description for people.
    public init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }

    static var alreadyIterated: HTTPBodyError {
        HTTPBodyError(
            code: .alreadyIterated,
            message: "The body is a stream that was read before; collect its bytes first if they are needed twice."
        )
    }

    static func tooManyBytes(limit: Int) -> HTTPBodyError {
        HTTPBodyError(code: .tooManyBytes, message: "The body is longer than the limit of \(limit) bytes.")
    }
}
