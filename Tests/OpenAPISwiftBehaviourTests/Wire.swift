import HTTPTypes
import OpenAPISwiftRuntime
import Synchronization
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A message as it stands on the wire: what a generated client sends, or a generated server answers.
struct Message: Equatable, Sendable, CustomStringConvertible {
    /// Method and target of a request, or the status of a response.
    var start: String
    /// The header fields by lower-case name.
    var fields: [String: String] = [:]
    var body: String?

    var description: String {
        let lines: [String] = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return ([start] + lines + ["", body ?? "(no body)"]).joined(separator: "\n")
    }

    static func read(_ start: String, _ fields: HTTPFields, _ body: HTTPBody?) async throws -> Message {
        var message = Message(start: start)
        for field in fields { message.fields[field.name.canonicalName] = field.value }
        if let body { message.body = try await String(collecting: body, upTo: 1 << 20) }
        return message
    }
}

/// The far end of a client: it keeps the last request and answers each with the same response.
final class Wire: ClientTransport {
    private let response: HTTPResponse
    private let body: HTTPBody?
    private let sent = Mutex<Message?>(nil)

    init(_ status: Int = 204, _ fields: HTTPFields = [:], _ body: HTTPBody? = nil) {
        response = HTTPResponse(status: .init(code: status), headerFields: fields)
        self.body = body
    }

    /// A response with a body of JSON.
    convenience init(_ status: Int = 200, json: String) {
        self.init(status, [.contentType: "application/json"], HTTPBody(json))
    }

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let message: Message = try await .read(
            "\(request.method) \(request.path ?? "")",
            request.headerFields,
            body
        )
        sent.withLock { $0 = message }
        return (response, self.body)
    }

    func client(configuration: Configuration = .init()) -> Client {
        Client(serverURL: .defaultOpenAPIServerURL, configuration: configuration, transport: self)
    }

    /// The last request.
    var request: Message {
        get throws { try #require(sent.withLock { $0 }) }
    }

    /// Whether nothing was sent.
    var isSilent: Bool { sent.withLock { $0 == nil } }

    /// The path and query of the last request.
    var target: String {
        get throws { try String(#require(request.start.split(separator: " ").last)) }
    }
}

extension Handlers {
    /// Answers one request in the words of the wire.
    func answer(
        _ method: HTTPRequest.Method,
        _ target: String,
        _ fields: HTTPFields = [:],
        _ body: HTTPBody? = nil,
        configuration: Configuration = .init(),
        middlewares: [any ServerMiddleware] = [ErrorHandlingMiddleware()]
    ) async throws -> Message {
        let transport = InProcessTransport()
        try Service(handlers: self).registerHandlers(
            on: transport,
            configuration: configuration,
            middlewares: middlewares
        )
        let (response, body) = try await transport.send(
            HTTPRequest(method: method, scheme: nil, authority: nil, path: target, headerFields: fields),
            body: body,
            baseURL: .defaultOpenAPIServerURL,
            operationID: ""
        )
        return try await .read(String(response.status.code), response.headerFields, body)
    }
}

/// What the server makes of a request before it calls the handler.
func received<Input: Sendable, Output>(
    _ operation: WritableKeyPath<Handlers, Handler<Input, Output>>,
    _ method: HTTPRequest.Method,
    _ target: String,
    _ fields: HTTPFields = [:],
    _ body: HTTPBody? = nil,
    configuration: Configuration = .init(),
    middlewares: [any ServerMiddleware] = []
) async throws -> Input {
    let kept = Kept<Input>()
    var handlers = Handlers()
    handlers[keyPath: operation] = { received in
        kept.input.withLock { $0 = received }
        throw UnexpectedCall()
    }
    let answer: Message = try await handlers.answer(
        method,
        target,
        fields,
        body,
        configuration: configuration,
        middlewares: [ErrorHandlingMiddleware()] + middlewares
    )
    return try #require(kept.input.withLock { $0 }, "The handler was not called, the answer is \(answer)")
}

/// What a handler was called with.
private final class Kept<Input: Sendable>: Sendable {
    let input = Mutex<Input?>(nil)
}

/// The whole text of a body.
func text(_ body: HTTPBody?) async throws -> String {
    try await String(collecting: #require(body), upTo: 1 << 20)
}

/// The name of an enumeration's case.
func caseName(_ value: Any) -> String {
    Mirror(reflecting: value).children.first?.label ?? "\(value)"
}

extension HTTPBody {
    /// A body that comes byte by byte, once, of a length nobody knows.
    static func dripping(_ text: String) -> HTTPBody {
        let (bytes, continuation) = AsyncStream<ArraySlice<UInt8>>.makeStream()
        for byte in text.utf8 { continuation.yield([byte]) }
        continuation.finish()
        return HTTPBody(bytes, length: .unknown)
    }
}

extension HTTPField.Name {
    static func custom(_ name: String) throws -> HTTPField.Name { try #require(HTTPField.Name(name)) }
}

extension Date {
    /// 14 November 2023, 22:13:20 UTC.
    static let november = Date(timeIntervalSince1970: 1_700_000_000)
}
