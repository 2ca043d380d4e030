/// The component schemas of a document with their Swift names, and the facts about schemas that depend on following
/// references.
struct SchemaCatalog: Sendable {
    /// One component schema.
    struct Entry: Sendable {
        /// The key in the document.
        var key: String
        /// The name inside of the namespace.
        var swiftName: String
        /// The type that contains the component's type; `nil` for a type of the module itself.
        var namespace: String?
        var schema: Schema
        /// The user's own type that replaces the generated one.
        var override: String?
        var unknownMembers: UnknownMembersStyle
        /// Whether the type is declared under a second name, so that only code of users is warned about the deprecated
        /// name.
        var isHidden = false

        /// The name inside of the namespace that generated code uses.
        var typeName: String { isHidden ? "__\(swiftName)" : swiftName }

        /// The full name that generated code uses.
        var typePath: String { namespace.map { "\($0).\(typeName)" } ?? override ?? typeName }
    }

    /// The type that contains component schemas, except in the mode that generates schemas alone.
    static let namespace = "Components.Schemas"

    /// What a schema becomes in Swift.
    enum Shape: Sendable {
        case reference(Entry)
        case scalar(SwiftType)
        case stringEnumeration([String])
        case integerEnumeration([Int])
        case object
        case array(Schema)
        case allOf([Schema])
        case anyOf([Schema])
        case oneOf([Schema])
        /// Has no counterpart; the text says why.
        case unsupported(String)
    }

    let version: OpenAPIDocument.Version
    private(set) var entries: [Entry] = []
    private var indexByKey: [String: Int] = [:]
    /// The number of the cycle that a component belongs to, by the key of the component.
    private var cycles: [String: Int] = [:]
    /// The number of the cycle of compositions that a component belongs to. Reading a composition such as `oneOf`
    /// consumes no bytes before it reads its members.
    private var compositionCycles: [String: Int] = [:]
    private var unsupportedReasons: [String: String] = [:]
    /// The components whose values are not JSON objects.
    private var otherThanObjects: Set<String> = []
    /// The number of stored values of the type of each component, including those of types inside of it that are not
    /// held in a box.
    private var weights: [String: Int] = [:]

    init(version: OpenAPIDocument.Version, entries: [Entry], diagnostics: Diagnostics) {
        self.version = version
        self.entries = entries
        for (index, entry) in entries.enumerated() {
            indexByKey[entry.key] = index
        }
        checkReferences(diagnostics: diagnostics)
        findUnsupported()
        findOtherThanObjects()
        var finder = CycleFinder(catalog: self, followsProperties: true)
        cycles = finder.run()
        finder = CycleFinder(catalog: self, followsProperties: false)
        compositionCycles = finder.run()
        weigh()
    }

    subscript(key: String) -> Entry? {
        indexByKey[key].map { entries[$0] }
    }

    /// The component that a reference names.
    func entry(for reference: Reference) -> Entry? {
        reference.componentName(in: .schemas).flatMap { self[$0] }
    }

    // MARK: Shapes

    /// What a schema becomes. A reference has precedence over a composition, and a composition over a type.
    func shape(of schema: Schema) -> Shape {
        if schema.boolean != nil { return .scalar(.value) }
        if let reference = schema.reference {
            if let entry = entry(for: reference) { return .reference(entry) }
            return .scalar(.value)
        }
        if let members = schema.allOf { return composition(members, Shape.allOf) }
        if let members = schema.anyOf { return composition(members, Shape.anyOf) }
        if let members = schema.oneOf { return composition(members, Shape.oneOf) }
        if schema.isNull { return .unsupported("a schema that allows only null") }
        guard let kind = schema.kinds.first else {
            if schema.hasNot, schema.enumeration == nil { return .unsupported("'not'") }
            return .scalar(.value)
        }
        switch kind {
        case .string: return stringShape(of: schema)
        case .integer: return integerShape(of: schema)
        case .number: return .scalar(schema.format == "float" ? .float : .double)
        case .boolean: return .scalar(.bool)
        case .array:
            guard let items = schema.items, !schema.hasPrefixItems, items.boolean == nil else {
                return .scalar(.valueArray)
            }
            return .array(items)
        case .object:
            // A schema that only lists required members is an object without properties. Other constraints allow any
            // members.
            if schema.properties.isEmpty, schema.required.isEmpty, case .unspecified = schema.additionalProperties {
                return .scalar(.valueObject)
            }
            return .object
        }
    }

    private func composition(_ members: [Schema], _ shape: ([Schema]) -> Shape) -> Shape {
        let remaining = members.filter { !$0.isNull }
        guard !remaining.isEmpty else { return .unsupported("a composition without members") }
        // `oneOf: [X, null]` only means that X may be null.
        if remaining.count == 1, members.count > 1 { return self.shape(of: remaining[0]) }
        return shape(remaining)
    }

    private func stringShape(of schema: Schema) -> Shape {
        if let values = schema.enumeration {
            return .stringEnumeration(values.map { $0.scalarText ?? "" })
        }
        if schema.contentEncoding == "base64" || (version == .v30 && schema.format == "byte") {
            return .scalar(.base64)
        }
        if schema.contentEncoding == "binary" || schema.format == "binary" {
            return .scalar(version == .v30 || schema.contentEncoding == "binary" ? .body : .string)
        }
        return .scalar(schema.format == "date-time" ? .date : .string)
    }

    private func integerShape(of schema: Schema) -> Shape {
        if let values = schema.enumeration {
            let integers = values.compactMap { (node: DocumentNode) -> Int? in
                node.scalarText.flatMap { Int($0) }
            }
            if !integers.isEmpty { return .integerEnumeration(integers) }
        }
        switch schema.format {
        case "int32": return .scalar(.int32)
        case "int64": return .scalar(.int64)
        default: return .scalar(.int)
        }
    }

    /// Whether a schema describes binary data, which no JSON value can hold.
    func isBinary(_ schema: Schema) -> Bool {
        if schema.kinds.first == .string, schema.format == "binary" || schema.contentEncoding == "binary" {
            return true
        }
        if schema.reference == nil, case .array(let items) = shape(of: schema) { return isBinary(items) }
        if case .reference(let entry) = shape(of: schema), case .scalar(.body) = resolvedShape(of: entry.schema) {
            return true
        }
        return false
    }

    /// The shape behind any chain of references.
    func resolvedShape(of schema: Schema) -> Shape {
        var shape = self.shape(of: schema)
        var seen: Set<String> = []
        while case .reference(let entry) = shape {
            guard seen.insert(entry.key).inserted else { return .scalar(.value) }
            if entry.override != nil { return shape }
            shape = self.shape(of: entry.schema)
        }
        return shape
    }

    // MARK: Properties of schemas

    /// Whether `null` is allowed, by the schema itself or by what it refers to.
    func isNullable(_ schema: Schema) -> Bool {
        var schema = schema
        var seen: Set<String> = []
        while true {
            if allowsNull(schema) { return true }
            guard let reference = schema.reference, let entry = entry(for: reference),
                seen.insert(entry.key).inserted
            else { return false }
            schema = entry.schema
        }
    }

    /// Whether a schema allows `null` without its references: by itself, or by a member of a composition, at any depth.
    private func allowsNull(_ schema: Schema) -> Bool {
        if schema.isNullable { return true }
        if let members = schema.allOf { return members.contains(where: allowsNull) }
        if let members = schema.anyOf ?? schema.oneOf {
            return members.contains { $0.isNull || allowsNull($0) }
        }
        return false
    }

    /// Whether values of a schema can be any JSON, or any JSON object.
    func isFreeForm(_ schema: Schema) -> Bool {
        if case .scalar(let type) = resolvedShape(of: schema) { return type == .value || type == .valueObject }
        return false
    }

    /// Whether values are JSON objects, which several members of a composition can share.
    func isObjectLike(_ schema: Schema) -> Bool {
        switch shape(of: schema) {
        case .reference(let entry): return !otherThanObjects.contains(entry.key)
        case .scalar(let type): return type == .value || type == .valueObject
        case .object: return true
        case .allOf(let members): return members.allSatisfy(isObjectLike)
        case .anyOf(let members), .oneOf(let members): return members.contains(where: isObjectLike)
        case .stringEnumeration, .integerEnumeration, .array, .unsupported: return false
        }
    }

    /// Finds the components whose values are not JSON objects.
    ///
    /// A component counts as an object until one of its members is found not to be. So a cycle of components is an
    /// object unless a member outside of the cycle is not.
    private mutating func findOtherThanObjects() {
        spread { catalog, entry in
            guard !catalog.otherThanObjects.contains(entry.key), !catalog.isObjectLike(entry.schema) else {
                return false
            }
            catalog.otherThanObjects.insert(entry.key)
            return true
        }
    }

    /// Visits every component. When `findsOut` returns `true` for a component, visits those that refer to it again.
    private mutating func spread(_ findsOut: (inout SchemaCatalog, Entry) -> Bool) {
        var users: [[Int]] = Array(repeating: [], count: entries.count)
        for (index, entry) in entries.enumerated() {
            var referenced: [Int] = []
            collectReferences(of: entry.schema, into: &referenced)
            for other in referenced { users[other].append(index) }
        }
        var waiting: [Int] = Array(entries.indices.reversed())
        while let index = waiting.popLast() {
            if findsOut(&self, entries[index]) { waiting += users[index] }
        }
    }

    /// Collects the components that decide what a schema is: those of its items and members, not of its properties.
    private func collectReferences(of schema: Schema, into result: inout [Int]) {
        if let reference = schema.reference {
            if let index = reference.componentName(in: .schemas).flatMap({ indexByKey[$0] }) { result.append(index) }
            return
        }
        if let items = schema.items { collectReferences(of: items, into: &result) }
        for member in (schema.allOf ?? []) + (schema.anyOf ?? []) + (schema.oneOf ?? []) {
            collectReferences(of: member, into: &result)
        }
    }

    /// Why a schema has no counterpart in Swift, `nil` where it has one.
    func unsupportedReason(of schema: Schema) -> String? {
        switch shape(of: schema) {
        case .unsupported(let reason): return reason
        case .reference(let entry): return unsupportedReasons[entry.key]
        case .array(let items): return unsupportedReason(of: items)
        case .allOf(let members), .anyOf(let members), .oneOf(let members):
            for member in members {
                if let reason = unsupportedReason(of: member) { return reason }
            }
            return nil
        case .scalar, .stringEnumeration, .integerEnumeration, .object: return nil
        }
    }

    /// Finds the components that have no counterpart in Swift because they refer to a schema that has none.
    private mutating func findUnsupported() {
        spread { catalog, entry in
            guard catalog.unsupportedReasons[entry.key] == nil, entry.override == nil,
                let reason = catalog.unsupportedReason(of: entry.schema)
            else { return false }
            catalog.unsupportedReasons[entry.key] = reason
            return true
        }
    }

    // MARK: Deprecation

    /// Gives a second name to each deprecated type that generated code uses, because generated code must not cause
    /// warnings.
    ///
    /// - Parameter others: The schemas outside of the components.
    mutating func hideDeprecated(usedBy others: [Schema]) {
        guard entries.contains(where: \.schema.isDeprecated) else { return }
        var used: Set<String> = []
        for entry in entries { collectReferences(of: entry.schema, except: entry.key, into: &used) }
        for schema in others { collectReferences(of: schema, except: nil, into: &used) }
        for index in entries.indices where entries[index].override == nil && used.contains(entries[index].key) {
            guard entries[index].schema.isDeprecated else { continue }
            switch shape(of: entries[index].schema) {
            case .object, .allOf, .anyOf: entries[index].isHidden = true
            default: break
            }
        }
    }

    private func collectReferences(of schema: Schema, except key: String?, into used: inout Set<String>) {
        if let reference = schema.reference, let entry = entry(for: reference), entry.key != key {
            used.insert(entry.key)
        }
        for mapping in schema.discriminator?.mapping ?? [] {
            let reference = Reference(text: mapping.target, position: mapping.position)
            if let entry = entry(for: reference) ?? self[mapping.target] { used.insert(entry.key) }
        }
        for child in schema.children { collectReferences(of: child, except: key, into: &used) }
    }

    // MARK: Weights

    /// The weight from which a value is held in a box.
    ///
    /// The compiler emits code that copies each struct value by value, and emits it again for every struct that
    /// contains it. With at most this number of values held inline, the amount of code stays in proportion to the
    /// document.
    static let heaviest: Int = 4

    /// Whether values of a schema have more parts than may be held without a box.
    func isHeavy(_ schema: Schema) -> Bool {
        switch shape(of: schema) {
        case .reference(let entry): entry.override == nil && (weights[entry.key] ?? 1) > SchemaCatalog.heaviest
        default: weight(of: schema) > SchemaCatalog.heaviest
        }
    }

    /// Whether the cases of a `oneOf` have more parts than may be held without a box.
    func areHeavy(_ alternatives: [Schema]) -> Bool {
        alternatives.reduce(0) { $0 + placedWeight(of: $1) } > SchemaCatalog.heaviest
    }

    /// The weight inside of another type.
    private func placedWeight(of schema: Schema) -> Int {
        let weight = weight(of: schema)
        return weight > SchemaCatalog.heaviest ? 1 : weight
    }

    private func weight(of schema: Schema) -> Int {
        switch shape(of: schema) {
        case .reference(let entry): return entry.override == nil ? weights[entry.key] ?? 1 : 1
        case .object:
            var result = schema.properties.reduce(0) { $0 + placedWeight(of: $1.schema) }
            switch schema.additionalProperties {
            case .allowed, .schema: result += 1
            case .unspecified, .forbidden: break
            }
            return result
        case .allOf(let members), .anyOf(let members):
            return members.reduce(0) { $0 + placedWeight(of: $1) }
        case .oneOf(let members):
            // Each member is weighed once: with two calls on every level, the time would double with each level.
            let weight = members.reduce(0) { $0 + placedWeight(of: $1) }
            return weight > SchemaCatalog.heaviest ? 1 : weight + 1
        case .scalar, .array, .stringEnumeration, .integerEnumeration, .unsupported: return 1
        }
    }

    /// Weighs each component after those that it holds. The order within a cycle does not matter, because one of its
    /// components is held in a box anyway.
    private mutating func weigh() {
        var isSeen: Set<String> = []
        for entry in entries {
            var stack: [String] = [entry.key]
            while let key = stack.last {
                guard let current = self[key], weights[key] == nil else {
                    stack.removeLast()
                    continue
                }
                if isSeen.insert(key).inserted {
                    stack += held(by: current, followsProperties: true).filter {
                        weights[$0] == nil && !isSeen.contains($0)
                    }
                } else {
                    weights[key] = weight(of: current.schema)
                    stack.removeLast()
                }
            }
        }
    }

    // MARK: References and cycles

    private func checkReferences(diagnostics: Diagnostics) {
        for entry in entries {
            check(entry.schema, diagnostics: diagnostics)
        }
        checkAliasChains(diagnostics: diagnostics)
    }

    /// Reports every reference inside a schema that does not lead to a component of this document.
    func check(_ schema: Schema, diagnostics: Diagnostics) {
        if let reference = schema.reference, entry(for: reference) == nil {
            diagnostics.report(
                diagnostics.failure(
                    ofReferenceAt: reference.position,
                    "The reference '\(reference.text)' has no target.",
                    remedy: "add the schema to '#/components/schemas' or correct the name"
                )
            )
        }
        for child in schema.children {
            check(child, diagnostics: diagnostics)
        }
    }

    /// The component whose name a type alias of this schema would contain: the target of a reference, or of the items
    /// of an array.
    private func aliasTarget(of schema: Schema) -> Entry? {
        var schema = schema
        while true {
            switch shape(of: schema) {
            case .reference(let entry): return entry
            case .array(let items): schema = items
            default: return nil
            }
        }
    }

    /// Reports each component that is a reference to itself, or an array of itself: Swift has no type alias for it.
    private func checkAliasChains(diagnostics: Diagnostics) {
        // The chain that each entry was first found in, named by the index of the chain's first entry.
        var chains: [Int?] = Array(repeating: nil, count: entries.count)
        for start in entries.indices where chains[start] == nil {
            var current: Int? = start
            while let index = current, chains[index] == nil {
                chains[index] = start
                current = nil
                guard entries[index].override == nil, let next = aliasTarget(of: entries[index].schema) else { break }
                current = indexByKey[next.key]
            }
            guard let end = current, chains[end] == start else { continue }
            diagnostics.report(
                diagnostics.error(
                    "The schema '\(entries[end].key)' is a reference to itself.",
                    at: entries[end].schema.position,
                    remedy: "give one schema of the circle a type"
                )
            )
        }
    }

    /// Whether reading a component as the member of a composition could lead back to that composition before anything
    /// is read.
    ///
    /// In such a cycle, the later component does not try the earlier one.
    func leadsBack(from owner: String?, to entry: Entry) -> Bool {
        guard let owner, let cycle = compositionCycles[owner], compositionCycles[entry.key] == cycle else {
            return false
        }
        return (indexByKey[entry.key] ?? 0) <= (indexByKey[owner] ?? 0)
    }

    /// Whether values of two components can hold each other inline.
    func isRecursive(from owner: String?, to entry: Entry) -> Bool {
        guard let owner, let cycle = cycles[owner] else { return false }
        return cycles[entry.key] == cycle
    }
}

/// Finds the components that contain themselves without an array or a dictionary in between.
private struct CycleFinder {
    let catalog: SchemaCatalog
    private var index: [String: Int] = [:]
    private var low: [String: Int] = [:]
    private var stack: [String] = []
    private var onStack: Set<String> = []
    private var result: [String: Int] = [:]
    private var cycleCount = 0

    private let followsProperties: Bool

    init(catalog: SchemaCatalog, followsProperties: Bool) {
        self.catalog = catalog
        self.followsProperties = followsProperties
    }

    /// A step of the walk: a component and its edges, of which `next` is the first that is not followed yet.
    private struct Frame {
        var key: String
        var edges: [String]
        var next = 0
    }

    mutating func run() -> [String: Int] {
        for entry in catalog.entries where index[entry.key] == nil {
            visit(entry)
        }
        return result
    }

    /// Tarjan's strongly connected components. It uses an array instead of recursion, because documents can be deep.
    private mutating func visit(_ root: SchemaCatalog.Entry) {
        var frames: [Frame] = [open(root.key)]
        while var frame = frames.popLast() {
            guard frame.next < frame.edges.count else {
                close(frame, parent: frames.last)
                continue
            }
            let target = frame.edges[frame.next]
            frame.next += 1
            frames.append(frame)
            if index[target] == nil {
                frames.append(open(target))
            } else if onStack.contains(target) {
                low[frame.key] = min(low[frame.key] ?? 0, index[target] ?? 0)
            }
        }
    }

    private mutating func open(_ key: String) -> Frame {
        index[key] = index.count
        low[key] = index[key]
        stack.append(key)
        onStack.insert(key)
        return Frame(key: key, edges: catalog[key].map { edges(of: $0) } ?? [])
    }

    private mutating func close(_ frame: Frame, parent: Frame?) {
        let lowest = low[frame.key] ?? 0
        if let parent { low[parent.key] = min(low[parent.key] ?? 0, lowest) }
        guard lowest == index[frame.key] else { return }
        var members: [String] = []
        while let key = stack.popLast() {
            onStack.remove(key)
            members.append(key)
            if key == frame.key { break }
        }
        guard members.count > 1 || frame.edges.contains(frame.key) else { return }
        cycleCount += 1
        for key in members { result[key] = cycleCount }
    }

    private func edges(of entry: SchemaCatalog.Entry) -> [String] {
        catalog.held(by: entry, followsProperties: followsProperties)
    }
}

extension SchemaCatalog {
    /// The components whose values are held inline in those of another.
    fileprivate func held(by entry: Entry, followsProperties: Bool) -> [String] {
        guard entry.override == nil else { return [] }
        var result: [String] = []
        collect(entry.schema, followsProperties: followsProperties, into: &result)
        return result
    }

    private func collect(_ schema: Schema, followsProperties: Bool, into result: inout [String]) {
        switch shape(of: schema) {
        case .reference(let entry): result.append(entry.key)
        case .object:
            guard followsProperties else { break }
            for property in schema.properties {
                collect(property.schema, followsProperties: true, into: &result)
            }
        case .allOf(let members), .anyOf(let members), .oneOf(let members):
            for member in members { collect(member, followsProperties: followsProperties, into: &result) }
        case .scalar, .stringEnumeration, .integerEnumeration, .array, .unsupported: break
        }
    }
}
