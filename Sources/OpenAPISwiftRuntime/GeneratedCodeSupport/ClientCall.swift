import HTTPTypes

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is known about one call of an operation so far. Its errors contain it.
struct ClientCall: Sendable {
    let operationID: String
    let input: any Sendable
    let baseURL: URL?
    var request: HTTPRequest?
    var requestBody: HTTPBody?
    var response: HTTPResponse?
    var responseBody: HTTPBody?

    init(operationID: String, input: any Sendable, baseURL: URL?) {
        self.operationID = operationID
        self.input = input
        self.baseURL = baseURL
    }

    /// The error to throw for a failure: a ``ClientError`` as it is, and any other as its underlying error.
    ///
    /// - Parameters:
    ///   - step: The step that failed, in words.
    ///   - error: What it threw.
    /// - Returns: The error.
    func failure(_ step: String, _ error: any Error) -> any Error {
        if let thrown = error as? ClientError { return thrown }
        return ClientError(
            operationID: operationID,
            operationInput: input,
            request: request,
            requestBody: requestBody,
            baseURL: baseURL,
            response: response,
            responseBody: responseBody,
            causeDescription: step,
            underlyingError: error
        )
    }

    /// The error to throw where the response cannot be read.
    func unreadableResponse(_ error: any Error) -> any Error {
        failure("The response could not be decoded", error)
    }
}
