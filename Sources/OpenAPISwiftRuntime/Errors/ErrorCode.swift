/// What went wrong, as the code of an error says it.
///
/// The codes of an error are static members of a structure in place of the cases of an enumeration: a new one breaks no
/// `switch` of a program.
public protocol ErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, which is the name of the static member.
    var name: String { get }
}

extension ErrorCode {
    /// The name of the code.
    public var description: String { name }
}
