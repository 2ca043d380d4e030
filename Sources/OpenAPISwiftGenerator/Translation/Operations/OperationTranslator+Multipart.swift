/// Multipart bodies: the enums of their parts.
extension OperationTranslator {
    /// Declares the components that are enums of parts.
    mutating func translateMultipartComponents() {
        for entry in document.schemas.entries where multipartSchemas.contains(ExactText(entry.key)) {
            var parent = DeclarationScope(path: SchemaCatalog.namespace)
            let model = declareMultipart(
                entry.schema,
                encoding: .init(),
                named: entry.swiftName,
                at: entry.schema.position,
                in: &parent
            )
            components.schemas += parent.declarations
            components.multipart[ExactText(entry.key)] = model
        }
    }

    /// The enum of a body's parts, declared here unless it is a component.
    mutating func multipart(
        of item: MediaType,
        named name: String,
        in parent: inout DeclarationScope
    ) -> TranslatedMultipart? {
        if item.encoding.isEmpty, let reference = item.schema?.reference,
            let entry = types.schemas.entry(for: reference), multipartSchemas.contains(ExactText(entry.key))
        {
            return components.multipart[ExactText(entry.key)]
        }
        return declareMultipart(
            item.schema,
            encoding: item.encoding,
            named: parent.names.claim("\(names.typeName(name))Payload"),
            at: item.position,
            in: &parent
        )
    }

    private mutating func declareMultipart(
        _ schema: Schema?,
        encoding: OrderedMap<PartEncoding>,
        named name: String,
        at position: SourcePosition,
        in parent: inout DeclarationScope
    ) -> TranslatedMultipart? {
        let path = "\(parent.path).\(name)"
        guard let object = schema.map({ objectSchema(behind: $0) }) ?? Schema(.init(position: position)) else {
            diagnostics.warn(
                "A multipart body is left out: it needs the schema of an object.",
                at: position,
                remedy: "describe the parts as an object's properties",
                foundIn: path
            )
            return nil
        }
        var inner = DeclarationScope(path: path)
        var members: [Declaration] = []
        let others = self.others(of: object, in: &inner)
        var scope = NameScope(taken: Set([others.caseName].compactMap { $0 }))
        var parts: [TranslatedMultipart.Part] = []
        for property in object.properties {
            let isRequired = object.requires(property.name)
            guard
                let part = part(
                    property,
                    isRequired: isRequired,
                    encoding: encoding[property.name],
                    scope: &scope,
                    in: &inner
                )
            else { continue }
            parts.append(part)
            members.append(
                .enumCase(
                    documentation: property.schema.documentation,
                    name: escaped(part.caseName),
                    values: [AssociatedValue(.runtime("MultipartPart", .named(part.payload)))]
                )
            )
        }
        switch others {
        case .undocumented, .other:
            members.append(
                .enumCase(
                    documentation: "A part that the document does not describe.",
                    name: others.caseName ?? "",
                    values: [AssociatedValue(.runtime("MultipartRawPart"))]
                )
            )
        case .typed(let body):
            members.append(
                .enumCase(
                    documentation: "A part of any other name.",
                    name: "additionalProperties",
                    values: [AssociatedValue(.runtime("MultipartDynamicallyNamedPart", body.type))]
                )
            )
        case .refused:
            guard parts.isEmpty else { break }
            diagnostics.warn(
                "A multipart body is left out: no part is allowed in it.",
                at: position,
                foundIn: path
            )
            return nil
        }
        parent.declarations.append(
            .type(
                TypeDeclaration(
                    documentation: schema?.documentation,
                    keyword: .enumeration,
                    name: name,
                    inherits: [.runtime("OperationValue")],
                    members: inner.declarations + members
                )
            )
        )
        return TranslatedMultipart(path: path, parts: parts, others: others)
    }

    /// The object schema behind the references and compositions of a body's schema; `nil` if there is not an object.
    private func objectSchema(behind schema: Schema) -> Schema? {
        MergedObject(schema, in: types.schemas)?.schema(at: schema.position)
    }

    private mutating func part(
        _ property: Schema.Property,
        isRequired: Bool,
        encoding: PartEncoding?,
        scope: inout NameScope,
        in parent: inout DeclarationScope
    ) -> TranslatedMultipart.Part? {
        var element = property.schema
        var isRepeatable = false
        if case .array(let items) = types.schemas.resolvedShape(of: property.schema) {
            element = items
            isRepeatable = true
        }
        let name = parent.names.claim("\(names.typeName(property.name))Payload")
        var inner = DeclarationScope(path: "\(parent.path).\(name)", names: NameScope(taken: ["Headers"]))
        let hint = "\(names.typeName("body"))Payload"
        guard let body = partBody(of: element, encoding: encoding, named: hint, in: &inner) else { return nil }
        var headerScope = DeclarationScope(path: "\(inner.path).Headers")
        let fields: [(name: String, header: Referenced<Header>)] = (encoding?.headers ?? []).filter {
            !["content-type", "content-disposition"].contains($0.name.lowercased())
        }
        let headers = self.headers(fields, of: "part", in: &headerScope)
        var structure = StructDeclaration(name: name, documentation: property.schema.documentation)
        structure.addHeaders(
            headers,
            nested: headerScope.declarations,
            path: headerScope.path,
            of: "part",
            sharing: &shared
        )
        structure.nested += inner.declarations
        structure.fields.append(
            StructDeclaration.Field(name: "body", type: body.type, documentation: "The part's body.")
        )
        parent.declarations.append(structure.declaration)
        return TranslatedMultipart.Part(
            name: property.name,
            caseName: scope.claim(names.memberName(property.name)),
            payload: inner.path,
            headers: headers,
            body: body,
            occurrence: isRequired
                ? (isRepeatable ? "atLeastOnce" : "exactlyOnce") : (isRepeatable ? "anyNumber" : "atMostOnce")
        )
    }

    private mutating func others(
        of schema: Schema,
        in parent: inout DeclarationScope
    ) -> TranslatedMultipart.Others {
        switch schema.additionalProperties {
        case .unspecified: return .undocumented
        case .allowed: return .other
        case .forbidden: return .refused
        case .schema(let value):
            let hint = "\(names.typeName("additionalProperties"))Payload"
            var element = value
            if case .array(let items) = types.schemas.resolvedShape(of: value) { element = items }
            return partBody(of: element, encoding: nil, named: hint, in: &parent).map { .typed($0) } ?? .undocumented
        }
    }

    private mutating func partBody(
        of schema: Schema,
        encoding: PartEncoding?,
        named hint: String,
        in parent: inout DeclarationScope
    ) -> TranslatedMultipart.Body? {
        let mediaType = partType(of: schema, encoding: encoding)
        guard let mediaType, mediaType.coding == .json else {
            return mediaType.map { TranslatedMultipart.Body(mediaType: $0, type: .body) }
        }
        guard let type = types.type(of: schema, named: hint, in: &parent) else { return nil }
        guard !type.isStream else {
            diagnostics.warn(
                "A part is left out: binary data has no JSON form.",
                at: schema.position,
                foundIn: parent.path
            )
            return nil
        }
        return TranslatedMultipart.Body(mediaType: mediaType, type: type)
    }

    /// The media type of a part: the document's, if it names one media type, or else the usual type for the schema.
    private func partType(of schema: Schema, encoding: PartEncoding?) -> MediaTypeName? {
        if let text = encoding?.contentType, !text.contains(","), let mediaType = MediaTypeName(text) {
            return mediaType
        }
        if let text = schema.contentMediaType, let mediaType = MediaTypeName(text) { return mediaType }
        if types.schemas.isBinary(schema) { return MediaTypeName("application/octet-stream") }
        return MediaTypeName(isText(schema) ? "text/plain" : "application/json")
    }

    private func isText(_ schema: Schema, depth: Int = 0) -> Bool {
        switch types.schemas.resolvedShape(of: schema) {
        case .scalar(.value), .scalar(.valueObject), .scalar(.valueArray): false
        case .scalar, .stringEnumeration, .integerEnumeration: true
        case .allOf(let members), .anyOf(let members), .oneOf(let members):
            depth < 8 && members.allSatisfy { isText($0, depth: depth + 1) }
        case .reference, .object, .array, .unsupported: false
        }
    }
}
