/// `oneOf`, with and without a discriminator.
extension SchemaTranslator {
    func declareOneOf(
        _ members: [Schema],
        of schema: Schema,
        named name: String,
        in parent: inout DeclarationScope
    ) {
        var inner = DeclarationScope(path: parent.path(of: name), owner: parent.owner)
        var alternatives: [OneOfAlternative] = []
        if let discriminator = schema.discriminator {
            alternatives = discriminatedAlternatives(members, by: discriminator, in: inner)
            if alternatives.contains(where: \.leadsBack) { warnOfRecursion(in: schema, named: name, in: parent) }
            inner.names = NameScope(taken: ["CodingKeys"])
        } else {
            alternatives = plainAlternatives(members, of: schema, in: &inner)
        }
        let isIndirect = members.contains { isRecursive($0, owner: parent.owner) } || schemas.areHeavy(members)
        parent.declarations.append(
            OneOfDeclaration(
                name: name,
                documentation: schema.documentation,
                nested: inner.declarations,
                alternatives: alternatives,
                discriminator: schema.discriminator.map { (names.memberName($0.propertyName), $0.propertyName) },
                isIndirect: isIndirect
            ).declaration
        )
    }

    private func plainAlternatives(
        _ members: [Schema],
        of schema: Schema,
        in parent: inout DeclarationScope
    ) -> [OneOfAlternative] {
        // Positions count all members, also those that are only `null`.
        let all = schema.oneOf ?? members
        var scope = NameScope()
        var result: [OneOfAlternative] = []
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
                    OneOfAlternative(
                        name: scope.claim(entry.swiftName),
                        type: schemas.isNullable(member) ? type.asOptional : type,
                        tags: [],
                        leadsBack: schemas.leadsBack(from: parent.owner, to: entry)
                    )
                )
            } else {
                let hint = "Case\(index + 1)Payload"
                guard let type = type(of: member, named: names.overrides[hint] ?? hint, in: &parent) else { continue }
                let name = "case\(index + 1)"
                result.append(
                    OneOfAlternative(
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
    ) -> [OneOfAlternative] {
        var scope = NameScope()
        var result: [OneOfAlternative] = []
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
                OneOfAlternative(
                    name: scope.claim(names.memberName(item.value)),
                    type: .named(entry.typePath),
                    tags: [item.value],
                    leadsBack: schemas.leadsBack(from: parent.owner, to: entry)
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
                OneOfAlternative(
                    name: scope.claim(names.memberName(entry.key)),
                    type: .named(entry.typePath),
                    tags: tags,
                    leadsBack: schemas.leadsBack(from: parent.owner, to: entry)
                )
            )
        }
        return result
    }
}
