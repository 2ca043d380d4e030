/// The members of a JSON object for which a type has no property, kept unchanged and in order.
///
/// ```swift
/// let members: JSONMembers = ["expirationTime": try JSONRawValue(parsing: "1689562458")]
/// members["expirationTime"]  // 1689562458
/// ```
///
/// A type with a property of this type reads every object without loss, and writes unknown members again. The property
/// also records which optional properties were `null` in JSON. The type writes these as `null` as long as they are
/// `nil`. This record is not part of the value: `==` ignores it.
public struct JSONMembers: Sendable {
    /// One member: its key and its unchanged value.
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
        /// The keys of the properties that were `null` in JSON.
        var nulls: [String] = []
        /// The index of each name. It is `nil` while a search through all elements is faster.
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

    /// One storage, or none. Most objects have no unknown members, and an empty array is small.
    private var storage: [Storage] = []

    /// Creates an empty collection.
    public init() {}

    /// The members in the order in which they were read.
    public var elements: [Element] {
        storage.first?.elements ?? []
    }

    /// The value of the member `name`; `nil` when there is none. Assigning `nil` removes the member.
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
    /// Creates members in the order of the literal. If a name occurs several times, the last value counts.
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

    /// Records that a property was `null` in JSON.
    package mutating func noteNull(_ name: String) {
        if storage.isEmpty { storage.append(Storage()) }
        if !storage[0].nulls.contains(name) { storage[0].nulls.append(name) }
    }

    /// The keys of the properties that were `null` in JSON.
    package var nulls: [String] { storage.first?.nulls ?? [] }

    /// Whether there is nothing to write: neither members nor `null`s.
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
