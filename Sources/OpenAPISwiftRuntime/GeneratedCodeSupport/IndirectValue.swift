/// Holds a value out of line, so that a struct can contain itself.
///
/// Values are immutable inside; setting a property makes a new one, which gives the struct value semantics.
@_spi(Generated) public final class IndirectValue<Value: Sendable>: Sendable {
    /// What is held.
    public let value: Value

    /// Holds a value.
    public init(_ value: Value) {
        self.value = value
    }
}
