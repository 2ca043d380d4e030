import CloudKitContract
import CloudKitEmulator
import CloudKitModel
import MistTesting
import OpenAPISwiftRuntime

extension RunningEmulator {
    /// This emulator as the target of the contract suite, with everything that rules can require: two users and a key.
    ///
    /// - Parameter transport: The transport of the requests, or `nil` for the emulator's own transport.
    /// - Returns: The target. Each call creates another second user.
    /// - Throws: An `EmulatorError` if the storage fails.
    func contractTarget(through transport: (any ClientTransport)? = nil) throws -> ContractTarget {
        let emailAddress = "tom-\(rules.identifiers.uuid())@example.com"
        let secondUser = try rules.createUser(
            NameComponents(givenName: "Tom", familyName: "Clark"),
            emailAddress: emailAddress
        )
        var target = ContractTarget(
            serverURL: serverURL,
            transport: transport ?? self.transport,
            containerIdentifier: containerIdentifier,
            environment: environment.rawValue,
            apiToken: apiToken
        )
        target.user = ContractTarget.User(webAuthToken: webAuthToken, emailAddress: "mei@example.com")
        target.secondUser = ContractTarget.User(
            webAuthToken: try rules.issueWebAuthToken(for: secondUser, container: containerIdentifier),
            emailAddress: emailAddress
        )
        if environment == .development {
            target.production = ContractTarget.Production(
                apiToken: try rules.registerAPIToken(for: containerIdentifier, in: .production),
                webAuthToken: webAuthToken
            )
        }
        target.serverKey = ContractTarget.ServerKey(keyID: serverKeyID, privateKeyPEM: serverKeyPEM)
        return target
    }
}
