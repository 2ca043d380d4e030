public import StreamingJSON

/// Reads an object for a type that keeps members for which it has no property (`unknownMembers` of the configuration).
///
/// Generated code asks the keeper for the next member, so its `switch` only sees the members that the type lists. The
/// type's table begins with the required members: a mistake in one of these is an error, and is never kept.
@_spi(Generated) public struct MemberKeeper {
    /// The members that are kept so far.
    public private(set) var members = JSONMembers()
    private let requiredCount: Int
    private let keepsMismatches: Bool
    /// The optional member that the type is reading: its index in the table, and where its value begins.
    private var current: (index: Int, start: JSONReader.Position)?

    /// Creates a keeper for one object.
    ///
    /// - Parameters:
    ///   - requiredCount: The number of required keys at the beginning of the table.
    ///   - keepsMismatches: Whether the value of an optional member is kept when it cannot be read.
    public init(requiredCount: Int, keepsMismatches: Bool = false) {
        self.requiredCount = requiredCount
        self.keepsMismatches = keepsMismatches
    }

    /// Moves to the next member that the table lists, and keeps the others.
    ///
    /// - Parameters:
    ///   - reader: The reader, inside of the object.
    ///   - keys: The table.
    /// - Returns: The member's index in the table; `nil` at the end of the object and after an error.
    public mutating func nextMember(of reader: inout JSONReader, in keys: JSONKeys) -> Int? {
        keepMismatch(of: &reader, in: keys)
        while let index = reader.nextMember(in: keys) {
            if index == JSONKeys.unknown {
                note(&reader) { (reader, members) throws(JSONError) in try members.keep(from: &reader) }
            } else if index < requiredCount {
                return index
            } else {
                if reader.isAtNull { members.noteNull(keys[index]) }
                if keepsMismatches { current = (index, reader.position) }
                return index
            }
        }
        return nil
    }

    /// Keeps all members of an object whose type lists none.
    public mutating func keepMembers(of reader: inout JSONReader) {
        while reader.nextMember() {
            note(&reader) { (reader, members) throws(JSONError) in try members.keep(from: &reader) }
        }
    }

    private mutating func keepMismatch(of reader: inout JSONReader, in keys: JSONKeys) {
        guard let (index, start) = current else { return }
        current = nil
        guard reader.failure != nil else { return }
        reader.failure = nil
        reader.rewind(to: start)
        note(&reader) { (reader, members) throws(JSONError) in members[keys[index]] = try reader.readRawValue() }
    }

    private mutating func note(
        _ reader: inout JSONReader,
        _ body: (inout JSONReader, inout JSONMembers) throws(JSONError) -> Void
    ) {
        do throws(JSONError) {
            try body(&reader, &members)
        } catch {
            reader.failure = error
        }
    }
}

extension JSONReader {
    /// Whether the next value is `null`.
    fileprivate var isAtNull: Bool {
        mutating get { (try? peekKind()) == .null }
    }
}
