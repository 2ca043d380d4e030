/// The path of an operation as in the document: `/pets/{petId}/photos/{name}.{format}`.
struct PathTemplate {
    /// A part of a path between slashes.
    enum Segment: Equatable {
        /// Bytes that stand for themselves, percent-decoded.
        case literal([UInt8])

        /// Placeholders with bytes before, between and after them; there is one placeholder fewer than there are
        /// elements.
        case placeholders(around: [[UInt8]])
    }

    private(set) var segments: [Segment] = []

    /// The names of the placeholders, in order.
    private(set) var names: [String] = []

    init(_ text: String) throws(RouteError) {
        let path = text.hasPrefix("/") ? text.dropFirst() : text[...]
        // One slash at the end is ignored, in templates and in requests.
        let trimmed = path.hasSuffix("/") ? path.dropLast() : path
        guard !trimmed.isEmpty else { return }
        for part in trimmed.split(separator: "/", omittingEmptySubsequences: false) {
            segments.append(try segment(part, of: text))
        }
    }

    private mutating func segment(_ part: Substring, of text: String) throws(RouteError) -> Segment {
        guard part.contains("{") || part.contains("}") else {
            return .literal(PercentEncoding.decode(part.utf8))
        }
        var literals: [[UInt8]] = []
        var rest = part
        while let open = rest.firstIndex(of: "{") {
            let literal = rest[..<open]
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw .malformed(text, "a brace is not closed")
            }
            let name = String(rest[rest.index(after: open)..<close])
            guard !name.isEmpty, !name.contains("{") else { throw .malformed(text, "a placeholder has no proper name") }
            guard !names.contains(name) else { throw .malformed(text, "two placeholders have the name '\(name)'") }
            guard !literal.contains("}") else { throw .malformed(text, "a brace is not opened") }
            guard literals.isEmpty || !literal.isEmpty else {
                throw .malformed(text, "nothing separates the placeholder '\(name)' from the one before it")
            }
            literals.append(Array(literal.utf8))
            names.append(name)
            rest = rest[rest.index(after: close)...]
        }
        guard !rest.contains("}") else { throw .malformed(text, "a brace is not opened") }
        return .placeholders(around: literals + [Array(rest.utf8)])
    }
}

/// An error about a route that a server transport cannot register.
public struct RouteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with the route.
    public struct Code: ErrorCode {
        /// The name of the code.
        public let name: String

        /// The path is not a template: braces do not match, or placeholders touch.
        public static var malformedTemplate: Code { Code(name: #function) }

        /// There is a handler for this method and path already.
        public static var alreadyRegistered: Code { Code(name: #function) }
    }

    /// What is wrong with the route.
    public var code: Code

    /// A description for people.
    public var message: String

    /// Creates an error.
    /// - Parameters:
    ///   - code: What is wrong with the route.
    ///   - message: A description for people.
    public init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }

    fileprivate static func malformed(_ template: String, _ reason: String) -> RouteError {
        RouteError(code: .malformedTemplate, message: "The path '\(template)' cannot be routed: \(reason).")
    }
}
