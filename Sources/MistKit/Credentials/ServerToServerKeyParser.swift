#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds the key in a text, or says what the text is instead. No part of the text ever gets into an error.
enum ServerToServerKeyParser {
    static func parse(_ text: String) throws(CloudKitError) -> ServerToServerKey {
        let text = unquoted(
            text.replacing("\\r", with: "").replacing("\\n", with: "\n").replacing("\r", with: "")
        )
        guard !text.isEmpty else {
            throw .badServerToServerKey("is empty; is the variable or file that it comes from set?")
        }
        if text.contains("-----BEGIN ") { return try parsePEM(text) }
        if text.contains("-----END ") {
            throw .badServerToServerKey("has lost its first line, -----BEGIN PRIVATE KEY-----.")
        }
        let compact = String(text.filter { !$0.isWhitespace })
        if let bytes = hexadecimal(compact) { return try parseBinary(bytes) }
        if let data = Data(base64Encoded: compact) { return try parseBinary(Array(data)) }
        if text.first == "/" || text.first == "~" || text.hasSuffix(".pem") || text.hasSuffix(".p8") {
            throw .badServerToServerKey("is a path, it seems; pass what is in the file.")
        }
        throw .badServerToServerKey(
            "is neither PEM nor base64 nor hexadecimal; it should begin with -----BEGIN PRIVATE KEY-----."
        )
    }

    private static func parsePEM(_ text: String) throws(CloudKitError) -> ServerToServerKey {
        var rest = Substring(text)
        var labels: [String] = []
        while let begin = rest.firstRange(of: "-----BEGIN ") {
            let afterBegin = rest[begin.upperBound...]
            guard let labelEnd = afterBegin.firstRange(of: "-----") else {
                throw .badServerToServerKey("has a first line that does not end in -----.")
            }
            let label = String(afterBegin[..<labelEnd.lowerBound])
            let afterLabel = afterBegin[labelEnd.upperBound...]
            guard let end = afterLabel.firstRange(of: "-----END \(label)-----") else {
                throw .badServerToServerKey("stops before its last line, -----END \(label)-----; it was cut off.")
            }
            let body = afterLabel[..<end.lowerBound]
            if label == "PRIVATE KEY" || label == "EC PRIVATE KEY" {
                return try parsePEMBody(body)
            }
            labels.append(label)
            rest = afterLabel[end.upperBound...]
        }
        throw .badServerToServerKey(explanation(ofLabels: labels))
    }

    private static func parsePEMBody(_ body: Substring) throws(CloudKitError) -> ServerToServerKey {
        if body.contains("ENCRYPTED") { throw .badServerToServerKey(encrypted) }
        guard let data = Data(base64Encoded: String(body.filter { !$0.isWhitespace })) else {
            throw .badServerToServerKey("holds something between its first and last line that is not base64.")
        }
        return try parseDER(Array(data))
    }

    private static func parseBinary(_ bytes: [UInt8]) throws(CloudKitError) -> ServerToServerKey {
        // Both structures begin with the tag of a sequence, and neither is as short as a key alone.
        if bytes.count > 32, bytes.first == 0x30 { return try parseDER(bytes) }
        return try ServerToServerKey(rawRepresentation: bytes)
    }

    private static func parseDER(_ bytes: [UInt8]) throws(CloudKitError) -> ServerToServerKey {
        do {
            return try ServerToServerKey(derRepresentation: bytes)
        } catch {
            for (identifier, kind) in foreignAlgorithms where bytes.firstRange(of: identifier) != nil {
                throw .badServerToServerKey("is \(kind); CloudKit takes P-256 only (prime256v1 in openssl).")
            }
            throw .badServerToServerKey("is in a PEM frame or DER, and the structure inside is damaged.")
        }
    }

    private static let encrypted =
        "is protected by a password. Decrypt it: openssl pkcs8 -in key.pem -out plain.pem -nocrypt -topk8"

    private static func explanation(ofLabels labels: [String]) -> String {
        switch labels.last {
        case "PUBLIC KEY":
            "is the public half; that one goes into the CloudKit console, and the private one belongs here."
        case "ENCRYPTED PRIVATE KEY": encrypted
        case "RSA PRIVATE KEY": "is an RSA key; CloudKit takes P-256 only (prime256v1 in openssl)."
        case "OPENSSH PRIVATE KEY":
            "is in OpenSSH's format. Make a new one: openssl ecparam -name prime256v1 -genkey -noout"
        case "CERTIFICATE": "is a certificate; the private key belongs here."
        case "EC PARAMETERS": "holds the name of a curve and no key."
        case let label?: "is PEM of another kind: \(label)."
        case nil: "holds no key."
        }
    }

    /// Object identifiers that name what else a key can be.
    private static let foreignAlgorithms: [(identifier: [UInt8], kind: String)] = [
        ([0x2B, 0x81, 0x04, 0x00, 0x22], "a key on the curve P-384"),
        ([0x2B, 0x81, 0x04, 0x00, 0x23], "a key on the curve P-521"),
        ([0x2B, 0x81, 0x04, 0x00, 0x0A], "a key on the curve secp256k1"),
        ([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01], "an RSA key"),
        ([0x2B, 0x65, 0x70], "an Ed25519 key"),
    ]

    static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard
                let high = Character(UnicodeScalar(digits[index])).hexDigitValue,
                let low = Character(UnicodeScalar(digits[index + 1])).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }

    /// Without the white space and quotation marks that come along from files of variables.
    private static func unquoted(_ text: String) -> String {
        let isWrapping: (Character) -> Bool = { $0.isWhitespace || $0 == "\"" || $0 == "'" }
        var text = Substring(text)
        while text.first.map(isWrapping) == true { text.removeFirst() }
        while text.last.map(isWrapping) == true { text.removeLast() }
        return String(text)
    }
}

extension CloudKitError {
    static func badServerToServerKey(_ problem: String) -> CloudKitError {
        CloudKitError(code: .invalidCredentials, message: "The private key \(problem)")
    }
}
