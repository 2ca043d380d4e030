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
        let parts = parts(of: members, in: &inner)
        parent.declarations.append(
            CompositionDeclaration(
                form: form,
                name: name,
                documentation: schema.documentation,
                attributes: deprecation(of: schema, in: parent),
                nested: inner.declarations,
                parts: parts
            ).declaration
        )
    }

    private func parts(of members: [Schema], in parent: inout DeclarationScope) -> [CompositionPart] {
        var result: [CompositionPart] = []
        for (index, member) in members.enumerated() {
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
                    isTried: !leadsBack(member, owner: parent.owner)
                )
            )
        }
        return result
    }
}
