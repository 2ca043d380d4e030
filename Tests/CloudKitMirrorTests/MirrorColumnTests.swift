import Foundation
import MistStore
import Testing

@testable import CloudKitMirror

struct MirrorColumnTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (253_402_300_800_000, nil),
        ] as [(Int64, String?)]
    )
    func mirrorsKeepTimesAsISO8601Text(_ milliseconds: Int64, _ text: String?) {
        let value = MirrorColumn.value(of: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
        #expect(value == text.map { .text($0) } ?? .integer(milliseconds))
    }
}
