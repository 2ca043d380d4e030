public import HTTPTypes

/// The header fields and the body of a response whose status the document does not mention.
///
/// ```swift
/// if case .undocumented(let statusCode, let payload) = try await client.listPets(), let body = payload.body {
///     let text = try await String(collecting: body, upTo: 1 << 20)
/// }
/// ```
public struct UndocumentedPayload: Sendable, Hashable {
    /// The header fields of the response.
    public var headerFields: HTTPFields

    /// The body of the response, or nil if it has none.
    public var body: HTTPBody?

    /// Creates a payload.
    /// - Parameters:
    ///   - headerFields: The header fields of the response.
    ///   - body: The body of the response.
    public init(headerFields: HTTPFields = [:], body: HTTPBody? = nil) {
        self.headerFields = headerFields
        self.body = body
    }
}

extension UndocumentedPayload {
    /// Creates a payload of nothing.
    @available(*, deprecated, message: "Use the initialiser with header fields and a body.")
    @_disfavoredOverload
    public init() {
        self.init(headerFields: [:], body: nil)
    }
}
