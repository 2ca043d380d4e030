/// A struct of stored properties with a memberwise initialiser, as operations use them for inputs and payloads.
struct StructDeclaration {
    struct Field {
        var name: String
        var type: SwiftType
        var defaultValue: String?
        var documentation: String?
        var isDeprecated: Bool
        /// The name of the stored property. Behind a deprecated property, there is one that generated code can use
        /// without a warning.
        var storageName: String { isDeprecated ? "__\(name)" : escaped(name) }

        init(
            name: String,
            type: SwiftType,
            defaultValue: String? = nil,
            documentation: String? = nil,
            isDeprecated: Bool = false
        ) {
            self.name = name
            self.type = type
            self.defaultValue = defaultValue
            self.documentation = documentation
            self.isDeprecated = isDeprecated
        }

        init(_ parameter: TranslatedParameter) {
            self.init(
                name: parameter.name,
                type: parameter.type,
                defaultValue: parameter.type.isOptional ? "nil" : nil,
                documentation: parameter.documentation,
                isDeprecated: parameter.isDeprecated
            )
        }

        fileprivate var declarations: [Declaration] {
            let stored = PropertyDeclaration(
                documentation: isDeprecated ? nil : documentation,
                name: storageName,
                type: type
            )
            guard isDeprecated else { return [.property(stored)] }
            return [
                .property(stored),
                .property(
                    PropertyDeclaration(
                        documentation: documentation,
                        attributes: ["@available(*, deprecated)"],
                        name: escaped(name),
                        type: type,
                        accessors: [
                            .block("get", [.line("self.\(storageName)")]),
                            .block("set", [.line("self.\(storageName) = newValue")]),
                        ]
                    )
                ),
            ]
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
                type: .named(path),
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
        var members = nested + fields.flatMap(\.declarations)
        members.append(
            .function(
                FunctionDeclaration(
                    name: "init",
                    parameters: parameters,
                    body: fields.map { .line("self.\($0.storageName) = \(escaped($0.name))") }
                )
            )
        )
        return .type(
            TypeDeclaration(
                documentation: documentation,
                keyword: .structure,
                name: name,
                inherits: [.runtime("OperationValue")],
                members: members
            )
        )
    }
}
