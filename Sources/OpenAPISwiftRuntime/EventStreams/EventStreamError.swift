/// An error of a stream of events, on either side of it.
public struct EventStreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case missingRecordSeparator
            case tooLong
            case invalidField
        }

        private let value: Value

        /// A JSON sequence does not begin with a record separator (0x1E).
        ///
        /// The body is likely JSON Lines or one JSON document.
        public static let missingRecordSeparator = Code(value: .missingRecordSeparator)

        /// A line or a record is longer than the reader allowed.
        public static let tooLong = Code(value: .tooLong)

        /// A field of an event to be written cannot be expressed, such as an identifier of two lines.
        public static let invalidField = Code(value: .invalidField)

        /// The name of the code.
        public var description: String { value.rawValue }
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

    static func tooLong(_ thing: String, limit: Int) -> EventStreamError {
        EventStreamError(
            code: .tooLong,
            message: "A \(thing) of the stream is longer than the limit of \(limit) bytes."
        )
    }
}
