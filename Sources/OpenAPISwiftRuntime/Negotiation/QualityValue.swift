/// How much a client wants a media type, from 0 to 1 in thousandths.
///
/// ```swift
/// let quality: QualityValue = 0.8
/// // accept: application/json; q=0.800
/// ```
public struct QualityValue: Sendable, Hashable {
    private let thousandths: UInt16

    /// Creates a quality.
    /// - Parameter doubleValue: A number from 0 to 1, rounded to thousandths. A smaller number becomes 0, a larger one
    ///   1.
    public init(doubleValue: Double) {
        thousandths = doubleValue >= 0 ? UInt16((min(doubleValue, 1) * 1000).rounded()) : 0
    }

    /// The quality as a number from 0 to 1.
    public var doubleValue: Double { Double(thousandths) / 1000 }

    /// Whether the quality is 1, the value that a header can leave out.
    public var isDefault: Bool { thousandths == 1000 }
}

extension QualityValue: RawRepresentable {
    /// Reads a quality.
    /// - Parameter rawValue: A number from 0 to 1; otherwise the result is nil.
    public init?(rawValue: String) {
        guard let number = Double(rawValue), 0...1 ~= number else { return nil }
        self.init(doubleValue: number)
    }

    /// The quality with three decimals: `0.800`.
    public var rawValue: String {
        let decimals = String(1000 + thousandths % 1000).dropFirst()
        return "\(thousandths / 1000).\(decimals)"
    }
}

extension QualityValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// Creates a quality of a literal, 0 or 1.
    public init(integerLiteral value: UInt16) {
        self.init(doubleValue: Double(value))
    }

    /// Creates a quality of a literal from 0.0 to 1.0.
    public init(floatLiteral value: Double) {
        self.init(doubleValue: value)
    }
}
