/// The types of operations that were declared so far, by their contents.
///
/// A type that has the same names, types and comments as an earlier one becomes an alias of it. The compiler's work
/// grows with the number of types, and many operations have the same path parameters and header fields.
struct SharedDeclarations {
    private var paths: [String: String] = [:]

    /// The declaration of a struct, or an alias of an equal one.
    mutating func declaration(of structure: StructDeclaration, at path: String) -> Declaration {
        var aliases: [String] = []
        for declaration in structure.nested {
            guard case .alias(_, _, let name, let target, _) = declaration else { return structure.declaration }
            aliases.append("\(name)\u{1}\(target.text)")
        }
        let fields = structure.fields.map { field in
            [field.storageName, field.type.text, field.defaultValue ?? "", field.documentation ?? ""].joined(
                separator: "\u{1}"
            )
        }
        let key = (["struct", structure.documentation ?? ""] + aliases + fields).joined(separator: "\u{2}")
        guard let first = first(key, at: path) else { return structure.declaration }
        return .alias(documentation: nil, name: structure.name, target: .named(first))
    }

    /// The full name of the first type with a key; `nil` if the type at `path` is the first.
    mutating func first(_ key: String, at path: String) -> String? {
        if let first = paths[key] { return first }
        paths[key] = path
        return nil
    }
}
