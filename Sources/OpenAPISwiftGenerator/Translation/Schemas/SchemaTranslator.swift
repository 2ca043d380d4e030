/// Translates schemas into Swift types.
///
/// A generated type reads itself from a `JSONReader` with a switch over a table of keys, and writes its keys in a fixed
/// order. `Codable` and `Hashable` come from `JSONCodable`'s default implementations: in measurements, synthesis took
/// more than half of the compiler's time for such types.
struct SchemaTranslator {
    let schemas: SchemaCatalog
    let names: NameAssigner
    let enumerations: EnumerationStyle
    /// The type that contains component schemas; empty where they are types of the module itself.
    var namespace: String = SchemaCatalog.namespace
    let unknownMembers: UnknownMembersStyle
    let diagnostics: Diagnostics

    // MARK: Components

    /// The declarations inside of the namespace of schemas.
    func translateComponents(except others: Set<ExactText>) -> [Declaration] {
        var parent = DeclarationScope(path: namespace, names: NameScope(taken: Set(schemas.entries.map(\.swiftName))))
        for entry in schemas.entries where !others.contains(ExactText(entry.key)) {
            translate(entry, in: &parent)
        }
        return parent.declarations
    }

    private func translate(_ entry: SchemaCatalog.Entry, in parent: inout DeclarationScope) {
        parent.owner = entry.key
        let documentation = entry.schema.documentation
        if let override = entry.override {
            guard entry.namespace != nil else { return }
            parent.declarations.append(
                .alias(documentation: documentation, name: entry.swiftName, target: .overridden(override))
            )
            return
        }
        if let reason = schemas.unsupportedReason(of: entry.schema) {
            diagnostics.warn(
                "The schema '\(entry.key)' is left out: \(reason) is not supported.",
                at: entry.schema.position,
                foundIn: "\(parent.path(of: entry.swiftName)) (#/components/schemas/\(entry.key))"
            )
            return
        }
        warnAboutFurtherTypes(entry.schema, foundIn: parent.path(of: entry.swiftName))
        if entry.namespace == nil, let dot = entry.swiftName.lastIndex(of: ".") {
            let outer = String(entry.swiftName[..<dot])
            let name = String(entry.swiftName[dot...].dropFirst())
            var inner = DeclarationScope(path: outer, names: NameScope(taken: [name]), owner: entry.key)
            declare(entry.schema, named: name, in: &inner)
            parent.declarations.append(
                .type(TypeDeclaration(keyword: .extension, name: outer, members: inner.declarations))
            )
            return
        }
        switch schemas.shape(of: entry.schema) {
        case .reference, .scalar:
            let type: SwiftType = simpleType(of: entry.schema) ?? .value
            parent.declarations.append(.alias(documentation: documentation, name: entry.swiftName, target: type))
        case .array(let items):
            let index = parent.declarations.count
            let type = arrayType(of: items, named: entry.swiftName, in: &parent)
            parent.declarations.insert(
                .alias(documentation: documentation, name: entry.swiftName, target: type),
                at: index
            )
        default:
            if entry.isHidden {
                parent.declarations.append(
                    .alias(
                        documentation: documentation,
                        attributes: ["@available(*, deprecated)"],
                        name: entry.swiftName,
                        target: .named(entry.typePath)
                    )
                )
            }
            declare(entry.schema, named: entry.typeName, in: &parent)
        }
    }

    // MARK: Types of schemas in other declarations

    /// The type of a schema. If it needs a declaration, it is declared under the name. `nil` for a schema without a
    /// counterpart in Swift.
    func type(of schema: Schema, named name: String, in parent: inout DeclarationScope) -> SwiftType? {
        if let reason = schemas.unsupportedReason(of: schema) {
            diagnostics.warn(
                "\(name) in \(parent.path) is left out: \(reason) is not supported.",
                at: schema.position,
                foundIn: parent.path
            )
            return nil
        }
        warnAboutFurtherTypes(schema, foundIn: parent.path(of: name))
        if let type = simpleType(of: schema) { return type }
        switch schemas.shape(of: schema) {
        case .array(let items):
            let alias = parent.names.claim(name)
            let index = parent.declarations.count
            let type = arrayType(of: items, named: alias, in: &parent)
            parent.declarations.insert(.alias(documentation: nil, name: alias, target: type), at: index)
            return .named(parent.path(of: alias))
        default:
            let claimed = parent.names.claim(name)
            guard hidesDeprecated(schema) else {
                declare(schema, named: claimed, in: &parent)
                return .named(parent.path(of: claimed))
            }
            // Generated code uses the type, and must not cause warnings.
            let hidden = "__\(claimed)"
            parent.declarations.append(
                .alias(
                    documentation: nil,
                    attributes: ["@available(*, deprecated)"],
                    name: claimed,
                    target: .named(parent.path(of: hidden))
                )
            )
            declare(schema, named: hidden, in: &parent)
            return .named(parent.path(of: hidden))
        }
    }

    /// The type of a schema that needs no declaration of its own.
    func simpleType(of schema: Schema) -> SwiftType? {
        switch schemas.shape(of: schema) {
        case .scalar(let type): return type
        case .reference(let entry):
            let name = entry.typePath
            guard entry.override == nil else { return .overridden(name) }
            // The names between the first and the last of a chain of references do not matter.
            guard let end = schemas.chainEnd(of: entry) else { return .named(name) }
            let target: SwiftType? = end.override == nil ? simpleType(of: end.schema) : .overridden(end.typePath)
            if let type = target, type.needsClosure || type == .body || type.isMemberScalar {
                return .alias(name, type)
            }
            return .named(name)
        case .array(let items):
            guard let element = simpleType(of: items) else { return nil }
            return .array(isNullableElement(items) ? element.asOptional : element)
        default: return nil
        }
    }

    /// Whether a schema is a type of the standard library, also through references. StreamingJSON implements the
    /// reading of these types.
    func isForeign(_ schema: Schema) -> Bool {
        switch schemas.resolvedShape(of: schema) {
        case .array: true
        case .scalar(let type): type.isMemberScalar && type != .date
        default: false
        }
    }

    private func arrayType(of items: Schema, named name: String, in parent: inout DeclarationScope) -> SwiftType {
        if let element = simpleType(of: items) {
            return .array(isNullableElement(items) ? element.asOptional : element)
        }
        let element: SwiftType =
            type(of: items, named: "\(names.typeName(name))Payload", in: &parent) ?? .value
        return .array(element)
    }

    /// Whether the elements of an array are optional: only if the schema of the elements itself allows `null` and needs
    /// no type of its own. Code written for Apple's generator relies on this.
    private func isNullableElement(_ schema: Schema) -> Bool {
        guard schema.reference == nil, schemas.isNullable(schema) else { return false }
        switch schemas.shape(of: schema) {
        case .scalar, .array: return true
        default: return false
        }
    }

    /// Whether an inline schema is a deprecated struct. Enumerations are never deprecated, as with Apple's generator.
    func hidesDeprecated(_ schema: Schema) -> Bool {
        guard schema.isDeprecated, schema.reference == nil else { return false }
        switch schemas.shape(of: schema) {
        case .object, .allOf, .anyOf: return true
        default: return false
        }
    }

    private func warnAboutFurtherTypes(_ schema: Schema, foundIn: String) {
        guard schema.kinds.count > 1, schema.reference == nil else { return }
        diagnostics.warn(
            "Of several types only the first, '\(schema.kinds[0].rawValue)', is used.",
            at: schema.position,
            remedy: "use 'oneOf' or 'anyOf' with one type each",
            foundIn: foundIn
        )
    }

    // MARK: Declarations

    private func declare(_ schema: Schema, named name: String, in parent: inout DeclarationScope) {
        var schema = schema
        // `oneOf: [X, null]` is X.
        while schema.properties.isEmpty, let members = schema.allOf ?? schema.anyOf ?? schema.oneOf, members.count > 1 {
            let remaining = members.filter { !$0.isNull }
            guard remaining.count == 1 else { break }
            schema = remaining[0]
        }
        switch schemas.shape(of: schema) {
        case .stringEnumeration(let values): declareEnumeration(values, of: schema, named: name, in: &parent)
        case .integerEnumeration(let values): declareEnumeration(values, of: schema, named: name, in: &parent)
        case .object: declareObject(schema, named: name, in: &parent)
        case .allOf(let members): declareComposition(.allOf, members, of: schema, named: name, in: &parent)
        case .anyOf(let members): declareComposition(.anyOf, members, of: schema, named: name, in: &parent)
        case .oneOf(let members): declareOneOf(members, of: schema, named: name, in: &parent)
        case .reference, .scalar, .array, .unsupported: break
        }
    }
}
