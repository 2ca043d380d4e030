/// `allOf` and `anyOf`.
extension SchemaTranslator {
    func declareComposition(
        _ form: CompositionDeclaration.Form,
        _ members: [Schema],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        var inner = DeclarationScope(path: parent.path(of: name), owner: parent.owner)
        if !schema.properties.isEmpty { inner.names = NameScope(taken: ["CodingKeys"]) }
        let parts = parts(of: members, beside: schema, in: &inner)
        if form == .allOf, parts.contains(where: \.leadsBack) { warnOfRecursion(in: schema, named: name, in: parent) }
        let own = properties(of: schema, named: name, beside: parts, in: &inner)
        if parts.isEmpty, var object = own {
            object.documentation = schema.documentation
            object.attributes = deprecation(of: schema, in: parent)
            object.nested = inner.declarations
            parent.declarations.append(object.declaration)
            return
        }
        parent.declarations.append(
            CompositionDeclaration(
                form: form,
                name: name,
                documentation: schema.documentation,
                attributes: deprecation(of: schema, in: parent),
                own: own,
                nested: inner.declarations,
                parts: parts
            ).declaration
        )
    }

    /// Warns of a composition whose members lead back to it, so that no value of it ends.
    func warnOfRecursion(in schema: Schema, named name: String, in parent: DeclarationScope) {
        diagnostics.warn(
            "\(name) contains itself, through its members. JSON that leads back to it is refused when it is read.",
            at: schema.position,
            remedy: "give what the members share a schema of its own, and refer to that one",
            foundIn: parent.path(of: name)
        )
    }

    /// The properties beside a composition, `nil` where there are none.
    private func properties(
        of schema: Schema,
        named name: String,
        beside parts: [CompositionPart],
        in parent: inout DeclarationScope
    ) -> ObjectDeclaration? {
        guard !schema.properties.isEmpty else { return nil }
        var scope = NameScope(taken: Set(parts.map(\.name)))
        let (fields, additional) = fields(of: schema, scope: &scope, in: &parent)
        // The other members read the same object, so a member without a property here is not a mistake.
        return ObjectDeclaration(name: name, nested: [], fields: fields, additional: additional, refusesOthers: false)
    }

    private func parts(
        of members: [Schema],
        beside schema: Schema,
        in parent: inout DeclarationScope
    ) -> [CompositionPart] {
        var result: [CompositionPart] = []
        for (index, member) in members.enumerated() {
            guard schema.properties.isEmpty || schemas.isObjectLike(member) else {
                diagnostics.warn(
                    "A member of a composition is left out: its values are not objects, and properties stand beside it.",
                    at: member.position,
                    remedy: "describe the values without properties in a schema of their own",
                    foundIn: parent.path
                )
                continue
            }
            let name = "value\(index + 1)"
            let hint = "Value\(index + 1)Payload"
            guard let type = type(of: member, named: names.overrides[hint] ?? hint, in: &parent) else { continue }
            result.append(
                CompositionPart(
                    name: names.overrides[name] ?? name,
                    type: type,
                    isObjectLike: schemas.isObjectLike(member),
                    isFreeForm: schemas.isFreeForm(member),
                    isBoxed: isBoxed(member, owner: parent.owner),
                    leadsBack: leadsBack(member, owner: parent.owner)
                )
            )
        }
        return result
    }
}
