/// An error of reading or writing a stream of events.
public struct EventStreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: ErrorCode {
        /// The name of the code.
        public let name: String

        /// A JSON sequence does not begin with a record separator (0x1E).
        ///
        /// The body is likely JSON Lines or one JSON document.
        public static var missingRecordSeparator: Code { Code(name: #function) }

        /// A line or a record is longer than the reader allowed.
        public static var tooLong: Code { Code(name: #function) }

        /// A field of an event cannot be written, such as an identifier with a line break.
        public static var invalidField: Code { Code(name: #function) }
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

    static func missingRecordSeparator(found byte: UInt8) -> EventStreamError {
        EventStreamError(
            code: .missingRecordSeparator,
            message: "The stream begins with the byte \(byte), not with a record separator (30): is it JSON Lines?"
        )
    }

    static func tooLong(_ thing: String, limit: Int) -> EventStreamError {
        EventStreamError(
            code: .tooLong,
            message: "A \(thing) of the stream is longer than the limit of \(limit) bytes."
        )
    }
}
