extension ResolvedDocument {
    /// The component schemas that are only used as the whole of a multipart body. They become enums of parts instead of
    /// structs.
    var multipartSchemas: Set<ExactText> {
        var usage = SchemaUsage(schemas: schemas)
        for entry in schemas.entries { usage.add(entry.schema) }
        for parameter in parameters { usage.add(parameter.value) }
        for header in headers { usage.add(header.value) }
        for body in requestBodies { usage.add(body.value.content) }
        for response in responses { usage.add(response.value) }
        for operation in operations {
            for case .inline(let parameter) in operation.parameters { usage.add(parameter) }
            if case .inline(let body)? = operation.requestBody { usage.add(body.content) }
            for case (_, .inline(let response)) in operation.responses { usage.add(response) }
        }
        return usage.multipart.subtracting(usage.other)
    }
}

/// Which component schemas are used for multipart bodies, and which for anything else.
private struct SchemaUsage {
    let schemas: SchemaCatalog
    private(set) var multipart: Set<ExactText> = []
    private(set) var other: Set<ExactText> = []

    init(schemas: SchemaCatalog) {
        self.schemas = schemas
    }

    mutating func add(_ schema: Schema) {
        if let reference = schema.reference, let entry = schemas.entry(for: reference) {
            other.insert(ExactText(entry.key))
        }
        for child in schema.children { add(child) }
    }

    mutating func add(_ parameter: Parameter) {
        if let schema = parameter.schema { add(schema) }
        add(parameter.content)
    }

    mutating func add(_ header: Header) {
        if let schema = header.schema { add(schema) }
        add(header.content)
    }

    mutating func add(_ headers: [(name: String, header: Referenced<Header>)]) {
        for case (_, .inline(let header)) in headers { add(header) }
    }

    mutating func add(_ response: Response) {
        add(response.headers)
        add(response.content)
    }

    mutating func add(_ content: [MediaType]) {
        for item in content {
            for (_, encoding) in item.encoding.pairs { add(encoding.headers) }
            guard let schema = item.schema else { continue }
            guard MediaTypeName(item.name)?.coding == .multipart, let reference = schema.reference,
                let entry = schemas.entry(for: reference), entry.override == nil
            else {
                add(schema)
                continue
            }
            switch schemas.shape(of: entry.schema) {
            case .object, .scalar(.valueObject): multipart.insert(ExactText(entry.key))
            default: break
            }
        }
    }
}
