import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The private half of a server-to-server key: an elliptic curve key on P-256.
///
/// ```swift
/// let key = ServerToServerKey.generate()
/// print(key.publicKeyPEM)                   // paste this into the CloudKit console, which answers with the key ID
/// let text = key.revealPrivateKeyPEM()      // keep this where only the server reads it
/// ```
///
/// ## Topics
///
/// ### Reading a key
/// - ``init(_:)``
/// - ``init(rawRepresentation:)``
///
/// ### Making a key
/// - ``generate()``
/// - ``publicKeyPEM``
/// - ``revealPrivateKeyPEM()``
public struct ServerToServerKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// Makes a new key.
    ///
    /// - Returns: A key that the service does not know yet: register ``publicKeyPEM`` in the console.
    public static func generate() -> ServerToServerKey {
        ServerToServerKey(key: P256.Signing.PrivateKey())
    }

    private init(key: P256.Signing.PrivateKey) {
        self.key = key
    }

    /// Reads a key in any of the usual text forms.
    ///
    /// The text may be PEM as `openssl ecparam` writes it (SEC 1, `EC PRIVATE KEY`) or as `openssl pkcs8` writes it
    /// (PKCS #8, `PRIVATE KEY`). Line ends may be real, or written as `\n` as in environment variables. Without the
    /// frame of PEM, the text may be base64 or hexadecimal digits of the same two structures, or of only the 32 bytes
    /// of the key.
    ///
    /// - Parameter text: The text of the key, not the path of a file that holds it.
    /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/invalidCredentials`` that says what the
    ///   text is instead.
    public init(_ text: String) throws {
        self = try ServerToServerKeyParser.parse(text)
    }

    /// Makes a key from its 32 bytes.
    ///
    /// - Parameter rawRepresentation: The key's number, most significant byte first.
    /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/invalidCredentials`` for another number
    ///   of bytes, or for a number that is not a key of P-256.
    public init(rawRepresentation: [UInt8]) throws {
        try self.init(scalar: rawRepresentation)
    }

    /// Makes a key from the bytes of its number. The error says what is wrong with the bytes.
    init(scalar: [UInt8]) throws(CloudKitError) {
        guard scalar.count == 32 else {
            throw .badServerToServerKey("is \(scalar.count) bytes long; a key on P-256 has 32.")
        }
        do {
            key = try P256.Signing.PrivateKey(rawRepresentation: scalar)
        } catch {
            throw .badServerToServerKey("is 32 bytes that are not a number between 1 and the order of P-256.")
        }
    }

    /// Makes a key from the DER bytes of SEC 1 or PKCS #8.
    init(derRepresentation: [UInt8]) throws {
        key = try P256.Signing.PrivateKey(derRepresentation: derRepresentation)
    }

    /// The public half as PEM (`PUBLIC KEY`), to paste into the CloudKit console.
    public var publicKeyPEM: String { key.publicKey.pemRepresentation }

    /// The private half as PEM (PKCS #8, `PRIVATE KEY`), to keep.
    ///
    /// The text is a credential: a program that has it can write to the public database as the developer.
    ///
    /// - Returns: PEM that ``init(_:)`` and openssl read.
    public func revealPrivateKeyPEM() -> String { key.pemRepresentation }

    /// The ECDSA signature over the SHA-256 of the message's UTF-8, as DER in base64.
    func signature(for message: String) throws(CloudKitError) -> String {
        do {
            return try key.signature(for: Data(message.utf8)).derRepresentation.base64EncodedString()
        } catch {
            throw CloudKitError(code: .signing, message: "The request could not be signed.", cause: error)
        }
    }

    /// Whether a text is this private key in hexadecimal.
    func isWritten(as text: String) -> Bool {
        text.count == 64 && ServerToServerKeyParser.hexadecimal(text) == Array(key.rawRepresentation)
    }
}

extension ServerToServerKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A text that shows no part of the key.
    public var description: String { "ServerToServerKey(\(Redactor.mark))" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
