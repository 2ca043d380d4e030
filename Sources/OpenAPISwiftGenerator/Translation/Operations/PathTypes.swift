/// The types of path parameters that the configuration names.
///
/// Many operations have the same path parameters. If the configuration names a type for these parameters, the type is
/// declared once, among the components, and the `Path` of each operation is an alias of it.
struct PathTypes {
    static let namespace = "Components.Parameters"

    /// Sorted by name, so that the output does not depend on the order of a dictionary.
    private let rules: [(name: String, parameters: Set<String>)]
    /// The first operation of each type.
    private var firstUses: [String: String] = [:]
    /// The types that are used.
    private(set) var declarations: [Declaration] = []
    private let diagnostics: Diagnostics

    /// Creates the types, and reports names that cannot be used.
    init(_ types: [String: [String]], parameterTypes: [String], diagnostics: Diagnostics) {
        rules = types.sorted { $0.key < $1.key }.map { ($0.key, Set($0.value)) }
        self.diagnostics = diagnostics
        for (index, rule) in rules.enumerated() {
            if parameterTypes.contains(rule.name) {
                report("names the type '\(rule.name)', which is the name of a parameter among the components.")
            }
            if let other = rules[..<index].first(where: { $0.parameters == rule.parameters }) {
                report("has '\(other.name)' and '\(rule.name)' for the same parameters.")
            }
        }
    }

    /// Declares the type of an operation's path parameters, if the configuration names one.
    mutating func declare(
        _ fields: [TranslatedParameter],
        nested: [Declaration],
        of operation: Operation,
        sharing shared: inout SharedDeclarations
    ) {
        guard let rule = rules.first(where: { $0.parameters == Set(fields.map(\.key)) }) else { return }
        let remedy = "declare the parameters under 'components', and refer to them"
        guard nested.isEmpty else {
            report(
                "names the type '\(rule.name)', but a path parameter of '\(operation.documentName)' has a type of its own.",
                at: operation.position,
                remedy: remedy
            )
            return
        }
        var structure = StructDeclaration(name: rule.name)
        structure.fields = fields.map { StructDeclaration.Field($0) }
        let declaration = shared.declaration(of: structure, at: "\(Self.namespace).\(rule.name)")
        if case .alias = declaration { return }
        if let first = firstUses[rule.name] {
            report(
                "names the type '\(rule.name)', but the path parameters of '\(first)' and '\(operation.documentName)' differ "
                    + "in their types, their descriptions or their order.",
                at: operation.position,
                remedy: remedy
            )
            return
        }
        firstUses[rule.name] = operation.documentName
        declarations.append(declaration)
    }

    /// Reports types that no operation uses.
    ///
    /// Without a report, a mistake in the configuration would only show as a program that does not compile.
    func checkUse() {
        for rule in rules where firstUses[rule.name] == nil {
            let list = rule.parameters.sorted().joined(separator: ", ")
            report("names the type '\(rule.name)', but no operation has exactly the path parameters \(list).")
        }
    }

    private func report(_ text: String, at position: SourcePosition? = nil, remedy: String? = nil) {
        diagnostics.report(diagnostics.error("'pathTypes' \(text)", at: position, remedy: remedy))
    }
}
