public import StreamingJSON

/// The name that a property has in JSON: the `CodingKeys` of generated types.
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
/// It is one type for all of them because an enumeration for each was measured to be a sixth of what generated types
/// cost the compiler. The compiler does not see that a `switch` over the keys names all of them, so that it needs a
/// `default`.
@frozen
public struct PropertyKey<Owner: JSONReadable>: CodingKey, RawRepresentable, Hashable {
    /// The key in JSON.
    public let rawValue: String

    /// Creates a key that the type is known to have.
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
