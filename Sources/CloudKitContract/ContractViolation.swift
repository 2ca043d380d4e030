/// A broken rule: what was asked, what the rule expects, what came.
public struct ContractViolation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule, its sentence.
    public var rule: String
    /// The request: method, path and body. It holds no credentials.
    public var request: String
    /// What the rule expects.
    public var expected: String
    /// The reply: status and body.
    public var got: String
    /// The first place where the two differ, and how.
    public var difference: String

    /// All of it, over several lines.
    public var description: String {
        """
        \(rule)
          difference: \(difference)
          request:    \(request)
          expected:   \(expected)
          got:        \(got)
        """
    }
}
