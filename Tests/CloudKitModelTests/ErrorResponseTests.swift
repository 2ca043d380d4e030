import CloudKitModel
import StreamingJSON
import Testing

struct ErrorResponseTests {
    @Test func anOddMemberDoesNotLoseTheCode() throws {
        let json =
            #"{"uuid":5,"serverErrorCode":"THROTTLED","reason":["a"],"retryAfter":{"seconds":3},"redirectURL":false}"#
        let response = try expectRoundTrip(ErrorResponse.self, json)
        #expect(response.serverErrorCode == .throttled)
        #expect(response.uuid == nil)
        #expect(response.reason == nil)
        #expect(response.retryAfter == nil)
        #expect(response.redirectURL == nil)
        #expect(response.otherKeys.map(\.name) == ["uuid", "reason", "retryAfter", "redirectURL"])
    }

    @Test(arguments: [(#""30""#, 30), (#""1.5""#, 1.5), (#""nan""#, nil), (#""soon""#, nil)])
    func aDelayInAStringIsReadAndWrittenAgain(text: String, seconds: Double?) throws {
        let json = #"{"serverErrorCode":"THROTTLED","retryAfter":\#(text)}"#
        var response = try expectRoundTrip(ErrorResponse.self, json)
        #expect(response.retryAfter == seconds)
        response.retryAfter = 7
        let written = String(decoding: try JSONWriter.bytes(of: response), as: UTF8.self)
        #expect(written == #"{"serverErrorCode":"THROTTLED","retryAfter":7.0}"#)
    }
}
