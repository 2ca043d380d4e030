public import StreamingJSON

/// The requirements of the type of a JSON body: it can be read, written, compared, and passed between tasks.
public typealias JSONPayload = JSONReadable & JSONWritable & Hashable & Sendable

/// A response that is one JSON value and has no documented header fields.
///
/// Most responses of most documents are of this form, so generated code names this type instead of declaring one for
/// each:
///
/// ```swift
/// public typealias NotFound = OpenAPISwiftRuntime.JSONResponse<Components.Schemas.Problem>
/// // try await client.findPet(path: .init(id: 1)).notFound.body.json is a Problem
/// ```
@frozen
public struct JSONResponse<Value: JSONPayload>: OperationValue {
    /// The body of such a response.
    public typealias Body = JSONBody<Value>

    /// The response's body.
    public var body: Body

    /// Creates a response.
    /// - Parameter body: The response's body.
    public init(body: Body) {
        self.body = body
    }
}

/// A body that is always `application/json`, of a request or a response.
///
/// The value is stored indirectly: a body has the size of a pointer. So types that contain a body need no more code for
/// a large value.
@frozen
public indirect enum JSONBody<Value: JSONPayload>: OperationValue {
    /// The value, under the name that an inline schema of the body has with idiomatic naming.
    public typealias JsonPayload = Value
    // swift-format-ignore: TypeNamesShouldBeCapitalized
    /// The value, under the name that an inline schema of the body has with defensive naming.
    public typealias jsonPayload = Value

    /// `application/json`
    case json(Value)

    /// The body as `application/json`.
    public var json: Value {
        get throws {
            switch self {
            case .json(let body): body
            }
        }
    }
}

/// A response that has neither a body nor documented header fields.
@frozen
public struct EmptyResponse: OperationValue {
    /// Creates a response.
    public init() {}
}

// MARK: Reading and writing

extension ReadableMessage {
    /// The body as a JSON value, for a message whose only documented content type is `application/json`.
    @_spi(Generated) public func jsonBody<Value: JSONPayload>() throws -> JSONBody<Value> {
        try requireContentType("application/json")
        return .json(try json(Value.self))
    }

    /// The message as a response with only a JSON body.
    @_spi(Generated) public func jsonResponse<Value: JSONPayload>() throws -> JSONResponse<Value> {
        JSONResponse(body: try jsonBody())
    }
}

extension WritableMessage {
    /// Sets the body to JSON.
    @_spi(Generated) public mutating func setBody<Value: JSONPayload>(_ body: JSONBody<Value>) throws {
        switch body {
        case .json(let value): try setJSONBody(value, contentType: "application/json; charset=utf-8")
        }
    }
}

extension ServerResponse {
    /// Sets the status and the body.
    @_spi(Generated) public mutating func set<Value: JSONPayload>(
        _ status: Int,
        _ response: JSONResponse<Value>
    ) throws {
        setStatus(status)
        try setBody(response.body)
    }
}
