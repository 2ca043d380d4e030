public import HTTPTypes

/// An error of reading or writing a multipart body.
///
/// On a server the error decides the status of the response when ``ErrorHandlingMiddleware`` is installed: 400 for a
/// body that is wrong, 500 for code of the server that is.
public struct MultipartError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case missingBoundary
            case invalidBoundary
            case malformedDelimiter
            case malformedHeader
            case headerTooLarge
            case unexpectedEnd
            case previousPartNotConsumed
            case concurrentReading
            case missingPart
            case repeatedPart
            case unexpectedPart
        }

        private let value: Value

        /// The content type of the body says no boundary.
        public static let missingBoundary = Code(value: .missingBoundary)

        /// The boundary is empty, longer than 70 characters, or has characters that RFC 2046 does not allow.
        public static let invalidBoundary = Code(value: .invalidBoundary)

        /// A boundary is followed by something other than a line break or the two hyphens of the last one.
        public static let malformedDelimiter = Code(value: .malformedDelimiter)

        /// A header field of a part cannot be read, or one to be written cannot be expressed.
        public static let malformedHeader = Code(value: .malformedHeader)

        /// The header fields of a part are longer than 32 kB, or more than 128.
        public static let headerTooLarge = Code(value: .headerTooLarge)

        /// The body ends before its last boundary: most likely it was cut off on its way.
        public static let unexpectedEnd = Code(value: .unexpectedEnd)

        /// The next part was asked for before the body of the one before was read.
        ///
        /// Parts arrive one after the other: read the body of a part, or collect it, before you go on.
        public static let previousPartNotConsumed = Code(value: .previousPartNotConsumed)

        /// Two tasks read the same multipart body at the same time.
        public static let concurrentReading = Code(value: .concurrentReading)

        /// A part that the document requires is not there.
        public static let missingPart = Code(value: .missingPart)

        /// A part that the document allows once is there again.
        public static let repeatedPart = Code(value: .repeatedPart)

        /// A part is there that the document does not allow.
        public static let unexpectedPart = Code(value: .unexpectedPart)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// What went wrong.
    public var code: Code

    /// A description for people, with the way out.
    public var message: String

    /// Where in the body, as a number of bytes from its beginning, if the error is at an offset of a body that was
    /// read.
    public var offset: Int?

    /// Creates an error.
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: A description for people.
    ///   - offset: Where in the body, as a number of bytes from its beginning.
    public init(code: Code, message: String, offset: Int? = nil) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    /// The code, the message and the offset.
    public var description: String {
        "\(code): \(message)\(offset.map { " (byte \($0) of the multipart body)" } ?? "")"
    }
}

extension MultipartError: HTTPResponseConvertible {
    /// 400 if the body is wrong, 500 if the server's code is.
    public var httpStatus: HTTPResponse.Status {
        switch code {
        case .previousPartNotConsumed, .concurrentReading: .internalServerError
        default: .badRequest
        }
    }
}
