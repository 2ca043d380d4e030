/// A box that holds a value out of line, so that a struct can contain itself.
///
/// The box is immutable. Setting a property of the struct creates a new box, so the struct has value semantics.
@_spi(Generated) public final class IndirectValue<Value: Sendable>: Sendable {
    /// The value in the box.
    public let value: Value

    /// Holds a value.
    public init(_ value: Value) {
        self.value = value
    }
}

extension IndirectValue: Equatable where Value: Equatable {
    /// Whether both hold equal values.
    public static func == (left: IndirectValue, right: IndirectValue) -> Bool {
        left === right || left.value == right.value
    }
}

extension IndirectValue: Hashable where Value: Hashable {
    /// Feeds the value to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}
