public import CloudKitModel
import Crypto
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The content of a web authentication token: its user and its expiry.
///
/// A token is this content and a keyed hash over it, so a new token for every reply costs no write.
private struct WebAuthToken {
    /// The digits of the user record name, as bytes.
    var user: [UInt8]
    var expires: Int64
    var keepsSignedIn: Bool
    /// A fingerprint of the container and the environment that the token is for; 0 stands for all of them.
    var container: UInt64
    var nonce: [UInt8]

    static let size = 1 + 16 + 8 + 1 + 8 + 8

    var bytes: [UInt8] {
        var bytes = [1] + user
        bytes.append(bigEndian: UInt64(bitPattern: expires))
        bytes.append(keepsSignedIn ? 1 : 0)
        bytes.append(bigEndian: container)
        return bytes + nonce
    }
}

extension WebAuthToken {
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size, bytes[0] == 1 else { return nil }
        self.init(
            user: Array(bytes[1..<17]),
            expires: Int64(bitPattern: bytes[17..<25].bigEndianNumber),
            keepsSignedIn: bytes[25] == 1,
            container: bytes[26..<34].bigEndianNumber,
            nonce: Array(bytes[34..<42])
        )
    }
}

/// The key that signs an emulator's web authentication tokens. It is kept with the data, so tokens outlive the process.
struct WebAuthTokenKey: Sendable {
    private let key: SymmetricKey

    static func load(from db: Database, identifiers: IdentifierSource) throws -> WebAuthTokenKey {
        WebAuthTokenKey(key: SymmetricKey(data: try db.secret("web token key", 32, from: identifiers)))
    }

    /// The code that signs the ticket of a sign-in page. A web authentication token begins with another byte, so
    /// neither is taken for the other.
    func code(ofTicket bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: [2] + bytes, using: key))
    }

    /// Whether a code is the code of a ticket.
    func isCode(_ code: [UInt8], ofTicket bytes: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: [2] + bytes, using: key)
    }

    /// The code of the form of a sign-in page. It begins with a third byte, so it is not taken for one of the others.
    func code(ofSignInForm bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: [3] + bytes, using: key))
    }

    fileprivate func seal(_ token: WebAuthToken) -> String {
        let bytes = token.bytes
        return (bytes + Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))).base64
    }

    fileprivate func open(_ text: String) -> WebAuthToken? {
        // Much longer texts are not decoded.
        guard text.utf8.count <= 2 * (WebAuthToken.size + 32), let bytes = [UInt8](base64: text),
            bytes.count == WebAuthToken.size + 32
        else {
            return nil
        }
        let (facts, code) = (Array(bytes.prefix(WebAuthToken.size)), bytes.suffix(32))
        guard HMAC<SHA256>.isValidAuthenticationCode(Array(code), authenticating: facts, using: key) else {
            return nil
        }
        return WebAuthToken(facts)
    }
}

extension CloudKitEmulator {
    /// Signs a user in: issues a web authentication token, for the query item `ckWebAuthToken`.
    ///
    /// The text has `+`, `/` and `=`, as the service's tokens have; it must be percent-encoded exactly once.
    ///
    /// - Parameters:
    ///   - userRecordName: The user, created by
    ///     ``CloudKitEmulator/createUser(_:emailAddress:phoneNumber:isDiscoverable:userRecordName:)``.
    ///   - container: The container that the token is valid for; `nil` for all.
    ///   - environment: The environment that the token is valid for; `nil` for both. Without a `container` it has no
    ///     effect. A token of the service is valid for the environment of the API token with which the user signed in.
    ///   - keepsSignedIn: Whether the token is valid for two weeks instead of 30 minutes.
    /// - Returns: The token.
    /// - Throws: An ``EmulatorError``: `NOT_FOUND` when there is no such user.
    public func issueWebAuthToken(
        for userRecordName: String,
        container: String? = nil,
        environment: ContainerEnvironment? = nil,
        keepsSignedIn: Bool = false
    ) throws -> String {
        guard let user = digits(ofUserRecordName: userRecordName), try userExists(userRecordName) else {
            throw EmulatorError(.notFound, "there is no user '\(userRecordName)'")
        }
        return newToken(
            for: user,
            container: container.map { reach(of: $0, environment) } ?? 0,
            keepsSignedIn: keepsSignedIn,
            now: now
        )
    }

    /// The fingerprint of the container and the environment that a token is for.
    private func reach(of container: String, _ environment: ContainerEnvironment?) -> UInt64 {
        guard let environment else { return container.utf8.fingerprint() }
        return "\(container)/\(environment.rawValue)".utf8.fingerprint()
    }

    /// Checks the web authentication token of a request, and issues the next one.
    func redeem(
        _ text: String,
        for container: String,
        in environment: ContainerEnvironment,
        now: Int64
    ) throws(EmulatorError) -> Authentication {
        let rejection = configuration.webAuthTokens.rejection
        let failure =
            rejection == .authenticationRequired
            ? EmulatorError.authenticationRequired
            : EmulatorError(rejection, EmulatorError.authenticationFailed.reason)
        guard
            let token = webTokenKey.open(text),
            token.expires > now,
            [0, reach(of: container, nil), reach(of: container, environment)].contains(token.container)
        else {
            throw failure
        }
        let userRecordName = "_" + token.user.hexadecimal
        if configuration.webAuthTokens.areSingleUse {
            let isFresh = try write { db in
                try db.run("DELETE FROM used_web_token WHERE expires <= ?", [now])
                try db.run("INSERT OR IGNORE INTO used_web_token VALUES (?, ?)", [Data(token.nonce), token.expires])
                return db.changesCount == 1
            }
            guard isFresh else { throw failure }
        }
        return Authentication(
            caller: .user(userRecordName),
            nextWebAuthToken: newToken(
                for: token.user,
                container: token.container,
                keepsSignedIn: token.keepsSignedIn,
                now: now
            )
        )
    }

    /// The user whom a web authentication token names. The token is not used up, and may have expired.
    package func userRecordName(ofWebAuthToken text: String) -> String? {
        webTokenKey.open(text).map { "_" + $0.user.hexadecimal }
    }

    private func newToken(for user: [UInt8], container: UInt64, keepsSignedIn: Bool, now: Int64) -> String {
        let rules = configuration.webAuthTokens
        let lifetime = keepsSignedIn ? rules.keptSignedInLifetime : rules.lifetime
        return webTokenKey.seal(
            WebAuthToken(
                user: user,
                expires: now + Int64(lifetime * 1000),
                keepsSignedIn: keepsSignedIn,
                container: container,
                nonce: identifiers.next(8)
            )
        )
    }

    /// The bytes of the 32 hexadecimal digits after the underscore.
    func digits(ofUserRecordName name: String) -> [UInt8]? {
        let digits = Array(name.utf8.dropFirst())
        guard name.utf8.first == UInt8(ascii: "_"), digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return "_" + bytes.hexadecimal == name ? bytes : nil
    }
}
