import Foundation
import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import Synchronization
import Tracing

@testable import MistKit

/// A transport whose responses a closure gives. It keeps the requests.
final class FakeTransport: ClientTransport {
    struct Exchange: Sendable {
        var request: HTTPRequest
        var body: [UInt8]
        var baseURL: URL
        var operationID: String

        var json: String { String(decoding: body, as: UTF8.self) }
    }

    private let sentExchanges = Mutex<[Exchange]>([])
    private let answer: @Sendable (Exchange, _ number: Int) async throws -> (HTTPResponse, HTTPBody?)

    init(_ answer: @escaping @Sendable (Exchange, _ number: Int) async throws -> (HTTPResponse, HTTPBody?)) {
        self.answer = answer
    }

    /// Responds to the requests with these responses, in order. The last one is repeated.
    convenience init(_ answers: [(HTTPResponse, HTTPBody?)]) {
        self.init { _, number in answers[min(number, answers.count) - 1] }
    }

    var sent: [Exchange] { sentExchanges.withLock { $0 } }

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let bytes = if let body { try await [UInt8](collecting: body, upTo: .max) } else { [UInt8]() }
        let exchange = Exchange(request: request, body: bytes, baseURL: baseURL, operationID: operationID)
        let number = sentExchanges.withLock {
            $0.append(exchange)
            return $0.count
        }
        return try await answer(exchange, number)
    }
}

/// A response with a JSON body.
func reply(
    _ status: HTTPResponse.Status = .ok,
    _ json: String = "{}",
    contentType: String? = "application/json; charset=UTF-8",
    headers: [String: String] = [:]
) -> (HTTPResponse, HTTPBody?) {
    var response = HTTPResponse(status: status)
    response.headerFields[.contentType] = contentType
    for (name, value) in headers {
        if let name = HTTPField.Name(name) { response.headerFields[name] = value }
    }
    return (response, HTTPBody(json))
}

/// The parts of a request pipeline, which a test can replace.
struct TestPipeline {
    var tokenManager: any TokenManager
    var retryPolicy: RetryPolicy
    var logger: Logger
    var clock: any Clock<Duration> = ContinuousClock()
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The throttle; `nil` for a new one.
    var throttle: ContainerThrottle?
    var maximumResponseSize = RequestPipeline.maximumResponseSize
    var tracer: (any Tracer)?
    var allowsSignIn = true

    /// Sends a request through the pipeline, as the generated client of a call does.
    func send(
        _ request: HTTPRequest = .query,
        body: HTTPBody? = nil,
        baseURL: URL = .cloudKit,
        operationID: String = "queryRecords",
        over transport: some ClientTransport
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let retrier = Retrier(
            policy: retryPolicy,
            clock: clock,
            random: random,
            logger: logger,
            throttle: throttle ?? ContainerThrottle(clock: clock)
        )
        let connection = ServiceConnection(
            containerIdentifier: "iCloud.com.example.app",
            environment: .development,
            configuration: .init(serverURL: baseURL),
            pipeline: RequestPipeline(
                transport: transport,
                tokenManager: tokenManager,
                retrier: retrier,
                logger: logger,
                maximumResponseSize: maximumResponseSize,
                tracer: tracer
            ),
            assets: AssetHostClient(transport: transport, retrier: retrier.withoutThrottle)
        )
        return try await connection.pipeline.send(
            request,
            body,
            baseURL,
            operation: operationID,
            in: CallContext(connection: connection, budget: retrier.begin(), allowsSignIn: allowsSignIn)
        )
    }

    /// The error of a request that must fail.
    func failure(
        _ request: HTTPRequest = .query,
        body: HTTPBody? = nil,
        operationID: String = "queryRecords",
        over transport: some ClientTransport
    ) async throws -> CloudKitError {
        do {
            _ = try await send(request, body: body, operationID: operationID, over: transport)
        } catch let error as CloudKitError {
            return error
        }
        throw UnexpectedSuccess()
    }
}

struct UnexpectedSuccess: Error {}

extension HTTPRequest {
    static let query = HTTPRequest(
        method: .post,
        scheme: nil,
        authority: nil,
        path: "/database/1/iCloud.com.example.app/development/public/records/query"
    )
}

extension URL {
    static let cloudKit = URL(string: "https://api.apple-cloudkit.com")!
}
