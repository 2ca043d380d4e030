import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Signs requests with a server-to-server key.
///
/// The suite has its own code for signatures and uses none of MistKit's, so that it is an independent check.
struct ContractSigner: Sendable {
    /// The values of a signed request's three header fields.
    struct Signature: Sendable {
        var keyID: String
        var date: String
        var signature: String
    }

    var keyID: String
    private let key: P256.Signing.PrivateKey

    init(_ key: ContractTarget.ServerKey) throws {
        keyID = key.keyID
        self.key = try P256.Signing.PrivateKey(pemRepresentation: key.privateKeyPEM)
    }

    /// The part of the signed text that represents the body: the base64 of its SHA-256.
    static func hash(of body: [UInt8]) -> String {
        Data(SHA256.hash(data: body)).base64EncodedString()
    }

    /// Signs `date:hash:subpath`; the signature is DER, in base64.
    ///
    /// - Parameters:
    ///   - hash: The body's ``hash(of:)``.
    ///   - subpath: The path from `/database` on, with its query, as it is sent.
    ///   - date: The time of the request, as `2016-01-25T22:15:43Z`.
    ///   - isRaw: Whether the signature is r and s one after the other, which the service does not accept.
    /// - Returns: The values of the header fields.
    /// - Throws: An error of swift-crypto; no case is known in which it throws.
    func sign(hash: String, subpath: String, date: String, isRaw: Bool = false) throws -> Signature {
        let signature = try key.signature(for: Data("\(date):\(hash):\(subpath)".utf8))
        let bytes = isRaw ? signature.rawRepresentation : signature.derRepresentation
        return Signature(keyID: keyID, date: date, signature: bytes.base64EncodedString())
    }

    /// A point in time as the protocol writes it: UTC, no fraction.
    static func text(of date: Date) -> String {
        let seconds = Int(date.timeIntervalSince1970.rounded(.down))
        let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        // Converts a count of days to a calendar date, with years that begin in March.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func digits(_ number: Int, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(digits(year, 4))-\(digits(month))-\(digits(day))"
            + "T\(digits(rest / 3600)):\(digits(rest / 60 % 60)):\(digits(rest % 60))Z"
    }
}
