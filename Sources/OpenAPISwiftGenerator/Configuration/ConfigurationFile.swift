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
            if let setting = Setting.all.first(where: { $0.key == member.key }) {
                try setting.read(SettingReader(key: member.key, node: member.value, diagnostics: diagnostics), &self)
            } else if isStrict {
                throw diagnostics.error(
                    "The key '\(member.key)' is not known.",
                    at: member.value.position,
                    remedy: NearestName.remedy(for: member.key, known: Setting.all.map(\.key))
                )
            } else {
                diagnostics.warn(
                    "The key '\(member.key)' is not known.",
                    at: member.value.position,
                    remedy: NearestName.question(about: member.key, among: Setting.all.map(\.key))
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
