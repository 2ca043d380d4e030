extension JSONReader {
    /// Reads a whole number.
    ///
    /// - Returns: The number.
    /// - Throws: ``JSONError`` as ``readInteger(_:)`` does.
    public mutating func readInt64() throws(JSONError) -> Int64 {
        try readInteger(Int64.self)
    }

    /// Reads a whole number of any integer type, exactly.
    ///
    /// `1.0` and `1e2` are integers, too; `1.5` is not an integer.
    ///
    /// - Parameter type: The type of the number.
    /// - Returns: The number.
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other kind and for a number with a fraction, and
    ///   ``JSONError/Code/numberOutOfRange`` for one that the type cannot hold.
    @inlinable
    public mutating func readInteger<I: FixedWidthInteger>(_ type: I.Type = I.self) throws(JSONError) -> I {
        let whole = try readWholeNumber()
        if let value = whole.value(as: I.self) {
            return value
        }
        if I.bitWidth > 64, let value = wideInteger(whole, as: I.self) {
            return value
        }
        throw outOfRange(whole, "\(I.self)")
    }

    /// Reads a number as the `Double` nearest to it.
    ///
    /// - Returns: The number.
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other kind, and ``JSONError/Code/numberOutOfRange`` for
    ///   one whose magnitude is beyond that of all finite doubles.
    public mutating func readDouble() throws(JSONError) -> Double {
        skipWhitespace()
        guard cursor < end, isNumber(cursor.pointee) else { throw mismatch("a number") }
        let first = cursor
        let number = try scanNumber()
        if number.isExact, let value = number.double {
            return value
        }
        return try longDouble(from: first)
    }

    /// Reads the rare other numbers: those with more than 19 digits or with a large exponent. The reader is just behind
    /// the number.
    @inline(never)
    private mutating func longDouble(from first: Bytes) throws(JSONError) -> Double {
        guard
            let value = Double(
                String(decoding: UnsafeBufferPointer(start: first, count: cursor - first), as: UTF8.self)
            ),
            value.isFinite
        else {
            cursor = first
            throw error(.numberOutOfRange, "the number is too large for a Double")
        }
        return value
    }

    /// Reads a number as the `Float` nearest to it.
    ///
    /// - Returns: The number.
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other kind, and ``JSONError/Code/numberOutOfRange`` for
    ///   one whose magnitude is beyond that of all finite floats.
    public mutating func readFloat() throws(JSONError) -> Float {
        skipWhitespace()
        guard cursor < end, isNumber(cursor.pointee) else { throw mismatch("a number") }
        let first = cursor
        _ = try scanNumber()
        // The text is not read through `Double`, because that rounds twice.
        guard
            let value = Float(
                String(decoding: UnsafeBufferPointer(start: first, count: cursor - first), as: UTF8.self)
            ),
            value.isFinite
        else {
            cursor = first
            throw error(.numberOutOfRange, "the number is too large for a Float")
        }
        return value
    }

    @inline(__always)
    func isNumber(_ byte: UInt8) -> Bool {
        byte == ASCII.minus || byte &- ASCII.zero <= 9
    }

    // MARK: Whole numbers

    /// A whole number as sign and magnitude, or the offset of a number whose magnitude has more than 64 bits.
    @usableFromInline
    struct WholeNumber {
        @usableFromInline var magnitude: UInt64
        @usableFromInline var isNegative: Bool
        @usableFromInline var isWide: Bool
        var offset: Int

        @inlinable
        func value<I: FixedWidthInteger>(as type: I.Type) -> I? {
            if isWide {
                return nil
            }
            if !isNegative {
                return I(exactly: magnitude)
            }
            guard magnitude <= 1 << 63 else { return nil }
            return I(exactly: Int64(truncatingIfNeeded: 0 &- magnitude))
        }
    }

    @usableFromInline
    mutating func readWholeNumber() throws(JSONError) -> WholeNumber {
        skipWhitespace()
        guard cursor < end, isNumber(cursor.pointee) else { throw mismatch("a whole number") }
        let first = cursor
        let number = try scanNumber()
        let whole = WholeNumber(
            magnitude: number.mantissa,
            isNegative: number.isNegative,
            isWide: false,
            offset: first - start
        )
        if number.isInteger, number.isExact {
            return whole
        }
        return try unusualWholeNumber(whole, from: first)
    }

    /// A number with a fraction or an exponent, which can still be whole, or a number with many digits.
    @inline(never)
    private mutating func unusualWholeNumber(
        _ number: WholeNumber,
        from first: Bytes
    ) throws(JSONError) -> WholeNumber {
        var whole = number
        let (digits, exponent) = decimal(from: first, to: cursor)
        guard exponent >= 0 else {
            cursor = first
            throw error(.typeMismatch, "expected a whole number, found one with a fraction")
        }
        whole.magnitude = 0
        for digit in digits + Array(repeating: 0, count: min(exponent, 40)) {
            let (product, overflow) = whole.magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            if overflow || carry {
                whole.isWide = true
                break
            }
            whole.magnitude = sum
        }
        return whole
    }

    /// Reads a number of any size without loss: as digits without zeros at either end, and a power of ten to multiply
    /// them with.
    mutating func readDecimal() throws(JSONError) -> (isNegative: Bool, digits: [UInt8], exponent: Int) {
        skipWhitespace()
        guard cursor < end, isNumber(cursor.pointee) else { throw mismatch("a number") }
        let first = cursor
        let number = try scanNumber()
        let (digits, exponent) = decimal(from: first, to: cursor)
        return (number.isNegative && !digits.isEmpty, digits, exponent)
    }

    /// The digits of a checked number without zeros at either end, and the power of ten to multiply them with.
    private func decimal(from first: Bytes, to last: Bytes) -> (digits: [UInt8], exponent: Int) {
        var digits: [UInt8] = []
        var exponent = 0
        var hasPoint = false
        var cursor = first
        while cursor < last {
            switch cursor.pointee {
            case ASCII.zero...ASCII.nine:
                if cursor.pointee != ASCII.zero || !digits.isEmpty {
                    digits.append(cursor.pointee - ASCII.zero)
                }
                exponent -= hasPoint ? 1 : 0
            case ASCII.point:
                hasPoint = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                exponent += Self.exponent(from: cursor + 1, to: last)
                cursor = last
                continue
            default:
                break
            }
            cursor += 1
        }
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
        return digits.isEmpty ? ([], 0) : (digits, exponent)
    }

    /// The value of a checked exponent, limited to a value above which the result is the same for any input.
    private static func exponent(from first: Bytes, to last: Bytes) -> Int {
        var value = 0
        var cursor = first
        let isNegative = cursor.pointee == ASCII.minus
        if isNegative || cursor.pointee == ASCII.plus {
            cursor += 1
        }
        while cursor < last {
            value = min(value * 10 + Int(cursor.pointee - ASCII.zero), 100_000_000_000_000_000)
            cursor += 1
        }
        return isNegative ? -value : value
    }

    /// Integers of more than 64 bits.
    @usableFromInline
    func wideInteger<I: FixedWidthInteger>(_ whole: WholeNumber, as type: I.Type) -> I? {
        let first = start + whole.offset
        let (digits, exponent) = decimal(from: first, to: cursor)
        guard exponent < I.bitWidth else { return nil }
        var value: I = 0
        for digit in digits + Array(repeating: 0, count: exponent) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) =
                whole.isNegative
                ? product.subtractingReportingOverflow(I(digit)) : product.addingReportingOverflow(I(digit))
            if overflow || carry {
                return nil
            }
            value = sum
        }
        return value
    }

    @usableFromInline
    @inline(never)
    mutating func outOfRange(_ whole: WholeNumber, _ type: String) -> JSONError {
        cursor = start + whole.offset
        return error(.numberOutOfRange, "the number does not fit into \(type)")
    }

    // MARK: Digits

    /// A checked number: `mantissa` times ten to the power of `exponent`.
    package struct Number {
        var mantissa: UInt64
        var exponent: Int
        var isNegative: Bool
        /// Whether it has neither fraction nor exponent.
        package var isInteger: Bool
        /// Whether `mantissa` holds all of its digits.
        package var isExact: Bool

        /// The whole number, if it has no fraction or exponent and fits. `nil` does not mean that the number is not
        /// whole.
        package var int64: Int64? {
            guard isInteger, isExact, mantissa <= UInt64(Int64.max) else { return nil }
            return isNegative ? -Int64(mantissa) : Int64(mantissa)
        }

        /// The nearest double, if it can be computed exactly with the integers of the machine.
        package var double: Double? {
            var value: Double
            if exponent == 0 || mantissa == 0 {
                value = Double(mantissa)
            } else if mantissa <= 1 << 53, exponent >= -22, exponent <= 22 {
                // Both operands are exact, so IEEE 754 rounds only once (Clinger, "How to Read Floating Point Numbers
                // Accurately").
                let power = doublePowersOfTen[abs(exponent)]
                value = Double(mantissa)
                value = exponent < 0 ? value / power : value * power
            } else if exponent < 0, exponent >= -19 {
                value = Self.quotient(mantissa, powersOfTen[-exponent])
            } else if exponent > 0, exponent <= 19 {
                value = Self.product(mantissa, powersOfTen[exponent])
            } else {
                return nil
            }
            return isNegative ? -value : value
        }

        /// The double nearest to the quotient of two numbers that are not 0.
        private static func quotient(_ dividend: UInt64, _ divisor: UInt64) -> Double {
            // Both are shifted to 64 bits, so the quotient has 63 or 64 bits, ten more than a double holds. If the
            // division leaves a remainder, the lowest bit is set: it decides the rounding of what looks like a half.
            let dividendShift = dividend.leadingZeroBitCount
            let divisorShift = divisor.leadingZeroBitCount
            let high = dividend &<< UInt64(dividendShift)
            var (quotient, remainder) = (divisor &<< UInt64(divisorShift)).dividingFullWidth((high &>> 1, high &<< 63))
            quotient |= remainder == 0 ? 0 : 1
            return Double(quotient) * powerOfTwo(divisorShift - dividendShift - 63)
        }

        /// The double nearest to the product of two numbers that are not 0.
        private static func product(_ left: UInt64, _ right: UInt64) -> Double {
            let (high, low) = left.multipliedFullWidth(by: right)
            guard high > 0 else { return Double(low) }
            // The upper 64 bits. The lowest of them is also set if any bit below is set.
            let shift = high.leadingZeroBitCount
            let top = high << shift | low >> (64 - shift)
            let rest = low << shift
            return Double(top | (rest == 0 ? 0 : 1)) * powerOfTwo(64 - shift)
        }

        private static func powerOfTwo(_ exponent: Int) -> Double {
            Double(bitPattern: UInt64(truncatingIfNeeded: exponent &+ 1023) &<< 52)
        }
    }

    /// Checks the number that begins with the next byte, and skips it.
    @inline(__always)
    mutating func scanNumber() throws(JSONError) -> Number {
        var cursor = self.cursor
        let end = self.end
        let isNegative = cursor.pointee == ASCII.minus
        if isNegative {
            cursor += 1
        }
        let first = cursor
        var mantissa: UInt64 = 0
        Self.scanDigits(into: &mantissa, from: &cursor, to: end)
        let count = cursor - first
        guard count > 0, count == 1 || first.pointee != ASCII.zero else {
            self.cursor = first
            throw numberError(count)
        }
        if cursor == end || (cursor.pointee != ASCII.point && cursor.pointee | 0x20 != UInt8(ascii: "e")) {
            self.cursor = cursor
            return Number(
                mantissa: mantissa,
                exponent: 0,
                isNegative: isNegative,
                isInteger: true,
                isExact: count <= 19
            )
        }
        self.cursor = cursor
        // The mantissa of a number with many digits can be 0 after an overflow.
        return try scanFraction(mantissa, count: first.pointee == ASCII.zero ? 0 : count, isNegative: isNegative)
    }

    /// Skips digits and appends them to a number, which wraps around at 64 bits.
    @inline(__always)
    private static func scanDigits(into mantissa: inout UInt64, from cursor: inout Bytes, to end: Bytes) {
        while end - cursor >= 8 {
            let digits = cursor.word ^ 0x3030_3030_3030_3030
            let others = Word.aboveNine(in: digits)
            let count = others.trailingZeroBitCount &>> 3
            guard count > 0 else { return }
            // Leading zeros fill them up to eight digits.
            let number = Word.number(of: digits &<< UInt64(truncatingIfNeeded: 64 &- count &* 8))
            mantissa = mantissa &* powersOfTen[count] &+ number
            cursor += count
            guard count == 8 else { return }
        }
        while cursor < end, cursor.pointee &- ASCII.zero <= 9 {
            mantissa = mantissa &* 10 &+ UInt64(cursor.pointee &- ASCII.zero)
            cursor += 1
        }
    }

    /// Continues with the fraction and the exponent of a number.
    private mutating func scanFraction(
        _ whole: UInt64,
        count wholeCount: Int,
        isNegative: Bool
    ) throws(JSONError) -> Number {
        var cursor = self.cursor
        let end = self.end
        var mantissa = whole
        var count = wholeCount
        var exponent = 0
        if cursor.pointee == ASCII.point {
            cursor += 1
            let first = cursor
            if count == 0 {
                while cursor < end, cursor.pointee == ASCII.zero {
                    cursor += 1
                }
            }
            let digits = cursor
            Self.scanDigits(into: &mantissa, from: &cursor, to: end)
            count &+= cursor - digits
            exponent = first - cursor
            guard exponent < 0 else {
                self.cursor = cursor
                throw numberError(0)
            }
        }
        if cursor < end, cursor.pointee | 0x20 == UInt8(ascii: "e") {
            cursor += 1
            let first = cursor
            if cursor < end, cursor.pointee == ASCII.plus || cursor.pointee == ASCII.minus {
                cursor += 1
            }
            let digits = cursor
            while cursor < end, cursor.pointee &- ASCII.zero <= 9 {
                cursor += 1
            }
            guard cursor > digits else {
                self.cursor = cursor
                throw numberError(0)
            }
            exponent += Self.exponent(from: first, to: cursor)
        }
        self.cursor = cursor
        return Number(
            mantissa: mantissa,
            exponent: exponent,
            isNegative: isNegative,
            isInteger: false,
            isExact: count <= 19
        )
    }

    @inline(never)
    private func numberError(_ count: Int) -> JSONError {
        if count > 1 {
            return error(.malformed, "a number cannot begin with 0 and more digits")
        }
        return cursor < end
            ? error(.malformed, "expected a digit of a number")
            : error(.unexpectedEnd, "the input ends inside of a number")
    }
}

/// The powers of ten that an integer of 64 bits can hold.
private let powersOfTen: [UInt64] = [
    1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
    100_000_000_000,
    1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000, 10_000_000_000_000_000,
    100_000_000_000_000_000, 1_000_000_000_000_000_000, 10_000_000_000_000_000_000,
]

/// The powers of ten that a double can hold exactly.
private let doublePowersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
]
