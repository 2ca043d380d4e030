/// A struct of stored properties with a memberwise initialiser, as operations use them for inputs and payloads.
struct StructDeclaration {
    struct Field {
        var name: String
        var type: String
        var defaultValue: String?
        var documentation: String?

        init(
            name: String,
            type: String,
            defaultValue: String? = nil,
            documentation: String? = nil
        ) {
            self.name = name
            self.type = type
            self.defaultValue = defaultValue
            self.documentation = documentation
        }

        init(_ parameter: TranslatedParameter) {
            self.init(
                name: parameter.name,
                type: parameter.type.text,
                defaultValue: parameter.type.isOptional ? "nil" : nil,
                documentation: parameter.documentation
            )
        }
    }

    var name: String
    var documentation: String?
    var nested: [Declaration] = []
    var fields: [Field] = []

    init(name: String, documentation: String? = nil) {
        self.name = name
        self.documentation = documentation
    }

    /// Adds the struct of header fields and the property that holds it, where there are any.
    mutating func addHeaders(
        _ headers: [TranslatedParameter],
        nested: [Declaration],
        path: String,
        of owner: String,
        sharing shared: inout SharedDeclarations
    ) {
        guard !headers.isEmpty else { return }
        var group = StructDeclaration(name: "Headers")
        group.nested = nested
        group.fields = headers.map { Field($0) }
        self.nested.append(shared.declaration(of: group, at: path))
        fields.append(
            Field(
                name: "headers",
                type: path,
                defaultValue: group.hasDefaults ? ".init()" : nil,
                documentation: "The \(owner)'s header fields."
            )
        )
    }

    /// Whether it can be created without arguments.
    var hasDefaults: Bool { fields.allSatisfy { $0.defaultValue != nil } }

    /// The initialiser's parameters, which the convenience overload of an operation repeats.
    var parameters: [FunctionDeclaration.Parameter] {
        fields.map { field in
            .init(label: escaped(field.name), type: field.type, defaultValue: field.defaultValue)
        }
    }

    var declaration: Declaration {
        var members = nested
        for field in fields {
            members.append(
                .property(
                    PropertyDeclaration(
                        documentation: field.documentation,
                        name: escaped(field.name),
                        type: field.type
                    )
                )
            )
        }
        members.append(
            .function(
                FunctionDeclaration(
                    name: "init",
                    parameters: parameters,
                    body: fields.map { .line("self.\(escaped($0.name)) = \(escaped($0.name))") }
                )
            )
        )
        return .type(
            TypeDeclaration(
                documentation: documentation,
                keyword: .structure,
                name: name,
                inherits: ["OpenAPISwiftRuntime.OperationValue"],
                members: members
            )
        )
    }
}

/// `Input` of an operation: one struct for each location that has parameters, then the body.
struct InputDeclaration {
    /// `Operations.QueryRecords`.
    let path: String
    private(set) var structure = StructDeclaration(name: "Input")

    init(path: String) {
        self.path = path
    }

    mutating func addGroup(
        _ name: String,
        _ typeName: String,
        fields: [TranslatedParameter],
        nested: [Declaration],
        accept: String? = nil,
        sharing shared: inout SharedDeclarations
    ) {
        guard !fields.isEmpty || accept != nil else { return }
        let type = "\(path).Input.\(typeName)"
        if fields.isEmpty, let accept {
            let target = "OpenAPISwiftRuntime.AcceptHeaders<\(accept)>"
            structure.nested.append(.alias(documentation: nil, name: typeName, target: target))
            structure.fields.append(StructDeclaration.Field(name: name, type: type, defaultValue: ".init()"))
            return
        }
        var group = StructDeclaration(name: typeName)
        group.nested = nested
        group.fields = fields.map { StructDeclaration.Field($0) }
        if let accept {
            group.fields.append(
                StructDeclaration.Field(
                    name: "accept",
                    type: "[OpenAPISwiftRuntime.AcceptHeaderContentType<\(accept)>]",
                    defaultValue: ".defaultValues()"
                )
            )
        }
        structure.nested.append(shared.declaration(of: group, at: type))
        structure.fields.append(
            StructDeclaration.Field(
                name: name,
                type: type,
                defaultValue: group.hasDefaults ? ".init()" : nil
            )
        )
    }

    mutating func addBody(_ body: TranslatedBody?, isRequired: Bool, nested: [Declaration]) {
        structure.nested += nested
        guard let body else { return }
        structure.fields.append(
            StructDeclaration.Field(
                name: "body",
                type: isRequired ? body.path : "\(body.path)?",
                defaultValue: isRequired ? nil : "nil"
            )
        )
    }

    var declaration: Declaration { structure.declaration }
}

/// `Output` of an operation: a case and a throwing property for each response.
struct OutputDeclaration {
    var name = "Output"
    var conformance = "OpenAPISwiftRuntime.OperationValue"
    /// The case for all other responses. If it is `nil`, there is a case for undocumented responses, unless the
    /// document describes every status.
    var otherCase: Declaration?
    let responses: [TranslatedResponse]

    func declaration(nested: [Declaration]) -> Declaration {
        var members = nested
        for response in responses {
            let name = escaped(response.caseName)
            switch response.status {
            case .code:
                members.append(.enumCase(documentation: response.documentation, text: "\(name)(\(response.path))"))
                if response.isEmpty {
                    members.append(
                        .property(
                            PropertyDeclaration(
                                modifiers: "static ",
                                name: name,
                                type: "Self",
                                body: [.line(".\(name)(.init())")]
                            )
                        )
                    )
                }
            case .range, .default:
                members.append(
                    .enumCase(
                        documentation: response.documentation,
                        text: "\(name)(statusCode: Swift.Int, \(response.path))"
                    )
                )
            }
        }
        let hasDefault = responses.contains { $0.status == .default }
        if let otherCase {
            members.append(otherCase)
        } else if !hasDefault {
            members.append(
                .enumCase(
                    documentation: "A response that the document does not describe.",
                    text: "undocumented(statusCode: Swift.Int, OpenAPISwiftRuntime.UndocumentedPayload)"
                )
            )
        }
        for response in responses {
            members.append(getter(for: response, isOnly: hasDefault && responses.count == 1))
        }
        return .type(
            TypeDeclaration(
                keyword: .enumeration,
                name: name,
                inherits: [conformance],
                members: members
            )
        )
    }

    private func getter(for response: TranslatedResponse, isOnly: Bool) -> Declaration {
        let name = escaped(response.caseName)
        let pattern: String
        switch response.status {
        case .code: pattern = "case .\(name)(let response)"
        case .range, .default: pattern = "case .\(name)(_, let response)"
        }
        var cases: [Statement] = [.label("\(pattern):", [.line("return response")])]
        if !isOnly {
            cases.append(
                .label(
                    "default:",
                    [
                        .line(
                            "throw OpenAPISwiftRuntime.unexpectedResponse(expected: \(stringLiteral(response.caseName)), found: self)"
                        )
                    ]
                )
            )
        }
        return .property(
            PropertyDeclaration(
                name: name,
                type: response.path,
                effects: "throws",
                body: [.block("switch self", cases)]
            )
        )
    }
}
