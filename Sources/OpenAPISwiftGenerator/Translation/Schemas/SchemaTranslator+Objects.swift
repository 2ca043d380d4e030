extension SchemaTranslator {
    func declareObject(_ schema: Schema, named name: String, in parent: inout DeclarationScope) {
        var inner = DeclarationScope(
            path: parent.path(of: name),
            names: NameScope(taken: ["CodingKeys"]),
            owner: parent.owner
        )
        let propertyNames: Set<ExactText> = Set(schema.properties.map { ExactText($0.name) })
        for required in schema.required where !propertyNames.contains(ExactText(required)) {
            diagnostics.warn(
                "'\(required)' is required but not among the properties, it is left out.",
                at: schema.position,
                foundIn: inner.path
            )
        }
        var memberScope = NameScope()
        let (fields, additional) = fields(of: schema, scope: &memberScope, in: &inner)
        let refusesOthers: Bool = if case .forbidden = schema.additionalProperties { true } else { false }
        parent.declarations.append(
            ObjectDeclaration(
                name: name,
                documentation: schema.documentation,
                attributes: deprecation(of: schema, in: parent),
                nested: inner.declarations,
                fields: fields,
                additional: additional ?? unknownMembersField(of: schema, scope: &memberScope, in: inner),
                refusesOthers: refusesOthers
            ).declaration
        )
    }

    /// The properties of a schema, and the one for its additional members.
    func fields(
        of schema: Schema,
        scope: inout NameScope,
        in parent: inout DeclarationScope
    ) -> (fields: [StoredProperty], additional: StoredProperty?) {
        var fields: [StoredProperty] = []
        for property in schema.properties {
            guard let field = field(for: property, of: schema, scope: &scope, in: &parent) else { continue }
            fields.append(field)
        }
        return (fields, additionalField(of: schema, scope: &scope, in: &parent))
    }

    /// The attribute of a deprecated component that only code of users uses. For a component that generated code uses,
    /// its alias is deprecated; for an inline type, the property.
    func deprecation(of schema: Schema, in parent: DeclarationScope) -> [String] {
        guard schema.isDeprecated, parent.path == namespace, let owner = parent.owner,
            let entry = schemas[owner], !entry.isHidden, entry.schema.isSame(as: schema)
        else { return [] }
        return ["@available(*, deprecated)"]
    }

    private func field(
        for property: Schema.Property,
        of schema: Schema,
        scope: inout NameScope,
        in parent: inout DeclarationScope
    ) -> StoredProperty? {
        if schemas.isBinary(property.schema) {
            diagnostics.warn(
                "The property '\(property.name)' is left out: binary data has no JSON form.",
                at: property.schema.position,
                remedy: "use base64: 'format: byte' or 'contentEncoding: base64'",
                foundIn: parent.path
            )
            return nil
        }
        let hint = "\(names.typeName(property.name))Payload"
        guard var type = type(of: property.schema, named: hint, in: &parent) else { return nil }
        if !schema.requires(property.name) || schemas.isNullable(property.schema) { type = type.asOptional }
        return StoredProperty(
            key: property.name,
            name: scope.claim(names.memberName(property.name)),
            type: type,
            isBoxed: isBoxed(property.schema, owner: parent.owner),
            documentation: property.schema.documentation,
            isDeprecated: property.schema.isDeprecated
        )
    }

    func isBoxed(_ schema: Schema, owner: String?) -> Bool {
        isRecursive(schema, owner: owner) || schemas.isHeavy(schema)
    }

    /// Whether a schema is a reference that leads back to the component that contains the schema.
    func isRecursive(_ schema: Schema, owner: String?) -> Bool {
        switch schemas.shape(of: schema) {
        case .reference(let entry): schemas.isRecursive(from: owner, to: entry)
        default: false
        }
    }

    func leadsBack(_ schema: Schema, owner: String?) -> Bool {
        switch schemas.shape(of: schema) {
        case .reference(let entry): schemas.leadsBack(from: owner, to: entry)
        default: false
        }
    }

    private func additionalField(
        of schema: Schema,
        scope: inout NameScope,
        in parent: inout DeclarationScope
    ) -> StoredProperty? {
        let type: SwiftType
        switch schema.additionalProperties {
        case .unspecified, .forbidden: return nil
        case .allowed: type = .valueObject
        case .schema(let value):
            let hint = "\(names.typeName("additionalProperties"))Payload"
            guard var valueType = self.type(of: value, named: hint, in: &parent) else { return nil }
            if schemas.isNullable(value) { valueType = valueType.asOptional }
            type = .dictionary(valueType)
        }
        return StoredProperty(
            key: "",
            name: scope.claim(names.memberName("additionalProperties")),
            type: type,
            isBoxed: false,
            documentation: "Members of the object that are not listed above, by key.",
            isDeprecated: false
        )
    }

    /// The property for the members that the document does not list, if the configuration says to keep them.
    ///
    /// A schema with `additionalProperties` decides itself about these members.
    private func unknownMembersField(
        of schema: Schema,
        scope: inout NameScope,
        in parent: DeclarationScope
    ) -> StoredProperty? {
        guard case .unspecified = schema.additionalProperties else { return nil }
        let style: UnknownMembersStyle = parent.owner.flatMap { schemas[$0]?.unknownMembers } ?? unknownMembers
        guard style != .skip else { return nil }
        return StoredProperty(
            key: "",
            name: scope.claim(names.memberName("unknownMembers")),
            type: .streamingJSON("JSONMembers"),
            isBoxed: false,
            documentation: "Members of the object that have no property here, in the order in which they came.",
            isDeprecated: false,
            keeps: style
        )
    }
}
