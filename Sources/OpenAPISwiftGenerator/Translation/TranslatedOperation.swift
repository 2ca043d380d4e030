/// What the translators of types, client and server all need to know of one operation.
struct TranslatedOperation: Sendable {
    /// `Operations.QueryRecords`.
    var path: String
    var methodName: String
    var operation: Operation
    var pathFields: [TranslatedParameter]
    var queryFields: [TranslatedParameter]
    var headerFields: [TranslatedParameter]
    var cookieFields: [TranslatedParameter]
    var body: TranslatedBody?
    var isBodyRequired: Bool
    var responses: [TranslatedResponse]
    /// Cases and media types of `AcceptableContentType`.
    var acceptable: [(name: String, mediaType: String)]
    /// The declaration inside `Operations`.
    var declaration: Declaration

    /// Whether responses have an exact, a range or a default entry that takes every status.
    var hasDefault: Bool { responses.contains { $0.status == .default } }
    var hasHeaders: Bool { !headerFields.isEmpty || !acceptable.isEmpty }
    /// Whether the client can leave the body of a success to its caller.
    var isBufferable: Bool { responses.contains(where: \.isBufferable) }
    /// Whether its header fields are the runtime's type.
    var hasOnlyAccept: Bool { headerFields.isEmpty && !acceptable.isEmpty }
}

/// A parameter of a request, or a header of a response.
struct TranslatedParameter: Sendable {
    /// The name on the wire.
    var key: String
    /// The name of the property.
    var name: String
    /// Optional where the parameter may be missing.
    var type: SwiftType
    var documentation: String?
    var isDeprecated: Bool
    /// A case of `ParameterStyle`.
    var style: String
    var explode: Bool
    /// Source of the arguments that say how it is spread, where that is not the default of its location.
    var styleArguments: String {
        style == "form" && explode ? "" : ", style: .\(style), explode: \(explode)"
    }
    /// Sent as JSON text.
    var isJSON: Bool
    /// Whether it is the whole query: JSON or a form.
    var isQueryString: Bool = false
    /// Source of the argument that says how members of a form are spread, where that is not as usual.
    var memberStyles: String = ""
    /// Source of the `ParameterShape` that readers go by.
    var shape: String
}

/// A body and its cases.
struct TranslatedBody: Sendable {
    struct Case: Sendable {
        var name: String
        var mediaType: MediaTypeName
        /// As the document has it.
        var contentType: String
        var coding: MediaTypeName.Coding
        var type: SwiftType
        /// Source of the `ParameterShape` that the reader of a form goes by.
        var shape = ""
        /// Source of the argument that says how members of a form are spread, where that is not as usual.
        var styles = ""
        var multipart: TranslatedMultipart?
    }

    /// The full name of the enum.
    var path: String
    var cases: [Case]
    /// Whether the enum is the runtime's, which one JSON type needs no more than.
    var isJSONBody: Bool = false
    /// The module that says how the type of such a body is read and written; `nil` where the type itself does.
    var conformances: String?
}

/// A response and its parts.
struct TranslatedResponse: Sendable {
    var status: ResponseStatus
    /// The case of `Output`.
    var caseName: String
    /// The full name of the payload.
    var path: String
    var isComponent: Bool
    var headers: [TranslatedParameter]
    var body: TranslatedBody?
    var documentation: String?

    /// Whether it has neither header fields nor body.
    var isEmpty: Bool { headers.isEmpty && body == nil }
    /// Whether it is the runtime's response of one JSON type.
    var isJSONResponse: Bool { headers.isEmpty && body?.isJSONBody == true }
    /// Whether the client can leave the body to its caller: a success whose only content is JSON.
    var isBufferable: Bool {
        guard let body, body.cases.count == 1, body.cases[0].coding == .json else { return false }
        switch status {
        case .code(let code): return 200...299 ~= code
        case .range(let digit): return digit == 2
        case .default: return false
        }
    }
    /// The response with the body left to the caller.
    var buffered: TranslatedResponse {
        guard isBufferable else { return self }
        var result = self
        let headers = headers.isEmpty ? "HTTPTypes.HTTPFields" : "\(path).Headers"
        result.path = "OpenAPISwiftRuntime.BufferedResponse<\(headers)>"
        return result
    }
    /// Whether its payload is a type of its own, declared and read inline.
    var hasOwnType: Bool { !isEmpty && !isJSONResponse }
}
