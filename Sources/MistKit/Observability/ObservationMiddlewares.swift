import HTTPTypes
import OpenAPISwiftRuntime
import Tracing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Watches one operation from the call to its outcome, all its attempts and the waits between them included.
///
/// It stands outside of the retries. Its span is the parent of those of ``AttemptObserver``. What it sees of an error
/// has no credentials any more.
struct OperationObserver: ClientMiddleware {
    let clock: any Clock<Duration>
    /// Where spans go; the process' tracer when nil.
    let tracer: (any Tracer)?

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let attempts = Attempts()
        let metrics = CloudKitMetrics(operation: operationID)
        let stopwatch = clock.stopwatch()
        do {
            let outcome = try await observe(tracer, "CloudKit \(operationID)", ofKind: .internal) { span in
                span?.describe(CloudKitPath(request), operationID: operationID)
                defer { span?.attributes["cloudkit.attempts"] = attempts.number }
                return try await Attempts.$current.withValue(attempts) {
                    try await next(request, body, baseURL)
                }
            }
            metrics?.operationEnded(nil, after: stopwatch())
            return outcome
        } catch {
            metrics?.operationEnded(CloudKitError(error, operation: operationID).code, after: stopwatch())
            throw error
        }
    }
}

/// Watches one attempt of an operation. It stands inside of the retries and outside of the credentials.
///
/// The attributes of its span are those of OpenTelemetry's conventions for HTTP clients, version 1.27. The address is
/// without the query, as credentials go there.
struct AttemptObserver: ClientMiddleware {
    let clock: any Clock<Duration>
    let tracer: (any Tracer)?

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let attempts = Attempts.current ?? Attempts()
        let (number, failureBefore) = attempts.begin()
        let metrics = CloudKitMetrics(operation: operationID)
        metrics?.attemptBegins(number: number, failureBefore: failureBefore, requestBody: body)
        let stopwatch = clock.stopwatch()
        do {
            let (response, responseBody) = try await observe(
                tracer,
                "\(request.method) \(CloudKitPath(request).template)",
                ofKind: .client
            ) { span in
                span?.describe(request, CloudKitPath(request), body: body, to: baseURL, attempt: number)
                let (response, responseBody) = try await next(request, body, baseURL)
                span?.describe(response, responseBody)
                return (response, responseBody)
            }
            metrics?.attemptEnded(nil, after: stopwatch(), responseBody: responseBody)
            return (response, responseBody)
        } catch {
            let code = CloudKitError(error, operation: operationID).code
            attempts.end(code)
            metrics?.attemptEnded(code, after: stopwatch(), responseBody: nil)
            throw error
        }
    }
}

/// Runs a closure in a span, or without one where nobody traces.
private func observe<Result>(
    _ tracer: (any Tracer)?,
    _ makeName: @autoclosure () -> String,
    ofKind kind: SpanKind,
    _ body: ((any Span)?) async throws -> Result
) async throws -> Result {
    let tracer = tracer ?? InstrumentationSystem.tracer
    guard !(tracer is NoOpTracer) else { return try await body(nil) }
    let name = makeName()
    let span = tracer.startSpan(name, context: InstrumentationContext.current ?? .topLevel, ofKind: kind)
    defer { span.end() }
    do {
        return try await InstrumentationContext.$current.withValue(span.context) { try await body(span) }
    } catch {
        span.describe(CloudKitError(error, operation: name))
        throw error
    }
}

extension Span {
    fileprivate func describe(_ path: CloudKitPath, operationID: String) {
        attributes["cloudkit.operation"] = operationID
        attributes["cloudkit.container"] = path.container
        attributes["cloudkit.environment"] = path.environment
        attributes["cloudkit.database"] = path.database
    }

    fileprivate func describe(
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

    fileprivate func describe(_ response: HTTPResponse, _ body: HTTPBody?) {
        attributes["http.response.status_code"] = response.status.code
        attributes["cloudkit.request.uuid"] = response.headerFields[.requestUUID]
        if case .known(let length)? = body?.length { attributes["http.response.body.size"] = length }
    }

    /// Says how it failed: with the code, the status and the request's uuid, which Apple's support can look up.
    fileprivate func describe(_ error: CloudKitError) {
        attributes["error.type"] = error.code.nameWithoutSurprise
        attributes["http.response.status_code"] = error.httpStatus?.code
        attributes["cloudkit.request.uuid"] = error.requestUUID
        recordError(error)
        setStatus(SpanStatus(code: .error, message: error.code.nameWithoutSurprise))
    }
}

/// The parts of a path of CloudKit Web Services.
private struct CloudKitPath {
    var container: String?
    var environment: String?
    var database: String?
    /// The path with the names of the changing parts in their place: few different ones.
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
