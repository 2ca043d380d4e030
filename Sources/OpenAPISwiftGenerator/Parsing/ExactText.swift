/// Text that equals only the same Unicode scalars.
///
/// Two strings are equal in Swift when they are canonically equivalent: `é` as one scalar, and as an `e` with an accent.
/// In JSON and YAML these are two keys, so dictionaries of keys use this type.
struct ExactText: Hashable, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.isExactly(right.text)
    }

    func hash(into hasher: inout Hasher) {
        // Equal strings have equal hashes, and few strings are equivalent without being the same.
        hasher.combine(text)
    }
}

extension String {
    /// Whether two strings have the same Unicode scalars.
    func isExactly(_ other: String) -> Bool {
        self == other && utf8.elementsEqual(other.utf8)
    }
}

/// The keys of one object, which find a key that appears twice.
struct KeySet {
    private var few: [String] = []
    private var many: Set<ExactText> = []

    /// Whether the key is new.
    mutating func insert(_ key: String) -> Bool {
        if many.isEmpty {
            if few.contains(where: { $0.isExactly(key) }) { return false }
            few.append(key)
            if few.count == 16 { many = Set(few.map(ExactText.init)) }
            return true
        }
        return many.insert(ExactText(key)).inserted
    }
}
