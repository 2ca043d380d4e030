import Foundation
import OpenAPISwiftRuntime
import TestSupport
import Testing

struct DateTranscoderTests {

    private let moment = Date(timeIntervalSince1970: 1_674_036_251)

    @Test(arguments: [
        "2023-01-18T10:04:11Z", "2023-01-18T12:04:11+02:00", "2023-01-18T12:04:11+0200", "2023-01-18T12:04:11+02",
        "2023-01-18T09:34:11-00:30", "2023-01-17T24:00:00-10:04",
    ])
    func aDateWithSecondsAndAZoneIsRead(text: String) throws {
        let expected = text.contains("24:00") ? moment.addingTimeInterval(-11) : moment
        #expect(try ISO8601DateTranscoder.iso8601.decode(text) == expected)
    }

    @Test(arguments: [
        "", "2023-01-18", "2023-01-18T10:04Z", "2023-01-18T10:04:11", "2023-01-18t10:04:11Z", "2023-01-18T10:04:11z",
        "2023-01-18 10:04:11Z", "2023-01-18T10:04:11.5Z", "2023-01-18T10:04:11Z ", " 2023-01-18T10:04:11Z",
        "2023-01-18T10:04:11Zx", "2023-01-18T10:04:11 Z", "20230118T100411Z", "2023-1-18T10:04:11Z",
        "2023-00-18T10:04:11Z", "2023-13-18T10:04:11Z", "2023-02-29T10:04:11Z", "2023-01-18T25:04:11Z",
        "2023-01-18T24:00:01Z", "2023-01-18T10:60:11Z", "2023-01-18T10:04:60Z", "2023-01-18T10:04:11+25:00",
        "2023-01-18T10:04:11+02:75", "2023-01-18T10:04:11+2", "12023-01-18T10:04:11Z", "2023-01-18T10:04:11GMT",
    ])
    func textsThatAreNotISO8601DatesAreRefused(text: String) {
        #expect(throws: DecodingError.self) { try ISO8601DateTranscoder.iso8601.decode(text) }
    }

    @Test func fractionsAreRequiredWhereAskedFor() throws {
        let transcoder = ISO8601DateTranscoder.iso8601WithFractionalSeconds
        #expect(try transcoder.decode("2023-01-18T10:04:11.500Z") == moment.addingTimeInterval(0.5))
        #expect(try transcoder.decode("2023-01-18T10:04:11.5+00:00") == moment.addingTimeInterval(0.5))
        #expect(try transcoder.decode("2023-01-18T10:04:11.25000000000Z") == moment.addingTimeInterval(0.25))
        for text in ["2023-01-18T10:04:11Z", "2023-01-18T10:04:11.Z", "2023-01-18T10:04:11,5Z"] {
            #expect(throws: DecodingError.self) { try transcoder.decode(text) }
        }
    }

    @Test func datesAreWrittenInUTC() throws {
        let written: [(TimeInterval, String, String)] = [
            (0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
            (1.9, "1970-01-01T00:00:01Z", "1970-01-01T00:00:01.900Z"),
            (1.9996, "1970-01-01T00:00:02Z", "1970-01-01T00:00:02.000Z"),
            (-0.5, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500Z"),
            (1_674_036_251, "2023-01-18T10:04:11Z", "2023-01-18T10:04:11.000Z"),
            (951_782_400, "2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"),
            (-62_167_219_200, "0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
        ]
        for (seconds, plain, fractional) in written {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(try ISO8601DateTranscoder.iso8601.encode(date) == plain)
            #expect(try ISO8601DateTranscoder.iso8601WithFractionalSeconds.encode(date) == fractional)
        }
    }

    @Test(arguments: [-62_167_219_201, 253_402_300_800, .infinity, -.infinity, .nan] as [TimeInterval])
    func yearsOfMoreThanFourDigitsAreRefused(seconds: TimeInterval) {
        #expect(throws: EncodingError.self) {
            try ISO8601DateTranscoder.iso8601.encode(Date(timeIntervalSince1970: seconds))
        }
    }

    @Test func whatIsWrittenIsReadAsFoundationReadsIt() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let foundation = ISO8601DateFormatter()
        // From 1600 on, because Foundation uses the Julian calendar for earlier dates.
        let range = -11_676_096_000..<253_402_300_800
        for _ in 0..<2000 {
            let date = Date(timeIntervalSince1970: TimeInterval(Int.random(in: range, using: &generator)))
            let text = try ISO8601DateTranscoder.iso8601.encode(date)
            #expect(text == foundation.string(from: date), "seed \(seed)")
            #expect(try ISO8601DateTranscoder.iso8601.decode(text) == date, "seed \(seed)")
        }
    }

    @Test func optionsChooseTheParts() throws {
        let date = ISO8601DateTranscoder(options: [.withFullDate])
        #expect(try date.encode(moment) == "2023-01-18")
        #expect(try date.decode("2023-01-18") == Date(timeIntervalSince1970: 1_674_000_000))
        #expect(throws: DecodingError.self) { try date.decode("2023-01-18T10:04:11Z") }

        let basic = ISO8601DateTranscoder(options: [.withYear, .withMonth, .withDay, .withTime, .withTimeZone])
        #expect(try basic.encode(moment) == "20230118T100411Z")
        #expect(try basic.decode("20230118T100411Z") == moment)

        let spaced = ISO8601DateTranscoder(options: [.withInternetDateTime, .withSpaceBetweenDateAndTime])
        #expect(try spaced.encode(moment) == "2023-01-18 10:04:11Z")
        #expect(try spaced.decode("2023-01-18 10:04:11Z") == moment)
    }
}
