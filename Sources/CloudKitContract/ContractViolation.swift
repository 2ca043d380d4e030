/// A broken rule, with the request, the expected reply and the actual reply.
public struct ContractViolation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence of the rule.
    public var rule: String
    /// The request: method, path and body. It holds no credentials.
    public var request: String
    /// The reply that the rule expects.
    public var expected: String
    /// The reply: status and body.
    public var got: String
    /// The first difference between the two, with its path in the body.
    public var difference: String

    /// All properties, on several lines.
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
