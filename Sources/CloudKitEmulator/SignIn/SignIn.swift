public import CloudKitModel
import Crypto
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where the web token of a person goes once the person signed in; chosen in the console with the API token.
public enum SignInCallback: Hashable, Sendable {
    /// The page posts a message to the window that opened it.
    case postMessage
    /// The browser is sent to this address, with the token in the query.
    case redirect(to: String)
}

/// Somebody wants to sign in: what the address of a sign-in page stands for.
public struct SignInRequest: Hashable, Sendable {
    /// The container that the person will use.
    public var container: String
    /// The environment that the person will use: the one of the API token.
    public var environment: ContainerEnvironment
    /// Where the token goes.
    public var callback: SignInCallback
}

/// A person whom the sign-in page offers.
public struct SignInCandidate: Hashable, Sendable {
    /// The user record name.
    public var userRecordName: String
    /// The given name, where it is known.
    public var givenName: String?
    /// The family name, where it is known.
    public var familyName: String?
    /// The address of the account, where it is known.
    public var emailAddress: String?
}

extension CloudKitEmulator {
    /// How long the address of a sign-in page is good, in seconds. CloudKit JS asks for a new one every 840.
    static let signInLifetime: Int64 = 15 * 60

    /// Chooses where the web tokens go of people who sign in with an API token.
    ///
    /// - Parameters:
    ///   - callback: Where they go; for tokens that nothing was chosen for, ``SignInCallback/postMessage``.
    ///   - token: The API token.
    ///   - container: The container of the token.
    /// - Throws: An ``EmulatorError``: a `BAD_REQUEST` for an address that is none.
    public func setSignInCallback(
        _ callback: SignInCallback,
        ofAPIToken token: String,
        for container: String
    ) throws {
        var address: String?
        if case .redirect(let text) = callback {
            guard let url = URL(string: text), url.scheme != nil, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else {
                throw EmulatorError.badRequest(
                    "a sign-in callback is an address such as http://localhost:8080/signed-in"
                )
            }
            address = text
        }
        try write { db in
            try db.execute(
                sql: "DELETE FROM sign_in_address WHERE token = ? AND container = ?",
                arguments: [token, container]
            )
            guard let address else { return }
            try db.execute(
                sql: "INSERT INTO sign_in_address VALUES (?, ?, ?)",
                arguments: [token, container, address]
            )
        }
    }

    /// Makes what the address of a sign-in page carries, as `oauth_token` does in the service's own addresses.
    ///
    /// It does not hold the API token, and it is good for 15 minutes.
    ///
    /// - Parameters:
    ///   - apiToken: The API token of the request that needs a person.
    ///   - container: The container of that request.
    ///   - environment: The environment of that request.
    /// - Returns: Letters, digits, `-` and `_`.
    public func makeSignInTicket(
        apiToken: String,
        for container: String,
        in environment: ContainerEnvironment
    ) -> String {
        let expires = now + Self.signInLifetime * 1000
        let bytes =
            (0..<8).map { UInt8(truncatingIfNeeded: expires >> (56 - 8 * $0)) }
            + SHA256.hash(data: Array(apiToken.utf8)).prefix(16)
            + Array("\(environment.rawValue)/\(container)".utf8)
        return base64URL(bytes + webTokenKey.code(ofTicket: bytes))
    }

    /// Reads what the address of a sign-in page carries.
    ///
    /// - Parameter ticket: What ``makeSignInTicket(apiToken:for:in:)`` made.
    /// - Returns: Who wants to know; `nil` for a ticket that is too old or was not made here.
    /// - Throws: An ``EmulatorError``: an `INTERNAL_ERROR` when the storage fails.
    public func signInRequest(ofTicket ticket: String) throws -> SignInRequest? {
        guard let bytes = bytes(ofBase64URL: ticket), bytes.count > 8 + 16 + 32 else { return nil }
        let facts = Array(bytes.dropLast(32))
        guard webTokenKey.isCode(Array(bytes.suffix(32)), ofTicket: facts) else { return nil }
        guard facts.prefix(8).reduce(0, { $0 << 8 | Int64($1) }) > now else { return nil }
        let address = String(decoding: facts.dropFirst(24), as: UTF8.self)
            .split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard address.count == 2, let environment = ContainerEnvironment(rawValue: String(address[0])) else {
            return nil
        }
        let container = String(address[1])
        let addresses = try read { db in
            try Row.fetchAll(
                db,
                sql: "SELECT token, url FROM sign_in_address WHERE container = ?",
                arguments: [container]
            ).map { row -> (token: String, url: String) in (row[0], row[1]) }
        }
        let chosen = addresses.first { SHA256.hash(data: Array($0.token.utf8)).prefix(16).elementsEqual(facts[8..<24]) }
        return SignInRequest(
            container: container,
            environment: environment,
            callback: chosen.map { .redirect(to: $0.url) } ?? .postMessage
        )
    }

    /// Everybody who can sign in, by name.
    ///
    /// - Parameter limit: How many to list at most.
    /// - Returns: The people.
    /// - Throws: An ``EmulatorError``: an `INTERNAL_ERROR` when the storage fails.
    public func listSignInCandidates(limit: Int = 200) throws -> [SignInCandidate] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT name, given_name, family_name, email_address FROM user
                    ORDER BY given_name IS NULL, given_name, family_name, name LIMIT ?
                    """,
                arguments: [limit]
            ).map {
                SignInCandidate(userRecordName: $0[0], givenName: $0[1], familyName: $0[2], emailAddress: $0[3])
            }
        }
    }
}

/// Base64 with the alphabet for addresses, without padding.
private func base64URL(_ bytes: [UInt8]) -> String {
    String(
        Data(bytes).base64EncodedString().compactMap { character -> Character? in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
        }
    )
}

private func bytes(ofBase64URL text: String) -> [UInt8]? {
    let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
    return Data(base64Encoded: standard + padding).map(Array.init)
}
