import StreamingJSON
import TestSupport
import Testing

struct NumberReadingTests {
    @Test func theEndsOfEveryIntegerTypeAreExact() throws {
        func check<I: FixedWidthInteger & JSONReadable & JSONWritable>(_ type: I.Type) throws {
            for value in [I.min, I.min + 1, 0, 1, I.max - 1, I.max] {
                #expect(try JSONReader.read(I.self, from: "\(value)") == value)
                #expect(try JSONReader.read(I.self, from: " \(value).000 ") == value)
                #expect(try String(decoding: JSONWriter.bytes(of: value), as: UTF8.self) == "\(value)")
            }
            var beyond = ["\(I.max)0", "1e40", "1e99999999999999999999"]
            if let one = Int128(exactly: I.max) {
                beyond.append("\(one + 1)")
            }
            if I.isSigned, let one = Int128(exactly: I.min), I.bitWidth < 128 {
                beyond.append("\(one - 1)")
            }
            if !I.isSigned {
                beyond.append("-1")
            }
            for json in beyond {
                let error = #expect(throws: JSONError.self, "\(json) as \(I.self)") {
                    try JSONReader.read(I.self, from: json)
                }
                #expect(error?.code == .numberOutOfRange)
                #expect(error?.offset == 0)
            }
            for json in ["0.5", "-1.5", "1e-1", "100e-3", "0.1e0", "1e-99999999999999999999"] {
                let error = #expect(throws: JSONError.self, "\(json)") { try JSONReader.read(I.self, from: json) }
                #expect(error?.code == .typeMismatch)
            }
        }
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(Int.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
        try check(UInt.self)
        #expect(try JSONReader.read(Int128.self, from: "\(Int128.min)") == .min)
        #expect(try JSONReader.read(Int128.self, from: "\(Int128.max)") == .max)
        #expect(try JSONReader.read(UInt128.self, from: "\(UInt128.max)") == .max)
        #expect(throws: JSONError.self) { try JSONReader.read(UInt128.self, from: "\(UInt128.max)0") }
        #expect(throws: JSONError.self) { try JSONReader.read(UInt128.self, from: "-1") }
    }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("-0.0", 0), ("1.0", 1), ("1e2", 100), ("1E+2", 100), ("1.5e1", 15), ("-1200e-2", -12),
        ("0e999999999999999999999", 0), ("9007199254740993", 9_007_199_254_740_993),
        ("9.223372036854775807e18", Int64.max), ("-9223372036854775808.0", Int64.min),
        ("0.00000000000000000000000000000000000000001e41", 1),
    ])
    func wholeNumbersMayBeSpelledWithFractionsAndExponents(json: String, value: Int64) throws {
        #expect(try JSONReader.read(Int64.self, from: json) == value)
    }

    @Test func randomIntegersAreExact() throws {
        var generator = SeededGenerator()
        for _ in 0..<50_000 {
            let signed = Int64(truncatingIfNeeded: generator.next()) >> Int.random(in: 0...63, using: &generator)
            let unsigned = generator.next() >> UInt64.random(in: 0...63, using: &generator)
            #expect(try JSONReader.read(Int64.self, from: "\(signed)") == signed)
            #expect(try JSONReader.read(UInt64.self, from: "\(unsigned)") == unsigned)
            #expect(try JSONWriter.bytes(of: signed) == Array("\(signed)".utf8))
            #expect(try JSONWriter.bytes(of: unsigned) == Array("\(unsigned)".utf8))
        }
    }

    private func expectDouble(_ json: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let expected = Double(json)
        let found = try? JSONReader.read(Double.self, from: json)
        if let expected, expected.isFinite {
            #expect(
                found?.bitPattern == expected.bitPattern,
                "seed \(SeededGenerator.seed): \(json)",
                sourceLocation: sourceLocation
            )
        } else {
            #expect(found == nil, "seed \(SeededGenerator.seed): \(json)", sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: [
        "0", "-0", "0.0", "-0.0e5", "1", "0.1", "0.2", "0.3", "1e22", "1e23", "9007199254740993", "9007199254740992.5",
        "9007199254740993.0000000000000000000001", "123456789012345678901234567890", "1.7976931348623157e308",
        "1.7976931348623159e308", "2.2250738585072014e-308", "2.2250738585072011e-308", "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324", "1e-400", "1e400", "-1e400", "0e400", "1e99999999999999999999",
        "1e-99999999999999999999",
        "18446744073709551615", "18446744073709551616", "9999999999999999999", "99999999999999999999", "8.5e-7", "1e19",
        "1e20",
        "4503599627370496.5", "4503599627370497.5", "0.000000000000000000000000000000000000000000000000001",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126", "37.33478546142578", "-122.03072357177734",
    ])
    func remarkableDoublesAreRoundedAsTheStandardLibraryRoundsThem(json: String) {
        expectDouble(json)
    }

    @Test(arguments: [
        // Integer parts that overflow to 0 in 64 bits: 2^64 times 1, 10, 3, and 2^65.
        "18446744073709551616.5", "18446744073709551616e0", "18446744073709551616.0", "-18446744073709551616e1",
        "184467440737095516160.25", "55340232221128654848E-3", "36893488147419103232.125e2",
        "18446744073709551616000000000000000000000000000000000000000.5", "340282366920938463463374607431768211456e-20",
    ])
    func integerPartsThatOverflowToZeroAreRead(json: String) throws {
        expectDouble(json)
        #expect(throws: JSONError.self) { try JSONReader.read(Int64.self, from: json) }
        #expect(try JSONReader.read(JSONValue.self, from: json) == .double(#require(Double(json))))
    }

    @Test func randomDoublesAreRoundedAsTheStandardLibraryRoundsThem() {
        var generator = SeededGenerator()
        for _ in 0..<30_000 {
            // Finite doubles of any bits, in the form of their description.
            let bits = Double(bitPattern: generator.next())
            if bits.isFinite {
                expectDouble(bits.description)
            }
            // Digits and exponents of common sizes, and values halfway between two doubles.
            let digits = generator.next() >> UInt64.random(in: 0...63, using: &generator)
            expectDouble("\(digits)e\(Int.random(in: -45...45, using: &generator))")
            let text = String(digits)
            let point = text.index(text.startIndex, offsetBy: Int.random(in: 1...text.count, using: &generator))
            if point < text.endIndex {
                expectDouble("\(text[..<point]).\(text[point...])")
                expectDouble("-0.000\(text)e\(Int.random(in: -25...25, using: &generator))")
            }
            let half = (UInt64(1) << 53 | generator.next() >> 11) << 1 | 1
            expectDouble("\(half)")
            expectDouble("\(half)e\(Int.random(in: -20...20, using: &generator))")
            let coordinate = Double.random(in: -180...180, using: &generator)
            expectDouble("\(coordinate)")
        }
    }

    @Test func doublesSurviveWritingAndReading() throws {
        var generator = SeededGenerator()
        for round in 0..<50_000 {
            var value = Double(bitPattern: generator.next())
            if round % 2 == 0 {
                // Prices, coordinates and times, which have few digits.
                let scale = ([1, 10, 100, 1000, 10_000, 1e6, 1e9] as [Double]).randomElement(using: &generator) ?? 1
                value = Double(Int64.random(in: -10_000_000...10_000_000, using: &generator)) / scale
            }
            guard value.isFinite else { continue }
            let bytes = try JSONWriter.bytes(of: value)
            #expect(String(decoding: bytes, as: UTF8.self) == value.description, "seed \(SeededGenerator.seed)")
            #expect(try JSONReader.read(Double.self, from: bytes).bitPattern == value.bitPattern)
            let float = Float(bitPattern: UInt32(truncatingIfNeeded: generator.next()))
            guard float.isFinite else { continue }
            #expect(try JSONReader.read(Float.self, from: JSONWriter.bytes(of: float)) == float)
        }
    }

    @Test func floatsAreRoundedOnce() throws {
        // Through a Double, the result would be 1.0.
        let json = "1.000000059604644775390626"
        #expect(try JSONReader.read(Float.self, from: json) == Float(json))
        #expect(throws: JSONError.self) { try JSONReader.read(Float.self, from: "1e39") }
    }
}
