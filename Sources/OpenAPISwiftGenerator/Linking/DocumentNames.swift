/// The texts of a document that can become names in the output: keys, and values of keys such as `operationId`.
struct DocumentNames {
    private var names: Set<String> = [
        // Names that the output has without a name in the document.
        "additionalProperties", "unknownMembers", "accept", "json", "body",
    ]

    var all: [String] { names.sorted() }

    func contains(_ name: String) -> Bool {
        names.contains(name) || name.lowercased().wholeMatch(of: /(case|value)[0-9]+(payload)?/) != nil
    }

    private static let keys: Set<String> = ["name", "operationId", "default", "const"]

    mutating func collect(from node: DocumentNode) {
        switch node.content {
        case .object(let members):
            for member in members {
                names.insert(member.key)
                if DocumentNames.keys.contains(member.key), let text = member.value.scalarText { names.insert(text) }
                if member.key == "enum" || member.key == "x-extensible-enum" {
                    names.formUnion((member.value.elements ?? []).compactMap(\.scalarText))
                }
                if member.key == "mapping" { names.formUnion((member.value.members ?? []).map(\.key)) }
                if member.key == "paths" {
                    // An operation without an identifier is named by its method and path.
                    for path in member.value.members ?? [] {
                        let others = path.value["additionalOperations"]?.members?.map(\.key) ?? []
                        for method in PathItemMethods.all + others {
                            names.insert("\(method.lowercased())\(path.key)")
                        }
                    }
                }
                collect(from: member.value)
            }
        case .array(let elements):
            for element in elements { collect(from: element) }
        case .null, .bool, .integer, .number, .string: break
        }
    }
}
