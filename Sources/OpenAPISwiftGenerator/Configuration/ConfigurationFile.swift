import Spelling

/// The contents of `openapi-generator-config.yaml`: which parts to generate, and how.
public struct ConfigurationFile: Hashable, Sendable {
    /// The parts to generate; `nil` where the file does not say.
    public var generate: [GeneratorConfiguration.Mode]?
    /// Everything else that the file says; ``GeneratorConfiguration/modes`` is empty.
    public var settings = GeneratorConfiguration()
    /// What the file says without an effect: keys inside of other keys that are not known.
    public var warnings: [Diagnostic] = []

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
            case "typeOverrides":
                settings.typeOverrides = try reader.nested("schemas")?.dictionary() ?? [:]
                reader.warnOfOtherKeys(than: ["schemas"])
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
                reader.warnOfOtherKeys(than: ["operations", "tags", "paths", "schemas"])
            case "operationExtensions": settings.operationExtensions = try reader.strings()
            case "referenceFolders": settings.referenceFolders = try reader.strings()
            case "featureFlags": _ = try reader.strings()
            default:
                guard isStrict else {
                    diagnostics.warn(
                        "The key '\(member.key)' is not known.",
                        at: member.value.position,
                        remedy: NearestName.question(about: member.key, among: ConfigurationFile.keys)
                    )
                    continue
                }
                throw diagnostics.error(
                    "The key '\(member.key)' is not known.",
                    at: member.value.position,
                    remedy: NearestName.remedy(for: member.key, known: ConfigurationFile.keys)
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
        settings.locations = SettingLocations(of: root, diagnostics: diagnostics)
        settings.filter?.locations = settings.locations
        if let problem = settings.firstProblem(modes: Set(generate ?? [])) { throw problem }
        warnings = diagnostics.all
    }

    private static let keys: [String] = [
        "generate", "accessModifier", "additionalImports", "additionalFileComments", "filter", "namingStrategy",
        "nameOverrides", "typeOverrides", "enumerations", "unknownMembers", "operationExtensions",
        "handlerContext", "bufferedResponses", "pathTypes", "referenceFolders", "featureFlags",
    ]
}

/// Where the values of a configuration are in its file.
///
/// Two configurations with the same values are equal, wherever they come from.
struct SettingLocations: Hashable, Sendable {
    private var locations: [[ExactText]: SourceLocation] = [:]

    init() {}

    init(of root: DocumentNode, diagnostics: Diagnostics) {
        add(root, below: [], diagnostics)
    }

    private mutating func add(_ node: DocumentNode, below path: [ExactText], _ diagnostics: Diagnostics) {
        if !path.isEmpty { locations[path] = diagnostics.location(of: node.position) }
        guard path.count < 3 else { return }
        for member in node.members ?? [] {
            add(member.value, below: path + [ExactText(member.key)], diagnostics)
        }
        for element in node.elements ?? [] {
            guard let text = element.scalarText, locations[path + [ExactText(text)]] == nil else { continue }
            add(element, below: path + [ExactText(text)], diagnostics)
        }
    }

    /// The location of the value below some keys; the last can be an element of a list.
    subscript(_ path: String...) -> SourceLocation? {
        locations[path.map(ExactText.init)]
    }

    static func == (left: SettingLocations, right: SettingLocations) -> Bool {
        true
    }

    func hash(into hasher: inout Hasher) {}
}

extension GeneratorConfiguration {
    /// The first value that would become code but is not of the form that its key needs.
    ///
    /// - Parameter modes: The parts to generate: a type of the mode for schemas can be put into another type.
    /// - Returns: The problem as an error.
    func firstProblem(modes: Set<Mode>) -> Diagnostic? {
        func problem(_ key: String, _ name: String?, _ value: String, _ expected: String, _ location: SourceLocation?)
            -> Diagnostic
        {
            Diagnostic(
                severity: .error,
                message: "The value '\(value)' of '\(key)'\(name.map { " for '\($0)'" } ?? "") is not \(expected).",
                location: location,
                remedy: "letters, digits and underscores; a reserved word is written in backticks"
            )
        }
        for (name, value) in nameOverrides.sorted(by: { $0.key < $1.key }) {
            if SwiftSpelling.isIdentifier(value) { continue }
            if modes.contains(.schemas), SwiftSpelling.isPath(value) { continue }
            return problem("nameOverrides", name, value, "a Swift identifier", locations["nameOverrides", name])
        }
        for (name, value) in typeOverrides.sorted(by: { $0.key < $1.key }) where !SwiftSpelling.isType(value) {
            let location = locations["typeOverrides", "schemas", name]
            return problem("typeOverrides.schemas", name, value, "a Swift type", location)
        }
        for value in additionalImports where !SwiftSpelling.isImport(value) {
            let location = locations["additionalImports", value]
            return problem("additionalImports", nil, value, "the name of a module", location)
        }
        for (name, _) in pathTypes.sorted(by: { $0.key < $1.key }) where !SwiftSpelling.isIdentifier(name) {
            return problem("pathTypes", nil, name, "a Swift identifier", locations["pathTypes", name])
        }
        return nil
    }
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
        warnOfOtherKeys(than: ["default", "schemas"])
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
