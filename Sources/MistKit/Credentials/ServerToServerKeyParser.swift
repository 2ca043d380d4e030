import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds the key in a text, or says what the text is instead. An error never quotes the text; it may name a line and a
/// column of it.
enum ServerToServerKeyParser {
    static func parse(_ text: String) throws(CloudKitError) -> ServerToServerKey {
        let text = unquoted(
            // Texts from `.env` files, and from JSON in such files, have escaped line ends. A key has no backslashes.
            text.replacing("\\\\n", with: "\n").replacing("\\n", with: "\n").replacing("\\r", with: "")
                .replacing("\\", with: "").replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        )
        guard !text.isEmpty else {
            throw .badServerToServerKey("is empty; is the variable or file that it comes from set?")
        }
        if text.contains("-----BEGIN ") { return try parsePEM(text) }
        // Base64 without a frame is a key, too. So a key that lost its first line is still complete.
        if let end = text.firstRange(of: "-----END ") {
            return try parseUnframed(String(text[..<end.lowerBound]))
        }
        return try parseUnframed(text)
    }

    private static func parseUnframed(_ text: String) throws(CloudKitError) -> ServerToServerKey {
        let compact = String(text.filter { !$0.isWhitespace })
        if let bytes = hexadecimal(compact) { return try parseBinary(bytes) }
        let bytes: [UInt8]
        do throws(Base64Problem) {
            bytes = try Base64Problem.decode(text[...], of: text)
        } catch {
            if text.first == "/" || text.first == "~" || text.hasSuffix(".pem") || text.hasSuffix(".p8") {
                throw .badServerToServerKey("is a path, it seems; pass what is in the file.")
            }
            // A text that begins like a DER structure in base64 was meant as one: the error is about the base64.
            if compact.hasPrefix("M"), compact.utf8.count > 40 { throw error.ofKey }
            throw .badServerToServerKey(
                "is neither PEM nor base64 nor hexadecimal; it should begin with -----BEGIN PRIVATE KEY-----."
            )
        }
        return try parseBinary(bytes)
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
            let end = afterLabel.firstRange(of: "-----END \(label)-----")
            if label == "PRIVATE KEY" || label == "EC PRIVATE KEY" {
                guard let end else { return try parseUnended(afterLabel, label, of: text) }
                return try parsePEMBody(afterLabel[..<end.lowerBound], of: text)
            }
            labels.append(label)
            guard let end else { break }
            rest = afterLabel[end.upperBound...]
        }
        throw .badServerToServerKey(explanation(ofLabels: labels))
    }

    private static func parsePEMBody(_ body: Substring, of text: String) throws(CloudKitError) -> ServerToServerKey {
        if body.contains("ENCRYPTED") { throw .badServerToServerKey(encrypted) }
        let bytes: [UInt8]
        do throws(Base64Problem) {
            bytes = try Base64Problem.decode(body, of: text)
        } catch {
            throw error.ofKey
        }
        return try parseDER(bytes)
    }

    /// A key without its last line. The rest may be complete.
    private static func parseUnended(
        _ body: Substring,
        _ label: String,
        of text: String
    ) throws(CloudKitError) -> ServerToServerKey {
        // If a part of the last line is there, it begins with `-`, which is not part of the base64.
        let body = body.prefix { $0 != "-" }
        if let bytes = try? Base64Problem.decode(body, of: text), let key = try? parseDER(bytes) { return key }
        let held =
            (try? Base64Problem.decode(body.dropLast(body.filter { !$0.isWhitespace }.count % 4), of: text)) ?? []
        let missing = DERLength(of: held).map { ": \(held.count) of its \($0.total) bytes are there" } ?? ""
        throw .badServerToServerKey("stops before its last line, -----END \(label)-----; it was cut off\(missing).")
    }

    private static func parseBinary(_ bytes: [UInt8]) throws(CloudKitError) -> ServerToServerKey {
        // Both DER structures begin with the tag of a sequence, and both are longer than the 32 bytes of a key alone.
        if bytes.count > 32, bytes.first == 0x30 { return try parseDER(bytes) }
        if bytes.count == 65, bytes.first == 4 { throw .badServerToServerKey(publicHalf) }
        return try ServerToServerKey(scalar: bytes)
    }

    private static func parseDER(_ bytes: [UInt8]) throws(CloudKitError) -> ServerToServerKey {
        do {
            return try ServerToServerKey(derRepresentation: bytes)
        } catch {
            if let length = DERLength(of: bytes), length.total != bytes.count {
                throw .badServerToServerKey(
                    length.total > bytes.count
                        ? "was cut off: \(bytes.count) of its \(length.total) bytes are there."
                        : "has \(bytes.count - length.total) bytes after its end. Check that it was pasted once."
                )
            }
            if bytes.firstRange(of: passwordBased) != nil { throw .badServerToServerKey(encrypted) }
            if isCertificate(bytes) { throw .badServerToServerKey(explanation(ofLabels: ["CERTIFICATE"])) }
            for (identifier, kind) in foreignAlgorithms where bytes.firstRange(of: identifier) != nil {
                throw .badServerToServerKey("is \(kind); CloudKit takes P-256 only (prime256v1 in openssl).")
            }
            if (try? P256.Signing.PublicKey(derRepresentation: bytes)) != nil {
                throw .badServerToServerKey(publicHalf)
            }
            throw .badServerToServerKey("is in a PEM frame or DER, and the structure inside is damaged.")
        }
    }

    private static let publicHalf =
        "is the public half; that one goes into the CloudKit console, and the private one belongs here."

    /// The identifier of PBES2, which every modern encrypted PKCS #8 structure contains.
    private static let passwordBased: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0D]

    /// Whether a structure begins like a certificate: a sequence in a sequence, and the version in it.
    private static func isCertificate(_ bytes: [UInt8]) -> Bool {
        guard let outer = DERLength(of: bytes) else { return false }
        let body = Array(bytes.dropFirst(outer.header))
        guard body.first == 0x30, let inner = DERLength(of: body) else { return false }
        return body.dropFirst(inner.header).starts(with: [0xA0, 0x03, 0x02, 0x01])
    }

    private static let encrypted =
        "is protected by a password. Decrypt it: openssl pkcs8 -in key.pem -out plain.pem -nocrypt -topk8"

    private static func explanation(ofLabels labels: [String]) -> String {
        switch labels.last {
        case "PUBLIC KEY": publicHalf
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

    /// The object identifiers of other kinds of keys.
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

    /// The text without the white space and quotation marks around it, which texts from `.env` files often have.
    private static func unquoted(_ text: String) -> String {
        let isWrapping: (Character) -> Bool = { $0.isWhitespace || $0 == "\"" || $0 == "'" }
        var text = Substring(text)
        while text.first.map(isWrapping) == true { text.removeFirst() }
        while text.last.map(isWrapping) == true { text.removeLast() }
        return String(text)
    }
}

/// The length of a DER structure, as its own header states it.
private struct DERLength {
    /// The number of bytes before the contents.
    var header: Int
    /// The number of all bytes, with the header.
    var total: Int

    init?(of bytes: [UInt8]) {
        guard bytes.count >= 2, bytes[0] == 0x30 else { return nil }
        let first = Int(bytes[1])
        if first < 0x80 {
            (header, total) = (2, 2 + first)
            return
        }
        let count = first & 0x7F
        guard (1...3).contains(count), bytes.count >= 2 + count else { return nil }
        let length = bytes[2..<2 + count].reduce(0) { $0 << 8 | Int($1) }
        (header, total) = (2 + count, 2 + count + length)
    }
}

/// The reason why a text is not base64, and the position of the problem.
private enum Base64Problem: Error {
    case foreignCharacter(line: Int, column: Int)
    case cutOff(characters: Int)

    /// Decodes a part of a text. White space is ignored, and padding may be missing.
    static func decode(_ part: Substring, of text: String) throws(Base64Problem) -> [UInt8] {
        var digits: [UInt8] = []
        var isOver = false
        var index = part.startIndex
        while index < part.endIndex {
            let character = part[index]
            defer { index = part.index(after: index) }
            if character.isWhitespace { continue }
            if character == "=" {
                isOver = true
            } else if !isOver, let value = character.asciiValue,
                character.isLetter || character.isNumber || "+/-_".contains(character)
            {
                // Some vaults use the URL-safe alphabet of base64.
                digits.append(
                    value == UInt8(ascii: "-")
                        ? UInt8(ascii: "+") : value == UInt8(ascii: "_") ? UInt8(ascii: "/") : value
                )
            } else {
                let before = text[..<index]
                let line = before.count(where: \.isNewline) + 1
                let column =
                    before.distance(
                        from: before.lastIndex(where: \.isNewline).map(before.index(after:)) ?? before.startIndex,
                        to: index
                    ) + 1
                throw .foreignCharacter(line: line, column: column)
            }
        }
        guard digits.count % 4 != 1 else { throw .cutOff(characters: digits.count) }
        let padded = digits + Array(repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
        guard let data = Data(base64Encoded: Data(padded)) else { throw .cutOff(characters: digits.count) }
        return Array(data)
    }

    var ofKey: CloudKitError {
        switch self {
        case .foreignCharacter(let line, let column):
            .badServerToServerKey("holds something that is not base64, in line \(line) at character \(column).")
        case .cutOff(let characters):
            .badServerToServerKey("was cut off: base64 does not end after \(characters) characters.")
        }
    }
}

extension CloudKitError {
    static func badServerToServerKey(_ problem: String) -> CloudKitError {
        CloudKitError(code: .invalidCredentials, message: "The private key \(problem)")
    }
}
