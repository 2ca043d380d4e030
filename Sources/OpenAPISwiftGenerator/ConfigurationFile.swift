/// The contents of `openapi-generator-config.yaml`: which parts to generate, and how.
public struct ConfigurationFile: Hashable, Sendable {
    /// The parts to generate; `nil` where the file does not say.
    public var generate: [GeneratorConfiguration.Mode]?
    /// Everything else that the file says; ``GeneratorConfiguration/modes`` is empty.
    public var settings = GeneratorConfiguration()

    /// The configuration of a run without a file.
    public init() {}

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - bytes: The file's bytes, YAML or JSON.
    ///   - name: The name of the file in errors.
    ///   - isStrict: Whether a key that is not known, or a missing `generate`, is an error.
    /// - Throws: An error that names the key, its line, and what would be allowed.
    public init(parsing bytes: [UInt8], named name: String, isStrict: Bool = true) throws(Diagnostic) {
        let source = SourceText(name: name, bytes: bytes)
        let diagnostics = Diagnostics(source: source)
        let root = try DocumentParser.parse(source)
        guard let members = root.members else {
            throw diagnostics.error("A configuration is an object, this is \(root.kindName).", at: root.position)
        }
        for member in members {
            let reader = ValueReader(key: member.key, node: member.value, diagnostics: diagnostics)
            switch member.key {
            case "generate": generate = try reader.choices(GeneratorConfiguration.Mode.self)
            case "accessModifier": settings.accessModifier = try reader.choice(AccessModifier.self)
            case "additionalImports": settings.additionalImports = try reader.strings()
            case "additionalFileComments": settings.additionalFileComments = try reader.strings()
            case "namingStrategy": settings.namingStrategy = try reader.choice(NamingStrategy.self)
            case "nameOverrides": settings.nameOverrides = try reader.dictionary()
            case "typeOverrides": settings.typeOverrides = try reader.nested("schemas")?.dictionary() ?? [:]
            case "enumerations": settings.enumerations = try reader.choice(EnumerationStyle.self)
            case "unknownMembers": settings.unknownMembers = try reader.unknownMembers()
            case "handlerContext": settings.handlerContext = try reader.bool()
            case "bufferedResponses": settings.bufferedResponses = try reader.operations()
            case "pathTypes": settings.pathTypes = try reader.lists()
            case "filter":
                settings.filter = DocumentFilter(
                    operations: try reader.nested("operations")?.strings() ?? [],
                    tags: try reader.nested("tags")?.strings() ?? [],
                    paths: try reader.nested("paths")?.strings() ?? [],
                    schemas: try reader.nested("schemas")?.strings() ?? []
                )
            case "operationExtensions": settings.operationExtensions = try reader.strings()
            case "featureFlags": _ = try reader.strings()
            default:
                guard isStrict else { continue }
                throw diagnostics.error(
                    "The key '\(member.key)' is not known.",
                    at: member.value.position,
                    remedy: "known keys: \(ConfigurationFile.keys.joined(separator: ", "))"
                )
            }
        }
        guard generate != nil || !isStrict else {
            throw diagnostics.error(
                "The key 'generate' is missing.",
                at: root.position,
                remedy: "list what to generate: types, client, server"
            )
        }
    }

    private static let keys: [String] = [
        "generate", "accessModifier", "additionalImports", "additionalFileComments", "filter", "namingStrategy",
        "nameOverrides", "typeOverrides", "enumerations", "unknownMembers", "operationExtensions",
        "handlerContext", "bufferedResponses", "pathTypes", "featureFlags",
    ]
}

/// One value of the file, with a method for each type that a key may ask for.
private struct ValueReader {
    let key: String
    let node: DocumentNode
    let diagnostics: Diagnostics

    func nested(_ name: String) throws(Diagnostic) -> ValueReader? {
        guard node.members != nil || node.isNull else { throw mismatch("an object") }
        guard let value = node[name], !value.isNull else { return nil }
        return ValueReader(key: "\(key).\(name)", node: value, diagnostics: diagnostics)
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

    /// An object whose members are lists of strings.
    func lists() throws(Diagnostic) -> [String: [String]] {
        if node.isNull { return [:] }
        guard let members = node.members else { throw mismatch("an object of lists") }
        var result: [String: [String]] = [:]
        for member in members {
            let reader = ValueReader(key: "\(key).\(member.key)", node: member.value, diagnostics: diagnostics)
            result[member.key] = try reader.strings()
        }
        return result
    }

    func choice<T: RawRepresentable & CaseIterable>(_ type: T.Type) throws(Diagnostic) -> T where T.RawValue == String {
        guard let text = node.scalarText, let value = T(rawValue: text) else {
            throw mismatch("one of \(T.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }

    /// One style for all schemas, or an object with a default and the styles of some schemas.
    func unknownMembers() throws(Diagnostic) -> UnknownMembersRule {
        guard node.members != nil else { return UnknownMembersRule(try choice(UnknownMembersStyle.self)) }
        var rule = UnknownMembersRule()
        if let reader = try nested("default") { rule.default = try reader.choice(UnknownMembersStyle.self) }
        guard let schemas = try nested("schemas") else { return rule }
        for name in try schemas.dictionary().keys {
            rule.schemas[name] = try schemas.nested(name)?.choice(UnknownMembersStyle.self)
        }
        return rule
    }

    func choices<T: RawRepresentable & CaseIterable>(_ type: T.Type) throws(Diagnostic) -> [T]
    where T.RawValue == String {
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
