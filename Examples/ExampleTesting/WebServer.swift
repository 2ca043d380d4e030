import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A web server on the loopback interface for tests. It has any number of hosts, each on a free port, and responds as
/// the test says. It can also close the connection in the middle of a response, or not respond at all.
package final class WebServer: Sendable {
    /// A request that arrived.
    package struct Request: Sendable {
        /// The index of the host.
        package var host: Int
        /// The path with its query.
        package var path: String
        package var headers: HTTPHeaders
        package var body: [UInt8]
    }

    /// The response to a request.
    package enum Reply: Sendable {
        /// A whole response.
        case response(_ status: Int, headers: [(String, String)] = [], body: [UInt8] = [])
        /// The beginning of a response that announces `missing` more bytes; then the connection closes.
        case truncated(headers: [(String, String)] = [], body: [UInt8], missing: Int)
        /// No response. The connection stays open.
        case silence
    }

    private struct State {
        var channels: [any Channel] = []
        var addresses: [String] = []
        var respond: @Sendable (Request) -> Reply = { _ in .response(404) }
        var requests: [Request] = []
        var waiting: [(isOver: @Sendable ([Request]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// The address of each host.
    package var addresses: [String] { state.withLock { $0.addresses } }

    /// The requests so far.
    package var requests: [Request] { state.withLock { $0.requests } }

    /// Sets how requests are answered from now on. Before, the status is 404.
    package func respond(_ respond: @escaping @Sendable (Request) -> Reply) {
        state.withLock { $0.respond = respond }
    }

    /// Forgets the requests so far.
    package func forgetRequests() {
        state.withLock { $0.requests = [] }
    }

    /// Waits until `count` requests for which a condition holds have arrived.
    package func waitForRequests(_ count: Int = 1, where condition: @escaping @Sendable (Request) -> Bool) async {
        let isOver: @Sendable ([Request]) -> Bool = { $0.count(where: condition) >= count }
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if isOver(state.requests) { return true }
                state.waiting.append((isOver, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Stops a host. Connections to it are refused from now on.
    package func stop(_ host: Int) async throws {
        try await state.withLock { $0.channels[host] }.close().get()
    }

    fileprivate func reply(to request: Request) -> Reply {
        let (respond, woken) = state.withLock { state in
            state.requests.append(request)
            let requests = state.requests
            let woken = state.waiting.filter { $0.isOver(requests) }.map(\.continuation)
            state.waiting.removeAll { $0.isOver(requests) }
            return (state.respond, woken)
        }
        for continuation in woken { continuation.resume() }
        return respond(request)
    }

    fileprivate func start(hosts: Int) async throws {
        for host in 0..<hosts {
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 256)
                .childChannelInitializer { channel in
                    channel.pipeline.configureHTTPServerPipeline(withErrorHandling: true).flatMapThrowing {
                        try channel.pipeline.syncOperations.addHandler(WebServerHandler(server: self, host: host))
                    }
                }
                .bind(host: "127.0.0.1", port: 0)
                .get()
            let address = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
            state.withLock { state in
                state.channels.append(channel)
                state.addresses.append(address)
            }
        }
    }

    fileprivate func stop() async {
        for channel in state.withLock({ $0.channels }) where channel.isActive { try? await channel.close().get() }
    }
}

/// Runs a server during a closure.
package func withWebServer<Value>(hosts: Int = 1, _ body: (WebServer) async throws -> Value) async throws -> Value {
    let server = WebServer()
    do {
        try await server.start(hosts: hosts)
        let value = try await body(server)
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}

private final class WebServerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: WebServer
    private let host: Int
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(server: WebServer, host: Int) {
        self.server = server
        self.host = host
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, [])
        case .body(let bytes): body += bytes.readableBytesView
        case .end:
            guard let head else { return }
            let request = WebServer.Request(host: host, path: head.uri, headers: head.headers, body: body)
            write(server.reply(to: request), context: context)
        }
    }

    private func write(_ reply: WebServer.Reply, context: ChannelHandlerContext) {
        switch reply {
        case .silence: break
        case .response(let status, let headers, let body):
            var fields = HTTPHeaders(headers)
            if status != 304 { fields.replaceOrAdd(name: "Content-Length", value: "\(body.count)") }
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: fields)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            if !body.isEmpty {
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
            }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .truncated(let headers, let body, let missing):
            var fields = HTTPHeaders(headers)
            fields.replaceOrAdd(name: "Content-Length", value: "\(body.count + missing)")
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: fields)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))))
                .whenComplete { _ in channel.close(promise: nil) }
        }
    }
}

/// The gzip format (RFC 1952) without compression, for bodies of up to 65,535 bytes.
package func gzip(_ bytes: [UInt8]) -> [UInt8] {
    precondition(bytes.count <= 0xFFFF)
    func littleEndian(_ value: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
    }
    var checksum: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
        checksum ^= UInt32(byte)
        for _ in 0..<8 { checksum = (checksum >> 1) ^ (checksum & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    let count = UInt32(bytes.count)
    var result: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
    result += [1] + littleEndian(count, 2) + littleEndian(~count, 2) + bytes
    return result + littleEndian(~checksum, 4) + littleEndian(count, 4)
}
