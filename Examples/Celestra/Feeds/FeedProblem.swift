/// A mistake in a feed, and what the parser did about it.
public struct FeedProblem: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of mistakes.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The feed names an encoding that this machine does not know. It was read as UTF-8, stray bytes as
        /// Windows-1252.
        case unknownEncoding
        /// The bytes are not in the encoding that the feed or its Content-Type names. They were read in another
        /// encoding.
        case encodingMismatch
        /// Some bytes are not valid in the encoding. They became replacement characters or characters of Windows-1252.
        case undecodableBytes
        /// There was text before the root element or after its end. It was removed.
        case textOutsideRoot
        /// An ampersand did not begin a reference. It was escaped.
        case strayAmpersand
        /// The feed refers to an entity that it does not define. Entities of HTML were replaced; others became text.
        case undefinedEntity
        /// A reference names a character that XML does not allow. It was removed.
        case invalidCharacterReference
        /// An angle bracket did not begin a tag. It was escaped.
        case strayAngleBracket
        /// A tag was not written correctly. It was rewritten or removed.
        case malformedTag
        /// A tag had the same attribute twice. The first one was kept.
        case duplicateAttribute
        /// An element was not closed. It was closed where its parent, or the next element, required it.
        case unclosedElement
        /// An end tag had no start tag. It was removed.
        case unmatchedEndTag
        /// A comment or a CDATA section was not closed.
        case unclosedSection
        /// A control character that XML does not allow was removed.
        case controlCharacter
        /// Elements were nested too deeply. The tags of the innermost ones were removed.
        case tooDeep
        /// The document ended early. Its open elements were closed.
        case truncated
        /// A prefix has no namespace. Common prefixes were given their usual one.
        case undeclaredPrefix
        /// The JSON was not standard: comments, trailing commas, single quotes.
        case nonstandardJSON
        /// A date could not be read. The feed or the item has no value for this date.
        case unreadableDate
    }

    /// The kind of the mistake.
    public let kind: Kind

    /// The number of occurrences.
    public let count: Int

    /// The line of the first occurrence, counted from 1, or `nil` where it is not known.
    public let line: Int?

    /// What was found at the first occurrence, for instance the name of the entity.
    public let detail: String

    /// The kind, what was found, how often, and the first line.
    public var description: String {
        var text = "\(kind.rawValue): \(detail)"
        if count > 1 { text += " (\(count) times)" }
        if let line { text += " (line \(line))" }
        return text
    }
}

/// Collects problems, one entry for each kind.
struct ProblemLog {
    private var entries: [FeedProblem] = []

    /// The problems in the order of their first occurrence.
    var problems: [FeedProblem] { entries }

    /// Whether a problem of the kind was added.
    func contains(_ kind: FeedProblem.Kind) -> Bool {
        entries.contains { $0.kind == kind }
    }

    /// Adds an occurrence. `line` and `detail` are kept for the first one only.
    mutating func add(_ kind: FeedProblem.Kind, line: Int? = nil, _ detail: @autoclosure () -> String) {
        guard let index = entries.firstIndex(where: { $0.kind == kind }) else {
            entries.append(FeedProblem(kind: kind, count: 1, line: line, detail: detail()))
            return
        }
        let entry = entries[index]
        entries[index] = FeedProblem(kind: kind, count: entry.count + 1, line: entry.line, detail: entry.detail)
    }
}
