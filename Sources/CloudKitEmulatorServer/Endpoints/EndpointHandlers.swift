import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices

/// The operations of the document, answered by an emulator's rules.
///
/// Each handler passes the parts of a request to a rule, which is a method of the request's context, and returns the
/// parts of the reply. It decides nothing. ``RequestFailure`` turns the errors of the rules into responses.
struct EndpointHandlers: ContextualAPIProtocol {}

extension DatabaseAddress {
    /// The database that a path names; the public database for paths below `/device`, which name none. `nil` where a
    /// part of the path is not valid.
    init?(_ parameters: [String: Substring]) {
        guard
            let environment = ContainerEnvironment(rawValue: String(parameters["environment"] ?? "")),
            let scope = DatabaseScope(rawValue: String(parameters["database"] ?? "public"))
        else { return nil }
        self.init(String(parameters["container"] ?? ""), environment, scope)
    }
}
