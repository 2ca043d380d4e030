/// A value of JSON or YAML with its position, before it is interpreted as OpenAPI.
struct DocumentNode: Hashable, Sendable {
    /// One member of an object, in document order.
    struct Member: Hashable, Sendable {
        var key: String
        var value: DocumentNode
    }

    enum Content: Hashable, Sendable {
        case null
        case bool(Bool)
        case integer(Int)
        case number(Double)
        case string(String)
        case array([DocumentNode])
        case object([Member])
    }

    var content: Content
    var position: SourcePosition
}

extension DocumentNode {
    var string: String? {
        if case .string(let value) = content { return value }
        return nil
    }

    var bool: Bool? {
        if case .bool(let value) = content { return value }
        return nil
    }

    var members: [Member]? {
        if case .object(let members) = content { return members }
        return nil
    }

    var elements: [DocumentNode]? {
        if case .array(let elements) = content { return elements }
        return nil
    }

    var isNull: Bool { content == .null }

    /// The text of a scalar, for keys whose value is a string but for which documents write `1` instead of `"1"`.
    var scalarText: String? {
        switch content {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .bool(let value): String(value)
        case .null, .array, .object: nil
        }
    }

    /// The member of an object, `nil` where it is missing or this is not an object.
    subscript(key: String) -> DocumentNode? {
        guard case .object(let members) = content else { return nil }
        for member in members where member.key.isExactly(key) {
            return member.value
        }
        return nil
    }

    /// The kind of this value with its article, for messages.
    var kindName: String {
        switch content {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
