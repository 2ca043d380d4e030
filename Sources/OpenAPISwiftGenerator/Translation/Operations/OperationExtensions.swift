import Spelling

/// The tables of `Operations` that hold vendor extensions: `x-cost: 2` of an operation becomes an entry of
/// `Operations.cost`.
struct OperationExtensions {
    let operations: [ResolvedOperation]
    let names: NameAssigner
    /// Where the settings come from.
    let locations: SettingLocations
    let diagnostics: Diagnostics

    /// A table for each key, except for keys whose values have no common type.
    func tables(for keys: [String]) -> [Declaration] {
        var scope = NameScope()
        return keys.compactMap { key in
            guard let (type, entries) = entries(of: key) else { return nil }
            let name = key.hasPrefix("x-") ? String(key.dropFirst(2)) : key
            return .property(
                PropertyDeclaration(
                    documentation: "`\(key)` of the operations that have it, by their `id`.",
                    modifiers: "static ",
                    isConstant: true,
                    name: escaped(scope.claim(names.memberName(name))),
                    type: .dictionary(type),
                    initialValue: "[\n\(entries.map { "    \($0),\n" }.joined())]"
                )
            )
        }
    }

    private func entries(of key: String) -> (type: SwiftType, entries: [String])? {
        var type: SwiftType?
        var entries: [String] = []
        for resolved in operations {
            guard let node = resolved.operation.extensions[key] else { continue }
            guard let value = OperationExtensions.literal(node), type == nil || type == value.type else {
                let others = type.map { ", and others are \($0.text)" } ?? ""
                diagnostics.warn(
                    "The extension '\(key)' is left out: this value is \(node.kindName)\(others).",
                    at: node.position,
                    remedy: "give each operation a boolean, each an integer, each a number, or each a string"
                )
                return nil
            }
            type = value.type
            entries.append("\(stringLiteral(resolved.operation.documentName)): \(value.text)")
        }
        guard let type else {
            diagnostics.warn(
                "No operation has the extension '\(key)'.",
                at: locations["operationExtensions", key],
                remedy: NearestName.question(
                    about: key,
                    among: Set(operations.flatMap(\.operation.extensions.keys)).sorted()
                )
            )
            return nil
        }
        return (type, entries)
    }

    private static func literal(_ node: DocumentNode) -> (type: SwiftType, text: String)? {
        switch node.content {
        case .bool(let value): (.bool, "\(value)")
        case .integer(let value): (.int, "\(value)")
        case .number(let value): (.double, "\(value)")
        case .string(let value): (.string, stringLiteral(value))
        case .null, .array, .object: nil
        }
    }
}
