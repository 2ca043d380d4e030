/// A schema of the document, in the terms that OpenAPI 3.0, 3.1 and 3.2 share.
///
/// It is a class because schemas contain schemas. It is immutable, so it still behaves like a value.
final class Schema: Sendable {
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

    let position: SourcePosition
    let reference: Reference?
    let kinds: [Kind]
    /// `nullable: true`, or `null` among the types.
    let isNullable: Bool
    /// The schema allows `null` and nothing else.
    let isNull: Bool
    /// The value of a schema that is `true` or `false` instead of an object.
    let boolean: Bool?
    let format: String?
    let contentEncoding: String?
    let contentMediaType: String?
    /// The values of `enum` or of `x-extensible-enum`, or `const` as a list of one value.
    let enumeration: [DocumentNode]?
    /// Whether ``enumeration`` comes from `x-extensible-enum`: the values are known today, and others can follow.
    let isExtensible: Bool
    /// `x-enumDescriptions`: the meaning of each value of the enumeration.
    let valueDocumentation: [String: String]
    let properties: [Property]
    let required: [String]
    /// The names of the required members, to find one.
    private let requiredNames: Set<ExactText>
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
        requiredNames = Set(required.map(ExactText.init))
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

    /// Whether a member is required.
    func requires(_ name: String) -> Bool {
        requiredNames.contains(ExactText(name))
    }

    /// Every schema directly inside of this one.
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
