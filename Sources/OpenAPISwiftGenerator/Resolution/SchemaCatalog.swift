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

        /// The index among the components.
        fileprivate(set) var index = 0

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
        /// The members, beside which the schema may have properties.
        case allOf([Schema])
        /// The members, beside which the schema may have properties.
        case anyOf([Schema])
        case oneOf([Schema])
        /// Has no counterpart; the text says why.
        case unsupported(String)
    }

    let version: OpenAPIDocument.Version
    private(set) var entries: [Entry] = []
    private var indexByKey: [ExactText: Int] = [:]
    /// The component at the end of each component's chain of references; nil for a chain without an end.
    private var chainEnds: [Int?] = []
    /// Whether each component allows `null`, by itself or by what it refers to.
    private var areNullable: [Bool] = []
    /// The number of the cycle that a component belongs to, by the index of the component.
    private var cycles: [Int: Int] = [:]
    /// The number of the cycle of compositions that a component belongs to. Reading a composition such as `oneOf`
    /// consumes no bytes before it reads its members.
    private var compositionCycles: [Int: Int] = [:]
    private var unsupportedReasons: [Int: String] = [:]
    /// The components whose values are not JSON objects.
    private var otherThanObjects: Set<Int> = []
    /// The number of stored values of the type of each component, including those of types inside of it that are not
    /// held in a box.
    private var weights: [Int: Int] = [:]

    init(version: OpenAPIDocument.Version, entries: [Entry], diagnostics: Diagnostics) {
        self.version = version
        self.entries = entries
        for (index, entry) in entries.enumerated() {
            indexByKey[ExactText(entry.key)] = index
            self.entries[index].index = index
        }
        followReferences()
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
        indexByKey[ExactText(key)].map { entries[$0] }
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
        if let members = schema.allOf {
            return schema.properties.isEmpty ? composition(members, Shape.allOf) : .allOf(members)
        }
        if let members = schema.anyOf {
            return schema.properties.isEmpty ? composition(members, Shape.anyOf) : .anyOf(members)
        }
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
        let shape = self.shape(of: schema)
        guard case .reference(let entry) = shape else { return shape }
        guard let end = chainEnd(of: entry) else { return .scalar(.value) }
        return end.override != nil ? .reference(end) : self.shape(of: end.schema)
    }

    /// The component behind a chain of components that are only references: the first that is not, or that has a type
    /// of the user. It is `nil` for a circle.
    func chainEnd(of entry: Entry) -> Entry? {
        chainEnds[entry.index].map { entries[$0] }
    }

    /// Follows the references of all components. Each is followed once, however long the chains are.
    private mutating func followReferences() {
        chainEnds = ends { catalog, index in
            let entry = catalog.entries[index]
            guard entry.override == nil, case .reference(let next) = catalog.shape(of: entry.schema) else {
                return .found(index)
            }
            return .next(next.index)
        }
        let nullable = ends { catalog, index in
            let schema = catalog.entries[index].schema
            if catalog.allowsNull(schema) { return .found(index) }
            guard let reference = schema.reference, let next = catalog.entry(for: reference) else { return .nothing }
            return .next(next.index)
        }
        areNullable = nullable.map { $0 != nil }
    }

    private enum Step {
        case found(Int)
        case next(Int)
        case nothing
    }

    /// What each component's chain leads to; `nil` for nothing, or a circle.
    private func ends(_ step: (SchemaCatalog, Int) -> Step) -> [Int?] {
        var results: [Int?] = Array(repeating: nil, count: entries.count)
        var isKnown: [Bool] = Array(repeating: false, count: entries.count)
        for start in entries.indices where !isKnown[start] {
            var chain: [Int] = []
            var current = start
            var result: Int?
            walk: while true {
                if isKnown[current] {
                    result = results[current]
                    break
                }
                // Known from now on: a chain that comes here again is a circle.
                isKnown[current] = true
                chain.append(current)
                switch step(self, current) {
                case .found(let index):
                    result = index
                    break walk
                case .next(let index): current = index
                case .nothing: break walk
                }
            }
            for index in chain { results[index] = result }
        }
        return results
    }

    // MARK: Properties of schemas

    /// Whether `null` is allowed, by the schema itself or by what it refers to.
    func isNullable(_ schema: Schema) -> Bool {
        if allowsNull(schema) { return true }
        guard let reference = schema.reference, let entry = entry(for: reference) else { return false }
        return areNullable[entry.index]
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
        case .reference(let entry): return !otherThanObjects.contains(entry.index)
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
            guard !catalog.otherThanObjects.contains(entry.index), !catalog.isObjectLike(entry.schema) else {
                return false
            }
            catalog.otherThanObjects.insert(entry.index)
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
            if let entry = entry(for: reference) { result.append(entry.index) }
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
        case .reference(let entry): return unsupportedReasons[entry.index]
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
            guard catalog.unsupportedReasons[entry.index] == nil, entry.override == nil,
                let reason = catalog.unsupportedReason(of: entry.schema)
            else { return false }
            catalog.unsupportedReasons[entry.index] = reason
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
        var used: Set<Int> = []
        for entry in entries { collectReferences(of: entry.schema, except: entry.index, into: &used) }
        for schema in others { collectReferences(of: schema, except: nil, into: &used) }
        for index in entries.indices where entries[index].override == nil && used.contains(index) {
            guard entries[index].schema.isDeprecated else { continue }
            switch shape(of: entries[index].schema) {
            case .object, .allOf, .anyOf: entries[index].isHidden = true
            default: break
            }
        }
    }

    private func collectReferences(of schema: Schema, except index: Int?, into used: inout Set<Int>) {
        if let reference = schema.reference, let entry = entry(for: reference), entry.index != index {
            used.insert(entry.index)
        }
        for mapping in schema.discriminator?.mapping ?? [] {
            let reference = Reference(text: mapping.target, position: mapping.position)
            if let entry = entry(for: reference) ?? self[mapping.target] { used.insert(entry.index) }
        }
        for child in schema.children { collectReferences(of: child, except: index, into: &used) }
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
        case .reference(let entry): entry.override == nil && (weights[entry.index] ?? 1) > SchemaCatalog.heaviest
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
        case .reference(let entry): return entry.override == nil ? weights[entry.index] ?? 1 : 1
        case .object: return weightOfProperties(of: schema)
        case .allOf(let members), .anyOf(let members):
            let own = schema.properties.isEmpty ? 0 : weightOfProperties(of: schema)
            return members.reduce(own) { $0 + placedWeight(of: $1) }
        case .oneOf(let members):
            // Each member is weighed once: with two calls on every level, the time would double with each level.
            let weight = members.reduce(0) { $0 + placedWeight(of: $1) }
            return weight > SchemaCatalog.heaviest ? 1 : weight + 1
        case .scalar, .array, .stringEnumeration, .integerEnumeration, .unsupported: return 1
        }
    }

    private func weightOfProperties(of schema: Schema) -> Int {
        let result = schema.properties.reduce(0) { $0 + placedWeight(of: $1.schema) }
        return switch schema.additionalProperties {
        case .allowed, .schema: result + 1
        case .unspecified, .forbidden: result
        }
    }

    /// Weighs each component after those that it holds. The order within a cycle does not matter, because one of its
    /// components is held in a box anyway.
    private mutating func weigh() {
        var isSeen: Set<Int> = []
        for entry in entries {
            var stack: [Int] = [entry.index]
            while let index = stack.last {
                guard weights[index] == nil else {
                    stack.removeLast()
                    continue
                }
                if isSeen.insert(index).inserted {
                    stack += held(by: entries[index], followsProperties: true).filter {
                        weights[$0] == nil && !isSeen.contains($0)
                    }
                } else {
                    weights[index] = weight(of: entries[index].schema)
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

    /// The maximum number of arrays that are written in each other.
    ///
    /// Swift's parser needs twice the time for each further pair of brackets: 22 s for 24 of them.
    private static let maximumBrackets = 12

    /// Reports every reference inside a schema that does not lead to a component of this document, and arrays that are
    /// too deep.
    func check(_ schema: Schema, diagnostics: Diagnostics, below arrays: Int = 0) {
        let arrays = schema.items == nil || schema.kinds.first != .array ? 0 : arrays + 1
        guard arrays <= SchemaCatalog.maximumBrackets else {
            diagnostics.report(
                diagnostics.error(
                    "More than \(SchemaCatalog.maximumBrackets) arrays are written in each other.",
                    at: schema.position,
                    remedy: "make some of them component schemas, and refer to them"
                )
            )
            return
        }
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
            check(child, diagnostics: diagnostics, below: arrays)
        }
    }

    /// The component whose name a type alias of this schema would contain: the target of a reference, or of the items
    /// of an array. It comes with the number of arrays around it.
    private func aliasTarget(of schema: Schema) -> (entry: Entry, levels: Int)? {
        var schema = schema
        var levels = 0
        while true {
            switch shape(of: schema) {
            case .reference(let entry): return (entry, levels)
            case .array(let items):
                schema = items
                levels += 1
            default: return nil
            }
        }
    }

    /// The maximum number of arrays in arrays, through references.
    private static let maximumLevels = 256

    /// Reports each component that is a reference to itself, or an array of itself: Swift has no type alias for it.
    private func checkAliasChains(diagnostics: Diagnostics) {
        // The chain that each entry was first found in, named by the index of the chain's first entry.
        var chains: [Int?] = Array(repeating: nil, count: entries.count)
        // The number of arrays in arrays that begin with each entry.
        var levels: [Int] = Array(repeating: 0, count: entries.count)
        for start in entries.indices where chains[start] == nil {
            var current: Int? = start
            var chain: [(index: Int, levels: Int)] = []
            while let index = current, chains[index] == nil {
                chains[index] = start
                current = nil
                guard entries[index].override == nil, let next = aliasTarget(of: entries[index].schema) else { break }
                chain.append((index, next.levels))
                current = next.entry.index
            }
            var count = current.map { chains[$0] == start ? 0 : levels[$0] } ?? 0
            for link in chain.reversed() {
                count += link.levels
                levels[link.index] = count
                guard count > SchemaCatalog.maximumLevels else { continue }
                diagnostics.report(
                    diagnostics.error(
                        "The schema '\(entries[link.index].key)' holds more than \(SchemaCatalog.maximumLevels) arrays in each "
                            + "other.",
                        at: entries[link.index].schema.position,
                        remedy: "use an object between the arrays"
                    )
                )
                break
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
        guard let owner = owner.flatMap({ indexByKey[ExactText($0)] }), let cycle = compositionCycles[owner],
            compositionCycles[entry.index] == cycle
        else { return false }
        return entry.index <= owner
    }

    /// Whether values of two components can hold each other inline.
    func isRecursive(from owner: String?, to entry: Entry) -> Bool {
        guard let owner = owner.flatMap({ indexByKey[ExactText($0)] }), let cycle = cycles[owner] else { return false }
        return cycles[entry.index] == cycle
    }
}

/// Finds the components that contain themselves without an array or a dictionary in between.
private struct CycleFinder {
    let catalog: SchemaCatalog
    private var index: [Int: Int] = [:]
    private var low: [Int: Int] = [:]
    private var stack: [Int] = []
    private var onStack: Set<Int> = []
    private var result: [Int: Int] = [:]
    private var cycleCount = 0

    private let followsProperties: Bool

    init(catalog: SchemaCatalog, followsProperties: Bool) {
        self.catalog = catalog
        self.followsProperties = followsProperties
    }

    /// A step of the walk: a component and its edges, of which `next` is the first that is not followed yet.
    private struct Frame {
        var key: Int
        var edges: [Int]
        var next = 0
    }

    mutating func run() -> [Int: Int] {
        for entry in catalog.entries where index[entry.index] == nil {
            visit(entry)
        }
        return result
    }

    /// Tarjan's strongly connected components. It uses an array instead of recursion, because documents can be deep.
    private mutating func visit(_ root: SchemaCatalog.Entry) {
        var frames: [Frame] = [open(root.index)]
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

    private mutating func open(_ key: Int) -> Frame {
        index[key] = index.count
        low[key] = index[key]
        stack.append(key)
        onStack.insert(key)
        return Frame(key: key, edges: edges(of: catalog.entries[key]))
    }

    private mutating func close(_ frame: Frame, parent: Frame?) {
        let lowest = low[frame.key] ?? 0
        if let parent { low[parent.key] = min(low[parent.key] ?? 0, lowest) }
        guard lowest == index[frame.key] else { return }
        var members: [Int] = []
        while let key = stack.popLast() {
            onStack.remove(key)
            members.append(key)
            if key == frame.key { break }
        }
        guard members.count > 1 || frame.edges.contains(frame.key) else { return }
        cycleCount += 1
        for key in members { result[key] = cycleCount }
    }

    private func edges(of entry: SchemaCatalog.Entry) -> [Int] {
        catalog.held(by: entry, followsProperties: followsProperties)
    }
}

extension SchemaCatalog {
    /// The components whose values are held inline in those of another.
    fileprivate func held(by entry: Entry, followsProperties: Bool) -> [Int] {
        guard entry.override == nil else { return [] }
        var result: [Int] = []
        collect(entry.schema, followsProperties: followsProperties, into: &result)
        return result
    }

    private func collect(_ schema: Schema, followsProperties: Bool, into result: inout [Int]) {
        switch shape(of: schema) {
        case .reference(let entry): result.append(entry.index)
        case .object:
            guard followsProperties else { break }
            for property in schema.properties {
                collect(property.schema, followsProperties: true, into: &result)
            }
        case .allOf(let members), .anyOf(let members), .oneOf(let members):
            for member in members { collect(member, followsProperties: followsProperties, into: &result) }
            guard followsProperties else { break }
            for property in schema.properties { collect(property.schema, followsProperties: true, into: &result) }
        case .scalar, .stringEnumeration, .integerEnumeration, .array, .unsupported: break
        }
    }
}
