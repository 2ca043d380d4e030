#if canImport(Darwin)
    import Foundation
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Decodes the encodings that need conversion tables, with the tables of the system: `iconv` of the C library, or Core
/// Foundation on Apple's systems. On other systems, no such encoding is known.
enum CharsetConverter {
    /// The decoded text, and the number of bytes that were not valid and became replacement characters.
    typealias Conversion = (text: String, undecodable: Int)

    #if canImport(Darwin)
        /// Returns `nil` if the system does not know the encoding, or if the bytes are not valid in it.
        static func text(of bytes: ArraySlice<UInt8>, in name: String) -> Conversion? {
            let encoding = CFStringConvertIANACharSetNameToEncoding(name as CFString)
            guard encoding != kCFStringEncodingInvalidId else { return nil }
            let rawValue = CFStringConvertEncodingToNSStringEncoding(encoding)
            return String(data: Data(bytes), encoding: String.Encoding(rawValue: rawValue)).map { ($0, 0) }
        }
    #elseif canImport(Glibc) || canImport(Musl) || canImport(Android)
        /// Returns `nil` if the system does not know the encoding.
        static func text(of bytes: ArraySlice<UInt8>, in name: String) -> Conversion? {
            guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }),
                let converter = iconv_open("UTF-8", systemName(of: name)),
                converter != iconv_t(bitPattern: -1)
            else { return nil }
            defer { iconv_close(converter) }
            var input = bytes.map { CChar(bitPattern: $0) }
            var output = [CChar](repeating: 0, count: 16_384)
            var text: [UInt8] = []
            var undecodable = 0
            input.withUnsafeMutableBufferPointer { input in
                var source = input.baseAddress
                var remaining = input.count
                while remaining > 0 {
                    var (result, failure): (Int, CInt) = (0, 0)
                    output.withUnsafeMutableBufferPointer { output in
                        var target = output.baseAddress
                        var free = output.count
                        result = iconv(converter, &source, &remaining, &target, &free)
                        failure = errno
                        text.append(contentsOf: output.prefix(output.count - free).map { UInt8(bitPattern: $0) })
                    }
                    // With E2BIG, the output was full: the loop goes on with an empty one.
                    if result == -1 && failure != E2BIG, remaining > 0 {
                        text.append(contentsOf: [0xEF, 0xBF, 0xBD])
                        undecodable += 1
                        source = source?.advanced(by: 1)
                        remaining -= 1
                    }
                }
            }
            return (String(decoding: text, as: UTF8.self), undecodable)
        }

        /// The name for `iconv`. Where feeds use a superset under the name of an encoding, it is the name of the
        /// superset.
        private static func systemName(of name: String) -> String {
            switch name {
            case "euc-kr": "CP949"
            case "shift_jis": "CP932"
            case "big5": "BIG5-HKSCS"
            default: name
            }
        }
    #else
        /// No encoding is known on this system.
        static func text(of bytes: ArraySlice<UInt8>, in name: String) -> Conversion? { nil }
    #endif
}
