import Foundation
import MistKit
import Testing

@testable import MistStore

struct StampTests {
    @Test(arguments: [1e300, -1e300, .infinity, -.infinity, .nan, 9e15, -9e15])
    func timesOutOfRangeAreUnknown(seconds: Double) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(Record.Stamp(timestamp: date).milliseconds == nil)
        #expect(date.milliseconds == 0)
    }

    @Test func timesAreWholeMilliseconds() {
        let stamp = Record.Stamp(timestamp: Date(timeIntervalSince1970: 1_767_225_600.0015))
        #expect(stamp.milliseconds == 1_767_225_600_002)
    }
}
