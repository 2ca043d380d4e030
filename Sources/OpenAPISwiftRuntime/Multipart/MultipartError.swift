public import HTTPTypes

/// An error of reading or writing a multipart body.
///
/// On a server the error decides the status of the response when ``ErrorHandlingMiddleware`` is installed: 400 for a
/// body that is wrong, 500 for code of the server that is.
public struct MultipartError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: ErrorCode {
        /// The name of the code.
        public let name: String

        /// The content type of the body says no boundary.
        public static var missingBoundary: Code { Code(name: #function) }

        /// The boundary is empty, longer than 70 characters, or has characters that RFC 2046 does not allow.
        public static var invalidBoundary: Code { Code(name: #function) }

        /// A boundary is followed by something other than a line break or the two hyphens of the last one.
        public static var malformedDelimiter: Code { Code(name: #function) }

        /// A header field of a part cannot be read, or one to be written cannot be expressed.
        public static var malformedHeader: Code { Code(name: #function) }

        /// The header fields of a part are longer than 32 kB, or more than 128.
        public static var headerTooLarge: Code { Code(name: #function) }

        /// The body ends before its last boundary: most likely it was cut off on its way.
        public static var unexpectedEnd: Code { Code(name: #function) }

        /// The next part was asked for before the body of the one before was read.
        ///
        /// Parts arrive one after the other: read the body of a part, or collect it, before you go on.
        public static var previousPartNotConsumed: Code { Code(name: #function) }

        /// Two tasks read the same multipart body at the same time.
        public static var concurrentReading: Code { Code(name: #function) }

        /// A part that the document requires is not there.
        public static var missingPart: Code { Code(name: #function) }

        /// A part that the document allows once is there again.
        public static var repeatedPart: Code { Code(name: #function) }

        /// A part is there that the document does not allow.
        public static var unexpectedPart: Code { Code(name: #function) }
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
