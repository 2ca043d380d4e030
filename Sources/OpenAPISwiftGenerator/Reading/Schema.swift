/// A schema of the document, in the terms that OpenAPI 3.0, 3.1 and 3.2 share.
///
/// A schema contains schemas, so its keywords are in a box. Nothing changes them after they were read. The keywords are
/// properties of the schema: `schema.format`.
@dynamicMemberLookup
struct Schema: Sendable {
    /// The types that `type` can name, except `null`.
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

    /// Which members an object may have in addition to its properties.
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

    /// What a schema says. To add a keyword, add a property with the value of schemas without the keyword, and read it
    /// in ``DocumentReader``.
    struct Keywords: Sendable {
        var position: SourcePosition
        var reference: Reference?
        var kinds: [Kind] = []
        /// `nullable: true`, or `null` among the types.
        var isNullable = false
        /// The schema allows `null` and nothing else.
        var isNull = false
        /// The value of a schema that is `true` or `false` instead of an object.
        var boolean: Bool?
        var format: String?
        var contentEncoding: String?
        var contentMediaType: String?
        /// The values of `enum` or of `x-extensible-enum`, or `const` as a list of one value.
        var enumeration: [DocumentNode]?
        /// Whether ``enumeration`` comes from `x-extensible-enum`: the values are known today, and others can follow.
        var isExtensible = false
        /// `x-enumDescriptions`: the meaning of each value of the enumeration.
        var valueDocumentation: [String: String] = [:]
        var properties: [Property] = []
        var required: [String] = []
        var additionalProperties: AdditionalProperties = .unspecified
        var items: Schema?
        var hasPrefixItems = false
        var allOf: [Schema]?
        var anyOf: [Schema]?
        var oneOf: [Schema]?
        var hasNot = false
        var discriminator: Discriminator?
        var documentation: String?
        var isDeprecated = false
    }

    private final class Box: Sendable {
        let keywords: Keywords
        /// The names of the required members, to find one.
        let requiredNames: Set<ExactText>

        init(_ keywords: Keywords) {
            self.keywords = keywords
            requiredNames = Set(keywords.required.map(ExactText.init))
        }
    }

    private let box: Box

    init(_ keywords: Keywords) {
        box = Box(keywords)
    }

    subscript<Value>(dynamicMember keyword: KeyPath<Keywords, Value>) -> Value {
        box.keywords[keyPath: keyword]
    }

    /// Whether this is the other schema itself, and not only an equal one.
    func isSame(as other: Schema) -> Bool { box === other.box }

    /// Whether a member is required.
    func requires(_ name: String) -> Bool {
        box.requiredNames.contains(ExactText(name))
    }

    /// Every schema directly inside of this one.
    var children: [Schema] {
        let keywords = box.keywords
        var result = keywords.properties.map(\.schema)
        if case .schema(let schema) = keywords.additionalProperties { result.append(schema) }
        if let items = keywords.items { result.append(items) }
        result += keywords.allOf ?? []
        result += keywords.anyOf ?? []
        result += keywords.oneOf ?? []
        return result
    }
}
