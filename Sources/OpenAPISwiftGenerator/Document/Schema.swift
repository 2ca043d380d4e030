/// A schema as the document has it, in the terms that 3.0, 3.1 and 3.2 share.
///
/// A class because schemas nest in themselves; immutable, so it is a value all the same.
final class Schema: Sendable {
    /// The types that `type` can name, `null` apart.
    enum Kind: String, Sendable {
        case string
        case integer
        case number
        case boolean
        case object
        case array
    }

    struct Property: Sendable {
        var name: String
        var schema: Schema
    }

    /// What an object may hold beside its properties.
    enum AdditionalProperties: Sendable {
        case unspecified
        case allowed
        case forbidden
        case schema(Schema)
    }

    struct Discriminator: Sendable {
        struct Mapping: Sendable {
            var value: String
            var target: String
            var position: SourcePosition
        }

        var propertyName: String
        var mapping: [Mapping]
    }

    let position: SourcePosition
    let reference: Reference?
    let kinds: [Kind]
    /// `nullable: true`, or `null` among the types.
    let isNullable: Bool
    /// The schema allows `null` and nothing else.
    let isNull: Bool
    /// `true` and `false` are schemas of their own.
    let boolean: Bool?
    let format: String?
    let contentEncoding: String?
    let contentMediaType: String?
    /// `enum`, or `const` as a list of one.
    let enumeration: [DocumentNode]?
    /// `x-extensible-enum`: values that are known today, of a type that has others as well.
    let isExtensible: Bool
    /// `x-enumDescriptions`: what the values of the enumeration mean.
    let valueDocumentation: [String: String]
    let properties: [Property]
    let required: [String]
    let additionalProperties: AdditionalProperties
    let items: Schema?
    let hasPrefixItems: Bool
    let allOf: [Schema]?
    let anyOf: [Schema]?
    let oneOf: [Schema]?
    let hasNot: Bool
    let discriminator: Discriminator?
    let documentation: String?
    let isDeprecated: Bool

    init(
        position: SourcePosition,
        reference: Reference? = nil,
        kinds: [Kind] = [],
        isNullable: Bool = false,
        isNull: Bool = false,
        boolean: Bool? = nil,
        format: String? = nil,
        contentEncoding: String? = nil,
        contentMediaType: String? = nil,
        enumeration: [DocumentNode]? = nil,
        isExtensible: Bool = false,
        valueDocumentation: [String: String] = [:],
        properties: [Property] = [],
        required: [String] = [],
        additionalProperties: AdditionalProperties = .unspecified,
        items: Schema? = nil,
        hasPrefixItems: Bool = false,
        allOf: [Schema]? = nil,
        anyOf: [Schema]? = nil,
        oneOf: [Schema]? = nil,
        hasNot: Bool = false,
        discriminator: Discriminator? = nil,
        documentation: String? = nil,
        isDeprecated: Bool = false
    ) {
        self.position = position
        self.reference = reference
        self.kinds = kinds
        self.isNullable = isNullable
        self.isNull = isNull
        self.boolean = boolean
        self.format = format
        self.contentEncoding = contentEncoding
        self.contentMediaType = contentMediaType
        self.enumeration = enumeration
        self.isExtensible = isExtensible
        self.valueDocumentation = valueDocumentation
        self.properties = properties
        self.required = required
        self.additionalProperties = additionalProperties
        self.items = items
        self.hasPrefixItems = hasPrefixItems
        self.allOf = allOf
        self.anyOf = anyOf
        self.oneOf = oneOf
        self.hasNot = hasNot
        self.discriminator = discriminator
        self.documentation = documentation
        self.isDeprecated = isDeprecated
    }

    /// Every schema that stands directly inside this one.
    var children: [Schema] {
        var result = properties.map(\.schema)
        if case .schema(let schema) = additionalProperties { result.append(schema) }
        if let items { result.append(items) }
        result += allOf ?? []
        result += anyOf ?? []
        result += oneOf ?? []
        return result
    }
}

/// A `$ref` and where it stands.
struct Reference: Hashable, Sendable {
    var text: String
    var position: SourcePosition

    /// The key of the component of a kind that this names, where it names one directly.
    func componentName(in kind: Components.Kind) -> String? {
        let prefix = "#/components/\(kind.rawValue)/"
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        let rest = text.utf8.dropFirst(prefix.utf8.count)
        guard !rest.contains(UInt8(ascii: "/")) else { return nil }
        return Reference.unescape(Substring(rest))
    }

    /// A JSON pointer's token as the text it stands for.
    static func unescape(_ token: Substring) -> String {
        guard token.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "%") }) else {
            return String(token)
        }
        var bytes: [UInt8] = []
        var iterator = token.utf8.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits: [UInt8] = [iterator.next(), iterator.next()].compactMap { $0 }
            if let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16), digits.count == 2 {
                bytes.append(value)
            } else {
                bytes.append(byte)
                bytes += digits
            }
        }
        var result: [UInt8] = []
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                switch byte {
                case UInt8(ascii: "1"): result.append(UInt8(ascii: "/"))
                case UInt8(ascii: "0"): result.append(UInt8(ascii: "~"))
                default: result.append(byte)
                }
                isEscaped = false
            } else if byte == UInt8(ascii: "~") {
                isEscaped = true
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

/// A value written inline, or the name of one written elsewhere.
enum Referenced<Value> {
    case inline(Value)
    case reference(Reference)
}

extension Referenced: Sendable where Value: Sendable {}
