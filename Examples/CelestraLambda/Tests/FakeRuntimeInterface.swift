import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization

/// A runtime interface on this machine. It sends the events of a test one after the other, and keeps the reports of the
/// program.
final class FakeRuntimeInterface: Sendable {
    /// The response to a request.
    enum Reply: Sendable {
        /// An event. Header fields with an empty value are left out.
        case event(_ body: String, id: String, headers: [String: String] = [:])
        /// A response with another status.
        case status(Int, String = "")
        /// The beginning of a response; then the connection closes.
        case breakOff
    }

    /// A request of the program.
    struct Report: Sendable, Hashable {
        /// The path below the version.
        var path: String
        /// The body.
        var body: String
        /// The header field Lambda-Runtime-Function-Error-Type.
        var errorType: String?

        init(_ path: String, _ body: String, errorType: String? = nil) {
            self.path = path
            self.body = body
            self.errorType = errorType
        }
    }

    private struct State {
        var next: [Reply]
        var posts: [Reply]
        var reports: [Report] = []
        var nextCount = 0
    }

    private let state: Mutex<State>

    /// Creates an interface.
    ///
    /// - Parameters:
    ///   - next: The replies to requests for an event, in order. After the last one, every request gets status 500,
    ///     which ends a program.
    ///   - posts: The replies to reports, in order. After the last one, every report gets status 202.
    init(next: [Reply], posts: [Reply] = []) {
        state = Mutex(State(next: next, posts: posts))
    }

    /// The reports of the program.
    var reports: [Report] { state.withLock { $0.reports } }

    /// The number of requests for an event.
    var nextCount: Int { state.withLock { $0.nextCount } }

    /// Serves the interface during a closure, which gets the value of `AWS_LAMBDA_RUNTIME_API`.
    func serve<Value>(_ body: @Sendable (String) async throws -> Value) async throws -> Value {
        try await Application(router: router()).test(.live) { client in
            try await body("127.0.0.1:\(client.port ?? 0)")
        }
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("2018-06-01/runtime/invocation/next") { _, _ in
            let reply = self.state.withLock { state in
                state.nextCount += 1
                return state.next.isEmpty ? Reply.status(500, "the test is over") : state.next.removeFirst()
            }
            return FakeRuntimeInterface.response(reply)
        }
        router.post("2018-06-01/runtime/**") { request, _ in
            let body = try await request.body.collect(upTo: 8 * 1024 * 1024)
            let report = Report(
                String(request.uri.path.dropFirst("/2018-06-01/runtime".count)),
                String(buffer: body),
                errorType: HTTPField.Name("Lambda-Runtime-Function-Error-Type").flatMap { request.headers[$0] }
            )
            let reply = self.state.withLock { state in
                state.reports.append(report)
                return state.posts.isEmpty ? Reply.status(202) : state.posts.removeFirst()
            }
            return FakeRuntimeInterface.response(reply)
        }
        return router
    }

    private struct BrokenOff: Error {}

    private static func response(_ reply: Reply) -> Response {
        switch reply {
        case .event(let body, let id, let changes):
            let usual = [
                "Lambda-Runtime-Aws-Request-Id": id, "Lambda-Runtime-Deadline-Ms": "4102444800000",
                "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-2:123456789012:function:celestra",
            ]
            var headers: HTTPFields = [.contentType: "application/json"]
            for (name, value) in usual.merging(changes, uniquingKeysWith: { $1 }) where !value.isEmpty {
                if let name = HTTPField.Name(name) { headers[name] = value }
            }
            return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: body)))
        case .status(let code, let text):
            return Response(status: .init(code: code), body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        case .breakOff:
            return Response(
                status: .ok,
                body: ResponseBody(contentLength: 100) { writer in
                    try await writer.write(ByteBuffer(string: "{"))
                    throw BrokenOff()
                }
            )
        }
    }
}
