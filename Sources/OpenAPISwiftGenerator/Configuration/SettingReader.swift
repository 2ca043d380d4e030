import Spelling

/// One value of the file, with a method for each type that a key may ask for.
struct SettingReader {
    let key: String
    let node: DocumentNode
    let diagnostics: Diagnostics

    func nested(_ name: String) throws(Diagnostic) -> SettingReader? {
        guard node.members != nil || node.isNull else { throw mismatch("an object") }
        guard let value = node[name], !value.isNull else { return nil }
        return SettingReader(key: "\(key).\(name)", node: value, diagnostics: diagnostics)
    }

    func strings() throws(Diagnostic) -> [String] {
        if node.isNull { return [] }
        guard let elements = node.elements else { throw mismatch("a list of strings") }
        let texts = elements.compactMap(\.scalarText)
        guard texts.count == elements.count else { throw mismatch("a list of strings") }
        return texts
    }

    func bool() throws(Diagnostic) -> Bool {
        switch node.scalarText {
        case "true": return true
        case "false": return false
        default: throw mismatch("true or false")
        }
    }

    func operations() throws(Diagnostic) -> OperationSelection {
        if node.scalarText == "all" { return .all }
        guard node.isNull || node.elements != nil else { throw mismatch("all, or a list of operations") }
        return .named(try strings())
    }

    func dictionary() throws(Diagnostic) -> [String: String] {
        if node.isNull { return [:] }
        guard let members = node.members else { throw mismatch("an object of strings") }
        var result: [String: String] = [:]
        for member in members {
            guard let text = member.value.scalarText else { throw mismatch("an object of strings") }
            result[member.key] = text
        }
        return result
    }

    /// Warns of members of an object that have no meaning.
    func warnOfOtherKeys(than known: [String]) {
        for member in node.members ?? [] where !known.contains(member.key) {
            diagnostics.warn(
                "The key '\(key).\(member.key)' is not known and has no effect.",
                at: member.value.position,
                remedy: NearestName.remedy(for: member.key, known: known)
            )
        }
    }

    /// An object whose members are lists of strings.
    func lists() throws(Diagnostic) -> [String: [String]] {
        if node.isNull { return [:] }
        guard let members = node.members else { throw mismatch("an object of lists") }
        var result: [String: [String]] = [:]
        for member in members {
            let reader = SettingReader(key: "\(key).\(member.key)", node: member.value, diagnostics: diagnostics)
            result[member.key] = try reader.strings()
        }
        return result
    }

    func choice<T: RawRepresentable & CaseIterable>() throws(Diagnostic) -> T where T.RawValue == String {
        guard let text = node.scalarText, let value = T(rawValue: text) else {
            throw mismatch("one of \(T.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }

    /// The types of schemas.
    func typeOverrides() throws(Diagnostic) -> [String: String] {
        let types = try nested("schemas")?.dictionary() ?? [:]
        warnOfOtherKeys(than: ["schemas"])
        return types
    }

    func filter() throws(Diagnostic) -> DocumentFilter? {
        let filter = DocumentFilter(
            operations: try nested("operations")?.strings() ?? [],
            tags: try nested("tags")?.strings() ?? [],
            paths: try nested("paths")?.strings() ?? [],
            schemas: try nested("schemas")?.strings() ?? []
        )
        warnOfOtherKeys(than: ["operations", "tags", "paths", "schemas"])
        return filter
    }

    /// One style for all schemas, or an object with a default and the styles of some schemas.
    func unknownMembers() throws(Diagnostic) -> UnknownMembersRule {
        guard node.members != nil else { return UnknownMembersRule(try choice()) }
        var rule = UnknownMembersRule()
        warnOfOtherKeys(than: ["default", "schemas"])
        if let reader = try nested("default") { rule.default = try reader.choice() }
        guard let schemas = try nested("schemas") else { return rule }
        for name in try schemas.dictionary().keys {
            rule.schemas[name] = try schemas.nested(name)?.choice()
        }
        return rule
    }

    func choices<T: RawRepresentable & CaseIterable>() throws(Diagnostic) -> [T] where T.RawValue == String {
        var result: [T] = []
        for text in try strings() {
            guard let value = T(rawValue: text) else {
                throw mismatch("a list of \(T.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            result.append(value)
        }
        return result
    }

    private func mismatch(_ expected: String) -> Diagnostic {
        diagnostics.error("The value of '\(key)' must be \(expected).", at: node.position)
    }
}
