import HTTPTypes
import MistModels
import Testing

@testable import CelestraServing

struct ServingFailureTests {
    /// The error of CloudKit, its `retryAfter` in seconds, and the status and Retry-After of the response.
    @Test(
        arguments: [
            (CloudKitError.Code.notFound, nil, 404, nil), (.badRequest, nil, 502, nil), (.throttled, 7.2, 503, 8),
            (.throttled, nil, 503, 5), (.tryAgainLater, 0, 503, 1), (.zoneBusy, nil, 503, 5),
            (.serviceUnavailable, nil, 503, 5), (.internalError, 30, 503, 30), (.internalError, nil, 502, 5),
            (.network, nil, 502, 5), (.unexpectedResponse, nil, 502, nil), (.authenticationFailed, nil, 502, nil),
            (.decoding, nil, 502, nil),
        ] as [(CloudKitError.Code, Double?, Int, Int?)]
    )
    func errorsHaveStatuses(code: CloudKitError.Code, retryAfter: Double?, status: Int, answer: Int?) {
        var error = CloudKitError(code: code, message: "secret detail")
        error.retryAfter = retryAfter.map { .seconds($0) }
        let failure = ServingFailure(error)
        #expect(failure.status.code == status)
        #expect(failure.retryAfter == answer)
        #expect(!failure.message.contains("secret"))
    }

    /// A failure of the service is kept for its pause, at most a minute. A failure that the browser caused is not kept.
    @Test(arguments: [(503, 7, 7), (503, 3600, 60), (502, nil, 1), (404, nil, nil)] as [(Int, Int?, Double?)])
    func aFailureHasAPause(status: Int, retryAfter: Int?, pause: Double?) {
        let failure = ServingFailure(status: .init(code: status), message: "", retryAfter: retryAfter)
        #expect(ServingFailure.pause(failure) == pause)
    }

    @Test func aMarkerThatCloudKitRefusesIsTheBrowsersMistake() {
        let refused = CloudKitError(code: .badRequest, message: "marker")
        #expect(ServingFailure(refused, hasMarker: true) == .invalidCursor)
        #expect(ServingFailure(refused, hasMarker: false).status == .badGateway)
    }
}
