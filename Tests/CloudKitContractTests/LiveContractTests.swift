import CloudKitContract
import OpenAPISwiftAsyncHTTPClient
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The real service keeps the contract, as far as its rules are settled. The suite runs only if credentials are given
/// for this purpose:
///
/// | variable                                 | value                                                    |
/// | ---------------------------------------- | -------------------------------------------------------- |
/// | `MISTKIT_CONTRACT_CONTAINER`             | a container whose development environment is expendable |
/// | `MISTKIT_CONTRACT_API_TOKEN`             | an API token of the container                            |
/// | `MISTKIT_CONTRACT_WEB_AUTH_TOKEN`        | a web token, for rules that need a user                  |
/// | `MISTKIT_CONTRACT_SECOND_WEB_AUTH_TOKEN` | a web token of another user                              |
/// | `MISTKIT_CONTRACT_KEY_ID`                | a server-to-server key                                   |
/// | `MISTKIT_CONTRACT_KEY`                   | its private half, PEM                                    |
/// | `MISTKIT_CONTRACT_URL`                   | another address than Apple's                             |
///
/// The container needs the record types of ``CloudKitContract/schema``.
struct LiveContractTests {
    @Test(
        .enabled(if: liveTarget != nil, "MISTKIT_CONTRACT_CONTAINER and MISTKIT_CONTRACT_API_TOKEN are not set"),
        .serialized,
        arguments: settledRules
    )
    func serviceKeepsTheContract(rule: ContractRule) async throws {
        try await rule.verify(against: #require(liveTarget))
    }
}

private let settledRules = CloudKitContract.rules.filter { rule in
    rule.isSettled && liveTarget.map(rule.isMet(by:)) ?? true
}

private let liveTarget: ContractTarget? = {
    func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["MISTKIT_CONTRACT_\(name)"]
    }
    guard
        let container = variable("CONTAINER"),
        let apiToken = variable("API_TOKEN"),
        let serverURL = URL(string: variable("URL") ?? "https://api.apple-cloudkit.com")
    else { return nil }
    var target = ContractTarget(
        serverURL: serverURL,
        transport: AsyncHTTPClientTransport(),
        containerIdentifier: container,
        apiToken: apiToken
    )
    target.user = variable("WEB_AUTH_TOKEN").map { ContractTarget.User(webAuthToken: $0) }
    target.secondUser = variable("SECOND_WEB_AUTH_TOKEN").map { ContractTarget.User(webAuthToken: $0) }
    if let keyID = variable("KEY_ID"), let key = variable("KEY") {
        target.serverKey = ContractTarget.ServerKey(keyID: keyID, privateKeyPEM: key)
    }
    target.hasOpenSchema = false
    target.indexDelay = .seconds(5)
    target.comparesReasons = false
    return target
}()
