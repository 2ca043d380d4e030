import StreamingJSON

/// A pattern for the JSON of a reply, which may leave parts open.
///
/// A dictionary literal lists all members; ``including(_:optional:without:)`` allows others. Numbers are compared by
/// value, so `1` is `1.0`.
///
/// ```swift
/// let reply: JSONPattern = ["records": [.record("a", ["title": .text("x")]), .failure("b", "NOT_FOUND")]]
/// ```
indirect enum JSONPattern: Sendable {
    /// The members of a pattern for an object.
    struct Members: Sendable {
        var required: [String: JSONPattern]
        var optional: [String: JSONPattern] = [:]
        var forbidden: Set<String> = []
        var isClosed = true
    }

    /// Exactly this value.
    case value(JSONValue)
    /// An object.
    case object(Members)
    /// An array of these, in this order.
    case array([JSONPattern])
    /// An array of these, in any order.
    case unordered([JSONPattern])
    /// Any of these patterns, where no source settles which.
    case anyOf([JSONPattern])
    /// A value for which a predicate returns `true`, and the predicate's description.
    case satisfying(String, @Sendable (JSONValue) -> Bool)
    /// This text, or any text where reasons are not compared.
    case reason(String)
}

extension JSONPattern {
    /// An object with these members and maybe others.
    static func including(
        _ required: [String: JSONPattern],
        optional: [String: JSONPattern] = [:],
        without forbidden: Set<String> = []
    ) -> JSONPattern {
        .object(Members(required: required, optional: optional, forbidden: forbidden, isClosed: false))
    }

    static let anything = satisfying("anything") { _ in true }
    static let text = satisfying("a text") { $0.stringValue?.isEmpty == false }
    static let wholeNumber = satisfying("a whole number") { $0.int64Value != nil && $0.stringValue == nil }

    static func text(otherThan other: String) -> JSONPattern {
        satisfying("a text other than \"\(other)\"") { $0.stringValue.map { !$0.isEmpty && $0 != other } ?? false }
    }
}

extension JSONPattern: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .value(.string(value)) }
    init(booleanLiteral value: Bool) { self = .value(.bool(value)) }
    init(integerLiteral value: Int64) { self = .value(.integer(value)) }
    init(nilLiteral: ()) { self = .value(.null) }
    init(arrayLiteral elements: JSONPattern...) { self = .array(elements) }
    init(dictionaryLiteral members: (String, JSONPattern)...) {
        self = .object(Members(required: Dictionary(members) { _, last in last }))
    }
}

// MARK: - Matching

extension JSONPattern {
    /// The first difference of a value from the pattern, with its path; `nil` when the value matches.
    func difference(
        from value: JSONValue,
        at path: String = "body",
        comparingReasons: Bool = true
    ) -> String? {
        switch self {
        case .value(let expected):
            return expected.isSame(as: value) ? nil : "\(path): expected \(expected.brief), got \(value.brief)"
        case .satisfying(let description, let predicate):
            return predicate(value) ? nil : "\(path): expected \(description), got \(value.brief)"
        case .reason(let expected):
            let matches = comparingReasons ? value.stringValue == expected : value.stringValue != nil
            return matches ? nil : "\(path): expected \"\(expected)\", got \(value.brief)"
        case .anyOf(let patterns):
            var differences: [String] = []
            for pattern in patterns {
                guard let found = pattern.difference(from: value, at: path, comparingReasons: comparingReasons) else {
                    return nil
                }
                differences.append(found)
            }
            return differences.joined(separator: "; or ")
        case .array(let patterns):
            guard let elements = value.arrayValue else { return "\(path): expected an array, got \(value.brief)" }
            for (index, (pattern, element)) in zip(patterns, elements).enumerated() {
                let elementPath = "\(path)[\(index)]"
                if let found = pattern.difference(from: element, at: elementPath, comparingReasons: comparingReasons) {
                    return found
                }
            }
            guard elements.count == patterns.count else {
                return "\(path): expected \(patterns.count) elements, got \(elements.count)"
            }
            return nil
        case .unordered(let patterns):
            return difference(from: value, unordered: patterns, at: path, comparingReasons: comparingReasons)
        case .object(let members):
            return difference(from: value, members: members, at: path, comparingReasons: comparingReasons)
        }
    }

    private func difference(
        from value: JSONValue,
        members: Members,
        at path: String,
        comparingReasons: Bool
    ) -> String? {
        guard let found = value.objectValue else { return "\(path): expected an object, got \(value.brief)" }
        for (key, pattern) in members.required.sorted(by: { $0.key < $1.key }) {
            guard let member = found[key] else { return "\(path).\(key): expected \(pattern), is absent" }
            let memberPath = "\(path).\(key)"
            if let found = pattern.difference(from: member, at: memberPath, comparingReasons: comparingReasons) {
                return found
            }
        }
        for (key, member) in found.sorted(by: { $0.key < $1.key }) where members.required[key] == nil {
            if let pattern = members.optional[key] {
                let memberPath = "\(path).\(key)"
                if let found = pattern.difference(from: member, at: memberPath, comparingReasons: comparingReasons) {
                    return found
                }
            } else if members.isClosed || members.forbidden.contains(key) {
                return "\(path).\(key): expected to be absent, got \(member.brief)"
            }
        }
        return nil
    }

    private func difference(
        from value: JSONValue,
        unordered patterns: [JSONPattern],
        at path: String,
        comparingReasons: Bool
    ) -> String? {
        guard let elements = value.arrayValue else { return "\(path): expected an array, got \(value.brief)" }
        var rest = elements
        for pattern in patterns {
            let index = rest.firstIndex {
                pattern.difference(from: $0, at: path, comparingReasons: comparingReasons) == nil
            }
            guard let index else {
                let closest = rest.first.flatMap {
                    pattern.difference(from: $0, at: path + "[?]", comparingReasons: comparingReasons)
                }
                return "\(path): no element is \(pattern)" + (closest.map { "; the first left: \($0)" } ?? "")
            }
            rest.remove(at: index)
        }
        guard let extra = rest.first else { return nil }
        return "\(path): expected \(patterns.count) elements, got \(elements.count), among them \(extra.brief)"
    }
}

extension JSONPattern: CustomStringConvertible {
    var description: String {
        switch self {
        case .value(let value): return value.brief
        case .satisfying(let description, _): return "<\(description)>"
        case .reason(let text): return "\"\(text)\""
        case .anyOf(let patterns): return patterns.map(\.description).joined(separator: " or ")
        case .array(let patterns): return "[\(patterns.map(\.description).joined(separator: ", "))]"
        case .unordered(let patterns): return "{\(patterns.map(\.description).joined(separator: ", "))} in any order"
        case .object(let members):
            var parts = members.required.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            parts += members.optional.sorted { $0.key < $1.key }.map { "\($0.key)?: \($0.value)" }
            parts += members.forbidden.sorted().map { "no \($0)" }
            return "{\(parts.joined(separator: ", "))\(members.isClosed ? "" : ", …")}"
        }
    }
}

// MARK: - Values

extension JSONValue {
    /// Whether two values are equal, where `1` equals `1.0`.
    func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.array(let mine), .array(let others)):
            mine.count == others.count && zip(mine, others).allSatisfy { $0.isSame(as: $1) }
        case (.object(let mine), .object(let others)):
            mine.count == others.count
                && mine.allSatisfy { key, value in others[key].map { value.isSame(as: $0) } ?? false }
        case (.integer(let mine), .double(let others)): Int64(exactly: others) == mine
        case (.double(let mine), .integer(let others)): Int64(exactly: mine) == others
        default: self == other
        }
    }

    /// The value as JSON, cut where it is long.
    var brief: String {
        brief(600)
    }

    /// The value as JSON with sorted keys, cut after a number of characters.
    func brief(_ length: Int) -> String {
        guard let bytes = try? JSONWriter.bytes(of: self, options: [.sortedKeys]) else { return "\(self)" }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.count > length ? "\(text.prefix(length))…" : text
    }
}
