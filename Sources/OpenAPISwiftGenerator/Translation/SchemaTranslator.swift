/// The type in which other types are being declared: its full name, the names taken in it, and its declarations so far.
struct DeclarationScope {
    /// `Components.Schemas` for instance; empty where types of the module itself are declared.
    var path: String
    var names: NameScope
    var declarations: [Declaration] = []
    /// The key of the component schema that contains the declarations, if there is one.
    var owner: String?

    init(path: String, names: NameScope = NameScope(), owner: String? = nil) {
        self.path = path
        self.names = names
        self.owner = owner
    }

    /// The full name of a type that is declared here.
    func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}

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
            parent.declarations.append(.alias(documentation: documentation, name: entry.swiftName, target: override))
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
            let type: SwiftType = aliasedType(of: entry.schema) ?? .value
            parent.declarations.append(.alias(documentation: documentation, name: entry.swiftName, target: type.text))
        case .array(let items):
            let index = parent.declarations.count
            let type = arrayType(of: items, named: entry.swiftName, in: &parent)
            parent.declarations.insert(
                .alias(documentation: documentation, name: entry.swiftName, target: type.text),
                at: index
            )
        default:
            if entry.isHidden {
                parent.declarations.append(
                    .alias(
                        documentation: documentation,
                        attributes: ["@available(*, deprecated)"],
                        name: entry.swiftName,
                        target: entry.typePath
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
            parent.declarations.insert(.alias(documentation: nil, name: alias, target: type.text), at: index)
            return .named(parent.path(of: alias))
        default:
            let claimed = parent.names.claim(name)
            // A composition of `null` and one other member is that member.
            declare(schema, named: claimed, in: &parent)
            return .named(parent.path(of: claimed))
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

    /// The type behind a component's alias; `nil` when the component has a type of its own.
    private func aliasedType(of schema: Schema) -> SwiftType? {
        simpleType(of: schema)
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
        while let members = schema.allOf ?? schema.anyOf ?? schema.oneOf, members.count > 1 {
            let remaining = members.filter { !$0.isNull }
            guard remaining.count == 1 else { break }
            schema = remaining[0]
        }
        warnAboutLostProperties(of: schema, foundIn: parent.path(of: name))
        switch schemas.shape(of: schema) {
        case .stringEnumeration(let values): declareEnumeration(values, of: schema, named: name, in: &parent)
        case .integerEnumeration(let values): declareEnumeration(values, of: schema, named: name, in: &parent)
        case .object: declareObject(schema, named: name, in: &parent)
        case .allOf(let members): declareAllOf(members, of: schema, named: name, in: &parent)
        case .anyOf(let members): declareAnyOf(members, of: schema, named: name, in: &parent)
        case .oneOf(let members): declareOneOf(members, of: schema, named: name, in: &parent)
        case .reference, .scalar, .array, .unsupported: break
        }
    }

    private func warnAboutLostProperties(of schema: Schema, foundIn: String) {
        guard
            let keyword = schema.allOf != nil
                ? "allOf" : schema.anyOf != nil ? "anyOf" : schema.oneOf.map({ _ in "oneOf" }),
            !schema.properties.isEmpty
        else { return }
        let names = schema.properties.map { "'\($0.name)'" }
        diagnostics.warn(
            "The properties \(names.joined(separator: ", ")) beside '\(keyword)' are left out.",
            at: schema.position,
            remedy: "make them a member of 'allOf'",
            foundIn: foundIn
        )
    }

    // MARK: Enumerations

    private func declareEnumeration(
        _ values: [String],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        let cases = values.map { value in
            (value, names.memberName(value), stringLiteral(value))
        }
        declareEnumeration(cases, rawType: "Swift.String", of: schema, named: name, in: &parent)
    }

    private func declareEnumeration(
        _ values: [Int],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        let cases = values.map { value in
            let name = value < 0 ? "_n\(value.magnitude)" : "_\(value)"
            return (String(value), names.overrides[String(value)] ?? name, String(value))
        }
        declareEnumeration(cases, rawType: "Swift.Int", of: schema, named: name, in: &parent)
    }

    private func declareEnumeration(
        _ cases: [(value: String, name: String, literal: String)],
        rawType: String,
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        // The names that `RawRepresentable` and `CaseIterable` use.
        var scope = NameScope(taken: ["rawValue", "RawValue", "allCases", "AllCases"])
        var seen: Set<String> = []
        var listed: [(name: String, literal: String, documentation: String?)] = []
        for (value, caseName, literal) in cases {
            guard seen.insert(value).inserted else {
                diagnostics.warn(
                    "The enum value \(literal) appears twice, the second is dropped.",
                    at: schema.position,
                    foundIn: parent.path(of: name)
                )
                continue
            }
            listed.append((escaped(scope.claim(caseName)), literal, schema.valueDocumentation[value]))
        }
        parent.declarations.append(
            .type(
                enumerations == .closed && !schema.isExtensible
                    ? closedEnumeration(of: listed, rawType: rawType, named: name, documentation: schema.documentation)
                    : openEnumeration(of: listed, rawType: rawType, named: name, documentation: schema.documentation)
            )
        )
    }

    private func closedEnumeration(
        of cases: [(name: String, literal: String, documentation: String?)],
        rawType: String,
        named name: String,
        documentation: String?
    ) -> TypeDeclaration {
        var members: [Declaration] = cases.map { (name: String, literal: String, documentation: String?) in
            .enumCase(documentation: documentation, text: "\(name) = \(literal)")
        }
        members.append(Snippets.readingInitializer(body: [.line("self = try reader.readEnumeration(Self.self)")]))
        members.append(Snippets.writingMethod(body: [.line("writer.write(self.rawValue)")]))
        return TypeDeclaration(
            documentation: documentation,
            keyword: .enumeration,
            name: name,
            inherits: [
                rawType, "Swift.Codable", "Swift.Hashable", "Swift.Sendable", "Swift.CaseIterable",
                "StreamingJSON.JSONReadable", "StreamingJSON.JSONWritable",
            ],
            members: members
        )
    }

    private func openEnumeration(
        of cases: [(name: String, literal: String, documentation: String?)],
        rawType: String,
        named name: String,
        documentation: String?
    ) -> TypeDeclaration {
        var members: [Declaration] = [
            .property(PropertyDeclaration(name: "rawValue", type: rawType)),
            .function(
                FunctionDeclaration(
                    documentation: "Creates a value, whether the document lists it or not.",
                    name: "init",
                    parameters: [.init(label: "rawValue", type: rawType)],
                    body: [.line("self.rawValue = rawValue")]
                )
            ),
        ]
        if rawType == "Swift.String" {
            // Not inherited from the runtime's protocol: files that do not import the runtime can use literals, too.
            members.append(
                .function(
                    FunctionDeclaration(
                        documentation: "Creates a value, whether the document lists it or not.",
                        name: "init",
                        parameters: [.init(label: "stringLiteral value", type: rawType)],
                        body: [.line("self.rawValue = value")]
                    )
                )
            )
        }
        members += cases.map { (name: String, literal: String, documentation: String?) in
            .property(
                PropertyDeclaration(
                    documentation: documentation,
                    modifiers: "static ",
                    name: name,
                    type: "Self",
                    body: [.line("Self(rawValue: \(literal))")]
                )
            )
        }
        let all = cases.map { "Self.\($0.name)" }.joined(separator: ", ")
        members.append(
            .property(
                PropertyDeclaration(
                    documentation: "The values that the document lists.",
                    modifiers: "static ",
                    name: "allCases",
                    type: "[Self]",
                    body: [.line("[\(all)]")]
                )
            )
        )
        return TypeDeclaration(
            documentation: documentation,
            keyword: .structure,
            name: name,
            inherits: [
                "OpenAPISwiftRuntime.\(rawType == "Swift.String" ? "OpenStringEnumeration" : "OpenEnumeration")"
            ],
            members: members
        )
    }

    // MARK: Objects

    /// A property of a generated struct.
    private struct Field {
        var key: String
        var name: String
        var type: SwiftType
        /// Held in a box because the type contains the struct again.
        var isBoxed: Bool
        /// Whether it is stored under a private name, behind a computed property. This is so for boxes, and for
        /// deprecated properties, because the struct's own code must not cause warnings.
        var hasPrivateStorage: Bool { isBoxed || isDeprecated }
        var documentation: String?
        var isDeprecated: Bool
        /// What the property for unknown members keeps; `nil` for other properties.
        var keeps: UnknownMembersStyle?
    }

    private func declareObject(_ schema: Schema, named name: String, in parent: inout DeclarationScope) {
        var inner = DeclarationScope(
            path: parent.path(of: name),
            names: NameScope(taken: ["CodingKeys"]),
            owner: parent.owner
        )
        var fields: [Field] = []
        var memberScope = NameScope()
        for property in schema.properties {
            guard let field = field(for: property, of: schema, scope: &memberScope, in: &inner) else { continue }
            fields.append(field)
        }
        let propertyNames: Set<ExactText> = Set(schema.properties.map { ExactText($0.name) })
        for required in schema.required where !propertyNames.contains(ExactText(required)) {
            diagnostics.warn(
                "'\(required)' is required but not among the properties, it is left out.",
                at: schema.position,
                foundIn: inner.path
            )
        }
        let additional =
            additionalField(of: schema, scope: &memberScope, in: &inner)
            ?? unknownMembersField(of: schema, scope: &memberScope, in: inner)
        // A type that keeps unknown members has a table with the required members first: see the runtime's
        // `MemberKeeper`.
        let tabled: [Field] =
            additional?.keeps == nil
            ? fields : fields.filter { !$0.type.isOptional } + fields.filter(\.type.isOptional)
        var members = inner.declarations
        for field in fields {
            members += storedProperty(field)
        }
        if let additional { members += storedProperty(additional) }
        members.append(memberwiseInitializer(of: fields, additional: additional, named: name))
        if !fields.isEmpty {
            members.append(.codingKeys(fields.map { ($0.name, $0.key) }))
            members.append(keyTable(of: tabled))
        }
        members.append(reader(of: tabled, additional: additional, schema: schema, typeName: name))
        members.append(writer(of: fields, additional: additional))
        parent.declarations.append(
            .type(
                TypeDeclaration(
                    documentation: schema.documentation,
                    attributes: deprecation(of: schema, in: parent),
                    keyword: .structure,
                    name: name,
                    inherits: Snippets.valueConformances,
                    members: members
                )
            )
        )
    }

    /// The attribute of a deprecated component that only code of users uses. For a component that generated code uses,
    /// its alias is deprecated; for an inline type, the property.
    private func deprecation(of schema: Schema, in parent: DeclarationScope) -> [String] {
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
    ) -> Field? {
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
        return Field(
            key: property.name,
            name: scope.claim(names.memberName(property.name)),
            type: type,
            isBoxed: isBoxed(property.schema, owner: parent.owner),
            documentation: property.schema.documentation,
            isDeprecated: property.schema.isDeprecated
        )
    }

    private func isBoxed(_ schema: Schema, owner: String?) -> Bool {
        isRecursive(schema, owner: owner) || schemas.isHeavy(schema)
    }

    /// Whether a schema is a reference that leads back to the component that contains the schema.
    private func isRecursive(_ schema: Schema, owner: String?) -> Bool {
        switch schemas.shape(of: schema) {
        case .reference(let entry): schemas.isRecursive(from: owner, to: entry)
        default: false
        }
    }

    private func leadsBack(_ schema: Schema, owner: String?) -> Bool {
        switch schemas.shape(of: schema) {
        case .reference(let entry): schemas.leadsBack(from: owner, to: entry)
        default: false
        }
    }

    private func additionalField(
        of schema: Schema,
        scope: inout NameScope,
        in parent: inout DeclarationScope
    ) -> Field? {
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
        return Field(
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
    private func unknownMembersField(of schema: Schema, scope: inout NameScope, in parent: DeclarationScope) -> Field? {
        guard case .unspecified = schema.additionalProperties else { return nil }
        let style: UnknownMembersStyle = parent.owner.flatMap { schemas[$0]?.unknownMembers } ?? unknownMembers
        guard style != .skip else { return nil }
        return Field(
            key: "",
            name: scope.claim(names.memberName("unknownMembers")),
            type: .named("StreamingJSON.JSONMembers"),
            isBoxed: false,
            documentation: "Members of the object that have no property here, in the order in which they came.",
            isDeprecated: false,
            keeps: style
        )
    }

    private func storedProperty(_ field: Field) -> [Declaration] {
        guard field.hasPrivateStorage else {
            return [
                .property(
                    PropertyDeclaration(
                        documentation: field.documentation,
                        name: escaped(field.name),
                        type: field.type.text
                    )
                )
            ]
        }
        let storage = storageName(field)
        let box = "OpenAPISwiftRuntime.IndirectValue<\(field.type.unwrapped.text)>"
        let boxType = field.type.isOptional ? "\(box)?" : box
        return [
            .property(
                PropertyDeclaration(
                    access: .private,
                    name: storage,
                    type: field.isBoxed ? boxType : field.type.text
                )
            ),
            .property(
                PropertyDeclaration(
                    documentation: field.documentation,
                    attributes: field.isDeprecated ? ["@available(*, deprecated)"] : [],
                    name: escaped(field.name),
                    type: field.type.text,
                    accessors: [
                        .block("get", [.line(storedAccess(field))]),
                        .block("set", [.line("self.\(storage) = \(storedValue(of: "newValue", field))")]),
                    ]
                )
            ),
        ]
    }

    private func storageName(_ field: Field) -> String {
        field.hasPrivateStorage ? "__\(field.name)" : escaped(field.name)
    }

    /// An expression that puts a value into a box if the property is stored in one.
    private func storedValue(of value: String, _ field: Field) -> String {
        guard field.isBoxed else { return value }
        return field.type.isOptional ? "\(value).map { .init($0) }" : ".init(\(value))"
    }

    /// An expression with which code inside the type reads a property.
    private func storedAccess(_ field: Field) -> String {
        guard field.isBoxed else { return "self.\(storageName(field))" }
        return "self.\(storageName(field))\(field.type.isOptional ? "?" : "").value"
    }

    private func memberwiseInitializer(of fields: [Field], additional: Field?, named name: String) -> Declaration {
        var parameters: [FunctionDeclaration.Parameter] = []
        var body: [Statement] = []
        for field in fields + (additional.map { [$0] } ?? []) {
            let isAdditional: Bool = field.key.isEmpty && field.name == additional?.name
            parameters.append(
                .init(
                    label: escaped(field.name),
                    type: field.type.text,
                    defaultValue: isAdditional ? ".init()" : field.type.isOptional ? "nil" : nil
                )
            )
            body.append(.line("self.\(storageName(field)) = \(storedValue(of: escaped(field.name), field))"))
        }
        return .function(
            FunctionDeclaration(
                documentation: "Creates a `\(name)`.",
                name: "init",
                parameters: parameters,
                body: body
            )
        )
    }

    private func keyTable(of fields: [Field]) -> Declaration {
        let keys = fields.map { stringLiteral($0.key) }
        return .property(
            PropertyDeclaration(
                access: .private,
                modifiers: "static ",
                isConstant: true,
                name: "__keys",
                type: "StreamingJSON.JSONKeys",
                initialValue: ".init(\(keys.joined(separator: ", ")))"
            )
        )
    }

    private func reader(of fields: [Field], additional: Field?, schema: Schema, typeName: String) -> Declaration {
        var body: [Statement] = []
        let required = fields.indices.filter { !fields[$0].type.isOptional }
        for (index, field) in fields.enumerated() {
            body.append(.line("var v\(index): \(field.type.asOptional.text) = nil"))
        }
        if let keeps = additional?.keeps {
            let style = keeps == .keepAll ? ", keepsMismatches: true" : ""
            let arguments = "requiredCount: \(required.count)\(style)"
            body.append(.line("var keeper: OpenAPISwiftRuntime.MemberKeeper = .init(\(arguments))"))
        } else if let additional {
            body.append(.line("var additional: \(additional.type.text) = .init()"))
        }
        if !required.isEmpty {
            body.append(.line("let start: StreamingJSON.JSONReader.Position = reader.position"))
        }
        body.append(.line("reader.beginMembers()"))
        let other: Statement = .line(unknownKeyStatement(additional: additional, schema: schema, typeName: typeName))
        let isKept: Bool = additional?.keeps != nil
        if fields.isEmpty {
            body.append(
                isKept ? .line("keeper.keepMembers(of: &reader)") : .block("while reader.nextMember()", [other])
            )
        } else {
            var cases: [Statement] = fields.enumerated().map { index, field in
                .label("case \(index):", [.line(Snippets.readMember(field.type, into: "v\(index)"))])
            }
            cases.append(.label("default:", [other]))
            let next =
                isKept ? "keeper.nextMember(of: &reader, in: Self.__keys)" : "reader.nextMember(in: Self.__keys)"
            body.append(
                .block(
                    "while let key: Swift.Int = \(next)",
                    [.block("switch key", cases)]
                )
            )
        }
        body.append(.line("try reader.endMembers()"))
        if !required.isEmpty {
            let bindings = required.map { "let v\($0)" }
            let keys = required.map { stringLiteral(fields[$0].key) }
            body.append(
                .block(
                    "guard \(bindings.joined(separator: ", ")) else",
                    [
                        .line(
                            "throw reader.missingMember(of: [\(keys.joined(separator: ", "))], since: start, in: \(stringLiteral(typeName)))"
                        )
                    ]
                )
            )
        }
        for (index, field) in fields.enumerated() {
            body.append(.line("self.\(storageName(field)) = \(storedValue(of: "v\(index)", field))"))
        }
        if let additional {
            body.append(.line("self.\(escaped(additional.name)) = \(isKept ? "keeper.members" : "additional")"))
        }
        return Snippets.readingInitializer(body: body)
    }

    private func unknownKeyStatement(additional: Field?, schema: Schema, typeName: String) -> String {
        guard let additional else {
            if case .forbidden = schema.additionalProperties {
                return "reader.refuseMember(in: \(stringLiteral(typeName)))"
            }
            return "reader.skipMember()"
        }
        guard additional.keeps == nil else { return "break" }
        if case .dictionary(let value) = additional.type, value.needsClosure {
            return "reader.readMember(into: &additional, \(Snippets.readerClosure(value)))"
        }
        return "reader.readMember(into: &additional)"
    }

    private func writer(of fields: [Field], additional: Field?) -> Declaration {
        if let additional, additional.keeps != nil { return keepingWriter(of: fields, unknown: additional) }
        var body: [Statement] = [.line("writer.\(additional == nil ? "beginObject" : "beginOpenObject")()")]
        let sorted = fields.sorted { left, right in
            left.key.unicodeScalars.lexicographicallyPrecedes(right.key.unicodeScalars)
        }
        for field in sorted {
            body.append(.line(Snippets.writeMember(field.key, field.type, storedAccess(field))))
        }
        if let additional {
            var closure = ""
            if case .dictionary(let value) = additional.type, value.needsClosure {
                closure = ", \(Snippets.writerClosure(value))"
            }
            body.append(.line("writer.members(self.\(escaped(additional.name))\(closure))"))
        }
        body.append(.line("writer.\(additional == nil ? "endObject" : "endOpenObject")()"))
        return Snippets.writingMethod(body: body)
    }

    /// Writes the properties in the order of the document, and then the unknown members in the order in which they were
    /// read.
    private func keepingWriter(of fields: [Field], unknown: Field) -> Declaration {
        let members = "self.\(escaped(unknown.name))"
        var body: [Statement] = [.line("writer.beginObject(keeping: \(members))")]
        for field in fields {
            body.append(.line(Snippets.writeMember(field.key, field.type, storedAccess(field))))
        }
        body.append(.line("writer.endObject(keeping: \(members))"))
        return Snippets.writingMethod(body: body)
    }

    // MARK: Compositions

    /// A member of `allOf` or `anyOf`.
    private struct Part {
        var name: String
        var type: SwiftType
        var isObjectLike: Bool
        /// Whether it keeps all members of the object, including those of the other parts.
        var isFreeForm: Bool
        var isBoxed: Bool
        /// Whether reading tries it; trying a composition inside itself would never end.
        var isTried: Bool
    }

    private func parts(of members: [Schema], in parent: inout DeclarationScope) -> [Part] {
        var result: [Part] = []
        for (index, member) in members.enumerated() {
            let name = "value\(index + 1)"
            let hint = "Value\(index + 1)Payload"
            guard let type = type(of: member, named: names.overrides[hint] ?? hint, in: &parent) else { continue }
            result.append(
                Part(
                    name: names.overrides[name] ?? name,
                    type: type,
                    isObjectLike: schemas.isObjectLike(member),
                    isFreeForm: schemas.isFreeForm(member),
                    isBoxed: isBoxed(member, owner: parent.owner),
                    isTried: !leadsBack(member, owner: parent.owner)
                )
            )
        }
        return result
    }

    private func fields(of parts: [Part], areOptional: Bool) -> [Field] {
        parts.map { part in
            Field(
                key: part.name,
                name: part.name,
                type: areOptional ? part.type.asOptional : part.type,
                isBoxed: part.isBoxed,
                documentation: nil,
                isDeprecated: false
            )
        }
    }

    private func declareAllOf(
        _ members: [Schema],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        var inner = DeclarationScope(path: parent.path(of: name), owner: parent.owner)
        let parts = parts(of: members, in: &inner)
        let fields = fields(of: parts, areOptional: false)
        var declarations = inner.declarations
        for field in fields { declarations += storedProperty(field) }
        declarations.append(memberwiseInitializer(of: fields, additional: nil, named: name))
        var read: [Statement] = [.line("let start: StreamingJSON.JSONReader.Position = reader.position")]
        for (index, field) in fields.enumerated() {
            if index > 0 { read.append(.line("reader.rewind(to: start)")) }
            let value = Snippets.read(field.type)
            read.append(.line("self.\(storageName(field)) = \(storedValue(of: value, field))"))
        }
        if fields.count < 2 { read.removeFirst() }
        declarations.append(Snippets.readingInitializer(body: read))
        var write: [Statement] = [collecting(fields)]
        if let first = parts.first(where: { !$0.isObjectLike }) {
            write.append(.line(Snippets.write(first.type, "self.\(first.name)")))
        } else if let only = parts.first, parts.count == 1 {
            write.append(.line(Snippets.write(only.type, "self.\(only.name)")))
        } else {
            write.append(merging(parts))
        }
        declarations.append(Snippets.writingMethod(body: write))
        appendComposition(schema, keyword: .structure, name: name, members: declarations, in: &parent)
    }

    private func declareAnyOf(
        _ members: [Schema],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        var inner = DeclarationScope(path: parent.path(of: name), owner: parent.owner)
        let parts = parts(of: members, in: &inner)
        let fields = fields(of: parts, areOptional: true)
        var declarations = inner.declarations
        for field in fields { declarations += storedProperty(field) }
        declarations.append(memberwiseInitializer(of: fields, additional: nil, named: name))
        var read: [Statement] = [
            .line("let start: StreamingJSON.JSONReader.Position = reader.position"),
            .line("var isMatched: Swift.Bool = false"),
        ]
        for (index, field) in fields.enumerated() {
            let type = field.type.unwrapped
            guard parts[index].isTried else {
                read.append(.line("let v\(index): \(type.text)? = nil"))
                continue
            }
            let value = Snippets.call("reader.attempt", reading: type, isOptional: true)
            read.append(.line("let v\(index): \(type.text)? = \(value)"))
            read.append(.line("if v\(index) != nil { isMatched = true }"))
            read.append(.line("reader.rewind(to: start)"))
        }
        read.append(.line("try reader.endAttempts(matched: isMatched, in: \(stringLiteral(name)))"))
        for (index, field) in fields.enumerated() {
            read.append(.line("self.\(storageName(field)) = \(storedValue(of: "v\(index)", field))"))
        }
        declarations.append(Snippets.readingInitializer(body: read))
        var write: [Statement] = [collecting(fields)]
        for part in parts where !part.isObjectLike {
            write.append(
                .block(
                    "if let value: \(part.type.text) = self.\(part.name)",
                    [.line(Snippets.write(part.type, "value")), .line("return")]
                )
            )
        }
        let objects = parts.filter(\.isObjectLike)
        if objects.isEmpty {
            write.append(.line("writer.failEmpty(\(stringLiteral(name)))"))
        } else {
            write.append(merging(objects))
        }
        declarations.append(Snippets.writingMethod(body: write))
        appendComposition(schema, keyword: .structure, name: name, members: declarations, in: &parent)
    }

    /// Writes parts as one object. If several parts write the same key, the last one counts. So the parts that keep all
    /// members as they were read come first.
    private func merging(_ parts: [Part]) -> Statement {
        let ordered = parts.filter(\.isFreeForm) + parts.filter { !$0.isFreeForm }
        let values = ordered.map { "self.\($0.name)" }
        return .line("writer.writeMerged([\(values.joined(separator: ", "))])")
    }

    /// Passes all members to a writer that compares values, also those members that are not written.
    private func collecting(_ fields: [Field]) -> Statement {
        let values = fields.map { "self.\(escaped($0.name))" }
        return .line("if writer.collects([\(values.joined(separator: ", "))]) { return }")
    }

    private func appendComposition(
        _ schema: Schema,
        keyword: TypeDeclaration.Keyword,
        name: String,
        members: [Declaration],
        in parent: inout DeclarationScope
    ) {
        parent.declarations.append(
            .type(
                TypeDeclaration(
                    documentation: schema.documentation,
                    attributes: keyword == .structure ? deprecation(of: schema, in: parent) : [],
                    keyword: keyword,
                    name: name,
                    inherits: Snippets.valueConformances,
                    members: members
                )
            )
        )
    }

    /// A case of `oneOf`.
    private struct Alternative {
        var name: String
        var type: SwiftType
        /// The values of the discriminator that choose it.
        var tags: [String]
        /// Whether reading tries it; trying a composition inside itself would never end.
        var isTried = true
    }

    private func declareOneOf(
        _ members: [Schema],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        var inner = DeclarationScope(path: parent.path(of: name), owner: parent.owner)
        var alternatives: [Alternative] = []
        if let discriminator = schema.discriminator {
            alternatives = discriminatedAlternatives(members, by: discriminator, in: inner)
            inner.names = NameScope(taken: ["CodingKeys"])
        } else {
            alternatives = plainAlternatives(members, of: schema, in: &inner)
        }
        var declarations = inner.declarations
        for alternative in alternatives {
            declarations.append(
                .enumCase(documentation: nil, text: "\(escaped(alternative.name))(\(alternative.type.text))")
            )
        }
        var read: [Statement] = []
        if let discriminator = schema.discriminator {
            let property = stringLiteral(discriminator.propertyName)
            declarations.append(
                .codingKeys([(names.memberName(discriminator.propertyName), discriminator.propertyName)])
            )
            read.append(
                .line("let tag: Swift.String = try reader.peekDiscriminator(\(property), in: \(stringLiteral(name)))")
            )
            var cases: [Statement] = alternatives.map { alternative in
                let tags = alternative.tags.map(stringLiteral)
                return .label(
                    "case \(tags.joined(separator: ", ")):",
                    [.line("self = .\(escaped(alternative.name))(\(Snippets.read(alternative.type)))")]
                )
            }
            cases.append(
                .label("default:", [.line("throw reader.unknownDiscriminator(tag, in: \(stringLiteral(name)))")])
            )
            read.append(.block("switch tag", cases))
        } else {
            for alternative in alternatives where alternative.isTried {
                let value = Snippets.call("reader.attempt", reading: alternative.type, isOptional: true)
                read.append(
                    .block(
                        "if let value: \(alternative.type.text) = \(value)",
                        [.line("self = .\(escaped(alternative.name))(value)"), .line("return")]
                    )
                )
            }
            read.append(.line("throw reader.noMatch(in: \(stringLiteral(name)))"))
        }
        declarations.append(Snippets.readingInitializer(body: read))
        let cases: [Statement] = alternatives.enumerated().map { index, alternative in
            .label(
                "case .\(escaped(alternative.name))(let value):",
                [
                    .line("if writer.collects([\(index), value]) { return }"),
                    .line(Snippets.write(alternative.type, "value")),
                ]
            )
        }
        declarations.append(Snippets.writingMethod(body: [.block("switch self", cases)]))
        let isIndirect = members.contains { isRecursive($0, owner: parent.owner) } || schemas.areHeavy(members)
        appendComposition(
            schema,
            keyword: isIndirect ? .indirectEnumeration : .enumeration,
            name: name,
            members: declarations,
            in: &parent
        )
    }

    private func plainAlternatives(
        _ members: [Schema],
        of schema: Schema,
        in parent: inout DeclarationScope
    ) -> [Alternative] {
        // Positions count all members, also those that are only `null`.
        let all = schema.oneOf ?? members
        var scope = NameScope()
        var result: [Alternative] = []
        var seen: Set<String> = []
        for (index, member) in all.enumerated() where !member.isNull {
            if case .reference(let entry) = schemas.shape(of: member) {
                guard seen.insert(entry.key).inserted else {
                    diagnostics.warn(
                        "'\(entry.key)' appears twice in a oneOf, the second is dropped.",
                        at: member.position,
                        foundIn: parent.path
                    )
                    continue
                }
                guard let type = simpleType(of: member) else { continue }
                result.append(
                    Alternative(
                        name: scope.claim(entry.swiftName),
                        type: schemas.isNullable(member) ? type.asOptional : type,
                        tags: [],
                        isTried: !schemas.leadsBack(from: parent.owner, to: entry)
                    )
                )
            } else {
                let hint = "Case\(index + 1)Payload"
                guard let type = type(of: member, named: names.overrides[hint] ?? hint, in: &parent) else { continue }
                let name = "case\(index + 1)"
                result.append(
                    Alternative(
                        name: scope.claim(names.overrides[name] ?? name),
                        type: schemas.isNullable(member) ? type.asOptional : type,
                        tags: []
                    )
                )
            }
        }
        return result
    }

    private func discriminatedAlternatives(
        _ members: [Schema],
        by discriminator: Schema.Discriminator,
        in parent: DeclarationScope
    ) -> [Alternative] {
        var scope = NameScope()
        var result: [Alternative] = []
        var covered: Set<String> = []
        let mapping = discriminator.mapping.sorted {
            (left: Schema.Discriminator.Mapping, right: Schema.Discriminator.Mapping) in
            left.value.lowercased() < right.value.lowercased()
        }
        for item in mapping {
            // A plain name means the component of that name.
            let reference = Reference(text: item.target, position: item.position)
            guard let entry = schemas.entry(for: reference) ?? schemas[item.target] else {
                diagnostics.warn(
                    "The discriminator value '\(item.value)' maps to '\(item.target)', which is not a schema.",
                    at: item.position,
                    foundIn: parent.path
                )
                continue
            }
            guard
                schemas.unsupportedReason(
                    of: Schema(
                        .init(
                            position: item.position,
                            reference: Reference(text: "#/components/schemas/\(entry.key)", position: item.position)
                        )
                    )
                ) == nil
            else { continue }
            covered.insert(entry.key)
            result.append(
                Alternative(
                    name: scope.claim(names.memberName(item.value)),
                    type: .named(entry.typePath),
                    tags: [item.value]
                )
            )
        }
        for member in members {
            guard case .reference(let entry) = schemas.shape(of: member) else {
                diagnostics.warn(
                    "A member of a oneOf with a discriminator is left out: it is not a reference to a component.",
                    at: member.position,
                    foundIn: parent.path
                )
                continue
            }
            guard covered.insert(entry.key).inserted else { continue }
            let tags: [String] = [entry.key, "#/components/schemas/\(entry.key)"].filter { tag in
                !result.contains { $0.tags.contains(tag) }
            }
            guard !tags.isEmpty else { continue }
            result.append(
                Alternative(
                    name: scope.claim(names.memberName(entry.key)),
                    type: .named(entry.typePath),
                    tags: tags
                )
            )
        }
        return result
    }
}
