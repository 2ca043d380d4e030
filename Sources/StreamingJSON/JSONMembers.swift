/// Members of a JSON object that the type which reads it has no property for, kept whole and in order.
///
/// ```swift
/// let members: JSONMembers = ["expirationTime": try JSONRawValue(parsing: "1689562458")]
/// members["expirationTime"]  // 1689562458
/// ```
///
/// A type that holds them reads every object without loss, and writes again what it does not know. It also remembers
/// here which of its optional properties came as `null`, and writes these as `null` for as long as the property is
/// `nil`. That memory is not part of the value: it does not count in `==`.
public struct JSONMembers: Sendable {
    /// One member: its key and its value as it came.
    public struct Element: Hashable, Sendable {
        /// The member's key.
        public var name: String
        /// The member's value.
        public var value: JSONRawValue

        /// Creates a member.
        public init(name: String, value: JSONRawValue) {
            self.name = name
            self.value = value
        }
    }

    private struct Storage: Sendable {
        var elements: [Element] = []
        /// The keys of the properties that came as `null`.
        var nulls: [String] = []
        /// The index of each name; only where a search through all elements would cost more.
        private var indices: [String: Int]?

        private static let indexedCount = 32

        func index(of name: String) -> Int? {
            if let indices { return indices[name] }
            return elements.firstIndex { $0.name == name }
        }

        mutating func append(_ element: Element) {
            if indices == nil, elements.count == Self.indexedCount {
                indices = Dictionary(uniqueKeysWithValues: elements.enumerated().map { ($1.name, $0) })
            }
            indices?[element.name] = elements.count
            elements.append(element)
        }

        mutating func remove(at index: Int) {
            elements.remove(at: index)
            indices = nil
        }
    }

    /// Empty, or one storage: most objects have no such members, and are small for it.
    private var storage: [Storage] = []

    /// Creates an empty collection.
    public init() {}

    /// The members in the order in which they came.
    public var elements: [Element] {
        storage.first?.elements ?? []
    }

    /// The value of the member `name`; `nil` when there is none. Assigning `nil` removes it.
    public subscript(name: String) -> JSONRawValue? {
        get {
            guard let storage = storage.first, let index = storage.index(of: name) else { return nil }
            return storage.elements[index].value
        }
        set {
            if let index = storage.first?.index(of: name) {
                if let newValue {
                    storage[0].elements[index].value = newValue
                } else {
                    storage[0].remove(at: index)
                }
            } else if let newValue {
                if storage.isEmpty { storage.append(Storage()) }
                storage[0].append(Element(name: name, value: newValue))
            }
        }
    }
}

extension JSONMembers: Hashable {
    /// Whether both hold the same members in the same order.
    public static func == (left: JSONMembers, right: JSONMembers) -> Bool {
        left.elements == right.elements
    }

    /// Feeds the members to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(elements)
    }
}

extension JSONMembers: RandomAccessCollection {
    /// The first member's index: 0.
    public var startIndex: Int { 0 }
    /// The number of members.
    public var endIndex: Int { storage.first?.elements.count ?? 0 }
    /// The member at an index.
    public subscript(index: Int) -> Element { elements[index] }
}

extension JSONMembers: ExpressibleByDictionaryLiteral {
    /// Creates members in the order of the literal; of several with one name the last counts.
    public init(dictionaryLiteral members: (String, JSONRawValue)...) {
        for (name, value) in members { self[name] = value }
    }
}

// MARK: Reading and writing objects that keep members

extension JSONMembers {
    /// Reads and keeps the value of the member whose key the reader has just read.
    package mutating func keep(from reader: inout JSONReader) throws(JSONError) {
        let name = try reader.lastKey()
        self[name] = try reader.readRawValue()
    }

    /// Remembers that a property came as `null`.
    package mutating func noteNull(_ name: String) {
        if storage.isEmpty { storage.append(Storage()) }
        if !storage[0].nulls.contains(name) { storage[0].nulls.append(name) }
    }

    /// The keys of the properties that came as `null`.
    package var nulls: [String] { storage.first?.nulls ?? [] }

    /// Whether there is nothing to write again, not even a `null`.
    package var isUnused: Bool { storage.isEmpty }
}

extension JSONWriter {
    /// Writes kept members into the object that the writer is in.
    package mutating func writeMembers(_ members: JSONMembers) {
        guard !members.isUnused else { return }
        markAdditional(true)
        for member in members.elements {
            key(member.name)
            writeRaw(member.value)
        }
        markAdditional(false)
    }
}
