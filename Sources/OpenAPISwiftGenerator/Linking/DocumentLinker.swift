/// Gives the bytes of a document that another one refers to.
///
/// The path is relative to the same folder as the name of the document that generation began with, for instance
/// `schemas/pet.yaml`, or `api/schemas/pet.yaml` for a document named `api/openapi.yaml`. An error that it throws
/// becomes part of a diagnostic, so its description should be text for the user. If the error is a ``Diagnostic``, its
/// message continues the sentence "The reference leaves the document for 'path', which …", and its remedy is kept.
public typealias DocumentLoader = (_ path: String) throws -> [UInt8]

/// Brings everything that references lead to into one document.
///
/// Later stages know references of one form, `#/components/<kind>/<name>`. References of other forms are rewritten to
/// it: a value in another file, or below a component, becomes a component with a name of its own. A schema that is
/// written inline and referred to is replaced with a reference to its new component, so that it has only one type.
/// A reference to a path item is replaced with the path item.
struct DocumentLinker {
    /// A value in a file.
    private struct DocumentPointer: Hashable {
        var file: Int
        var tokens: [String]

        static func == (left: DocumentPointer, right: DocumentPointer) -> Bool {
            left.file == right.file && left.tokens.elementsEqual(right.tokens) { $0.isExactly($1) }
        }
    }

    /// A value in a document and how it is used.
    private struct Target: Hashable {
        var pointer: DocumentPointer
        var kind: ComponentKind
    }

    private struct File {
        /// The path with `.` and `..` resolved; empty for the document without a name.
        var path: String
        var root: DocumentNode
    }

    /// The inline schemas that are replaced with references, by the tokens that lead to them.
    private final class PointerTree {
        var name: String?
        var children: [ExactText: PointerTree] = [:]
    }

    private let load: DocumentLoader?
    private let diagnostics: Diagnostics
    private var files: [File]
    private var fileIndices: [String: Int]
    /// Files that cannot be read, with the reason.
    private var unreadable: [String: Diagnostic] = [:]
    private var names: [Target: String] = [:]
    private var taken: [ComponentKind: Set<String>] = [:]
    /// The components that are added to those of the document, and the values that they are taken from.
    private var added: [(target: Target, name: String)] = []
    /// Components of the document that hold only a reference to a value without another name: the value moves there.
    private var adopted: [ComponentKind: [ExactText: Target]] = [:]
    private var moved: [Int: PointerTree] = [:]
    /// The path items that are being inlined: the current one and those that led to it.
    private var inlining: Set<Target> = []
    /// The keys that lead to each `$anchor`, by file.
    private var anchors: [Int: [ExactText: [String]]] = [:]
    /// The size that path items may still add where a reference is replaced with its path item.
    private var room: Int
    private var hasReportedRoom = false
    /// The members of large objects by key.
    private var memberIndices: [DocumentPointer: [ExactText: Int]] = [:]

    init(root: DocumentNode, diagnostics: Diagnostics, load: DocumentLoader?) {
        self.load = load
        self.diagnostics = diagnostics
        let path = DocumentLinker.normalized(diagnostics.mainSource.name)
        files = [File(path: path, root: root)]
        room = 2 * ExpansionLimit.room(for: diagnostics.mainSource)
        fileIndices = [path: 0]
    }

    /// The document with everything that it refers to.
    mutating func link() -> DocumentNode {
        guard DocumentLinker.hasFarReferences(files[0].root) else { return files[0].root }
        for kind in ComponentKind.allCases {
            let members: [DocumentNode.Member] = files[0].root["components"]?[kind.rawValue]?.members ?? []
            taken[kind] = Set(members.map(\.key))
        }
        adoptNames()
        // The first walk finds the values and names them. The second walk can use every name from the beginning.
        _ = rewriteRoot()
        for (target, name) in added where target.kind == .schemas { markMoved(target.pointer, as: name) }
        for (name, target) in adopted[.schemas] ?? [:] { markMoved(target.pointer, as: name.text) }
        return rewriteRoot()
    }

    /// Whether a reference has another form than `#/components/<kind>/<name>`.
    private static func hasFarReferences(_ node: DocumentNode) -> Bool {
        switch node.content {
        case .object(let members):
            for member in members {
                switch member.value.content {
                case .string(let text): if member.key == "$ref", !isNear(text) { return true }
                case .object, .array: if hasFarReferences(member.value) { return true }
                default: break
                }
            }
            return false
        case .array(let elements): return elements.contains(where: hasFarReferences)
        default: return false
        }
    }

    private static func isNear(_ reference: String) -> Bool {
        guard reference.hasPrefix("#/components/") else { return false }
        var slashes = 0
        for byte in reference.utf8 where byte == UInt8(ascii: "/") { slashes += 1 }
        return slashes == 3
    }

    // MARK: Pointers

    /// The value that a reference leads to, through values that are references themselves.
    ///
    /// The result is `nil` after a failure, which is kept among the diagnostics.
    private mutating func target(
        of text: String,
        at position: SourcePosition,
        in file: Int,
        _ kind: ComponentKind
    ) -> Target? {
        var text = text
        var file = file
        var steps = 0
        while true {
            guard let pointer = pointer(of: text, at: position, in: file) else { return nil }
            guard let node = node(at: pointer, position, text) else { return nil }
            if pointer.file == 0, isComponent(pointer, kind) { return Target(pointer: pointer, kind: kind) }
            guard case .object(let members) = node.content, members.count == 1, members[0].key == "$ref",
                let next = members[0].value.string
            else { return Target(pointer: pointer, kind: kind) }
            steps += 1
            guard steps < 100 else {
                fail("The reference '\(text)' leads back to itself.", at: position, "refer to a value")
                return nil
            }
            text = next
            file = pointer.file
        }
    }

    private func isComponent(_ pointer: DocumentPointer, _ kind: ComponentKind) -> Bool {
        pointer.tokens.count == 3 && pointer.tokens[0] == "components" && pointer.tokens[1] == kind.rawValue
    }

    private mutating func pointer(of text: String, at position: SourcePosition, in file: Int) -> DocumentPointer? {
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        var file = file
        if let path = parts.first, !path.isEmpty {
            guard let index = self.file(String(path), from: file, text, at: position) else { return nil }
            file = index
        }
        guard parts.count == 2, !parts[1].isEmpty else { return DocumentPointer(file: file, tokens: []) }
        guard parts[1].hasPrefix("/") else {
            if let tokens = anchor(Reference.unescape(parts[1]), in: file) {
                return DocumentPointer(file: file, tokens: tokens)
            }
            fail(
                "The reference '\(text)' has no target: no '$anchor' has that name.",
                at: position,
                "write '#/' and the keys that lead to the value"
            )
            return nil
        }
        let tokens = parts[1].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            .map(Reference.unescape)
        return DocumentPointer(file: file, tokens: tokens)
    }

    private mutating func node(at pointer: DocumentPointer, _ position: SourcePosition, _ text: String) -> DocumentNode?
    {
        var node = files[pointer.file].root
        for (depth, token) in pointer.tokens.enumerated() {
            var next: DocumentNode?
            switch node.content {
            case .object(let members) where members.count > 16:
                let parent = DocumentPointer(file: pointer.file, tokens: Array(pointer.tokens[..<depth]))
                if memberIndices[parent] == nil {
                    memberIndices[parent] = Dictionary(
                        members.enumerated().map { (ExactText($0.element.key), $0.offset) },
                        uniquingKeysWith: { first, _ in first }
                    )
                }
                next = memberIndices[parent]?[ExactText(token)].map { members[$0].value }
            case .object: next = node[token]
            case .array(let elements):
                if let index = Int(token), elements.indices.contains(index) { next = elements[index] }
            default: break
            }
            guard let next else {
                fail(
                    "The reference '\(text)' has no target: '\(token)' does not exist.",
                    at: position,
                    "correct the reference or add what it names"
                )
                return nil
            }
            node = next
        }
        return node
    }

    /// The keys that lead to the schema with an `$anchor`.
    private mutating func anchor(_ name: String, in file: Int) -> [String]? {
        if anchors[file] == nil {
            var found: [ExactText: [String]] = [:]
            var path: [String] = []
            DocumentLinker.collectAnchors(of: files[file].root, at: &path, into: &found)
            anchors[file] = found
        }
        return anchors[file]?[ExactText(name)]
    }

    /// Collects the `$anchor`s of a file. The first of two with the same name counts.
    private static func collectAnchors(
        of node: DocumentNode,
        at path: inout [String],
        into found: inout [ExactText: [String]]
    ) {
        switch node.content {
        case .object(let members):
            if let name = node["$anchor"]?.string.map(ExactText.init), found[name] == nil { found[name] = path }
            for member in members {
                path.append(member.key)
                collectAnchors(of: member.value, at: &path, into: &found)
                path.removeLast()
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                path.append(String(index))
                collectAnchors(of: element, at: &path, into: &found)
                path.removeLast()
            }
        default: break
        }
    }

    private mutating func fail(_ message: String, at position: SourcePosition, _ remedy: String) {
        diagnostics.keep(diagnostics.error(message, at: position, remedy: remedy), ofReferenceAt: position)
    }

    // MARK: Files

    private mutating func file(_ path: String, from file: Int, _ text: String, at position: SourcePosition) -> Int? {
        guard !path.contains("://"), !path.hasPrefix("//") else {
            fail(
                "The reference '\(text)' names another machine, and nothing is fetched while generating.",
                at: position,
                "download the document and refer to the file"
            )
            return nil
        }
        guard !path.hasPrefix("/") else {
            fail(
                "The reference '\(text)' is an absolute path, which means something else on every machine.",
                at: position,
                "write the path relative to the file that the reference stands in"
            )
            return nil
        }
        let directory = files[file].path.lastIndex(of: "/").map { files[file].path[...$0] } ?? ""
        let normalized = DocumentLinker.normalized(directory + Reference.unescape(path[...]))
        if let index = fileIndices[normalized] { return index }
        if unreadable[normalized] == nil {
            do {
                return try read(normalized, text, at: position)
            } catch {
                unreadable[normalized] = error
            }
        }
        unreadable[normalized].map { diagnostics.keep($0, ofReferenceAt: position) }
        return nil
    }

    private mutating func read(_ path: String, _ text: String, at position: SourcePosition) throws(Diagnostic) -> Int {
        guard let load else {
            throw diagnostics.error(
                "The reference '\(text)' leaves the document, and there is no access to other files here.",
                at: position,
                remedy: "give the generator a loader for them, or put the value under '#/components'"
            )
        }
        let bytes: [UInt8]
        do {
            bytes = try load(path)
        } catch let error as Diagnostic {
            throw diagnostics.error(
                "The reference '\(text)' leaves the document for '\(path)', which \(error.message)",
                at: position,
                remedy: error.remedy
            )
        } catch {
            throw diagnostics.error(
                "The reference '\(text)' leaves the document for '\(path)', which cannot be read: \(error)",
                at: position,
                remedy: "paths are relative to the file that the reference stands in"
            )
        }
        let source = diagnostics.addSource(name: path, bytes: bytes)
        let root = try DocumentParser.parse(source)
        files.append(File(path: path, root: root))
        // A file that did not parse has a source but no root, so the two indices can differ.
        fileIndices[path] = files.count - 1
        return files.count - 1
    }

    /// A path without `.`, and without `..` except at its beginning.
    private static func normalized<Text: StringProtocol>(_ path: Text) -> String {
        var parts: [Text.SubSequence] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: false) {
            switch part {
            case ".": continue
            case "": if parts.isEmpty { parts.append(part) }
            case "..":
                if let last = parts.last, last != "..", last != "" { parts.removeLast() } else { parts.append(part) }
            default: parts.append(part)
            }
        }
        return parts.joined(separator: "/")
    }

    // MARK: Names

    /// Gives the names of components that are only references to the values that they refer to.
    private mutating func adoptNames() {
        for kind in [ComponentKind.schemas, .parameters, .requestBodies, .responses, .headers] {
            for member in files[0].root["components"]?[kind.rawValue]?.members ?? [] {
                guard case .object(let members) = member.value.content, members.count == 1,
                    members[0].key == "$ref", let text = members[0].value.string, !DocumentLinker.isNear(text),
                    let target = target(of: text, at: members[0].value.position, in: 0, kind),
                    target.pointer.file != 0 || !isComponent(target.pointer, kind), names[target] == nil
                else { continue }
                names[target] = member.key
                adopted[kind, default: [:]][ExactText(member.key)] = target
            }
        }
    }

    /// The name of the component that a value becomes.
    private mutating func name(of target: Target, at position: SourcePosition) -> String {
        if target.pointer.file == 0, isComponent(target.pointer, target.kind) { return target.pointer.tokens[2] }
        if let name = names[target] { return name }
        let stem =
            files[target.pointer.file].path.split(separator: "/").last.map(DocumentLinker.stem) ?? "document"
        var name = DocumentLinker.name(for: target.pointer.tokens) ?? stem
        let wanted = name
        if taken[target.kind]?.contains(name) == true, target.pointer.file != 0, !target.pointer.tokens.isEmpty {
            name = "\(stem)_\(name)"
        }
        var number = 2
        let base = name
        while taken[target.kind]?.contains(name) == true {
            name = "\(base)_\(number)"
            number += 1
        }
        if name != wanted {
            diagnostics.note(
                "What is referred to here is named '\(name)' because '\(wanted)' is taken.",
                at: position
            )
        }
        taken[target.kind, default: []].insert(name)
        names[target] = name
        added.append((target, name))
        return name
    }

    /// `pet` for `pet.yaml`.
    private static func stem(_ file: Substring) -> String {
        var text = file
        for suffix in [".yaml", ".yml", ".json"] where text.lowercased().hasSuffix(suffix) {
            text = text.dropLast(suffix.utf8.count)
            break
        }
        return cleaned(String(text))
    }

    /// The keys of objects whose members have names of the document's author, not keys of OpenAPI.
    private static let mapKeys: Set<String> = [
        "schemas", "properties", "patternProperties", "$defs", "definitions", "parameters", "requestBodies",
        "responses",
        "headers", "pathItems", "paths", "content", "encoding", "callbacks",
    ]
    /// Keys that are left out of the name of a component.
    private static let silentKeys: Set<String> = mapKeys.union(["components", "schema"])

    /// `Pet_owner` for `/components/schemas/Pet/properties/owner`, nothing for a whole document.
    private static func name(for tokens: [String]) -> String? {
        var words: [String] = []
        var isName = false
        for token in tokens {
            if isName || !silentKeys.contains(token) { words.append(cleaned(token)) }
            isName = !isName && mapKeys.contains(token)
        }
        words.removeAll { $0.isEmpty }
        return words.isEmpty ? nil : words.joined(separator: "_")
    }

    /// The text without characters that the name of a component cannot have; `_` replaces them between others.
    private static func cleaned(_ text: String) -> String {
        var result = ""
        var isPending = false
        for character in text {
            if character.isLetter || character.isNumber || "-._$".contains(character) {
                if isPending, !result.isEmpty { result.append("_") }
                isPending = false
                result.append(character)
            } else {
                isPending = true
            }
        }
        return result
    }

    private mutating func markMoved(_ pointer: DocumentPointer, as name: String) {
        var tree = moved[pointer.file] ?? PointerTree()
        moved[pointer.file] = tree
        for token in pointer.tokens {
            let child = tree.children[ExactText(token)] ?? PointerTree()
            tree.children[ExactText(token)] = child
            tree = child
        }
        tree.name = name
    }

    // MARK: Rewriting

    private mutating func rewriteRoot() -> DocumentNode {
        let root = files[0].root
        guard let members = root.members else { return root }
        let context = Context(file: 0, tree: moved[0])
        var result: [DocumentNode.Member] = []
        var components: Int?
        for member in members {
            switch member.key {
            case "paths":
                result.append(.init(key: "paths", value: rewritePaths(member.value, context.below("paths"))))
            case "components":
                components = result.count
                result.append(.init(key: "components", value: rewriteComponents(member.value, context)))
            default: result.append(member)
            }
        }
        let extra = addComponents(
            to: components.map { result[$0].value } ?? DocumentNode(content: .object([]), position: root.position)
        )
        if let components {
            result[components].value = extra
        } else if extra.members?.isEmpty == false {
            result.append(.init(key: "components", value: extra))
        }
        return DocumentNode(content: .object(result), position: root.position)
    }

    private mutating func rewriteComponents(_ node: DocumentNode, _ context: Context) -> DocumentNode {
        let context = context.below("components")
        return mapMembers(of: node) { linker, member in
            guard let kind = ComponentKind(rawValue: member.key) else { return member.value }
            let inner = context.below(member.key)
            return linker.mapMembers(of: member.value) { linker, member in
                if let target = linker.adopted[kind]?[ExactText(member.key)] { return linker.content(of: target) }
                return linker.rewrite(member.value, as: kind, inner.below(member.key))
            }
        }
    }

    /// Adds the components that references led to. Rewriting one of them can add further components.
    private mutating func addComponents(to node: DocumentNode) -> DocumentNode {
        var extra: [ComponentKind: [DocumentNode.Member]] = [:]
        var index = 0
        while index < added.count {
            let (target, name) = added[index]
            index += 1
            extra[target.kind, default: []].append(.init(key: name, value: content(of: target)))
        }
        guard !extra.isEmpty, var members = node.members else { return node }
        for kind in ComponentKind.allCases {
            guard let more = extra[kind] else { continue }
            if let position = members.firstIndex(where: { $0.key == kind.rawValue }),
                let present = members[position].value.members
            {
                members[position].value.content = .object(present + more)
            } else {
                members.removeAll { $0.key == kind.rawValue }
                members.append(
                    .init(key: kind.rawValue, value: DocumentNode(content: .object(more), position: node.position))
                )
            }
        }
        return DocumentNode(content: .object(members), position: node.position)
    }

    /// The value at a pointer, rewritten for the document that it becomes part of.
    private mutating func content(of target: Target) -> DocumentNode {
        guard let node = node(at: target.pointer, SourcePosition(line: 1, column: 1), "") else {
            return DocumentNode(content: .null, position: SourcePosition(line: 1, column: 1))
        }
        var tree: PointerTree? = moved[target.pointer.file]
        for token in target.pointer.tokens { tree = tree?.children[ExactText(token)] }
        return rewrite(node, as: target.kind, Context(file: target.pointer.file, tree: tree), isMoved: true)
    }

    /// The current file, and the schemas to replace below the current node.
    private struct Context {
        var file: Int
        var tree: PointerTree?

        func below(_ token: String) -> Context {
            guard let tree else { return self }
            return Context(file: file, tree: tree.children[ExactText(token)])
        }
    }

    private mutating func mapMembers(
        of node: DocumentNode,
        _ change: (inout DocumentLinker, DocumentNode.Member) -> DocumentNode
    ) -> DocumentNode {
        guard case .object(var members) = node.content else { return node }
        for index in members.indices {
            members[index].value = change(&self, members[index])
        }
        return DocumentNode(content: .object(members), position: node.position)
    }

    private mutating func mapElements(
        of node: DocumentNode,
        as kind: ComponentKind,
        _ context: Context
    ) -> DocumentNode {
        guard case .array(var elements) = node.content else { return node }
        for index in elements.indices {
            elements[index] = rewrite(elements[index], as: kind, context.below(String(index)))
        }
        return DocumentNode(content: .array(elements), position: node.position)
    }

    private mutating func mapMembers(of node: DocumentNode, as kind: ComponentKind, _ context: Context) -> DocumentNode
    {
        mapMembers(of: node) { linker, member in
            linker.rewrite(member.value, as: kind, context.below(member.key))
        }
    }

    private mutating func rewritePaths(_ node: DocumentNode, _ context: Context) -> DocumentNode {
        mapMembers(of: node) { linker, member in
            linker.rewrite(member.value, as: .pathItems, context.below(member.key))
        }
    }

    private mutating func rewrite(
        _ node: DocumentNode,
        as kind: ComponentKind,
        _ context: Context,
        isMoved: Bool = false
    ) -> DocumentNode {
        if kind == .schemas, !isMoved, let name = context.tree?.name {
            return reference(to: name, kind, at: node.position)
        }
        guard node.members != nil else { return node }
        if let entry = node["$ref"], let text = entry.string {
            return rewriteReference(in: node, text, entry.position, as: kind, context)
        }
        switch kind {
        case .schemas: return rewriteSchema(node, context)
        case .pathItems: return rewritePathItem(node, context)
        case .parameters, .headers, .requestBodies, .responses: return rewriteValue(node, context)
        }
    }

    private func reference(to name: String, _ kind: ComponentKind, at position: SourcePosition) -> DocumentNode {
        let text = DocumentNode(content: .string(DocumentLinker.text(of: name, kind)), position: position)
        return DocumentNode(content: .object([.init(key: "$ref", value: text)]), position: position)
    }

    private static func text(of name: String, _ kind: ComponentKind) -> String {
        var escaped = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "~": escaped += "~0"
            case "/": escaped += "~1"
            case "%": escaped += "%25"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return "#/components/\(kind.rawValue)/\(escaped)"
    }

    private mutating func rewriteReference(
        in node: DocumentNode,
        _ text: String,
        _ position: SourcePosition,
        as kind: ComponentKind,
        _ context: Context
    ) -> DocumentNode {
        if context.file == 0, DocumentLinker.isNear(text) { return node }
        // A path cannot refer to another path: its operations would exist twice.
        if kind == .pathItems, context.file == 0, text.hasPrefix("#/paths/") { return node }
        guard let target = target(of: text, at: position, in: context.file, kind) else { return node }
        if let other = otherKind(of: target) {
            fail(
                "The reference '\(text)' refers to '#/components/\(other)', but a component of '\(kind.rawValue)' is expected "
                    + "here.",
                at: position,
                "refer to '#/components/\(kind.rawValue)/…'"
            )
            return node
        }
        if kind == .pathItems { return inlinePathItem(node, target, text, at: position) }
        let name = name(of: target, at: position)
        return mapMembers(of: node) { _, member in
            guard member.key == "$ref" else { return member.value }
            return DocumentNode(content: .string(DocumentLinker.text(of: name, kind)), position: position)
        }
    }

    /// The kind of components that a target belongs to, if it is not the kind that its use requires.
    private func otherKind(of target: Target) -> String? {
        let tokens = target.pointer.tokens
        guard tokens.count == 3, tokens[0] == "components", tokens[1] != target.kind.rawValue,
            ComponentKind(rawValue: tokens[1]) != nil
        else { return nil }
        return tokens[1]
    }

    /// The path item with the members beside the reference. A path item that refers to itself stays a reference.
    private mutating func inlinePathItem(
        _ node: DocumentNode,
        _ target: Target,
        _ text: String,
        at position: SourcePosition
    ) -> DocumentNode {
        guard inlining.insert(target).inserted else {
            fail("The reference '\(text)' leads back to itself.", at: position, "refer to a path item")
            return node
        }
        defer { inlining.remove(target) }
        room -= self.node(at: target.pointer, position, text).map { ExpansionLimit.size(of: $0, atMost: room) } ?? 0
        guard room > 0 else {
            defer { hasReportedRoom = true }
            let empty = DocumentNode(content: .object([]), position: node.position)
            guard !hasReportedRoom else { return empty }
            diagnostics.report(
                diagnostics.error(
                    "The document holds too many operations once its references to path items are written out.",
                    at: position,
                    remedy: "give each path its own operations, or refer to fewer paths"
                )
            )
            return empty
        }
        let item = content(of: target)
        guard let own = node.members, let members = item.members, item["$ref"] == nil else { return node }
        let siblings = own.filter { $0.key != "$ref" }
        let keys = Set(siblings.map(\.key))
        return DocumentNode(
            content: .object(siblings + members.filter { !keys.contains($0.key) }),
            position: node.position
        )
    }

    private mutating func rewritePathItem(_ node: DocumentNode, _ context: Context) -> DocumentNode {
        mapMembers(of: node) { linker, member in
            let inner = context.below(member.key)
            switch member.key {
            case "parameters": return linker.mapElements(of: member.value, as: .parameters, inner)
            case "additionalOperations":
                return linker.mapMembers(of: member.value) { linker, member in
                    linker.rewriteOperation(member.value, inner.below(member.key))
                }
            default:
                guard PathItemMethods.all.contains(member.key) else { return member.value }
                return linker.rewriteOperation(member.value, inner)
            }
        }
    }

    private mutating func rewriteOperation(_ node: DocumentNode, _ context: Context) -> DocumentNode {
        mapMembers(of: node) { linker, member in
            let inner = context.below(member.key)
            switch member.key {
            case "parameters": return linker.mapElements(of: member.value, as: .parameters, inner)
            case "requestBody": return linker.rewrite(member.value, as: .requestBodies, inner)
            case "responses": return linker.mapMembers(of: member.value, as: .responses, inner)
            default: return member.value
            }
        }
    }

    /// Rewrites a parameter, header, request body or response: a key means the same in all of them.
    private mutating func rewriteValue(_ node: DocumentNode, _ context: Context) -> DocumentNode {
        mapMembers(of: node) { linker, member in
            let inner = context.below(member.key)
            switch member.key {
            case "schema": return linker.rewrite(member.value, as: .schemas, inner)
            case "headers": return linker.mapMembers(of: member.value, as: .headers, inner)
            case "content":
                return linker.mapMembers(of: member.value) { linker, member in
                    linker.rewriteMediaType(member.value, inner.below(member.key))
                }
            default: return member.value
            }
        }
    }

    private mutating func rewriteMediaType(_ node: DocumentNode, _ context: Context) -> DocumentNode {
        mapMembers(of: node) { linker, member in
            let inner = context.below(member.key)
            switch member.key {
            case "schema", "itemSchema": return linker.rewrite(member.value, as: .schemas, inner)
            case "encoding":
                return linker.mapMembers(of: member.value) { linker, member in
                    linker.rewriteValue(member.value, inner.below(member.key))
                }
            default: return member.value
            }
        }
    }

    private mutating func rewriteSchema(_ node: DocumentNode, _ context: Context) -> DocumentNode {
        mapMembers(of: node) { linker, member in
            let inner = context.below(member.key)
            switch member.key {
            case "properties", "patternProperties", "dependentSchemas":
                return linker.mapMembers(of: member.value, as: .schemas, inner)
            case "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "not", "contains",
                "propertyNames", "if", "then", "else":
                return linker.rewrite(member.value, as: .schemas, inner)
            case "allOf", "anyOf", "oneOf", "prefixItems":
                return linker.mapElements(of: member.value, as: .schemas, inner)
            case "discriminator": return linker.rewriteDiscriminator(member.value, context)
            default: return member.value
            }
        }
    }

    private mutating func rewriteDiscriminator(_ node: DocumentNode, _ context: Context) -> DocumentNode {
        mapMembers(of: node) { linker, member in
            guard member.key == "mapping" else { return member.value }
            return linker.mapMembers(of: member.value) { linker, member in
                guard var text = member.value.string else { return member.value }
                let position = member.value.position
                if context.file == 0, DocumentLinker.isNear(text) { return member.value }
                let own = DocumentPointer(file: context.file, tokens: ["components", "schemas", text])
                if !text.contains("#") {
                    // A plain name means a component of its own file first, and then a file.
                    if linker.hasValue(at: own) {
                        if context.file == 0 { return member.value }
                        text = DocumentLinker.text(of: text, .schemas)
                    } else if !text.contains("/"), !text.contains(".") {
                        return member.value
                    }
                }
                guard let target = linker.target(of: text, at: position, in: context.file, .schemas) else {
                    return member.value
                }
                let name = linker.name(of: target, at: position)
                return DocumentNode(content: .string(DocumentLinker.text(of: name, .schemas)), position: position)
            }
        }
    }

    private func hasValue(at pointer: DocumentPointer) -> Bool {
        var node = files[pointer.file].root
        for token in pointer.tokens {
            guard let next = node[token] else { return false }
            node = next
        }
        return true
    }
}
