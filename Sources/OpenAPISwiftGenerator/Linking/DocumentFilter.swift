import Spelling
import StreamingJSON
import Yams

/// Which parts of a document to use: everything that one of the four lists selects, and all that it refers to.
public struct DocumentFilter: Hashable, Sendable {
    /// Selects operations by `operationId`.
    public var operations: [String]
    /// Selects operations by a tag.
    public var tags: [String]
    /// Selects paths, with all their operations.
    public var paths: [String]
    /// Selects component schemas by name.
    public var schemas: [String]
    /// Where the names come from, for diagnostics.
    var locations = SettingLocations()

    /// Creates a filter.
    public init(operations: [String] = [], tags: [String] = [], paths: [String] = [], schemas: [String] = []) {
        self.operations = operations
        self.tags = tags
        self.paths = paths
        self.schemas = schemas
    }

    /// How a filtered document is written.
    public enum OutputFormat: String, Hashable, Sendable, CaseIterable {
        /// YAML in block style.
        case yaml
        /// JSON, pretty printed.
        case json
    }

    /// The part of a document that a filter selects, as a document.
    ///
    /// - Parameters:
    ///   - document: The bytes of a YAML or JSON document.
    ///   - name: The name of the document in errors.
    ///   - filter: The filter; `nil` for all.
    ///   - format: The format of the result.
    ///   - load: Gives the bytes of other documents that this one refers to. The values that references lead to become
    ///     part of the result.
    /// - Returns: The text of the document.
    /// - Throws: An error for a document that cannot be read, or a name that is not in it.
    public static func filter(
        _ document: [UInt8],
        named name: String,
        by filter: DocumentFilter?,
        as format: OutputFormat,
        loadingReferencesWith load: DocumentLoader? = nil
    ) throws(Diagnostic) -> String {
        let source = SourceText(name: name, bytes: document)
        let diagnostics = Diagnostics(source: source)
        var linker = DocumentLinker(root: try DocumentParser.parse(source), diagnostics: diagnostics, load: load)
        var root = linker.link()
        if let filter { root = try filter.apply(to: root) }
        do {
            switch format {
            case .yaml: return try Yams.serialize(node: root.yaml, sortKeys: false)
            case .json: return String(decoding: try JSONWriter.bytes(of: root, options: .prettyPrinted), as: UTF8.self)
            }
        } catch {
            throw Diagnostic(severity: .error, message: "The document cannot be written: \(error)")
        }
    }

    // MARK: Filtering

    /// Whether all lists are empty. Then nothing is filtered: `tags: []` means the same as a missing `tags`.
    var isEmpty: Bool { operations.isEmpty && tags.isEmpty && paths.isEmpty && schemas.isEmpty }

    /// The root with the selected parts and everything that they need.
    func apply(to root: DocumentNode) throws(Diagnostic) -> DocumentNode {
        guard !isEmpty else { return root }
        try checkNames(in: root)
        let components = ComponentNodes(root["components"])
        let selection = Selection(operations: Set(operations), tags: Set(tags), paths: Set(self.paths))
        var kept = References()
        var paths: [DocumentNode.Member] = []
        for member in root["paths"]?.members ?? [] {
            guard let item = selection.filtered(member, components) else { continue }
            kept.collect(from: item)
            paths.append(DocumentNode.Member(key: member.key, value: item))
        }
        for name in schemas { kept.add(kind: "schemas", name: name) }
        while let next = kept.next() {
            if let node = components[next.kind, next.name.text] { kept.collect(from: node) }
        }
        guard let members = root.members else { return root }
        var result: [DocumentNode.Member] = []
        for member in members {
            switch member.key {
            case "paths": result.append(.init(key: "paths", value: member.value.replacing(paths)))
            case "components": result.append(.init(key: "components", value: kept.filtered(member.value)))
            default: result.append(member)
            }
        }
        return root.replacing(result)
    }

    /// The components of a document by kind and name.
    private struct ComponentNodes {
        private var nodes: [String: [ExactText: DocumentNode]] = [:]

        init(_ components: DocumentNode?) {
            for kind in components?.members ?? [] {
                nodes[kind.key] = Dictionary(
                    (kind.value.members ?? []).map { (ExactText($0.key), $0.value) },
                    uniquingKeysWith: { first, _ in first }
                )
            }
        }

        subscript(kind: String, name: String) -> DocumentNode? { nodes[kind]?[ExactText(name)] }
    }

    /// The lists that select operations, as sets.
    private struct Selection {
        var operations: Set<String>
        var tags: Set<String>
        var paths: Set<String>

        /// A path with its selected operations, `nil` if no operation is selected.
        func filtered(_ path: DocumentNode.Member, _ components: ComponentNodes) -> DocumentNode? {
            if paths.contains(path.key) { return path.value }
            var item = path.value
            if let text = item["$ref"]?.string,
                let name = Reference(text: text, position: item.position).componentName(in: .pathItems),
                let target = components["pathItems", name]
            {
                item = target
            }
            guard let members = item.members else { return nil }
            var hasOperation = false
            var kept: [DocumentNode.Member] = []
            for member in members {
                if PathItemMethods.all.contains(member.key) {
                    guard selects(member.value) else { continue }
                    hasOperation = true
                    kept.append(member)
                } else if member.key == "additionalOperations" {
                    let operations: [DocumentNode.Member] = (member.value.members ?? []).filter { selects($0.value) }
                    guard !operations.isEmpty else { continue }
                    hasOperation = true
                    kept.append(.init(key: member.key, value: member.value.replacing(operations)))
                } else {
                    kept.append(member)
                }
            }
            return hasOperation ? item.replacing(kept) : nil
        }

        private func selects(_ operation: DocumentNode) -> Bool {
            if let name = operation["operationId"]?.scalarText, operations.contains(name) { return true }
            return (operation["tags"]?.elements ?? []).contains { $0.scalarText.map(tags.contains) ?? false }
        }
    }

    private func checkNames(in root: DocumentNode) throws(Diagnostic) {
        var knownOperations: Set<String> = []
        var knownTags: Set<String> = Set((root["tags"]?.elements ?? []).compactMap { $0["name"]?.scalarText })
        var items: [DocumentNode] = root["paths"]?.members?.map(\.value) ?? []
        items += root["components"]?["pathItems"]?.members?.map(\.value) ?? []
        for item in items {
            var operations: [DocumentNode] = item["additionalOperations"]?.members?.map(\.value) ?? []
            for member in item.members ?? [] where PathItemMethods.all.contains(member.key) {
                operations.append(member.value)
            }
            for operation in operations {
                if let name = operation["operationId"]?.scalarText { knownOperations.insert(name) }
                knownTags.formUnion((operation["tags"]?.elements ?? []).compactMap(\.scalarText))
            }
        }
        let knownPaths: Set<String> = Set((root["paths"]?.members ?? []).map(\.key))
        let knownSchemas: Set<String> = Set((root["components"]?["schemas"]?.members ?? []).map(\.key))
        let checks: [(kind: String, key: String, names: [String], known: Set<String>)] = [
            ("operation", "operations", operations, knownOperations), ("tag", "tags", tags, knownTags),
            ("path", "paths", paths, knownPaths), ("schema", "schemas", schemas, knownSchemas),
        ]
        for (kind, key, names, known) in checks {
            for name in names where !known.contains(name) {
                throw Diagnostic(
                    severity: .error,
                    message: "The filter names the \(kind) '\(name)', which the document does not have.",
                    location: locations["filter", key, name],
                    remedy: NearestName.question(about: name, among: known.sorted())
                )
            }
        }
    }
}

/// The components that are needed, and a queue of those whose own references are not collected yet.
private struct References {
    struct Name: Hashable {
        var kind: String
        var name: ExactText
    }

    private var all: Set<Name> = []
    private var waiting: [Name] = []

    mutating func add(kind: String, name: String) {
        let name = Name(kind: kind, name: ExactText(name))
        if all.insert(name).inserted { waiting.append(name) }
    }

    mutating func next() -> Name? { waiting.popLast() }

    /// Adds every component that a node refers to, in `$ref` or in a discriminator's mapping.
    mutating func collect(from node: DocumentNode) {
        switch node.content {
        case .object(let members):
            for member in members {
                if member.key == "$ref", let text = member.value.string {
                    add(text)
                } else if member.key == "mapping" {
                    for target in member.value.members ?? [] {
                        if let text = target.value.string {
                            add(text.hasPrefix("#") ? text : "#/components/schemas/\(text)")
                        }
                    }
                    collect(from: member.value)
                } else {
                    collect(from: member.value)
                }
            }
        case .array(let elements):
            for element in elements { collect(from: element) }
        default: break
        }
    }

    private mutating func add(_ reference: String) {
        let tokens = reference.split(separator: "/", omittingEmptySubsequences: false)
        guard tokens.count >= 4, tokens[0] == "#", tokens[1] == "components" else { return }
        add(kind: String(tokens[2]), name: Reference.unescape(tokens[3]))
    }

    /// The node of `components` with the needed components only.
    func filtered(_ components: DocumentNode) -> DocumentNode {
        var result: [DocumentNode.Member] = []
        for kind in components.members ?? [] {
            let kept: [DocumentNode.Member] = (kind.value.members ?? []).filter {
                all.contains(Name(kind: kind.key, name: ExactText($0.key)))
            }
            if !kept.isEmpty { result.append(.init(key: kind.key, value: kind.value.replacing(kept))) }
        }
        return components.replacing(result)
    }
}

extension DocumentNode {
    /// An object with other members at the same position.
    fileprivate func replacing(_ members: [Member]) -> DocumentNode {
        DocumentNode(content: .object(members), position: position)
    }

    /// This value as a node of Yams.
    fileprivate var yaml: Node {
        switch content {
        case .null: Node("null", Tag(.null), .plain)
        case .bool(let value): Node(value ? "true" : "false", Tag(.bool), .plain)
        case .integer(let value): Node(String(value), Tag(.int), .plain)
        case .number(let value): Node(String(value), Tag(.float), .plain)
        case .string(let value): DocumentNode.yaml(value)
        case .array(let elements): Node(elements.map(\.yaml), Tag(.seq), .block)
        case .object(let members):
            Node(members.map { (DocumentNode.yaml($0.key), $0.value.yaml) }, Tag(.map), .block)
        }
    }

    /// Words that are booleans in YAML 1.1, which many parsers still implement.
    private static let oldBooleans: Set<String> = ["yes", "no", "on", "off", "y", "n"]

    /// A string, in quotes where YAML would otherwise read it as another type.
    private static func yaml(_ text: String) -> Node {
        guard case .string = DocumentParser.plainContent(of: text), text != "<<",
            !oldBooleans.contains(text.lowercased()), text.utf8.first.map({ $0 < 0x30 || $0 > 0x39 }) ?? true
        else { return Node(text, Tag(.str), .doubleQuoted) }
        guard text.contains("\n") else { return Node(text, Tag(.str), .any) }
        let isPlain: Bool = text.first?.isWhitespace == false && !text.contains("\r") && !text.contains(" \n")
        return Node(text, Tag(.str), isPlain ? .literal : .doubleQuoted)
    }
}

extension DocumentNode: JSONWritable {
    func write(json writer: inout JSONWriter) {
        switch content {
        case .null: writer.writeNull()
        case .bool(let value): writer.write(value)
        case .integer(let value): writer.write(value)
        case .number(let value): writer.write(value)
        case .string(let value): writer.write(value)
        case .array(let elements):
            writer.beginArray()
            for element in elements { element.write(json: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.key)
                member.value.write(json: &writer)
            }
            writer.endObject()
        }
    }
}
