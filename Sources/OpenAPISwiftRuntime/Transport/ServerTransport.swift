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
    /// Handles one request and returns its response.
    ///
    /// The type is `@concurrent`, so that it means the same in every module: the default isolation of asynchronous
    /// function types depends on the module.
    typealias Handler =
        @concurrent @Sendable (HTTPRequest, HTTPBody?, ServerRequestMetadata) async throws -> (HTTPResponse, HTTPBody?)

    /// Registers the handler of an operation.
    /// - Parameters:
    ///   - handler: The function that handles the request.
    ///   - method: The method of the operation.
    ///   - path: The path of the operation as in the document, below the path of the server's URL: `/pets/{petId}`. The
    ///     transport passes the values of the placeholders, percent-decoded, in the metadata.
    /// - Throws: If the transport cannot register the path.
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
