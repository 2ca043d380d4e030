import HTTPTypes
import MistModels

/// Why a browser does not get a page.
struct ServingFailure: Error, Sendable, Hashable {
    /// The status of the response.
    var status: HTTPResponse.Status
    /// What is wrong, and what to do, for the person at the browser.
    var message: String
    /// The number of seconds after which the request may succeed.
    var retryAfter: Int?

    static let invalidCursor = ServingFailure(
        status: .badRequest,
        message: "The cursor is not valid, or has expired. Begin with the first page."
    )
    static let invalidLimit = ServingFailure(
        status: .badRequest,
        message: "The limit is not a number from \(PageLimit.range.lowerBound) to \(PageLimit.range.upperBound)."
    )
    static let noSuchFeed = ServingFailure(
        status: .notFound,
        message: "There is no such feed. The first page lists the feeds."
    )
    static let timedOut = ServingFailure(
        status: .serviceUnavailable,
        message: "The database did not answer in time. Try again in a moment.",
        retryAfter: usualPause
    )

    /// The pause after a failure that may be over soon, in seconds.
    static let usualPause = 5

    init(status: HTTPResponse.Status, message: String, retryAfter: Int? = nil) {
        self.status = status
        self.message = message
        self.retryAfter = retryAfter
    }

    /// Turns an error of CloudKit into a failure for browsers. An error that asks to wait becomes status 503; any other
    /// failure of the service or of the connection becomes 502. The error itself is only logged.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - hasMarker: Whether the request began at a continuation marker, which came from the browser.
    init(_ error: CloudKitError, hasMarker: Bool = false) {
        if error.code == .notFound {
            self = .noSuchFeed
        } else if hasMarker, error.code == .badRequest || error.code == .invalidArgument {
            self = .invalidCursor
        } else if error.retryAfter != nil
            || [.throttled, .tryAgainLater, .zoneBusy, .serviceUnavailable].contains(error.code)
        {
            let seconds = error.retryAfter.map { Int(($0 / .seconds(1)).rounded(.up)) } ?? ServingFailure.usualPause
            self.init(
                status: .serviceUnavailable,
                message: "The database is busy. Try again in \(max(1, seconds)) seconds.",
                retryAfter: max(1, seconds)
            )
        } else {
            self.init(
                status: .badGateway,
                message: "The database cannot be read at the moment.",
                retryAfter: error.isTransient ? ServingFailure.usualPause : nil
            )
        }
    }

    /// The number of seconds that the failure is kept, at most 60; `nil` for a failure that the browser caused, not the
    /// service.
    static func pause(_ error: any Error) -> Double? {
        guard let failure = error as? ServingFailure, failure.status.kind == .serverError else { return nil }
        return min(60, Double(failure.retryAfter ?? 1))
    }
}
