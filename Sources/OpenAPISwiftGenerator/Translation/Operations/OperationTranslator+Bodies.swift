/// The bodies of requests and responses.
extension OperationTranslator {
    mutating func requestBody(
        of resolved: ResolvedOperation,
        in parent: inout DeclarationScope
    ) -> TranslatedBody? {
        switch resolved.requestBody {
        case .component(let component)?: return components.bodies[ExactText(component.key)]
        case .inline(let body)?: return translateBody(body.content, named: "Body", in: &parent)
        case nil: return nil
        }
    }

    /// The body of a content that is only `application/json`, if the runtime's body type can hold it.
    ///
    /// If the schema needs a type, it is declared beside the body, under a name that begins with the name of the body
    /// or of its response. The runtime's body has an alias for it, with the name that callers know.
    mutating func jsonBody(
        of content: [MediaType],
        path: String,
        prefix: String,
        isResponse: Bool,
        in parent: inout DeclarationScope
    ) -> TranslatedBody? {
        guard content.count == 1, let mediaType = MediaTypeName(content[0].name), mediaType.coding == .json,
            names.contentName(mediaType) == "json",
            let type = jsonType(of: content[0].schema, prefix: prefix, isResponse: isResponse, in: &parent)
        else { return nil }
        let item = TranslatedBody.Case(
            name: "json",
            mediaType: mediaType,
            contentType: content[0].name,
            coding: .json,
            type: type
        )
        let isForeign = type.isOptional || content[0].schema.map(types.isForeign) == true
        return TranslatedBody(
            path: path,
            cases: [item],
            isJSONBody: true,
            conformances: isForeign ? "StreamingJSON" : nil
        )
    }

    private mutating func jsonType(
        of schema: Schema?,
        prefix: String,
        isResponse: Bool,
        in parent: inout DeclarationScope
    ) -> SwiftType? {
        guard let schema else { return .value }
        // The runtime's `JsonPayload` cannot be deprecated for one body alone.
        guard types.schemas.unsupportedReason(of: schema) == nil, !types.hidesDeprecated(schema) else { return nil }
        let isNullable = isResponse && isNullableInline(schema)
        if let type = types.simpleType(of: schema) {
            if type.needsClosure || type.isStream { return nil }
            return isNullable ? type.asOptional : type
        }
        // The runtime's `jsonPayload` is an alias of the value's type. Callers expect the type without its `?`.
        guard !isNullable else { return nil }
        let name = "\(names.typeName("json"))Payload"
        guard name == "JsonPayload" || name == "jsonPayload" else { return nil }
        switch types.schemas.shape(of: schema) {
        case .reference, .scalar, .array, .unsupported: return nil
        case .object, .stringEnumeration, .integerEnumeration, .allOf, .anyOf, .oneOf:
            return types.type(of: schema, named: "\(prefix)JsonPayload", in: &parent)
        }
    }

    /// Whether the schema is written inline, and `null` is one of its values.
    private func isNullableInline(_ schema: Schema) -> Bool {
        schema.reference == nil && types.schemas.isNullable(schema)
    }

    /// Declares the enum of a body, or an alias of an equal enum that exists already. `nil` when no media type is
    /// supported.
    ///
    /// A payload that may be `null` is an optional in a response, but not in a request.
    mutating func translateBody(
        _ content: [MediaType],
        named name: String,
        isResponse: Bool = false,
        in parent: inout DeclarationScope
    ) -> TranslatedBody? {
        let path = "\(parent.path).\(name)"
        if let body = jsonBody(of: content, path: path, prefix: name, isResponse: isResponse, in: &parent) {
            let target: SwiftType = .runtime("JSONBody", body.cases[0].type)
            parent.declarations.append(
                .alias(documentation: nil, name: name, target: target, conformancesOf: body.conformances)
            )
            return body
        }
        return translate(content, named: name, isResponse: isResponse, in: &parent)
    }

    /// Declares the enum of a body. `nil` when no media type is supported.
    private mutating func translate(
        _ content: [MediaType],
        named name: String,
        isResponse: Bool,
        in parent: inout DeclarationScope
    ) -> TranslatedBody? {
        let path = "\(parent.path).\(name)"
        var inner = DeclarationScope(path: path)
        var scope = NameScope()
        var cases: [TranslatedBody.Case] = []
        for item in content {
            guard let mediaType = MediaTypeName(item.name) else { continue }
            let type: SwiftType?
            var parts: TranslatedMultipart?
            switch mediaType.coding {
            case .json:
                if let schema = item.schema {
                    let hint = "\(names.typeName(names.contentName(mediaType)))Payload"
                    let value = types.type(of: schema, named: hint, in: &inner)
                    type = isResponse && isNullableInline(schema) ? value?.asOptional : value
                } else {
                    type = .value
                }
            case .raw: type = .body
            case .form:
                type = formType(of: item, named: names.contentName(mediaType), in: &inner)
            case .multipart:
                parts = multipart(of: item, named: names.contentName(mediaType), in: &inner)
                type = parts.map { .runtime("MultipartBody", .named($0.path)) }
            }
            guard let type, mediaType.coding == .raw || !type.isStream else { continue }
            let form: (shape: String, styles: String) = mediaType.coding == .form ? shapes.form(of: item) : ("", "")
            cases.append(
                TranslatedBody.Case(
                    name: scope.claim(names.contentName(mediaType)),
                    mediaType: mediaType,
                    contentType: item.name,
                    coding: mediaType.coding,
                    type: type,
                    shape: form.shape,
                    styles: form.styles,
                    multipart: parts
                )
            )
        }
        guard !cases.isEmpty else { return nil }
        let model = TranslatedBody(path: path, cases: cases)
        let key = cases.flatMap { [$0.name, $0.contentType, $0.type.text] }
        if inner.declarations.isEmpty, let first = shared.first("body \(key)", at: path) {
            parent.declarations.append(.alias(documentation: nil, name: name, target: .named(first)))
        } else {
            let body = BodyDeclaration(name: name, nested: inner.declarations, cases: cases)
            parent.declarations.append(body.declaration)
        }
        return model
    }

    /// The type of a URL-encoded form. Usually, its members are those of an object.
    private mutating func formType(
        of item: MediaType,
        named name: String,
        in parent: inout DeclarationScope
    ) -> SwiftType? {
        guard let schema = item.schema else { return .value }
        let type = types.type(of: schema, named: "\(names.typeName(name))Payload", in: &parent)
        guard type?.isStream == true else { return type }
        diagnostics.warn(
            "The media type '\(item.name)' is left out: a form has no place for binary data.",
            at: item.position,
            remedy: "use 'multipart/form-data' or 'application/octet-stream'",
            foundIn: parent.path
        )
        return nil
    }
}
