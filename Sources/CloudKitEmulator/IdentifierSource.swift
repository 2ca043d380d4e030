/// The source of the emulator's unique values: record names, tokens, user record names, keys.
public struct IdentifierSource: Sendable {
    private let bytes: @Sendable (Int) -> [UInt8]

    /// Makes a source from a function that returns `count` bytes.
    public init(bytes: @escaping @Sendable (_ count: Int) -> [UInt8]) {
        self.bytes = bytes
    }

    /// The system's random numbers.
    public static let random = IdentifierSource { count in
        // Each number costs a system call, so all its eight bytes are used.
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let number = generator.next()
            for shift in stride(from: 0, to: min(8, count - bytes.count) * 8, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
            }
        }
        return bytes
    }

    func next(_ count: Int) -> [UInt8] {
        bytes(count)
    }

    /// A random UUID in lower case, as Apple's sample of an upload shows for names made by the server.
    package func uuid() -> String {
        var bytes = next(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = bytes.hexadecimal
        for offset in [20, 16, 12, 8] {
            text.insert("-", at: text.index(text.startIndex, offsetBy: offset))
        }
        return text
    }

    /// Twice as many hexadecimal digits as `count`.
    package func hex(_ count: Int) -> String {
        next(count).hexadecimal
    }
}
