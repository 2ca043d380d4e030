package import Metrics
import OpenAPISwiftRuntime

/// The metrics of MistKit, under the names that a dashboard shows.
///
/// Each metric has the dimension `operation`, such as `queryRecords`. A metric about the end of an operation or an
/// attempt has `outcome`, too: `ok` or an error's code. The metric of retries has `reason`: the code of the failed
/// attempt before. Container, record and person are not dimensions, because they have too many values.
///
/// A metrics system that is bootstrapped after a service was made gets the metrics, too: no metric is kept from one
/// operation to the next.
struct CloudKitMetrics {
    private enum Name {
        /// Operations, by outcome. The duration includes all their attempts and waits.
        static let operations = "cloudkit.client.operations"
        static let operationDuration = "cloudkit.client.operation.duration"
        /// Attempts, by outcome: the requests that were sent.
        static let attempts = "cloudkit.client.attempts"
        static let attemptDuration = "cloudkit.client.attempt.duration"
        static let retries = "cloudkit.client.retries"
        static let throttles = "cloudkit.client.throttles"
        static let requestBytes = "cloudkit.client.request.bytes"
        static let responseBytes = "cloudkit.client.response.bytes"
    }

    private let operation: (String, String)
    private let factory: any MetricsFactory

    /// Makes the metrics of one operation; `nil` when no metrics system is installed.
    init?(operation: String) {
        guard let factory = MetricsSystem.installedFactory else { return nil }
        self.factory = factory
        self.operation = ("operation", operation)
    }

    func operationEnded(_ failure: CloudKitError.Code?, after duration: Duration) {
        let dimensions = [operation, Self.outcome(failure)]
        Counter(label: Name.operations, dimensions: dimensions, factory: factory).increment()
        record(duration, Name.operationDuration, dimensions)
    }

    func attemptBegins(number: Int, failureBefore: CloudKitError.Code?, requestBody: HTTPBody?) {
        if number > 1 {
            let dimensions = [operation, ("reason", Self.outcome(failureBefore).1)]
            Counter(label: Name.retries, dimensions: dimensions, factory: factory).increment()
        }
        count(requestBody, Name.requestBytes)
    }

    func attemptEnded(_ failure: CloudKitError.Code?, after duration: Duration, responseBody: HTTPBody?) {
        let dimensions = [operation, Self.outcome(failure)]
        Counter(label: Name.attempts, dimensions: dimensions, factory: factory).increment()
        record(duration, Name.attemptDuration, dimensions)
        if failure == .throttled {
            Counter(label: Name.throttles, dimensions: [operation], factory: factory).increment()
        }
        count(responseBody, Name.responseBytes)
    }

    private func count(_ body: HTTPBody?, _ name: String) {
        guard case .known(let bytes)? = body?.length, bytes > 0 else { return }
        Counter(label: name, dimensions: [operation], factory: factory).increment(by: bytes)
    }

    private func record(_ duration: Duration, _ name: String, _ dimensions: [(String, String)]) {
        Timer(label: name, dimensions: dimensions, factory: factory).record(duration: duration)
    }

    /// The dimension of a code. A text of the service that does not look like a code becomes `other`, so that the
    /// dimension has few values.
    private static func outcome(_ failure: CloudKitError.Code?) -> (String, String) {
        guard let failure else { return ("outcome", "ok") }
        return ("outcome", failure.nameWithoutSurprise)
    }
}

extension MetricsSystem {
    /// The factory of the installed metrics system; `nil` when none is installed.
    package static var installedFactory: (any MetricsFactory)? {
        factory is NOOPMetricsHandler ? nil : factory
    }
}

extension CloudKitError.Code {
    /// The code, or `other` where the server's text does not look like a code.
    var nameWithoutSurprise: String {
        let text = description
        let isName =
            text.utf8.count <= 40
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        return isName ? text : "other"
    }
}
