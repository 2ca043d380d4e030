/// A code that says what went wrong.
///
/// The codes of an error are static members of a structure, not cases of an enumeration. So a new code breaks no
/// `switch` of a program.
public protocol ErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, which is the name of the static member.
    var name: String { get }
}

extension ErrorCode {
    /// The name of the code.
    public var description: String { name }
}
