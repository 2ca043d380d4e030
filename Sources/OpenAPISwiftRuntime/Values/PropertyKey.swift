public import StreamingJSON

/// The name of a property in JSON: the `CodingKeys` of generated types.
///
/// Every generated struct with properties, and every choice with a discriminator, has this type under the name
/// `CodingKeys`, with a static member for each key:
///
/// ```swift
/// public typealias CodingKeys = OpenAPISwiftRuntime.PropertyKey<Self>
/// // Components.Schemas.Cat.CodingKeys.coatColor.rawValue == "coat_color"
/// // Components.Schemas.Cat.CodingKeys(rawValue: "wings") == nil
/// ```
///
/// All generated types share this generic type. In a measurement, an enumeration for each type took a sixth of the
/// compiler's time for generated types. A `switch` over the keys needs a `default`, because the compiler does not know
/// all keys.
@frozen
public struct PropertyKey<Owner: JSONReadable>: CodingKey, RawRepresentable, Hashable {
    /// The key in JSON.
    public let rawValue: String

    /// Creates a key without checking that the type has it.
    @inlinable
    @_spi(Generated) public init(_ name: String) {
        rawValue = name
    }

    /// Creates one of the type's keys.
    ///
    /// - Parameter rawValue: The key in JSON; the result is `nil` for one that the type does not have.
    public init?(rawValue: String) {
        guard let keys = JSONReader.keys(of: Owner.self), keys.contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// The key in JSON.
    public var stringValue: String { rawValue }

    /// Creates one of the type's keys.
    ///
    /// - Parameter stringValue: The key in JSON; the result is `nil` for one that the type does not have.
    public init?(stringValue: String) {
        self.init(rawValue: stringValue)
    }

    /// Always `nil`: keys are text.
    public var intValue: Int? { nil }

    /// Always `nil`: keys are text.
    public init?(intValue: Int) {
        nil
    }
}
