/// The members of several object schemas as those of one, for bodies whose members have no place for a composition.
struct MergedObject {
    private let schemas: SchemaCatalog
    /// The schemas of each property: several if values of different objects can have it.
    private var properties: OrderedMap<[Schema]> = .init()
    private var required: Set<ExactText> = []
    private var additional: Schema.AdditionalProperties?

    /// Merges what a schema describes; `nil` if some of its values are not objects.
    ///
    /// - Parameters:
    ///   - schema: The schema, which may be a reference.
    ///   - schemas: The components that it can refer to.
    init?(_ schema: Schema, in schemas: SchemaCatalog) {
        self.init(schema, in: schemas, inside: [])
    }

    private init?(_ schema: Schema, in schemas: SchemaCatalog, inside outer: Set<Int>) {
        self.schemas = schemas
        var schema = schema
        var outer = outer
        if case .reference(let entry) = schemas.shape(of: schema) {
            guard let end = schemas.chainEnd(of: entry), end.override == nil, outer.insert(end.index).inserted else {
                return nil
            }
            schema = end.schema
        }
        switch schemas.shape(of: schema) {
        case .object, .scalar(.valueObject), .scalar(.value): add(schema)
        case .allOf(let members):
            if !schema.properties.isEmpty { add(schema) }
            for member in members {
                guard let object = MergedObject(member, in: schemas, inside: outer) else { return nil }
                add(object)
            }
        case .anyOf(let members), .oneOf(let members):
            var choice: MergedObject?
            for member in members {
                guard let object = MergedObject(member, in: schemas, inside: outer) else { return nil }
                if choice == nil { choice = object } else { choice?.addAlternative(object) }
            }
            if let choice { add(choice) }
            if !schema.properties.isEmpty { add(schema) }
        case .reference, .scalar, .array, .stringEnumeration, .integerEnumeration, .unsupported: return nil
        }
    }

    /// Adds the members of a schema that is an object.
    private mutating func add(_ schema: Schema) {
        for property in schema.properties { properties[property.name] = [property.schema] }
        required.formUnion(schema.required.map(ExactText.init))
        add(schema.additionalProperties)
    }

    /// Adds the members of an object that every value is, too. Its description of a member is the later one, which
    /// usually says more.
    private mutating func add(_ object: MergedObject) {
        for (name, forms) in object.properties.pairs { properties[name] = forms }
        required.formUnion(object.required)
        if let others = object.additional { add(others) }
    }

    /// Adds the members of an object that values may be instead. A member is required if it always is, and has any of
    /// the forms that it can have.
    private mutating func addAlternative(_ object: MergedObject) {
        for (name, forms) in object.properties.pairs {
            let known = properties[name] ?? []
            properties[name] = known + forms.filter { form in !known.contains { $0.isEqual(to: form) } }
        }
        required.formIntersection(object.required)
        if let others = object.additional { add(others) }
    }

    /// Members that are not listed are refused only if every object refuses them.
    private mutating func add(_ others: Schema.AdditionalProperties) {
        switch (additional, others) {
        case (nil, _), (.unspecified, .allowed), (.unspecified, .schema), (.forbidden, .allowed), (.forbidden, .schema):
            additional = others
        case (.forbidden, .unspecified): additional = .unspecified
        default: break
        }
    }

    /// The object as a schema.
    ///
    /// - Parameter position: The position of the schema.
    /// - Returns: A schema whose members are those of all merged ones.
    func schema(at position: SourcePosition) -> Schema {
        Schema(
            .init(
                position: position,
                kinds: [.object],
                properties: properties.pairs.map { name, forms in
                    let schema = forms.count == 1 ? forms[0] : Schema(.init(position: position, anyOf: forms))
                    return Schema.Property(name: name, schema: schema)
                },
                required: properties.pairs.map(\.key).filter { required.contains(ExactText($0)) },
                additionalProperties: additional ?? .unspecified
            )
        )
    }
}

extension Schema {
    /// Whether both schemas describe the same values, in the same words. Positions and documentation do not count.
    func isEqual(to other: Schema) -> Bool {
        if isSame(as: other) { return true }
        func areEqual(_ left: [Schema]?, _ right: [Schema]?) -> Bool {
            guard let left, let right else { return left == nil && right == nil }
            return left.count == right.count && zip(left, right).allSatisfy { $0.isEqual(to: $1) }
        }
        func areEqual(_ left: AdditionalProperties, _ right: AdditionalProperties) -> Bool {
            switch (left, right) {
            case (.unspecified, .unspecified), (.allowed, .allowed), (.forbidden, .forbidden): true
            case (.schema(let left), .schema(let right)): left.isEqual(to: right)
            default: false
            }
        }
        let hasEqualScalars =
            self.reference?.text == other.reference?.text && self.kinds == other.kinds
            && self.isNullable == other.isNullable && self.isNull == other.isNull && self.boolean == other.boolean
            && self.format == other.format && self.contentEncoding == other.contentEncoding
            && self.contentMediaType == other.contentMediaType
            && self.enumeration?.map(\.scalarText) == other.enumeration?.map(\.scalarText)
        let hasEqualMembers =
            self.properties.map(\.name) == other.properties.map(\.name) && self.required == other.required
            && areEqual(self.properties.map(\.schema), other.properties.map(\.schema))
            && areEqual(self.additionalProperties, other.additionalProperties)
        let hasEqualItems =
            areEqual(self.items.map { [$0] }, other.items.map { [$0] }) && self.hasPrefixItems == other.hasPrefixItems
        let hasEqualCompositions =
            areEqual(self.allOf, other.allOf) && areEqual(self.anyOf, other.anyOf)
            && areEqual(self.oneOf, other.oneOf) && self.hasNot == other.hasNot
        return hasEqualScalars && hasEqualMembers && hasEqualItems && hasEqualCompositions
    }
}
