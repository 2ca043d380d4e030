import ExampleTesting
import Foundation
import Testing
import WebText

struct WebDateTests {
    @Test(arguments: [
        // RFC 822, 850, 1123, 2822
        ("Thu, 01 Jan 2004 19:48:21 GMT", "2004-01-01T19:48:21Z"),
        ("Thu, 1 Jan 2004 19:48:21 +0000", "2004-01-01T19:48:21Z"),
        ("Thu, 01 Jan 04 19:48:21 -0500", "2004-01-02T00:48:21Z"),
        ("Thu, 1 Jan 04 19:48 EST", "2004-01-02T00:48:00Z"),
        ("1 Jan 2004 19:48 PDT", "2004-01-02T02:48:00Z"),
        ("Thursday, 01-Jan-04 19:48:21 GMT", "2004-01-01T19:48:21Z"),
        ("Mon, 01 Jan 2004 19:48:21 GMT", "2004-01-01T19:48:21Z"),
        ("Thu, Jan 01 2004 19:48:21 GMT", "2004-01-01T19:48:21Z"),
        ("January 1st, 2004 7:48 PM", "2004-01-01T19:48:00Z"),
        ("Thu,01 Jan 2004 19:48:21 GMT", "2004-01-01T19:48:21Z"),
        ("01 Jan 2004", "2004-01-01T00:00:00Z"),
        ("Thu, 01 Jan 2004 1948 GMT", "2004-01-01T19:48:00Z"),
        ("Thu, 01 Jan 2004 19:48:21 GMT+0100", "2004-01-01T18:48:21Z"),
        ("Thu, 01 Jan 2004 19:48:21 Etc/GMT", "2004-01-01T19:48:21Z"),
        ("Thu, 01 Jan 2004 19:48:21 +01:00", "2004-01-01T18:48:21Z"),
        ("Thu, 01 Jan 2004 19:48:21 Q", "2004-01-01T19:48:21Z"),
        ("Thu, 01 Jan 2004 19:48:21 (comment)", "2004-01-01T19:48:21Z"),
        ("Sat, 31 Dec 1994 23:59:60 UTC", "1995-01-01T00:00:00Z"),
        ("Wed, 19 Aug 98 16:02 +0000", "1998-08-19T16:02:00Z"),
        ("Tue, 07 Sept 2004 00:00:00 CEST", "2004-09-06T22:00:00Z"),
        ("29 February 2004 00:00 GMT", "2004-02-29T00:00:00Z"),
        // asctime
        ("Sun Jan  4 16:29:06 2004", "2004-01-04T16:29:06Z"),
        ("Sun Jan  4 16:29:06 PST 2004", "2004-01-05T00:29:06Z"),
        // ISO 8601 and W3CDTF
        ("2003", "2003-01-01T00:00:00Z"),
        ("2003-12", "2003-12-01T00:00:00Z"),
        ("2003-12-31", "2003-12-31T00:00:00Z"),
        ("20031231", "2003-12-31T00:00:00Z"),
        ("2003-365", "2003-12-31T00:00:00Z"),
        ("2003365", "2003-12-31T00:00:00Z"),
        ("2003-W52-3", "2003-12-24T00:00:00Z"),
        ("2004W011", "2003-12-29T00:00:00Z"),
        ("2009-W53-7", "2010-01-03T00:00:00Z"),
        ("2003-W52-3T10:14Z", "2003-12-24T10:14:00Z"),
        ("03-12-31", "2003-12-31T00:00:00Z"),
        ("2003-12-31T10:14Z", "2003-12-31T10:14:00Z"),
        ("2003-12-31T10:14:55Z", "2003-12-31T10:14:55Z"),
        ("2003-12-31t10:14:55z", "2003-12-31T10:14:55Z"),
        ("2003-12-31T10:14:55-08:00", "2003-12-31T18:14:55Z"),
        ("2003-12-31T10:14:55+0530", "2003-12-31T04:44:55Z"),
        ("2003-12-31T10:14:55+01", "2003-12-31T09:14:55Z"),
        ("20031231T101455Z", "2003-12-31T10:14:55Z"),
        ("2003-12-31T24:00:00Z", "2004-01-01T00:00:00Z"),
        ("2003-12-31T10:14:55 PST", "2003-12-31T18:14:55Z"),
        ("2003-12-31T10:14:55PST", "2003-12-31T18:14:55Z"),
        ("2003/12/31 10:14:55", "2003-12-31T10:14:55Z"),
        // SQL
        ("2003-12-31 14:00:00 PST", "2003-12-31T22:00:00Z"),
        ("2004-07-08 23:56:58", "2004-07-08T23:56:58Z"),
        // Other languages
        ("2004년 05월 28일  오후 11:31:15", "2004-05-28T14:31:15Z"),
        ("2004-05-28 오전 11:31:15", "2004-05-28T02:31:15Z"),
        ("Κυρ, 11 Ιούλ 2004 12:00:00 EST", "2004-07-11T17:00:00Z"),
        ("2004-július-13T9:15-05:00", "2004-07-13T14:15:00Z"),
        ("Do, 3 März 2005 10:00:00 +0100", "2005-03-03T09:00:00Z"),
        ("mar. 01 juin 2004 10:00:00 +0200", "2004-06-01T08:00:00Z"),
        ("12 de febrero de 2004", "2004-02-12T00:00:00Z"),
        // Before 1970, and the limits
        ("1899-12-31T00:00:00Z", "1899-12-31T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        (" \n Thu, 01 Jan 2004 19:48:21 GMT \n", "2004-01-01T19:48:21Z"),
    ])
    func aSpellingMeansAnInstant(text: String, instant: String) throws {
        let date = try #require(WebDate.parse(text), "\(text) is a date")
        #expect(date.formatted(.iso8601) == instant)
    }

    @Test(arguments: [
        "", " ", "yesterday", "Thu", "31 June 2003", "29 Feb 2003 10:00 GMT", "2003-13-01", "2003-02-30", "2003-366",
        "2003-W54-1", "2003-W10-8", "2003-12-31T25:00:00Z", "2003-12-31T10:60:00Z", "1 Foo 2004", "Jan 2004",
        "0000-01-01",
        "99999-01-01", "10:14:55", "2003-12-31T", "-", "T", "+01:00", "Jan Jan Jan", "99999999999999999999 Jan 2004",
        "2003-99999999999999999999", String(repeating: "9", count: 5000), "2003-12-31Tabc",
    ])
    func whatIsNoDateHasNoInstant(text: String) {
        #expect(WebDate.parse(text) == nil)
    }

    @Test func fractionsOfSecondsAreKept() throws {
        let date = try #require(WebDate.parse("2004-07-08 23:56:58.25"))
        let second = try #require(WebDate.parse("2004-07-08 23:56:58"))
        #expect(date.timeIntervalSince(second) == 0.25)
    }

    @Test func everyDayOfTwoCenturiesComesBack() throws {
        // The parser has its own calendar arithmetic; the test compares it with Foundation's.
        var day = Date(timeIntervalSince1970: -2_208_988_800)
        let end = Date(timeIntervalSince1970: 4_102_444_800)
        while day < end {
            #expect(WebDate.parse(day.formatted(.iso8601)) == day)
            day.addTimeInterval(86_400 * 3 + 3_661)
        }
    }

    @Test func randomTextIsReadOrRefusedButNeverTraps() {
        let seed = UInt64.random(in: .min ... .max)
        print("dates: seed \(seed)")
        var random = SeededRandom(seed: seed)
        let pieces = [
            "2003", "12", "31", "W52", "-", ":", "T", "Z", "+", "01", "Jan", "Thu", ",", " ", "GMT", "PM", "년", "오후",
            ".", "99999",
            "Ιούλ", "-0500", "é", "\u{0}", "th", "(", "/",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0..<10, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            _ = WebDate.parse(text.joined())
        }
    }
}
