/// A document in the terms of OpenAPI: the result of the stage *Reading*, and the input of *Resolution*.
struct OpenAPIDocument: Sendable {
    enum Version: String, Sendable {
        case v30 = "3.0"
        case v31 = "3.1"
        case v32 = "3.2"
    }

    var version: Version
    var title: String
    var servers: [Server]
    var paths: [Path]
    var components: Components
    /// The names of the tags that the root declares.
    var tags: [String]
}

/// A base address, with variables in braces.
struct Server: Sendable {
    struct Variable: Sendable {
        var name: String
        var defaultValue: String
        var allowedValues: [String]?
        var documentation: String?
    }

    var url: String
    var documentation: String?
    var variables: [Variable]
    var position: SourcePosition
}

/// One entry of `paths`.
struct Path: Sendable {
    var template: String
    var position: SourcePosition
    var parameters: [Referenced<Parameter>]
    var operations: [Operation]
}

/// One method of a path.
struct Operation: Sendable {
    /// Upper-case, as on the wire.
    var method: String
    var path: String
    /// The `operationId`, unchanged.
    var identifier: String?
    var position: SourcePosition
    var summary: String?
    var documentation: String?
    var isDeprecated: Bool
    var tags: [String]
    var parameters: [Referenced<Parameter>]
    var requestBody: Referenced<RequestBody>?
    var responses: [(status: ResponseStatus, response: Referenced<Response>)]
    /// The members whose names begin with `x-`.
    var extensions: [String: DocumentNode]

    /// The name of this operation in the document: its `operationId`, or lower-case method and path.
    var documentName: String { identifier ?? "\(method.lowercased())\(path)" }
}

/// The key of a response in the document.
enum ResponseStatus: Hashable, Sendable {
    case code(Int)
    /// The first digit: `4` for `4XX`.
    case range(Int)
    case `default`
}

/// A value of a path, query, header or cookie.
struct Parameter: Sendable {
    enum Location: String, Sendable {
        case path
        case query
        case header
        case cookie
        case querystring
    }

    var name: String
    var location: Location
    var position: SourcePosition
    var documentation: String?
    var isRequired: Bool
    var isDeprecated: Bool
    var style: String?
    var explode: Bool?
    var schema: Schema?
    var content: [MediaType]
}

/// A header of a response.
struct Header: Sendable {
    var position: SourcePosition
    var documentation: String?
    var isRequired: Bool
    var isDeprecated: Bool
    var style: String?
    var explode: Bool?
    var schema: Schema?
    var content: [MediaType]
}

/// One entry of `content`.
struct MediaType: Sendable {
    /// The key in the document, with its parameters.
    var name: String
    var position: SourcePosition
    var schema: Schema?
    /// By the name of the part.
    var encoding: OrderedMap<PartEncoding> = .init()
}

/// How a part of a multipart body is sent.
struct PartEncoding: Sendable {
    var contentType: String?
    var style: String?
    var explode: Bool?
    var headers: [(name: String, header: Referenced<Header>)]
}

struct RequestBody: Sendable {
    var position: SourcePosition
    var documentation: String?
    var isRequired: Bool
    var content: [MediaType]
}

struct Response: Sendable {
    var position: SourcePosition
    var documentation: String?
    var headers: [(name: String, header: Referenced<Header>)]
    var content: [MediaType]
}

/// The components of a document, which several operations can use.
struct Components: Sendable {
    var schemas: OrderedMap<Schema> = .init()
    var parameters: OrderedMap<Referenced<Parameter>> = .init()
    var requestBodies: OrderedMap<Referenced<RequestBody>> = .init()
    var responses: OrderedMap<Referenced<Response>> = .init()
    var headers: OrderedMap<Referenced<Header>> = .init()
}

/// A value written inline, or a reference to a value elsewhere.
enum Referenced<Value> {
    case inline(Value)
    case reference(Reference)
}

extension Referenced: Sendable where Value: Sendable {}
