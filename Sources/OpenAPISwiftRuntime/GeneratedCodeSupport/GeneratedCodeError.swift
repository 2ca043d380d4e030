public import HTTPTypes

/// A mistake that generated code finds in a message.
///
/// On a server the error decides the status of the response when `ErrorHandlingMiddleware` is installed.
public struct GeneratedCodeError: Error, HTTPResponseConvertible, Sendable, CustomStringConvertible {
    /// The status that a server answers with.
    public var httpStatus: HTTPResponse.Status
    /// What is wrong, and what is expected.
    public var description: String

    init(_ httpStatus: HTTPResponse.Status, _ description: String) {
        self.httpStatus = httpStatus
        self.description = description
    }

    static func missingParameter(_ name: String, in location: String) -> GeneratedCodeError {
        GeneratedCodeError(.badRequest, "The \(location) '\(name)' is required but missing.")
    }

    static func missingPathParameter(_ name: String) -> GeneratedCodeError {
        GeneratedCodeError(.notFound, "The path has no value for '\(name)'.")
    }

    static func emptyPathParameter(_ name: String) -> GeneratedCodeError {
        GeneratedCodeError(.internalServerError, "The value of '\(name)' is empty, which its style cannot express.")
    }

    static func malformedParameter(_ name: String, _ error: (any Error)?) -> GeneratedCodeError {
        GeneratedCodeError(.badRequest, "The value of '\(name)' cannot be read\(error.map { ": \($0)" } ?? ".")")
    }

    static func malformedQuery(_ item: String) -> GeneratedCodeError {
        GeneratedCodeError(.badRequest, "The query item '\(item)' has no '='.")
    }

    static func malformedForm(_ item: String) -> GeneratedCodeError {
        GeneratedCodeError(.badRequest, "The form item '\(item)' has no '='.")
    }

    static func malformedPart(_ name: String?, _ error: any Error) -> GeneratedCodeError {
        GeneratedCodeError(
            .badRequest,
            "The part \(name.map { "'\($0)'" } ?? "without a name") cannot be read: \(error)"
        )
    }

    static func malformedMethod(_ token: String) -> GeneratedCodeError {
        GeneratedCodeError(.internalServerError, "'\(token)' is not a method of a request.")
    }

    static func nestedParameter(_ name: String) -> GeneratedCodeError {
        GeneratedCodeError(.internalServerError, "The value of '\(name)' nests deeper than its style can express.")
    }

    static func delimiterInParameter(_ name: String, _ delimiter: Character) -> GeneratedCodeError {
        GeneratedCodeError(
            .internalServerError,
            "A value of '\(name)' contains '\(delimiter)', which separates values in its style."
        )
    }

    static func inexpressibleParameter(_ name: String, in location: String) -> GeneratedCodeError {
        GeneratedCodeError(
            .internalServerError,
            "The value of '\(name)' has characters that a \(location) cannot contain without encoding."
        )
    }

    static func bodyTooLarge(limit: Int) -> GeneratedCodeError {
        GeneratedCodeError(
            .contentTooLarge,
            "The body is longer than \(limit) bytes, the maximumBufferedBytes of the configuration."
        )
    }

    static func malformedAccept(_ text: String) -> GeneratedCodeError {
        GeneratedCodeError(.badRequest, "The Accept header '\(text)' cannot be read.")
    }

    static func notAcceptable(_ contentType: String) -> GeneratedCodeError {
        GeneratedCodeError(.notAcceptable, "The response is '\(contentType)', which the Accept header excludes.")
    }

    static func unexpectedContentType(_ contentType: String, expected: [String]) -> GeneratedCodeError {
        GeneratedCodeError(
            .unsupportedMediaType,
            "The content type '\(contentType)' is not among \(expected.joined(separator: ", "))."
        )
    }

    static let missingBody = GeneratedCodeError(.badRequest, "The message has no body, the document asks for one.")
}

/// The error of a throwing property of an `Output` that has another case.
@_spi(Generated) public func unexpectedResponse<Output: Sendable>(
    expected: String,
    found output: Output
) -> any Error {
    GeneratedCodeError(.internalServerError, "The response is not '\(expected)' but \(output).")
}

/// The error of a throwing property of a body that has another case.
@_spi(Generated) public func unexpectedBody<Body: Sendable>(expected: String, found body: Body) -> any Error {
    GeneratedCodeError(.internalServerError, "The body is not '\(expected)' but \(body).")
}

extension Optional {
    /// The value of a required parameter or header field.
    func required(_ name: String, in location: String) throws -> Wrapped {
        guard let self else { throw GeneratedCodeError.missingParameter(name, in: location) }
        return self
    }
}
