public import CloudKitModel
import Crypto
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where the web authentication token of a user goes after signing in.
///
/// Developers choose it in the console, with the API token.
public enum SignInCallback: Hashable, Sendable {
    /// The page posts a message to the window that opened it.
    case postMessage
    /// The browser is sent to this address, with the token in the query. It is an `http` or `https` address.
    case redirect(to: String)
}

extension SignInCallback {
    /// Whether a browser may be sent to an address: `http` or `https` and a host, in printable ASCII.
    ///
    /// Any other scheme would let the address run as a script or leave the browser with the token.
    static func isWebAddress(_ text: String) -> Bool {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let url = URL(string: text) else { return false }
        return ["http", "https"].contains(url.scheme?.lowercased()) && url.host()?.isEmpty == false
    }
}

/// A request to sign in: the content of the address of a sign-in page.
public struct SignInRequest: Hashable, Sendable {
    /// The container that the person will use.
    public var container: String
    /// The environment that the person will use: that of the API token.
    public var environment: ContainerEnvironment
    /// Where the token goes.
    public var callback: SignInCallback
    /// The origin of the page that sent the request, such as `http://localhost:3000`; `nil` when a program sent it.
    public var origin: String?
}

/// A person on the list of the sign-in page.
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
    /// How long the address of a sign-in page is valid, in seconds. CloudKit JS requests a new address every 840
    /// seconds.
    static let signInLifetime: Int64 = 15 * 60

    /// Chooses where the web authentication tokens go of users who sign in with an API token.
    ///
    /// - Parameters:
    ///   - callback: Where the web authentication tokens go. The default of an API token is
    ///     ``SignInCallback/postMessage``.
    ///   - token: The API token.
    ///   - container: The container of the token.
    /// - Throws: An ``EmulatorError``: a `BAD_REQUEST` for an address that is not an `http` or `https` address.
    public func setSignInCallback(
        _ callback: SignInCallback,
        ofAPIToken token: String,
        for container: String
    ) throws {
        var address: String?
        if case .redirect(let text) = callback {
            guard SignInCallback.isWebAddress(text) else {
                throw EmulatorError.badRequest(
                    "a sign-in callback is an http or https address, such as http://localhost:8080/signed-in"
                )
            }
            address = text
        }
        try write { db in
            try db.run("DELETE FROM sign_in_address WHERE token = ? AND container = ?", [token, container])
            guard let address else { return }
            try db.run("INSERT INTO sign_in_address VALUES (?, ?, ?)", [token, container, address])
        }
    }

    /// Makes the ticket for the address of a sign-in page.
    ///
    /// In the service's own addresses, `oauth_token` has this purpose.
    ///
    /// The ticket does not contain the API token. It is valid for one sign-in within 15 minutes.
    ///
    /// - Parameters:
    ///   - apiToken: The API token of the request that needs a user.
    ///   - container: The container of that request.
    ///   - environment: The environment of that request.
    ///   - origin: The origin of the page that sent that request; `nil` when a program sent it.
    /// - Returns: Letters, digits, `-` and `_`.
    public func makeSignInTicket(
        apiToken: String,
        for container: String,
        in environment: ContainerEnvironment,
        origin: String? = nil
    ) -> String {
        let expires = now + Self.signInLifetime * 1000
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt64(bitPattern: expires))
        bytes += SHA256.hash(data: Array(apiToken.utf8)).prefix(16) + identifiers.next(8)
        bytes += "\(environment.rawValue) \(origin ?? "") \(container)".utf8
        return (bytes + webTokenKey.code(ofTicket: bytes)).base64.urlSafe
    }

    /// Reads the ticket in the address of a sign-in page.
    ///
    /// - Parameter ticket: What ``makeSignInTicket(apiToken:for:in:origin:)`` made.
    /// - Returns: The request of the ticket; `nil` for a ticket that is expired, was used, or was not made by this
    ///   emulator.
    /// - Throws: An ``EmulatorError``: an `INTERNAL_ERROR` when the storage fails.
    public func signInRequest(ofTicket ticket: String) throws -> SignInRequest? {
        guard let ticket = SignInTicket(ticket, key: webTokenKey), ticket.expires > now else { return nil }
        let isUsed = try read { db in
            try db.row("SELECT 1 FROM used_sign_in_ticket WHERE nonce = ?", [Data(ticket.nonce)]) != nil
        }
        guard !isUsed else { return nil }
        let addresses = try read { db in
            try db.rows("SELECT token, url FROM sign_in_address WHERE container = ?", [ticket.container]).map {
                row -> (token: String, url: String) in (row[0], row[1])
            }
        }
        let chosen = addresses.first {
            SHA256.hash(data: Array($0.token.utf8)).prefix(16).elementsEqual(ticket.tokenDigest)
        }
        return SignInRequest(
            container: ticket.container,
            environment: ticket.environment,
            callback: chosen.map { .redirect(to: $0.url) } ?? .postMessage,
            origin: ticket.origin
        )
    }

    /// Uses a ticket up, after the person answered its page.
    ///
    /// - Parameter ticket: What ``makeSignInTicket(apiToken:for:in:origin:)`` made.
    /// - Returns: Whether the ticket was valid until now. Of several calls at the same time, only one gets `true`.
    /// - Throws: An ``EmulatorError``: an `INTERNAL_ERROR` when the storage fails.
    public func redeemSignInTicket(_ ticket: String) throws -> Bool {
        let now = now
        guard let ticket = SignInTicket(ticket, key: webTokenKey), ticket.expires > now else { return false }
        return try write { db in
            try db.run("DELETE FROM used_sign_in_ticket WHERE expires <= ?", [now])
            try db.run("INSERT OR IGNORE INTO used_sign_in_ticket VALUES (?, ?)", [Data(ticket.nonce), ticket.expires])
            return db.changesCount == 1
        }
    }

    /// The code in the form of a sign-in page. It shows that the form is that of a page of this emulator, and for which
    /// origin the page was.
    ///
    /// - Parameters:
    ///   - ticket: The ticket in the address of the page.
    ///   - origin: The origin to whose page the token goes; `nil` for none.
    /// - Returns: Letters, digits, `-` and `_`.
    package func makeSignInFormCode(ticket: String, origin: String?) -> String {
        webTokenKey.code(ofSignInForm: Array("\(ticket) \(origin ?? "")".utf8)).base64.urlSafe
    }

    /// The users who can sign in, ordered by name.
    ///
    /// - Parameter limit: The maximum number of people to list.
    /// - Returns: The people.
    /// - Throws: An ``EmulatorError``: an `INTERNAL_ERROR` when the storage fails.
    public func listSignInCandidates(limit: Int = 200) throws -> [SignInCandidate] {
        try read { db in
            try db.rows(
                """
                SELECT name, given_name, family_name, email_address FROM user
                ORDER BY given_name IS NULL, given_name, family_name, name LIMIT ?
                """,
                [limit]
            ).map {
                SignInCandidate(userRecordName: $0[0], givenName: $0[1], familyName: $0[2], emailAddress: $0[3])
            }
        }
    }
}

/// The content of a ticket: its expiry, its API token (as a digest), environment, origin and container, and a nonce.
private struct SignInTicket {
    let expires: Int64
    let tokenDigest: [UInt8]
    let nonce: [UInt8]
    let environment: ContainerEnvironment
    let origin: String?
    let container: String

    /// Reads a ticket; `nil` for a ticket that was not made by this emulator.
    init?(_ text: String, key: WebAuthTokenKey) {
        guard let bytes = [UInt8](base64URL: text), bytes.count > 8 + 16 + 8 + 32 else { return nil }
        let facts = Array(bytes.dropLast(32))
        guard key.isCode(Array(bytes.suffix(32)), ofTicket: facts) else { return nil }
        let address = String(decoding: facts.dropFirst(32), as: UTF8.self)
            .split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard address.count == 3, let environment = ContainerEnvironment(rawValue: String(address[0])) else {
            return nil
        }
        self.environment = environment
        origin = address[1].isEmpty ? nil : String(address[1])
        container = String(address[2])
        expires = Int64(bitPattern: facts.prefix(8).bigEndianNumber)
        tokenDigest = Array(facts[8..<24])
        nonce = Array(facts[24..<32])
    }
}
