import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1

/// Runs a function on Lambda as a custom runtime: it gets events from the runtime interface, and sends the function's
/// responses.
///
/// ```swift
/// try await LambdaRuntime(environment: environment, logger: logger).run {
///     let database = try openDatabase(environment)    // POST /runtime/init/error where it throws
///     return { invocation in
///         try await respond(to: invocation, from: database)
///     }
/// }
/// // GET  /2018-06-01/runtime/invocation/next
/// // POST /2018-06-01/runtime/invocation/8476a536-…/response
/// ```
///
/// If the function throws, the error is reported and the program continues. The program ends where the runtime
/// interface cannot go on; then Lambda starts it again.
public struct LambdaRuntime: Sendable {
    /// A closure that responds to an event.
    public typealias Handler = @Sendable (Invocation) async throws -> [UInt8]

    private let address: String
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let timer: any Clock<Duration>
    private let setTraceID: @Sendable (String?) -> Void

    /// How many seconds before its deadline a function is cancelled, so that its error still reaches Lambda.
    static let reserve = 0.5

    /// Creates a runtime.
    ///
    /// - Parameters:
    ///   - environment: The environment of the process. `AWS_LAMBDA_RUNTIME_API` has host and port of the runtime
    ///     interface.
    ///   - logger: The logger for failures.
    ///   - now: Returns the current time.
    ///   - timer: The clock that measures the time until the deadline.
    ///   - setTraceID: Called before each event with its tracing header. By default it becomes `_X_AMZN_TRACE_ID` of the environment, which
    ///     libraries for X-Ray read.
    /// - Throws: A ``RuntimeFailure`` if `AWS_LAMBDA_RUNTIME_API` is not set.
    public init(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() },
        timer: any Clock<Duration> = ContinuousClock(),
        setTraceID: @escaping @Sendable (String?) -> Void = LambdaRuntime.setEnvironmentTraceID
    ) throws {
        guard let address = environment["AWS_LAMBDA_RUNTIME_API"], !address.isEmpty else {
            throw RuntimeFailure(
                description: "AWS_LAMBDA_RUNTIME_API is not set. This program runs on AWS Lambda, as its bootstrap."
            )
        }
        self.address = address
        self.logger = logger
        self.now = now
        self.timer = timer
        self.setTraceID = setTraceID
    }

    /// Responds to events until the runtime interface cannot go on.
    ///
    /// - Parameter start: Prepares the program and returns the closure that responds to events.
    /// - Throws: A ``RuntimeFailure``; the error of `start`, after it was reported; `CancellationError`.
    public func run(start: @Sendable () async throws -> Handler) async throws -> Never {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        // The interface is on this machine, and `RuntimeLoop` sends a request again by itself.
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let handler = try await prepare(start, client: client)
            try await respond(with: handler, client: client)
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private func prepare(_ start: () async throws -> Handler, client: HTTPClient) async throws -> Handler {
        do {
            return try await start()
        } catch {
            let failure = FunctionError(error)
            logger.error("\(failure)")
            let reply = try await send(.initError(failure), client: client)
            if reply.status != 202 { logger.warning("The report of this error was refused: status \(reply.status).") }
            throw failure
        }
    }

    private func respond(with handler: @escaping Handler, client: HTTPClient) async throws -> Never {
        var loop = RuntimeLoop()
        var step = loop.begin()
        while true {
            try Task.checkCancellation()
            switch step {
            case .send(let request, let pause):
                do {
                    if pause > .zero { try await timer.sleep(for: pause) }
                    step = loop.receive(try await send(request, client: client))
                } catch {
                    try Task.checkCancellation()
                    logger.warning("\(request.method) \(request.path) got no response: \(error)")
                    step = loop.receiveNothing(because: "\(error)")
                }
            case .handle(let invocation):
                setTraceID(invocation.traceID)
                let result = try await result(of: handler, for: invocation)
                if case .failure(let error) = result { logger.error("\(invocation.requestID) \(error)") }
                step = loop.finish(result)
            case .exit(let failure):
                logger.error("\(failure)")
                throw failure
            }
        }
    }

    /// Calls the function, and cancels it shortly before its deadline.
    private func result(
        of handler: @escaping Handler,
        for invocation: Invocation
    ) async throws -> Result<[UInt8], FunctionError> {
        let rest = invocation.deadline.timeIntervalSince(now()) - LambdaRuntime.reserve
        let tooLate = FunctionError("Function.DeadlineExceeded", "The function did not end before its deadline.")
        guard rest > 0 else { return .failure(tooLate) }
        return try await withThrowingTaskGroup(of: Result<[UInt8], FunctionError>?.self) { group in
            group.addTask {
                do {
                    return .success(try await handler(invocation))
                } catch {
                    return .failure(FunctionError(error))
                }
            }
            group.addTask {
                try await timer.sleep(for: .seconds(rest))
                return nil
            }
            defer { group.cancelAll() }
            if let first = try await group.next(), let result = first { return result }
            group.cancelAll()
            // If a function returns a response nevertheless, the response is sent. A function that was interrupted has
            // failed because of the deadline.
            if let last = try await group.next(), case .success(let body)? = last { return .success(body) }
            return .failure(tooLate)
        }
    }

    private func send(_ request: RuntimeRequest, client: HTTPClient) async throws -> RuntimeReply {
        var message = HTTPClientRequest(url: "http://\(address)/2018-06-01\(request.path)")
        message.method = .RAW(value: request.method)
        message.headers = HTTPHeaders(request.headers.map { ($0.key, $0.value) } + [("User-Agent", "celestra-lambda")])
        if request.method != "GET" { message.body = .bytes(request.body) }
        // Lambda freezes the process between two events, so the next event may come after days.
        let response = try await client.execute(message, deadline: .distantFuture)
        let headers = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        let body = try await response.body.collect(upTo: LambdaRuntime.eventLimit)
        return RuntimeReply(status: Int(response.status.code), headers: headers, body: Array(body.readableBytesView))
    }

    /// More than the largest event of Lambda, in bytes.
    private static let eventLimit = 16 * 1024 * 1024

    /// Sets `_X_AMZN_TRACE_ID` of the environment, or removes it. It is called while no function runs.
    public static let setEnvironmentTraceID: @Sendable (String?) -> Void = { traceID in
        if let traceID {
            setenv("_X_AMZN_TRACE_ID", traceID, 1)
        } else {
            unsetenv("_X_AMZN_TRACE_ID")
        }
    }
}
