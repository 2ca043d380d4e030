public import CloudKitModel
import Crypto
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The signature of a request by a server-to-server key.
package struct ServerKeySignature: Hashable, Sendable {
    /// The header `X-Apple-CloudKit-Request-KeyID`.
    package var keyID: String
    /// The header `X-Apple-CloudKit-Request-ISO8601Date`, as it came: `2016-01-25T22:15:43Z`.
    package var date: String
    /// The SHA-256 digest of the body's bytes, 32 bytes.
    package var bodyDigest: [UInt8]
    /// The path of the request from `/database` or `/device` on, query included, as on the request line.
    package var subpath: String
    /// The header `X-Apple-CloudKit-Request-SignatureV1`: base64 of the ASN.1 DER form.
    package var signature: String

    /// Makes a signature over a body whose digest is known.
    package init(keyID: String, date: String, bodyDigest: [UInt8], subpath: String, signature: String) {
        self.keyID = keyID
        self.date = date
        self.bodyDigest = bodyDigest
        self.subpath = subpath
        self.signature = signature
    }

    /// Makes a signature over a body.
    package init(keyID: String, date: String, body: [UInt8], subpath: String, signature: String) {
        self.init(
            keyID: keyID,
            date: date,
            bodyDigest: Array(SHA256.hash(data: body)),
            subpath: subpath,
            signature: signature
        )
    }
}

/// The public half of a server-to-server key, in one of its usual forms.
public enum ServerKey: Hashable, Sendable {
    /// PEM with the header `-----BEGIN PUBLIC KEY-----`, which `openssl ec -pubout` prints and the console accepts.
    case pem(String)
    /// The DER bytes within such a PEM (SubjectPublicKeyInfo).
    case der([UInt8])
    /// The point alone, uncompressed: 65 bytes that begin with 4 (ANSI X9.63).
    case x963([UInt8])

    fileprivate func publicKey() throws(EmulatorError) -> P256.Signing.PublicKey {
        do {
            switch self {
            case .pem(let text): return try P256.Signing.PublicKey(pemRepresentation: text)
            case .der(let bytes): return try P256.Signing.PublicKey(derRepresentation: bytes)
            case .x963(let bytes): return try P256.Signing.PublicKey(x963Representation: bytes)
            }
        } catch {
            throw .badRequest("the key is not a public key on the curve P-256")
        }
    }

    /// The user record name of the developer that a key acts as. It depends on the key alone, not on any person
    /// (observed live).
    static func userRecordName(ofKeyID keyID: String) -> String {
        "_" + SHA256.hash(data: Array("user of \(keyID)".utf8)).prefix(16).hexadecimal
    }
}

extension CloudKitEmulator {
    /// Registers the public half of a server-to-server key for one environment of a container, as the console of the
    /// service does.
    ///
    /// - Parameters:
    ///   - key: The public key.
    ///   - container: The container's identifier.
    ///   - environment: The environment in which the key is valid.
    /// - Returns: The key ID, 64 hexadecimal digits; the same key of a container has the same ID in both environments.
    /// - Throws: An ``EmulatorError``: a `BAD_REQUEST` when `key` is not a public key on the curve P-256.
    @discardableResult
    public func registerServerKey(
        _ key: ServerKey,
        for container: String,
        in environment: ContainerEnvironment = .development
    ) throws -> String {
        let point = try key.publicKey().x963Representation
        let keyID = SHA256.hash(data: Array(container.utf8) + [0] + Array(point)).hexadecimal
        try write { db in
            try db.run(
                "INSERT OR IGNORE INTO server_key (id, container, environment, public_key) VALUES (?, ?, ?, ?)",
                [keyID, container, environment.rawValue, point]
            )
        }
        return keyID
    }

    /// The IDs of the server-to-server keys that are registered for an environment of a container, in alphabetical
    /// order.
    ///
    /// - Parameters:
    ///   - container: The container's identifier.
    ///   - environment: The environment.
    /// - Returns: The IDs.
    /// - Throws: An ``EmulatorError`` when the storage fails.
    public func registeredServerKeyIDs(
        for container: String,
        in environment: ContainerEnvironment = .development
    ) throws -> [String] {
        try read { db in
            try db.values(
                "SELECT id FROM server_key WHERE container = ? AND environment = ? ORDER BY id",
                [container, environment.rawValue],
                as: String.self
            )
        }
    }

    /// Verifies a signature, and returns the ID of the key that made it.
    ///
    /// The message is `date:base64(SHA-256 of the body):subpath`. For an empty body some clients sign an empty hash
    /// part instead, and the service is said to accept both.
    func verify(
        _ signature: ServerKeySignature,
        for container: String,
        in environment: ContainerEnvironment,
        now: Int64
    ) throws(EmulatorError) -> String {
        guard
            let date = milliseconds(ofISO8601: signature.date),
            abs(Double(now) - Double(date)) <= configuration.signatureClockWindow * 1000,
            let der = Data(base64Encoded: signature.signature),
            let ecdsa = try? P256.Signing.ECDSASignature(derRepresentation: der),
            let key = try publicKey(signature.keyID, for: container, in: environment)
        else {
            throw .authenticationFailed
        }
        let digest = signature.bodyDigest.base64
        var hashes = [digest]
        if signature.bodyDigest.elementsEqual(SHA256.hash(data: [UInt8]())) { hashes.append("") }
        for hash in hashes {
            let message = Data("\(signature.date):\(hash):\(signature.subpath)".utf8)
            if key.isValidSignature(ecdsa, for: message) { return signature.keyID }
        }
        throw .authenticationFailed
    }

    private func publicKey(
        _ keyID: String,
        for container: String,
        in environment: ContainerEnvironment
    ) throws(EmulatorError) -> P256.Signing.PublicKey? {
        if keyID.hasControlCharacters || container.hasControlCharacters { return nil }
        let name = KnownValues<P256.Signing.PublicKey>.Name(text: keyID, container: container, environment: environment)
        if let key = knownKeys[name] { return key }
        let point = try read { db in
            try db.value(
                "SELECT public_key FROM server_key WHERE id = ? AND container = ? AND environment = ?",
                [keyID, container, environment.rawValue],
                as: Data.self
            )
        }
        guard let point, let key = try? P256.Signing.PublicKey(x963Representation: point) else { return nil }
        knownKeys[name] = key
        return key
    }
}

/// The point in time of `2016-01-25T22:15:43Z`, in milliseconds since 1970; `nil` for any other form.
private func milliseconds(ofISO8601 text: String) -> Int64? {
    guard text.utf8.count == 20, text.hasSuffix("Z") else { return nil }
    return try? Date(text, strategy: .iso8601).milliseconds
}
