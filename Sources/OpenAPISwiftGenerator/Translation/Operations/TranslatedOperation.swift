/// An operation, prepared for the translators of types, client and server.
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
    /// Whether its header fields are only `Accept`, for which the runtime has a type.
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
    /// The name of the property that generated code uses.
    var access: String { StructDeclaration.Field(self).storageName }
    /// A case of `ParameterStyle`.
    var style: String
    var explode: Bool
    /// The source of the arguments for style and `explode`; empty for the form style with `explode`.
    var styleArguments: String {
        style == "form" && explode ? "" : ", style: .\(style), explode: \(explode)"
    }
    /// Whether it is a placeholder of a path that begins with a sign of its style.
    var isPrefixed: Bool { style == "matrix" || style == "label" }
    /// Whether it is sent as JSON text.
    var isJSON: Bool
    /// Whether it is the whole query: JSON or a form.
    var isQueryString: Bool = false
    /// The source of the argument with the styles of a form's members; empty if all have the default.
    var memberStyles: String = ""
    /// The source of the `ParameterShape` that says how its text is read.
    var shape: String
}

/// A body and its cases.
struct TranslatedBody: Sendable {
    struct Case: Sendable {
        var name: String
        var mediaType: MediaTypeName
        /// The media type as the document writes it.
        var contentType: String
        var coding: MediaTypeName.Coding
        var type: SwiftType
        /// The source of the `ParameterShape` that says how the text of a form is read.
        var shape = ""
        /// The source of the argument with the styles of a form's members; empty if all have the default.
        var styles = ""
        var multipart: TranslatedMultipart?
    }

    /// The full name of the enum.
    var path: String
    var cases: [Case]
    /// Whether the enum is the runtime's, which is enough for one JSON type.
    var isJSONBody: Bool = false
    /// The module that declares how the type of such a body is read and written; `nil` where its own module does.
    var conformances: String?
}

/// A response and its parts.
struct TranslatedResponse: Sendable {
    var status: ResponseStatus
    /// The case of `Output`.
    var caseName: String
    /// The full name of the payload.
    var path: String
    /// The type of a payload that leaves the body to the caller; `nil` for the type at ``path``.
    fileprivate(set) var buffer: SwiftType?
    var isComponent: Bool
    var headers: [TranslatedParameter]
    var body: TranslatedBody?
    var documentation: String?

    /// The type of the payload.
    var payload: SwiftType { buffer ?? .named(path) }
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
        let headers: SwiftType = headers.isEmpty ? .library(.httpTypes, "HTTPFields", []) : .named("\(path).Headers")
        result.buffer = .runtime("BufferedResponse", headers)
        return result
    }
    /// Whether its payload has its own type, neither empty nor the runtime's.
    var hasOwnType: Bool { !isEmpty && !isJSONResponse }
}
