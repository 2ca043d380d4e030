import CloudKitWebServices
import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import Tracing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Passes a request from the generated client to the transport, and its response back.
///
/// A service has one pipeline. The state of one call comes with each request in a ``CallContext``. The functions of
/// this file are in the order in which a request passes them:
///
/// 1. ``send(_:_:_:operation:in:)`` observes the operation: its attempts and the waits between them.
/// 2. ``repeating(_:_:_:_:in:)`` sends the request again by the rules of ``RetryPolicy``.
/// 3. ``attempt(_:_:_:_:number:after:in:)`` observes one attempt.
/// 4. ``authenticated(_:_:_:operation:attempt:in:)`` adds the credentials, again for each attempt, and removes them from errors.
/// 5. ``logged(_:operation:attempt:)`` writes one line for the request and one for its outcome.
/// 6. ``collectResponse(to:operation:)`` passes the request to the transport, and makes a ``CloudKitError`` of
///    everything that is not a success.
///
/// Middlewares of the caller are outside of all this.
final class RequestPipeline: Sendable {
    /// 200 records of 1 MB, the largest size, and as much again.
    static let maximumResponseSize = 400 << 20
    /// The most times that one attempt is sent again with other credentials.
    static let maximumRecoveries = 3

    let transport: any ClientTransport
    let tokenManager: any TokenManager
    let retrier: Retrier
    let logger: Logger
    private let maximumResponseSize: Int
    /// The tracer that gets the spans; the tracer of the process when `nil`.
    private let tracer: (any Tracer)?

    init(
        transport: any ClientTransport,
        tokenManager: any TokenManager,
        retrier: Retrier,
        logger: Logger,
        maximumResponseSize: Int = RequestPipeline.maximumResponseSize,
        tracer: (any Tracer)? = nil
    ) {
        self.transport = transport
        self.tokenManager = tokenManager
        self.retrier = retrier
        self.logger = logger
        self.maximumResponseSize = maximumResponseSize
        self.tracer = tracer
    }

    // MARK: 1. The operation

    /// Sends a request as often as needed. Its span is the parent of those of the attempts.
    ///
    /// - Returns: A success, its body in memory.
    /// - Throws: An error without credentials.
    func send(
        _ request: HTTPRequest,
        _ body: HTTPBody?,
        _ baseURL: URL,
        operation: String,
        in context: CallContext
    ) async throws(CloudKitError) -> (HTTPResponse, HTTPBody?) {
        let observer = RequestObserver(operation: operation, clock: retrier.clock, tracer: tracer)
        var attempts = 0
        let stopwatch = observer.stopwatch()
        do throws(CloudKitError) {
            let response = try await observer.span("CloudKit \(operation)", .internal) { span throws(CloudKitError) in
                span?.describe(CloudKitPath(request), operationID: operation)
                defer { span?.attributes["cloudkit.attempts"] = attempts }
                return try await repeating(request, body, baseURL, observer, &attempts, in: context)
            }
            observer.metrics?.operationEnded(nil, after: stopwatch())
            return response
        } catch {
            observer.metrics?.operationEnded(error.code, after: stopwatch())
            throw error
        }
    }

    // MARK: 2. Repetition

    /// Makes attempts until one succeeds or the policy allows no other.
    ///
    /// It repeats whole requests. ``BatchSender``, which knows the items of a batch, repeats single items, and writes
    /// of which it is not known whether they were done.
    private func repeating(
        _ request: HTTPRequest,
        _ body: HTTPBody?,
        _ baseURL: URL,
        _ observer: RequestObserver,
        _ attempts: inout Int,
        in context: CallContext
    ) async throws(CloudKitError) -> (HTTPResponse, HTTPBody?) {
        let (operation, budget) = (observer.operation, context.budget)
        let rule: RetryRule = Operations.isRepeatable(operation) ? .repeatable : .once
        var lastFailure: CloudKitError.Code?
        while true {
            try await retrier.waitForThrottle(within: budget, operation: operation)
            // A cancelled transport may throw before it sends anything, and its error does not say so.
            if Task.isCancelled { throw .cancelled(operation: operation) }
            budget.beginAttempt()
            attempts += 1
            do throws(CloudKitError) {
                return try await attempt(
                    request,
                    body,
                    baseURL,
                    observer,
                    number: attempts,
                    after: lastFailure,
                    in: context
                )
            } catch {
                lastFailure = error.code
                var error = error
                error.attempts = budget.attempts
                // A request that is not repeated triggers the throttle, too.
                let delay = retrier.delay(after: error, within: budget, rule)
                guard let delay, body?.iterationBehavior != .single else { throw error }
                try await retrier.wait(delay, after: error, within: budget)
            }
        }
    }

    // MARK: 3. One attempt

    /// Sends the request once, or several times with other credentials.
    private func attempt(
        _ request: HTTPRequest,
        _ body: HTTPBody?,
        _ baseURL: URL,
        _ observer: RequestObserver,
        number: Int,
        after lastFailure: CloudKitError.Code?,
        in context: CallContext
    ) async throws(CloudKitError) -> (HTTPResponse, HTTPBody?) {
        observer.metrics?.attemptBegins(number: number, failureBefore: lastFailure, requestBody: body)
        let stopwatch = observer.stopwatch()
        do throws(CloudKitError) {
            let (response, responseBody) = try await observer.span(
                "\(request.method) \(CloudKitPath(request).template)",
                .client
            ) { span throws(CloudKitError) in
                span?.describe(request, CloudKitPath(request), body: body, to: baseURL, attempt: number)
                let (response, responseBody) = try await authenticated(
                    request,
                    body,
                    baseURL,
                    operation: observer.operation,
                    attempt: number,
                    in: context
                )
                span?.describe(response, responseBody)
                return (response, responseBody)
            }
            observer.metrics?.attemptEnded(nil, after: stopwatch(), responseBody: responseBody)
            return (response, responseBody)
        } catch {
            observer.metrics?.attemptEnded(error.code, after: stopwatch(), responseBody: nil)
            throw error
        }
    }

    // MARK: 4. Credentials

    /// Asks the token manager for credentials, shows it the response, and sends the request again where the manager found better
    /// credentials.
    private func authenticated(
        _ request: HTTPRequest,
        _ body: HTTPBody?,
        _ baseURL: URL,
        operation: String,
        attempt: Int,
        in context: CallContext
    ) async throws(CloudKitError) -> (HTTPResponse, HTTPBody?) {
        var body = body
        var recoveries = 0
        while true {
            var outgoing = OutgoingRequest(
                request,
                body: body,
                baseURL: baseURL,
                operationID: operation,
                allowsSignIn: context.allowsSignIn
            )
            do throws(CloudKitError) {
                try await tokenManager.authenticate(&outgoing)
            } catch {
                throw outgoing.redactor.redact(error.in(operation))
            }
            do throws(FailedAttempt) {
                let (response, bytes) = try await logged(outgoing, operation: operation, attempt: attempt)
                await tokenManager.didReceive(response, to: outgoing)
                return (response, HTTPBody(bytes))
            } catch {
                if let response = error.response { await tokenManager.didReceive(response, to: outgoing) }
                let failure = outgoing.redactor.redact(error.error)
                guard
                    try await recover(from: failure, outgoing),
                    recoveries < Self.maximumRecoveries,
                    outgoing.body?.iterationBehavior != .single
                else { throw failure }
            }
            body = outgoing.body
            recoveries += 1
        }
    }

    private func recover(
        from failure: CloudKitError,
        _ request: OutgoingRequest
    ) async throws(CloudKitError) -> Bool {
        do throws(CloudKitError) {
            return try await tokenManager.recover(from: failure, request: request)
        } catch {
            var error = error.in(failure.operation)
            error.requestUUID = error.requestUUID ?? failure.requestUUID
            error.redirectURL = error.redirectURL ?? failure.redirectURL
            throw request.redactor.redact(error)
        }
    }

    // MARK: 5. Log lines

    /// Writes a line for the request and one for its outcome.
    ///
    /// The lines contain only the values that are listed here. They never contain the query and the header fields,
    /// which have credentials, nor bodies, which have people's data.
    private func logged(
        _ outgoing: OutgoingRequest,
        operation: String,
        attempt: Int
    ) async throws(FailedAttempt) -> (HTTPResponse, [UInt8]) {
        guard logger.logLevel <= .debug else { return try await collectResponse(to: outgoing, operation: operation) }
        let request = outgoing.request
        logger.trace(
            "CloudKit request",
            metadata: [
                "operation": "\(operation)",
                "attempt": "\(attempt)",
                "method": "\(request.method)",
                "path": "\(request.path?.prefix { $0 != "?" } ?? "")",
                "host": "\(outgoing.baseURL.host() ?? "")",
                "bytes": "\(outgoing.body.sizeForLogs)",
            ]
        )
        let stopwatch = retrier.clock.stopwatch()
        var metadata: Logger.Metadata = ["operation": "\(operation)", "attempt": "\(attempt)"]
        do throws(FailedAttempt) {
            let (response, bytes) = try await collectResponse(to: outgoing, operation: operation)
            metadata["duration"] = "\(stopwatch().inSeconds)"
            metadata["status"] = "\(response.status.code)"
            // This text is from the server, and a server may send back a credential that it received.
            if let uuid = response.headerFields[.requestUUID] {
                metadata["request"] = "\(outgoing.redactor.redact(uuid))"
            }
            metadata["bytes"] = "\(bytes.count)"
            logger.debug("CloudKit answered", metadata: metadata)
            return (response, bytes)
        } catch {
            let failure = outgoing.redactor.redact(error.error)
            metadata["duration"] = "\(stopwatch().inSeconds)"
            metadata["code"] = "\(failure.code)"
            if let status = failure.httpStatus { metadata["status"] = "\(status.code)" }
            if let uuid = failure.requestUUID { metadata["request"] = "\(uuid)" }
            logger.debug("CloudKit request failed", metadata: metadata)
            throw error
        }
    }

    // MARK: 6. The transport

    /// Sends the request and reads the whole response, so that a connection that is lost in the middle of a body is a
    /// failed attempt like any other. A response that is not a success becomes a ``CloudKitError``.
    private func collectResponse(
        to outgoing: OutgoingRequest,
        operation: String
    ) async throws(FailedAttempt) -> (HTTPResponse, [UInt8]) {
        try await transport.collectResponse(
            to: outgoing.request,
            outgoing.body,
            outgoing.baseURL,
            operation: operation,
            maximumResponseSize: maximumResponseSize
        )
    }
}

/// A request that failed: its error, and the head of the response if there was one. The error may hold credentials.
struct FailedAttempt: Error {
    var error: CloudKitError
    var response: HTTPResponse?
}

extension ClientTransport {
    /// Sends a request and reads the whole response.
    ///
    /// - Returns: A success and its body.
    /// - Throws: The error of everything that is not a success.
    func collectResponse(
        to request: HTTPRequest,
        _ body: HTTPBody?,
        _ baseURL: URL,
        operation: String,
        maximumResponseSize: Int = RequestPipeline.maximumResponseSize
    ) async throws(FailedAttempt) -> (HTTPResponse, [UInt8]) {
        var head: HTTPResponse?
        var bytes: [UInt8] = []
        let response: HTTPResponse
        do {
            let responseBody: HTTPBody?
            (response, responseBody) = try await send(request, body: body, baseURL: baseURL, operationID: operation)
            head = response
            if let responseBody {
                do {
                    bytes = try await [UInt8](collecting: responseBody, upTo: maximumResponseSize)
                } catch {
                    // The head of a failure says enough, even when its body breaks off.
                    if response.status.kind == .successful || Task.isCancelled { throw error }
                }
            }
        } catch {
            var error = CloudKitError.transport(error, operation: operation)
            // The head of a response that broke off names its request.
            error.requestUUID = error.requestUUID ?? head?.headerFields[.requestUUID]
            throw FailedAttempt(error: error)
        }
        if response.status.kind == .successful { return (response, bytes) }
        var error = CloudKitError(response, body: bytes, from: RequestTarget(request, baseURL: baseURL))
        error.operation = operation
        throw FailedAttempt(error: error, response: response)
    }
}

extension CloudKitError {
    /// The same error, naming the operation if it does not name one.
    fileprivate func `in`(_ operation: String?) -> CloudKitError {
        var error = self
        error.operation = error.operation ?? operation
        return error
    }
}

extension HTTPBody? {
    /// The size, as it is written in log lines.
    fileprivate var sizeForLogs: String {
        switch self?.length {
        case .known(let count): "\(count)"
        case .unknown: "unknown"
        case nil: "0"
        }
    }
}
