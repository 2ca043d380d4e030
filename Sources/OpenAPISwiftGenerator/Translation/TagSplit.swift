/// Gives the operations of each tag, and the schemas that only they use, a file of their own.
///
/// The compiler builds these files in parallel, and an edit of the document changes few of them. Declarations that
/// several tags use, or that have no tag, stay in the same files as without a split.
struct TagSplit {
    let document: ResolvedDocument
    let names: NameAssigner
    let operations: [TranslatedOperation]

    /// The given files without the moved declarations, followed by the files of the tags.
    func split(_ files: [SwiftFile]) -> [SwiftFile] {
        let groups = Groups(of: document)
        var operationTags: [String: String] = [:]
        for (resolved, translated) in zip(document.operations, operations) {
            guard let name = translated.declaration.name else { continue }
            operationTags[name] = resolved.operation.tags.first
        }
        var moved: [String: [Moved]] = [:]
        var result = files
        for index in result.indices {
            for position in result[index].declarations.indices {
                guard case .type(var type) = result[index].declarations[position], type.keyword == .extension else {
                    continue
                }
                let tags: [String: String]
                switch type.name {
                case "Components.Schemas": tags = groups.schemaTags
                case "Operations": tags = operationTags
                default: continue
                }
                for member in type.members {
                    guard let tag = member.name.flatMap({ tags[$0] }) else { continue }
                    moved[tag, default: []].append(
                        Moved(type: type.name, member: member, imports: result[index].imports)
                    )
                }
                type.members.removeAll { $0.name.map { tags[$0] != nil } ?? false }
                result[index].declarations[position] = .type(type)
            }
            result[index].declarations.removeAll { $0.isEmptyExtension }
            if result[index].declarations.isEmpty { result[index].imports = [] }
        }
        var scope = NameScope()
        for tag in groups.tags {
            let name = fileName(for: tag, in: &scope)
            guard let members = moved[tag] else { continue }
            result.append(file(name, members))
        }
        return result
    }

    /// A declaration that is moved into the file of a tag.
    private struct Moved {
        var type: String
        var member: Declaration
        var imports: [SwiftImport]
    }

    /// The name of a tag's file. Names differ by more than the case of letters, because some file systems ignore it.
    private func fileName(for tag: String, in scope: inout NameScope) -> String {
        // File systems limit the length of a name.
        let name = String(names.typeName(tag).prefix(60))
        let folded = name.lowercased()
        let claimed = scope.claim(folded)
        return "\(TagSplit.fileNamePrefix)\(name)\(claimed.dropFirst(folded.count)).swift"
    }

    /// The first letters of the names of the files.
    static let fileNamePrefix = "Types+Operations+"

    private func file(_ name: String, _ moved: [Moved]) -> SwiftFile {
        var imports: [SwiftImport] = []
        var declarations: [Declaration] = []
        for type in [SchemaCatalog.namespace, "Operations"] {
            let members = moved.filter { $0.type == type }
            guard !members.isEmpty else { continue }
            for item in members.flatMap(\.imports) where !imports.contains(where: { $0.module == item.module }) {
                imports.append(item)
            }
            declarations.append(
                .type(TypeDeclaration(keyword: .extension, name: type, members: members.map(\.member)))
            )
        }
        return SwiftFile(name: name, imports: imports, declarations: declarations)
    }
}

/// The schemas that only the operations of one tag use.
private struct Groups {
    /// Every tag that is the first tag of an operation, in document order.
    private(set) var tags: [String] = []
    /// By the Swift name of the schema.
    private(set) var schemaTags: [String: String] = [:]

    init(of document: ResolvedDocument) {
        // The tag that uses a schema, or `nil` where several do, by schema.
        var users: [String: String?] = [:]
        var groups: [String?: [ResolvedOperation]] = [:]
        for operation in document.operations {
            let tag = operation.operation.tags.first
            if let tag, groups[tag] == nil { tags.append(tag) }
            groups[tag, default: []].append(operation)
        }
        for tag in tags.map(Optional.some) + [nil] {
            var walk = SchemaWalk(document: document)
            for operation in groups[tag] ?? [] { walk.add(operation) }
            for key in walk.keys {
                users[key] = users[key] == nil ? .some(tag) : .some(nil)
            }
        }
        for entry in document.schemas.entries {
            if case .some(.some(let tag)) = users[entry.key] { schemaTags[entry.swiftName] = tag }
        }
    }
}

/// Finds the component schemas that operations use.
private struct SchemaWalk {
    let document: ResolvedDocument
    private(set) var keys: Set<String> = []
    private let headers: [String: Header]

    init(document: ResolvedDocument) {
        self.document = document
        headers = Dictionary(document.headers.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    mutating func add(_ operation: ResolvedOperation) {
        for parameter in operation.parameters {
            if let schema = parameter.value.schema { add(schema) }
            add(parameter.value.content)
        }
        if let body = operation.requestBody { add(body.value.content) }
        for (_, response) in operation.responses {
            add(response.value.headers)
            add(response.value.content)
        }
    }

    private mutating func add(_ group: [(name: String, header: Referenced<Header>)]) {
        for (_, header) in group {
            switch header {
            case .inline(let header): add(header)
            case .reference(let reference):
                if let header = reference.componentName(in: .headers).flatMap({ headers[$0] }) { add(header) }
            }
        }
    }

    private mutating func add(_ header: Header) {
        if let schema = header.schema { add(schema) }
        add(header.content)
    }

    private mutating func add(_ content: [MediaType]) {
        for item in content {
            if let schema = item.schema { add(schema) }
            for (_, encoding) in item.encoding.pairs { add(encoding.headers) }
        }
    }

    private mutating func add(_ schema: Schema) {
        var waiting: [Schema] = [schema]
        while let schema = waiting.popLast() {
            if let reference = schema.reference, let entry = document.schemas.entry(for: reference),
                keys.insert(entry.key).inserted
            {
                waiting.append(entry.schema)
            }
            waiting += schema.children
        }
    }
}

extension Declaration {
    /// The name of the type or alias that it declares, without backticks.
    fileprivate var name: String? {
        switch self {
        case .type(let type): type.name.filter { $0 != "`" }
        case .alias(_, _, let name, _, _): name.filter { $0 != "`" }
        default: nil
        }
    }

    fileprivate var isEmptyExtension: Bool {
        if case .type(let type) = self { type.keyword == .extension && type.members.isEmpty } else { false }
    }
}
