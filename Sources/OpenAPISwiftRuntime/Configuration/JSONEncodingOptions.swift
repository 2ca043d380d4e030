/// How JSON bodies are laid out.
public struct JSONEncodingOptions: OptionSet, Sendable {
    /// The options as bits.
    public let rawValue: UInt

    /// Creates options of bits.
    /// - Parameter rawValue: The options as bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Lines and indentation of two spaces.
    public static let prettyPrinted = JSONEncodingOptions(rawValue: 1 << 0)

    /// Keys in the order of their code points.
    public static let sortedKeys = JSONEncodingOptions(rawValue: 1 << 1)

    /// `/` instead of `\/`.
    public static let withoutEscapingSlashes = JSONEncodingOptions(rawValue: 1 << 2)
}
