public import HTTPTypes

/// A transport that brings requests to the handlers of a generated server.
///
/// Generated code registers one handler for each operation:
///
/// ```swift
/// try handlers.registerHandlers(on: transport, serverURL: URL(string: "/v1")!)
/// // transport.register(_, method: .get, path: "/v1/pets/{petId}")
/// ```
public protocol ServerTransport {
    /// Answers one request.
    ///
    /// The type says `@concurrent` so that it means the same in every module, whatever the isolation a module gives to
    /// its asynchronous function types by default.
    typealias Handler =
        @concurrent @Sendable (HTTPRequest, HTTPBody?, ServerRequestMetadata) async throws -> (HTTPResponse, HTTPBody?)

    /// Registers the handler of an operation.
    /// - Parameters:
    ///   - handler: What answers the request.
    ///   - method: The method of the operation.
    ///   - path: The path of the operation as in the document, below the path of the server's URL: `/pets/{petId}`. The
    ///     transport hands over the values of the placeholders, percent-decoded, in the metadata.
    /// - Throws: If the transport cannot take the path.
    func register(_ handler: @escaping Handler, method: HTTPRequest.Method, path: String) throws
}

/// The facts about a request that a server transport adds to it.
public struct ServerRequestMetadata: Hashable, Sendable, CustomStringConvertible {
    /// The values of the placeholders in the path of the operation, percent-decoded.
    ///
    /// ```swift
    /// // GET /pets/a%2Fb, registered as /pets/{petId}
    /// metadata.pathParameters["petId"]     // "a/b"
    /// ```
    public var pathParameters: [String: Substring]

    /// Creates the metadata of a request.
    /// - Parameter pathParameters: The values of the placeholders, percent-decoded.
    public init(pathParameters: [String: Substring] = [:]) {
        self.pathParameters = pathParameters
    }

    /// The path parameters, sorted by name.
    public var description: String {
        let parameters = pathParameters.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return "path parameters: [\(parameters.joined(separator: ", "))]"
    }
}
