/// Makes the boundaries of multipart bodies that are sent.
///
/// A boundary has 1 to 70 characters (letters, digits and `'()+_,-./:=?`), and must not occur in any part.
public protocol MultipartBoundaryGenerator: Sendable {
    /// Makes the boundary of one body.
    /// - Returns: A boundary.
    func makeBoundary() -> String
}

extension MultipartBoundaryGenerator where Self == ConstantMultipartBoundaryGenerator {
    /// A generator that always returns the same boundary, for tests that compare bytes.
    public static var constant: Self { ConstantMultipartBoundaryGenerator() }
}

extension MultipartBoundaryGenerator where Self == RandomMultipartBoundaryGenerator {
    /// A generator that returns a new boundary for each body.
    public static var random: Self { RandomMultipartBoundaryGenerator() }
}

/// A generator that always returns the same boundary, for tests that compare bytes.
public struct ConstantMultipartBoundaryGenerator: MultipartBoundaryGenerator {
    /// The boundary.
    public let boundary: String

    /// Creates a generator.
    /// - Parameter boundary: The boundary of every body.
    public init(boundary: String = "__X_SWIFT_OPENAPI_GENERATOR_BOUNDARY__") {
        self.boundary = boundary
    }

    /// Returns the boundary.
    /// - Returns: The boundary.
    public func makeBoundary() -> String {
        boundary
    }
}

/// A generator that returns a prefix and random digits, new for each body.
public struct RandomMultipartBoundaryGenerator: MultipartBoundaryGenerator {
    /// The beginning of every boundary.
    public let boundaryPrefix: String

    /// The number of digits after the prefix.
    public let randomNumberSuffixLength: Int

    /// Creates a generator.
    /// - Parameters:
    ///   - boundaryPrefix: The beginning of every boundary.
    ///   - randomNumberSuffixLength: The number of digits after the prefix; at most 70 together with the prefix.
    public init(boundaryPrefix: String = "__X_SWIFT_OPENAPI_", randomNumberSuffixLength: Int = 20) {
        self.boundaryPrefix = boundaryPrefix
        self.randomNumberSuffixLength = randomNumberSuffixLength
    }

    /// Makes a new boundary.
    /// - Returns: The prefix and ``randomNumberSuffixLength`` random digits.
    public func makeBoundary() -> String {
        var boundary = boundaryPrefix
        for _ in 0..<max(0, randomNumberSuffixLength) { boundary += String(Int.random(in: 0...9)) }
        return boundary
    }
}
