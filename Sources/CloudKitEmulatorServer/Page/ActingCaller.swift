import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import HTTPTypes

extension CloudKitEmulatorServer {
    /// The caller whom the field `X-MistKit-Act-As` names.
    ///
    /// The field counts with a session of the page, or with the secret of the administration.
    ///
    /// - Throws: `AUTHENTICATION_FAILED` without either, and for a user who does not exist; `ACCESS_DENIED` for a write
    ///   where the page only reads.
    func caller(actingAs identity: String, in request: HTTPRequest, at route: ServerRoutes.Match) throws -> Caller {
        let page = configuration.page
        let isPage = page?.access.isOpen(for: request) == true
        let isProgram = configuration.administration?.secret.isCarried(by: request.headerFields[.authorization]) == true
        guard isPage || isProgram else {
            throw EmulatorError(
                .authenticationFailed,
                "X-MistKit-Act-As needs the session of the console's page, or the secret of the emulator's start"
            )
        }
        if isPage, page?.isReadOnly == true, !route.onlyReads {
            throw EmulatorError(.accessDenied, "the console was started with --read-only")
        }
        switch identity {
        case "nobody": return .anonymous
        case "server": return .serverKey(keyID: Self.consoleKeyID)
        case "user":
            guard let user = page?.profileUser else { break }
            return .user(user)
        default:
            if try emulator.userExists(identity) { return .user(identity) }
        }
        throw EmulatorError(.authenticationFailed, "there is no user '\(identity.prefix(255))' to act as")
    }

    /// Who sends a request, as its credentials say, without a check of them.
    func identity(of request: HTTPRequest) -> FaultRule.Identity {
        if let value = request.headerFields[.actAs] {
            return FaultRule.Identity(value == "user" ? configuration.page?.profileUser ?? value : value)
        }
        let credentials = Credentials(of: request, body: [])
        if credentials.signature != nil { return .server }
        return credentials.webAuthToken.flatMap { emulator.userRecordName(ofWebAuthToken: $0) }.map { .user($0) }
            ?? .nobody
    }

    /// The ID of the key with which the page acts as a server. No client can sign with it.
    private static let consoleKeyID = "mistkit-console"
}

extension ServerRoutes.Match {
    /// Whether the request changes nothing. An operation that is not known to read counts as a write.
    var onlyReads: Bool {
        guard case .operation(let operation) = destination else { return false }
        return PageRequests.readingPaths.contains { operation.path.hasSuffix($0) }
    }
}

/// What the console's page may ask of CloudKit Web Services.
package enum PageRequests {
    /// The ends of the paths whose requests change nothing, whatever their method.
    package static let readingPaths = [
        "/records/query", "/records/lookup", "/records/changes", "/records/resolve", "/zones/list", "/zones/lookup",
        "/zones/changes", "/changes/database", "/changes/zone", "/subscriptions/list", "/subscriptions/lookup",
        "/users/caller", "/users/current", "/users/discover", "/users/lookup/email", "/users/lookup/id",
        "/users/lookup/contacts",
    ]
}
