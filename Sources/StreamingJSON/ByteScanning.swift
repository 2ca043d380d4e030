/// The bytes that have a meaning in JSON.
enum ASCII {
    static let tab: UInt8 = 0x09
    static let newline: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let quote: UInt8 = 0x22
    static let plus: UInt8 = 0x2B
    static let comma: UInt8 = 0x2C
    static let minus: UInt8 = 0x2D
    static let point: UInt8 = 0x2E
    static let slash: UInt8 = 0x2F
    static let zero: UInt8 = 0x30
    static let nine: UInt8 = 0x39
    static let colon: UInt8 = 0x3A
    static let leftBracket: UInt8 = 0x5B
    static let backslash: UInt8 = 0x5C
    static let rightBracket: UInt8 = 0x5D
    static let leftBrace: UInt8 = 0x7B
    static let rightBrace: UInt8 = 0x7D
}

@usableFromInline typealias Bytes = UnsafePointer<UInt8>

extension Bytes {
    /// The eight bytes from here on, the first one lowest.
    @inlinable @inline(__always)
    var word: UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(self).loadUnaligned(as: UInt64.self))
    }

    /// The next one to seven bytes, filled up with spaces. The memory after them is not read.
    @inline(__always)
    func word(ofFirst count: Int) -> UInt64 {
        let raw = UnsafeRawPointer(self)
        let bits = UInt64(truncatingIfNeeded: count &* 8)
        let spaces = 0x2020_2020_2020_2020 &<< bits
        if count >= 4 {
            // Two halves that overlap in the middle.
            let first = UInt64(UInt32(littleEndian: raw.loadUnaligned(as: UInt32.self)))
            let last = UInt64(UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)))
            return first | last &<< (bits &- 32) | spaces
        }
        let middle = UInt64(self[count &>> 1]) &<< UInt64(truncatingIfNeeded: (count &>> 1) &* 8)
        return UInt64(pointee) | middle | UInt64(self[count &- 1]) &<< (bits &- 8) | spaces
    }
}

/// Classifies eight bytes of text at once.
///
/// In the result, the highest bit of a byte is set if the byte has the property. Only the lowest marked byte is
/// certain: the subtraction can borrow from a marked byte into the next.
enum Word {
    static let lowBits: UInt64 = 0x0101_0101_0101_0101
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Marks the bytes that a string cannot hold without an escape: `"`, `\` and control characters.
    @inline(__always)
    static func specials(in word: UInt64) -> UInt64 {
        // Only the control characters and `"` are below 0x21 when this bit is flipped.
        let low = (word ^ 0x0202_0202_0202_0202) &- 0x2121_2121_2121_2121
        let backslashes = (word ^ 0x5C5C_5C5C_5C5C_5C5C) &- lowBits
        return (low | backslashes) & ~word & highBits
    }

    /// Marks the bytes above 9. In a text that was XORed with the character `0`, these are the bytes that are not
    /// digits.
    @inline(__always)
    static func aboveNine(in word: UInt64) -> UInt64 {
        (word | (word &+ 0x7676_7676_7676_7676)) & highBits
    }

    /// The number that eight decimal digits spell. Each digit is a byte from 0 to 9, the first one lowest.
    @inline(__always)
    static func number(of digits: UInt64) -> UInt64 {
        // Pairs of digits, then pairs of pairs, and so on.
        let pairs = (digits &* 10) &+ (digits &>> 8)
        let first = (pairs & 0x0000_00FF_0000_00FF) &* (100 &+ (1_000_000 &<< 32))
        let second = ((pairs &>> 16) & 0x0000_00FF_0000_00FF) &* (1 &+ (10_000 &<< 32))
        return (first &+ second) &>> 32
    }

    /// Marks the slashes.
    @inline(__always)
    static func slashes(in word: UInt64) -> UInt64 {
        let slashes = word ^ 0x2F2F_2F2F_2F2F_2F2F
        return (slashes &- lowBits) & ~slashes & highBits
    }

    /// Marks the bytes that are not ASCII; exact in every byte.
    @inline(__always)
    static func nonASCII(in word: UInt64) -> UInt64 {
        word & highBits
    }
}

/// Returns the first byte in `start..<end` that begins an ill-formed sequence of UTF-8 (Unicode 3.9, table 3-7), or
/// `nil`.
func firstIllFormedUTF8(from start: Bytes, to end: Bytes) -> Bytes? {
    var cursor = start
    while cursor < end {
        if end - cursor >= 8, Word.nonASCII(in: cursor.word) == 0 {
            cursor += 8
            continue
        }
        let lead = cursor.pointee
        if lead < 0x80 {
            cursor += 1
            continue
        }
        let length: Int
        // The allowed second bytes exclude overlong forms, surrogates and scalars beyond U+10FFFF.
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0:
            length = 3
            second = 0xA0...0xBF
        case 0xED:
            length = 3
            second = 0x80...0x9F
        case 0xE1...0xEF: length = 3
        case 0xF0:
            length = 4
            second = 0x90...0xBF
        case 0xF1...0xF3: length = 4
        case 0xF4:
            length = 4
            second = 0x80...0x8F
        default: return cursor
        }
        guard end - cursor >= length, second.contains(cursor[1]) else { return cursor }
        for index in 2..<max(length, 2) where cursor[index] & 0xC0 != 0x80 {
            return cursor
        }
        cursor += length
    }
    return nil
}
