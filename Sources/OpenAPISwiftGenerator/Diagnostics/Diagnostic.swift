/// A message of the generator about a document: an error that stopped it, a part it left out, or a fact worth knowing.
public struct Diagnostic: Error, Hashable, Sendable {
    /// How serious a diagnostic is.
    public enum Severity: String, Hashable, Sendable, CaseIterable {
        /// Something worth knowing; nothing is missing from the output.
        case note
        /// A part of the document has no counterpart in the output.
        case warning
        /// The run ended without output.
        case error
    }

    /// How serious this diagnostic is.
    public var severity: Severity
    /// What was found, in one line.
    public var message: String
    /// Where in the document, when the diagnostic is about one position.
    public var location: SourceLocation?
    /// What the author of the document can do about it.
    public var remedy: String?
    /// Further facts by name, for instance the Swift declaration that is affected.
    public var context: [String: String]

    /// Creates a diagnostic.
    public init(
        severity: Severity,
        message: String,
        location: SourceLocation? = nil,
        remedy: String? = nil,
        context: [String: String] = [:]
    ) {
        self.severity = severity
        self.message = message
        self.location = location
        self.remedy = remedy
        self.context = context
    }
}

extension Diagnostic: CustomStringConvertible {
    /// `file:line:column: severity: message [context: k=v] (remedy)`, in one line.
    public var description: String {
        var text = ""
        if let location {
            text += "\(location): "
        }
        text += "\(severity.rawValue): \(message)"
        if !context.isEmpty {
            let pairs = context.keys.sorted().map { "\($0)=\(context[$0] ?? "")" }
            text += " [context: \(pairs.joined(separator: ", "))]"
        }
        if let remedy {
            text += " (\(remedy))"
        }
        return text
    }
}

/// A position in a document.
public struct SourceLocation: Hashable, Sendable {
    /// The document, as it was named to the generator.
    public var file: String
    /// The line, counted from one.
    public var line: Int
    /// The column in Unicode scalars, counted from one.
    public var column: Int

    /// Creates a location.
    public init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }
}

extension SourceLocation: CustomStringConvertible {
    /// `file:line:column`.
    public var description: String { "\(file):\(line):\(column)" }
}

/// Collects the diagnostics of all stages of a run.
///
/// A run creates one collector and passes it to each stage.
final class Diagnostics {
    /// The texts of the documents, which turn positions into lines and columns.
    private var sources: SourceTexts
    /// The diagnostics so far, in order and without repetition.
    private(set) var all: [Diagnostic] = []
    private(set) var hasErrors = false
    /// Why references could not be followed, by their positions.
    private var brokenReferences: [SourcePosition: Diagnostic] = [:]
    private var seen: Set<Diagnostic> = []

    init(source: SourceText) {
        sources = SourceTexts(source)
    }

    /// The document that the run began with.
    var mainSource: SourceText { sources.all[0] }

    /// Adds a document that a reference leads to.
    func addSource(name: String, bytes: [UInt8]) -> SourceText {
        sources.add(name: name, bytes: bytes)
    }

    /// Adds a warning: a part of the document is left out.
    func warn(
        _ message: String,
        at position: SourcePosition?,
        remedy: String? = nil,
        foundIn: String? = nil
    ) {
        add(.warning, message, at: position, remedy: remedy, foundIn: foundIn)
    }

    /// Adds a note: a fact that changes nothing in the output.
    func note(
        _ message: String,
        at position: SourcePosition?,
        remedy: String? = nil,
        foundIn: String? = nil
    ) {
        add(.note, message, at: position, remedy: remedy, foundIn: foundIn)
    }

    /// File, line and column of a position.
    func location(of position: SourcePosition) -> SourceLocation {
        sources.rememberedLocation(of: position)
    }

    /// Adds a warning about a setting.
    func warn(_ message: String, at location: SourceLocation?, remedy: String? = nil) {
        let diagnostic = Diagnostic(severity: .warning, message: message, location: location, remedy: remedy)
        if seen.insert(diagnostic).inserted { all.append(diagnostic) }
    }

    /// Creates an error for the caller to throw.
    func error(_ message: String, at position: SourcePosition?, remedy: String? = nil) -> Diagnostic {
        Diagnostic(
            severity: .error,
            message: message,
            location: position.map { sources.location(of: $0) },
            remedy: remedy
        )
    }

    /// Adds an error without throwing it, so that one run can report several.
    func report(_ error: Diagnostic) {
        hasErrors = true
        if seen.insert(error).inserted {
            all.append(error)
        }
    }

    /// Keeps the reason why a reference cannot be followed. The reason becomes an error when a later stage needs the
    /// reference.
    func keep(_ failure: Diagnostic, ofReferenceAt position: SourcePosition) {
        if brokenReferences[position] == nil { brokenReferences[position] = failure }
    }

    /// Why a reference cannot be followed: the reason that an earlier stage kept, or else an error with the given
    /// message.
    func failure(ofReferenceAt position: SourcePosition, _ message: String, remedy: String? = nil) -> Diagnostic {
        brokenReferences[position] ?? error(message, at: position, remedy: remedy)
    }

    private func add(
        _ severity: Diagnostic.Severity,
        _ message: String,
        at position: SourcePosition?,
        remedy: String?,
        foundIn: String?
    ) {
        let diagnostic = Diagnostic(
            severity: severity,
            message: message,
            location: position.map { sources.rememberedLocation(of: $0) },
            remedy: remedy,
            context: foundIn.map { ["foundIn": $0] } ?? [:]
        )
        if seen.insert(diagnostic).inserted {
            all.append(diagnostic)
        }
    }
}
