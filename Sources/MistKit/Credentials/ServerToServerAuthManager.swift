import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Signs every request with a server-to-server key, for the public database, as the developer who registered the key.
///
/// ```swift
/// let manager = ServerToServerAuthManager(keyID: keyID, privateKey: try ServerToServerKey(pem))
/// // POST /database/1/iCloud.com.example/development/public/records/query
/// // X-Apple-CloudKit-Request-KeyID: ...
/// // X-Apple-CloudKit-Request-ISO8601Date: 2016-01-25T22:15:43Z
/// // X-Apple-CloudKit-Request-SignatureV1: ...
/// ```
///
/// The service refuses such keys for the private and shared databases and for users.
public struct ServerToServerAuthManager: TokenManager {
    private let keyID: Secret
    private let privateKey: ServerToServerKey
    /// The error of a string that cannot be a key ID; every request throws it.
    private let keyIDProblem: CloudKitError?
    private let now: @Sendable () -> Date
    private let dates = RequestDates()

    /// Makes a manager for one key.
    ///
    /// - Parameters:
    ///   - keyID: The identifier that the console shows for the key, 64 hexadecimal digits.
    ///   - privateKey: The private half of the key.
    ///   - now: The clock. The service refuses a request whose date differs from its own by some minutes.
    public init(keyID: String, privateKey: ServerToServerKey, now: @escaping @Sendable () -> Date = { Date() }) {
        self.keyID = Secret(keyID)
        self.privateKey = privateKey
        keyIDProblem = Self.problem(of: self.keyID, beside: privateKey)
        self.now = now
    }

    /// Adds the key's identifier, the date and the signature as header fields.
    ///
    /// The signed text is `date:base64(SHA-256(body)):path?query`, with path and query as on the request line, from
    /// `/database` on. For a request without a body, Apple's own client uses the hash of no bytes, and so does this
    /// manager.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: ``CloudKitError/Code-swift.struct/invalidCredentials`` where the string cannot be a key ID,
    ///   ``CloudKitError/Code-swift.struct/signing`` where the body cannot be read.
    public func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
        if let keyIDProblem { throw keyIDProblem }
        let date = dates.text(of: now())
        let digest = Data(try await request.bodyDigest()).base64EncodedString()
        let signature = try privateKey.signature(for: "\(date):\(digest):\(request.subpath)")
        request.addCredential(headerField: .requestKeyID, value: keyID.revealed)
        request.addHeaderField(.requestDate, value: date)
        request.addCredential(headerField: .requestSignature, value: signature)
    }

    private static func problem(of keyID: Secret, beside privateKey: ServerToServerKey) -> CloudKitError? {
        do throws(CloudKitError) {
            try keyID.checkToken(
                "key ID",
                source: "the CloudKit console (Tokens & Keys), where the public key is registered"
            )
        } catch {
            return error
        }
        guard privateKey.isWritten(as: keyID.revealed) else { return nil }
        return CloudKitError(
            code: .invalidCredentials,
            message: "The key ID is the private key itself. The key ID is what the CloudKit console shows for the key."
        )
    }
}

/// The dates of requests in ISO 8601. Requests of the same second share one text, because formatting a date costs as
/// much as a hash.
private final class RequestDates: Sendable {
    private let last = Mutex<(second: Double, text: String)?>(nil)
    private static let style = Date.ISO8601FormatStyle()

    func text(of date: Date) -> String {
        let second = date.timeIntervalSinceReferenceDate.rounded(.down)
        return last.withLock { last in
            if let last, last.second == second { return last.text }
            let text = Self.style.format(date)
            last = (second, text)
            return text
        }
    }
}

extension HTTPField.Name {
    static let requestKeyID = Self("X-Apple-CloudKit-Request-KeyID")!
    static let requestDate = Self("X-Apple-CloudKit-Request-ISO8601Date")!
    static let requestSignature = Self("X-Apple-CloudKit-Request-SignatureV1")!
}
