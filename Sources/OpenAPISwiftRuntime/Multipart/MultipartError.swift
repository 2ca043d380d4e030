public import HTTPTypes

/// An error of reading or writing a multipart body.
///
/// On a server the error decides the status of the response when ``ErrorHandlingMiddleware`` is installed: 400 for a
/// mistake in the body, 500 for a mistake in the server's code.
public struct MultipartError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: ErrorCode {
        /// The name of the code.
        public let name: String

        /// The content type of the body does not name a boundary.
        public static var missingBoundary: Code { Code(name: #function) }

        /// The boundary is empty, longer than 70 characters, or has characters that RFC 2046 does not allow.
        public static var invalidBoundary: Code { Code(name: #function) }

        /// A boundary is followed by something other than a line break or the two hyphens of the last one.
        public static var malformedDelimiter: Code { Code(name: #function) }

        /// A header field of a part cannot be read or cannot be written.
        public static var malformedHeader: Code { Code(name: #function) }

        /// The header fields of a part are longer than 32 KiB, or there are more than 128.
        public static var headerTooLarge: Code { Code(name: #function) }

        /// The body ends before its last boundary: the connection was probably lost.
        public static var unexpectedEnd: Code { Code(name: #function) }

        /// The next part was requested before the body of the previous part was read.
        ///
        /// Parts arrive one after the other: read or collect the body of a part before you ask for the next part.
        public static var previousPartNotConsumed: Code { Code(name: #function) }

        /// Two tasks read the same multipart body at the same time.
        public static var concurrentReading: Code { Code(name: #function) }

        /// A part that the document requires is missing.
        public static var missingPart: Code { Code(name: #function) }

        /// A part that the document allows once occurs again.
        public static var repeatedPart: Code { Code(name: #function) }

        /// A part occurs that the document does not allow.
        public static var unexpectedPart: Code { Code(name: #function) }
    }

    /// What went wrong.
    public var code: Code

    /// A description for people, with the way out.
    public var message: String

    /// The offset of the error in a received body, in bytes from its beginning; nil for other errors.
    public var offset: Int?

    /// Creates an error.
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: A description for people.
    ///   - offset: The offset of the error in a received body, in bytes from its beginning.
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
    /// 400 for a mistake in the body, 500 for a mistake in the server's code.
    public var httpStatus: HTTPResponse.Status {
        switch code {
        case .previousPartNotConsumed, .concurrentReading: .internalServerError
        default: .badRequest
        }
    }
}
