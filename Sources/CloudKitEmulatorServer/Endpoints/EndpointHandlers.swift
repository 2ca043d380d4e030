import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices

/// The operations of the document, answered by an emulator's rules.
///
/// Each handler passes a request's parts to the rules, which are the methods of the request's context, and the reply's parts back. It
/// decides nothing. What the rules throw becomes a response in ``RequestFailure``.
struct EndpointHandlers: ContextualAPIProtocol {}

extension DatabaseAddress {
    /// The database that a path names; the public one for paths below `/device`, which name none. `nil` where a part of the path is not
    /// valid.
    init?(_ parameters: [String: Substring]) {
        guard
            let environment = ContainerEnvironment(rawValue: String(parameters["environment"] ?? "")),
            let scope = DatabaseScope(rawValue: String(parameters["database"] ?? "public"))
        else { return nil }
        self.init(String(parameters["container"] ?? ""), environment, scope)
    }
}
