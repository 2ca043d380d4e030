#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Tokens, markers and checksums are made of these: numbers as bytes, and bytes as text.

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes as base64.
    var base64: String { Data(self).base64EncodedString() }

    /// The bytes as a number, the most significant byte first.
    var bigEndianNumber: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }

    /// The FNV-1a hash of the bytes. It is the same in every process, unlike that of `Hasher`.
    func fingerprint(salt: UInt64 = 0) -> UInt64 {
        reduce(0xCBF2_9CE4_8422_2325 ^ salt) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

extension [UInt8] {
    /// The bytes of base64; `nil` where the text is not base64.
    init?(base64 text: String) {
        guard let data = Data(base64Encoded: text) else { return nil }
        self.init(data)
    }

    /// The bytes of base64 with the alphabet for URLs, without padding.
    init?(base64URL text: String) {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        self.init(base64: String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }) + padding)
    }

    /// Appends the `count` low bytes of a number, the most significant byte first.
    mutating func append(bigEndian number: UInt64, count: Int = 8) {
        for shift in stride(from: 8 * (count - 1), through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }
}

extension String {
    /// Base64 text, changed to the alphabet for URLs, without padding.
    var urlSafe: String {
        String(compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
    }
}
