/// Why a response could not be read as a feed.
///
/// A feed with mistakes is repaired where that is possible, and ``ParsedFeed/problems`` says how. This error is thrown
/// for a response that is not a feed, or that cannot be repaired.
public struct FeedError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong with the response.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case empty
            case notAFeed
            case malformedXML
            case malformedJSON
        }

        private let value: Value

        /// The response has no text.
        public static let empty = Code(value: .empty)

        /// The response is text, but not a feed: an HTML page, an image, XML or JSON of another kind.
        public static let notAFeed = Code(value: .notAFeed)

        /// The response is XML that cannot be parsed, not even after the repair.
        public static let malformedXML = Code(value: .malformedXML)

        /// The response begins like JSON, but is not valid JSON.
        public static let malformedJSON = Code(value: .malformedJSON)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// What is wrong with the response.
    public let code: Code

    /// What was found instead of a feed.
    public let message: String

    /// The line of the response, counted from 1, or `nil` where the error has no position.
    public let line: Int?

    /// The column within the line, counted from 1 in bytes of UTF-8, or `nil` where the parser does not report it.
    public let column: Int?

    init(_ code: Code, _ message: String, line: Int? = nil, column: Int? = nil) {
        self.code = code
        self.message = message
        self.line = line
        self.column = column
    }

    /// The message with its position.
    public var description: String {
        switch (line, column) {
        case (let line?, let column?): "\(message) (line \(line), column \(column))"
        case (let line?, nil): "\(message) (line \(line))"
        default: message
        }
    }
}
