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
        accept: SwiftType? = nil,
        sharing shared: inout SharedDeclarations
    ) {
        guard !fields.isEmpty || accept != nil else { return }
        let type = "\(path).Input.\(typeName)"
        if fields.isEmpty, let accept {
            let target: SwiftType = .runtime("AcceptHeaders", accept)
            structure.nested.append(.alias(documentation: nil, name: typeName, target: target))
            structure.fields.append(StructDeclaration.Field(name: name, type: .named(type), defaultValue: ".init()"))
            return
        }
        var group = StructDeclaration(name: typeName)
        group.nested = nested
        group.fields = fields.map { StructDeclaration.Field($0) }
        if let accept {
            group.fields.append(
                StructDeclaration.Field(
                    name: "accept",
                    type: .array(.runtime("AcceptHeaderContentType", accept)),
                    defaultValue: ".defaultValues()"
                )
            )
        }
        structure.nested.append(shared.declaration(of: group, at: type))
        structure.fields.append(
            StructDeclaration.Field(
                name: name,
                type: .named(type),
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
                type: isRequired ? .named(body.path) : .optional(.named(body.path)),
                defaultValue: isRequired ? nil : "nil"
            )
        )
    }

    var declaration: Declaration { structure.declaration }
}
