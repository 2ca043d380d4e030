import HTTPTypes
import OpenAPISwiftRuntime
import Tracing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reports one operation and its attempts to metrics and traces.
///
/// The attributes of spans are those of OpenTelemetry's conventions for HTTP clients, version 1.27. Addresses are
/// without the query, as it contains credentials.
struct RequestObserver {
    let operation: String
    /// The metrics; `nil` when no metrics system is installed.
    let metrics: CloudKitMetrics?
    private let clock: any Clock<Duration>
    /// The tracer that gets the spans; `nil` when no tracer is installed.
    private let tracer: (any Tracer)?

    init(operation: String, clock: any Clock<Duration>, tracer: (any Tracer)?) {
        self.operation = operation
        self.clock = clock
        metrics = CloudKitMetrics(operation: operation)
        let tracer = tracer ?? InstrumentationSystem.tracer
        self.tracer = tracer is NoOpTracer ? nil : tracer
    }

    /// Starts to measure a time for the metrics.
    func stopwatch() -> () -> Duration {
        guard metrics != nil else { return { .zero } }
        return clock.stopwatch()
    }

    /// Runs a closure in a span, or without a span when no tracer is installed.
    func span<Result>(
        _ makeName: @autoclosure () -> String,
        _ kind: SpanKind,
        _ body: ((any Span)?) async throws(CloudKitError) -> Result
    ) async throws(CloudKitError) -> Result {
        guard let tracer else { return try await body(nil) }
        let span = tracer.startSpan(makeName(), context: InstrumentationContext.current ?? .topLevel, ofKind: kind)
        defer { span.end() }
        // The context is the task-local value by which traces find their parents.
        let result: Swift.Result<Result, CloudKitError> = await InstrumentationContext.$current.withValue(span.context)
        {
            do throws(CloudKitError) {
                return .success(try await body(span))
            } catch {
                return .failure(error)
            }
        }
        if case .failure(let error) = result { span.describe(error) }
        return try result.get()
    }
}

extension Span {
    func describe(_ path: CloudKitPath, operationID: String) {
        attributes["cloudkit.operation"] = operationID
        attributes["cloudkit.container"] = path.container
        attributes["cloudkit.environment"] = path.environment
        attributes["cloudkit.database"] = path.database
    }

    func describe(
        _ request: HTTPRequest,
        _ path: CloudKitPath,
        body: HTTPBody?,
        to baseURL: URL,
        attempt: Int
    ) {
        attributes["http.request.method"] = request.method.rawValue
        attributes["server.address"] = baseURL.host() ?? ""
        attributes["server.port"] = baseURL.port ?? (baseURL.scheme == "http" ? 80 : 443)
        attributes["url.scheme"] = baseURL.scheme ?? ""
        attributes["url.template"] = path.template
        let target = baseURL.requestTarget(appending: request.path).prefix { $0 != "?" }
        attributes["url.full"] = "\(baseURL.scheme ?? "https")://\(baseURL.authority ?? "")\(target)"
        if attempt > 1 { attributes["http.request.resend_count"] = attempt - 1 }
        if case .known(let length)? = body?.length { attributes["http.request.body.size"] = length }
    }

    func describe(_ response: HTTPResponse, _ body: HTTPBody?) {
        attributes["http.response.status_code"] = response.status.code
        attributes["cloudkit.request.uuid"] = response.headerFields[.requestUUID]
        if case .known(let length)? = body?.length { attributes["http.response.body.size"] = length }
    }

    /// Describes a failure with its code, its status and the request's UUID, which Apple's support can look up.
    fileprivate func describe(_ error: CloudKitError) {
        attributes["error.type"] = error.code.nameWithoutSurprise
        attributes["http.response.status_code"] = error.httpStatus?.code
        attributes["cloudkit.request.uuid"] = error.requestUUID
        recordError(error)
        setStatus(SpanStatus(code: .error, message: error.code.nameWithoutSurprise))
    }
}

/// The parts of a path of CloudKit Web Services.
struct CloudKitPath {
    var container: String?
    var environment: String?
    var database: String?
    /// The path with a placeholder for each part that changes, so that there are few different templates.
    var template: String

    /// Reads the path of a request, relative to the server's address.
    init(_ request: HTTPRequest) {
        let path = (request.path ?? "/").prefix { $0 != "?" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        guard parts.count >= 5, parts[0] == "database" || parts[0] == "device" else {
            template = parts.isEmpty ? "/" : "other"
            return
        }
        (container, environment) = (parts[2], parts[3])
        if parts[0] == "database" {
            database = parts[4]
            template = "/database/{version}/{container}/{environment}/{database}/" + parts[5...].joined(separator: "/")
        } else {
            template = "/device/{version}/{container}/{environment}/" + parts[4...].joined(separator: "/")
        }
    }
}
