#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The value of a placeholder in a server's address.
@_spi(Generated) public struct ServerVariable: Sendable {
    var name: String
    var value: String
    var allowedValues: [String]?

    /// Creates a value.
    public init(name: String, value: String, allowedValues: [String]? = nil) {
        self.name = name
        self.value = value
        self.allowedValues = allowedValues
    }
}

extension URL {
    /// Creates the address of a server from a template.
    @_spi(Generated) public init(
        validatingOpenAPIServerURL template: String,
        variables: [ServerVariable]
    ) throws {
        var text = template
        for variable in variables {
            if let allowed = variable.allowedValues, !allowed.contains(variable.value) {
                throw InvalidServerURLError(text: "\(template) with \(variable.name)=\(variable.value)")
            }
            text = text.split(separator: "{\(variable.name)}", omittingEmptySubsequences: false)
                .joined(separator: variable.value)
        }
        try self.init(validatingOpenAPIServerURL: text)
    }
}
