public import StreamingJSON

extension Record {
    /// The fields of a record, in the order in which they were read or set.
    ///
    /// ```swift
    /// let fields: Record.Fields = ["title": "Hello", "count": 3]
    /// fields["title"]  // .string("Hello")
    /// ```
    ///
    /// Two sets of fields are equal when they have the same names with the same values, in any order. A lookup compares
    /// the names one by one, which is fastest for the few dozen fields of a record.
    public struct Fields: Sendable {
        /// One field: its name and its value.
        public typealias Element = (name: String, value: FieldValue)

        private var elements: [Element]

        /// Makes an empty set of fields.
        public init() {
            elements = []
        }

        /// Makes fields in the order of a sequence. If a name occurs several times, its last value counts.
        public init(_ fields: some Sequence<(String, FieldValue)>) {
            elements = []
            for (name, value) in fields {
                self[name] = value
            }
        }

        /// The value of the field `name`; `nil` when there is no such field. Assigning `nil` removes the field.
        public subscript(name: String) -> FieldValue? {
            get {
                index(of: name).map { elements[$0].value }
            }
            set {
                if let index = index(of: name) {
                    if let newValue {
                        elements[index].value = newValue
                    } else {
                        elements.remove(at: index)
                    }
                } else if let newValue {
                    elements.append((name, newValue))
                }
            }
        }

        /// The names in order.
        public var names: some Sequence<String> {
            elements.lazy.map(\.name)
        }

        /// Removes all fields.
        public mutating func removeAll() {
            elements.removeAll()
        }

        private func index(of name: String) -> Int? {
            // A comparison of the lengths first avoids most comparisons of names.
            elements.firstIndex { $0.name.utf8.count == name.utf8.count && $0.name == name }
        }
    }
}

extension Record.Fields: RandomAccessCollection {
    /// The first field's position: 0.
    public var startIndex: Int { 0 }
    /// The number of fields.
    public var endIndex: Int { elements.count }
    /// The field at `position`.
    public subscript(position: Int) -> Element { elements[position] }
}

extension Record.Fields: Hashable {
    /// Whether both have the same fields, in any order.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        for (position, field) in left.elements.enumerated() {
            let other = right.elements[position]
            if other.name == field.name {
                guard other.value == field.value else { return false }
            } else {
                guard right[field.name] == field.value else { return false }
            }
        }
        return true
    }

    /// Feeds the fields to `hasher`.
    public func hash(into hasher: inout Hasher) {
        var combined = 0
        for (name, value) in elements {
            var single = Hasher()
            single.combine(name)
            single.combine(value)
            combined ^= single.finalize()
        }
        hasher.combine(combined)
        hasher.combine(count)
    }
}

extension Record.Fields: ExpressibleByDictionaryLiteral {
    /// Makes fields in the order of the literal.
    public init(dictionaryLiteral fields: (String, FieldValue)...) {
        self.init(fields)
    }
}

extension Record.Fields: JSONBackedCodable {
    /// Reads `{"name":{"value":…,"type":…},…}`.
    public init(json reader: inout JSONReader) throws(JSONError) {
        elements = []
        try reader.beginObject()
        // The digests of the names so far. Only a name with one of these digests can be a repetition.
        var digests: UInt64 = 0
        // Records usually have dozens of fields. From 128 fields on, a table finds the names, so that no input takes
        // long.
        var positions: [String: Int] = [:]
        while let name = try reader.nextKey() {
            if elements.isEmpty {
                elements.reserveCapacity(Swift.max(reader.countHint, 1))
            }
            let digest: UInt64 = reader.lastKeyDigest.map { 1 &<< UInt64($0) } ?? .max
            let value = try FieldValue(json: &reader)
            if digests & digest != 0, let index = positions.isEmpty ? index(of: name) : positions[name] {
                // If a name is repeated, its last value counts, as in most readers of JSON.
                elements[index].value = value
            } else {
                elements.append((name, value))
                if !positions.isEmpty {
                    positions[name] = elements.count - 1
                } else if elements.count == 128 {
                    for (index, element) in elements.enumerated() { positions[element.name] = index }
                }
            }
            digests |= digest
        }
        reader.countHint = elements.count
    }

    /// Writes `{"name":{"value":…,"type":…},…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        for (name, value) in elements {
            writer.key(name)
            value.write(json: &writer)
        }
        writer.endObject()
    }
}
