import HTTPTypes

/// Which parts a multipart body may have, and how often.
@_spi(Generated) public struct MultipartRequirements: Sendable {
    /// How often a part may occur.
    public enum Occurrence: Sendable {
        /// A required part of one value.
        case exactlyOnce
        /// An optional part of one value.
        case atMostOnce
        /// A required part of several values.
        case atLeastOnce
        /// An optional part of several values.
        case anyNumber
    }

    fileprivate let parts: [(name: String, occurrence: Occurrence)]
    fileprivate let allowsOtherParts: Bool

    /// Creates requirements of the parts that the document names.
    public init(_ parts: [(name: String, occurrence: Occurrence)] = [], allowsOtherParts: Bool = true) {
        self.parts = parts
        self.allowsOtherParts = allowsOtherParts
    }
}

/// Checks the parts of a body, as they are read or written, against the requirements.
struct SeenParts {
    private let requirements: MultipartRequirements

    /// The number of occurrences of each part that the document names.
    private var counts: [Int]

    private var isFinished = false

    init(by requirements: MultipartRequirements) {
        self.requirements = requirements
        counts = Array(repeating: 0, count: requirements.parts.count)
    }

    /// Counts a part, and throws if the requirements do not allow it.
    mutating func add(_ part: MultipartRawPart) throws(MultipartError) {
        let name = part.name
        if name == nil, let text = part.headerFields[.contentDisposition], ParameterizedValue(parsing: text) == nil {
            throw MultipartError(
                code: .malformedHeader,
                message: "The content-disposition of a part cannot be read: \(text.debugDescription)"
            )
        }
        guard let index = requirements.parts.firstIndex(where: { $0.name == name }) else {
            if requirements.allowsOtherParts { return }
            let known = requirements.parts.map(\.name.debugDescription).joined(separator: ", ")
            throw MultipartError(
                code: .unexpectedPart,
                message:
                    "A part \(name.map { "with the name \($0.debugDescription)" } ?? "without a name") is not allowed; "
                    + "the document names \(known)."
            )
        }
        counts[index] += 1
        switch requirements.parts[index].occurrence {
        case .exactlyOnce, .atMostOnce:
            if counts[index] > 1 {
                throw MultipartError(
                    code: .repeatedPart,
                    message:
                        "The part \(requirements.parts[index].name.debugDescription) is there again, the document allows one."
                )
            }
        case .atLeastOnce, .anyNumber: break
        }
    }

    /// Throws if a required part is missing at the end of the body.
    mutating func finish() throws(MultipartError) {
        guard !isFinished else { return }
        isFinished = true
        let missing = zip(requirements.parts, counts).compactMap { part, count -> String? in
            switch part.occurrence {
            case .exactlyOnce, .atLeastOnce: count == 0 ? part.name.debugDescription : nil
            case .atMostOnce, .anyNumber: nil
            }
        }
        guard missing.isEmpty else {
            throw MultipartError(
                code: .missingPart,
                message: "The body ends without what the document requires: \(missing.joined(separator: ", "))."
            )
        }
    }
}
