#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Writes dates as text and reads them back.
///
/// Every date of a document goes through the transcoder of the ``Configuration``: in JSON and form bodies, in
/// parameters and in headers.
public protocol DateTranscoder: Sendable {
    /// Writes a date.
    /// - Parameter date: The date.
    /// - Returns: Its text.
    /// - Throws: If the date has no text, usually `EncodingError`.
    func encode(_ date: Date) throws -> String

    /// Reads a date.
    /// - Parameter dateString: The text of a date.
    /// - Returns: The date.
    /// - Throws: If the text is not a date in this format, usually `DecodingError`.
    func decode(_ dateString: String) throws -> Date
}

/// Writes and reads dates in the format of ISO 8601: year, month, day, hour, minute, second and time zone.
///
/// ```swift
/// try ISO8601DateTranscoder.iso8601.decode("2023-01-18T12:04:11+02:00")
/// try .iso8601.encode(date)                                // "2023-01-18T10:04:11Z"
/// try .iso8601WithFractionalSeconds.encode(date)           // "2023-01-18T10:04:11.000Z"
/// ```
///
/// Reading is strict. Seconds and a time zone (`Z`, `+02:00`, `+0200` or `+02`) are required, letters are upper case,
/// and a date that is not in the calendar is refused. Fractions of a second are required if the options contain them,
/// and refused if not. Writing uses UTC and rounds to milliseconds. Both refuse years outside 0...9999.
public struct ISO8601DateTranscoder: DateTranscoder {
    /// The parts of the text; the values are those of Foundation's `ISO8601DateFormatter.Options`.
    public struct Options: OptionSet, Sendable {
        /// The options as bits.
        public let rawValue: UInt

        /// Creates options of bits.
        /// - Parameter rawValue: The options as bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// `2023`
        public static let withYear = Options(rawValue: 1 << 0)
        /// `01`
        public static let withMonth = Options(rawValue: 1 << 1)
        /// `18`
        public static let withDay = Options(rawValue: 1 << 4)
        /// `100411`
        public static let withTime = Options(rawValue: 1 << 5)
        /// `Z` or an offset from UTC.
        public static let withTimeZone = Options(rawValue: 1 << 6)
        /// A space between date and time instead of `T`.
        public static let withSpaceBetweenDateAndTime = Options(rawValue: 1 << 7)
        /// `2023-01-18` instead of `20230118`
        public static let withDashSeparatorInDate = Options(rawValue: 1 << 8)
        /// `10:04:11` instead of `100411`
        public static let withColonSeparatorInTime = Options(rawValue: 1 << 9)
        /// `+02:00` instead of `+0200`. Reading accepts both.
        public static let withColonSeparatorInTimeZone = Options(rawValue: 1 << 10)
        /// Milliseconds after the seconds.
        public static let withFractionalSeconds = Options(rawValue: 1 << 11)
        /// `2023-01-18`
        public static let withFullDate: Options = [.withYear, .withMonth, .withDay, .withDashSeparatorInDate]
        /// `10:04:11Z`
        public static let withFullTime: Options = [
            .withTime, .withTimeZone, .withColonSeparatorInTime, .withColonSeparatorInTimeZone,
        ]
        /// `2023-01-18T10:04:11Z`
        public static let withInternetDateTime: Options = [.withFullDate, .withFullTime]
    }

    private let options: Options

    /// Creates a transcoder.
    /// - Parameter options: The parts of the text; nil for `2023-01-18T10:04:11Z`.
    public init(options: Options? = nil) {
        self.options = options ?? .withInternetDateTime
    }

    /// Writes a date in UTC.
    /// - Throws: `EncodingError` if the year is outside 0...9999.
    public func encode(_ date: Date) throws -> String {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        guard milliseconds >= -62_167_219_200_000, milliseconds < 253_402_300_800_000 else {
            let context = EncodingError.Context(
                codingPath: [],
                debugDescription: "ISO 8601 has four digits for the year; the date lies outside the years 0 to 9999."
            )
            // The number, not the date: Foundation traps when it is asked to print a date that is not finite.
            throw EncodingError.invalidValue(date.timeIntervalSince1970, context)
        }
        let (seconds, fraction) = Int(milliseconds).flooredDivision(by: 1000)
        let (days, secondOfDay) = seconds.flooredDivision(by: 86_400)
        let (year, month, day) = CivilDate.date(daysSince1970: days)
        var text = TextWriter()
        if options.contains(.withYear) { text.append(year, digits: 4) }
        if options.contains(.withMonth) { text.append(month, digits: 2, after: dateSeparator) }
        if options.contains(.withDay) { text.append(day, digits: 2, after: dateSeparator) }
        if options.contains(.withTime) {
            if !text.isEmpty { text.append(dateTimeSeparator) }
            text.append(secondOfDay / 3600, digits: 2)
            text.appendIfAny(timeSeparator)
            text.append(secondOfDay / 60 % 60, digits: 2)
            text.appendIfAny(timeSeparator)
            text.append(secondOfDay % 60, digits: 2)
            if options.contains(.withFractionalSeconds) {
                text.append(UInt8(ascii: "."))
                text.append(fraction, digits: 3)
            }
        }
        if options.contains(.withTimeZone) { text.append(UInt8(ascii: "Z")) }
        return text.string
    }

    /// Reads a date.
    /// - Throws: `DecodingError` if the text is not exactly of the form that the options describe.
    public func decode(_ dateString: String) throws -> Date {
        var text = dateString
        let seconds = text.withUTF8 { bytes -> Double? in
            var reader = TextReader(bytes: bytes)
            return secondsSince1970(from: &reader)
        }
        guard let seconds else {
            let fraction = options.contains(.withFractionalSeconds) ? "with" : "without"
            let context = DecodingError.Context(
                codingPath: [],
                debugDescription: "'\(dateString)' is not an ISO 8601 date \(fraction) fractional seconds."
            )
            throw DecodingError.dataCorrupted(context)
        }
        return Date(timeIntervalSince1970: seconds)
    }

    private var dateSeparator: UInt8? { options.contains(.withDashSeparatorInDate) ? UInt8(ascii: "-") : nil }
    private var timeSeparator: UInt8? { options.contains(.withColonSeparatorInTime) ? UInt8(ascii: ":") : nil }
    private var dateTimeSeparator: UInt8 {
        options.contains(.withSpaceBetweenDateAndTime) ? UInt8(ascii: " ") : UInt8(ascii: "T")
    }

    private func secondsSince1970(from reader: inout TextReader) -> Double? {
        var (year, month, day) = (1970, 1, 1)
        if options.contains(.withYear) {
            guard let value = reader.number(digits: 4) else { return nil }
            year = value
        }
        if options.contains(.withMonth) {
            guard reader.skip(dateSeparator, unlessAtStart: true) else { return nil }
            guard let value = reader.number(digits: 2), 1...12 ~= value else { return nil }
            month = value
        }
        if options.contains(.withDay) {
            guard reader.skip(dateSeparator, unlessAtStart: true) else { return nil }
            guard let value = reader.number(digits: 2) else { return nil }
            guard 1...CivilDate.daysInMonth(month, ofYear: year) ~= value else { return nil }
            day = value
        }
        var seconds = Double(CivilDate.daysSince1970(year: year, month: month, day: day) * 86_400)
        if options.contains(.withTime) {
            guard reader.skip(dateTimeSeparator, unlessAtStart: true) else { return nil }
            guard let time = timeOfDay(from: &reader) else { return nil }
            seconds += time
        }
        if options.contains(.withTimeZone) {
            guard let offset = zoneOffset(from: &reader) else { return nil }
            seconds -= Double(offset)
        }
        return reader.isAtEnd ? seconds : nil
    }

    private func timeOfDay(from reader: inout TextReader) -> Double? {
        guard let hour = reader.number(digits: 2), reader.skip(timeSeparator) else { return nil }
        guard let minute = reader.number(digits: 2), minute < 60, reader.skip(timeSeparator) else { return nil }
        guard let second = reader.number(digits: 2), second < 60 else { return nil }
        // 24:00:00 is the end of the day.
        guard hour < 24 || (hour == 24 && minute == 0 && second == 0) else { return nil }
        let time = Double(hour * 3600 + minute * 60 + second)
        guard options.contains(.withFractionalSeconds) else { return time }
        guard reader.skip(UInt8(ascii: ".")), let fraction = reader.fraction() else { return nil }
        return time + fraction
    }

    private func zoneOffset(from reader: inout TextReader) -> Int? {
        if reader.skip(UInt8(ascii: "Z")) { return 0 }
        let sign: Int
        if reader.skip(UInt8(ascii: "+")) {
            sign = 1
        } else if reader.skip(UInt8(ascii: "-")) {
            sign = -1
        } else {
            return nil
        }
        guard let hours = reader.number(digits: 2), hours < 24 else { return nil }
        if reader.isAtEnd { return sign * hours * 3600 }
        _ = reader.skip(UInt8(ascii: ":"))
        guard let minutes = reader.number(digits: 2), minutes < 60 else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}

extension DateTranscoder where Self == ISO8601DateTranscoder {
    /// ISO 8601 with seconds: `2023-01-18T10:04:11Z`.
    public static var iso8601: Self { ISO8601DateTranscoder() }

    /// ISO 8601 with milliseconds: `2023-01-18T10:04:11.000Z`.
    public static var iso8601WithFractionalSeconds: Self {
        ISO8601DateTranscoder(options: [.withInternetDateTime, .withFractionalSeconds])
    }
}

/// Days of the Gregorian calendar, which is extended to all years as ISO 8601 demands.
private enum CivilDate {
    // Both conversions count from 1 March, so that the leap day is the last of its year.

    static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let marchYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = marchYear.flooredDivision(by: 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    static func daysInMonth(_ month: Int, ofYear year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int {
    /// Quotient and remainder with a remainder that is never negative.
    fileprivate func flooredDivision(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

private struct TextWriter {
    private var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(24) }

    var isEmpty: Bool { bytes.isEmpty }
    var string: String { String(decoding: bytes, as: UTF8.self) }

    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    mutating func appendIfAny(_ separator: UInt8?) {
        if let separator { bytes.append(separator) }
    }

    mutating func append(_ number: Int, digits: Int, after separator: UInt8?) {
        if !isEmpty { appendIfAny(separator) }
        append(number, digits: digits)
    }

    mutating func append(_ number: Int, digits: Int) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}

private struct TextReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { index == bytes.count }

    /// Skips the byte if it is next, and returns whether it was. `nil` is a separator that the format does not have:
    /// then nothing is skipped.
    mutating func skip(_ byte: UInt8?, unlessAtStart: Bool = false) -> Bool {
        guard let byte, !(unlessAtStart && index == 0) else { return true }
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    mutating func number(digits: Int) -> Int? {
        guard bytes.count - index >= digits else { return nil }
        var number = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Reads one or more digits after the point. Digits after the ninth are ignored.
    mutating func fraction() -> Double? {
        var (value, scale) = (0, 1)
        let start = index
        while let digit = digit() {
            guard scale < 1_000_000_000 else { continue }
            value = value * 10 + digit
            scale *= 10
        }
        return index > start ? Double(value) / Double(scale) : nil
    }

    private mutating func digit() -> Int? {
        guard index < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[index] else { return nil }
        defer { index += 1 }
        return Int(bytes[index] - UInt8(ascii: "0"))
    }
}
