extension SchemaTranslator {
    func declareEnumeration(
        _ values: [String],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        let cases = values.map { value in
            (value, names.memberName(value), stringLiteral(value))
        }
        declareEnumeration(cases, rawType: .string, of: schema, named: name, in: &parent)
    }

    func declareEnumeration(
        _ values: [Int],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        let cases = values.map { value in
            let name = value < 0 ? "_n\(value.magnitude)" : "_\(value)"
            return (String(value), names.overrides[String(value)] ?? name, String(value))
        }
        declareEnumeration(cases, rawType: .int, of: schema, named: name, in: &parent)
    }

    private func declareEnumeration(
        _ cases: [(value: String, name: String, literal: String)],
        rawType: SwiftType,
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        // The names that `RawRepresentable` and `CaseIterable` use.
        var scope = NameScope(taken: ["rawValue", "RawValue", "allCases", "AllCases"])
        var seen: Set<String> = []
        var listed: [EnumerationDeclaration.Case] = []
        for (value, caseName, literal) in cases {
            guard seen.insert(value).inserted else {
                diagnostics.warn(
                    "The enum value \(literal) appears twice, the second is dropped.",
                    at: schema.position,
                    foundIn: parent.path(of: name)
                )
                continue
            }
            listed.append(
                EnumerationDeclaration.Case(
                    name: escaped(scope.claim(caseName)),
                    literal: literal,
                    documentation: schema.valueDocumentation[value]
                )
            )
        }
        parent.declarations.append(
            EnumerationDeclaration(
                name: name,
                documentation: schema.documentation,
                rawType: rawType,
                cases: listed,
                isOpen: enumerations == .open || schema.isExtensible
            ).declaration
        )
    }
}
