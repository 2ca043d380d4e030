import MistKit
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Listens on the loopback interface while a program waits for a token from a browser.
enum LoopbackServer {
    /// Runs a server while a closure runs. When the closure ends, the server and its connections are closed.
    ///
    /// - Parameters:
    ///   - host: `127.0.0.1`, or `localhost` for IPv4 and IPv6.
    ///   - port: The port; 0 means any free port.
    ///   - conversation: Makes the conversation that responds to requests, from the actual port.
    ///   - onOutcome: Gets the outcome of a request, after its response was sent.
    ///   - body: The closure to run meanwhile.
    /// - Returns: What the closure returns.
    /// - Throws: The errors of the closure, and an error of code `signInFailed` where the server cannot listen on the
    ///   port.
    static func run<Result>(
        host: String,
        port: Int,
        conversation: (_ port: Int) -> SignInConversation,
        onOutcome: @escaping @Sendable (SignInConversation.Outcome) -> Void,
        whileRunning body: (SignInConversation) async throws -> Result
    ) async throws -> Result {
        let connections = Connections()
        let holder = Holder()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                connections.add(channel)
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(Handler(holder: holder, onOutcome: onOutcome))
                }
            }
        var servers: [any Channel] = []
        do {
            let first = try await bootstrap.bind(host: "127.0.0.1", port: port).get()
            servers.append(first)
            let actualPort = first.localAddress?.port ?? port
            // A browser may try IPv6 first, and must not reach another program there.
            if host == "localhost" {
                do {
                    servers.append(try await bootstrap.bind(host: "::1", port: actualPort).get())
                } catch let error as IOError where error.errnoCode != EADDRINUSE {
                    // IPv6 cannot be used on this machine; IPv4 is enough.
                }
            }
            holder.conversation.withLock { $0 = conversation(actualPort) }
        } catch {
            for server in servers { try? await server.close().get() }
            throw CloudKitError(
                code: .signInFailed,
                message: """
                    The program cannot listen on port \(port) of this machine for the token. Another program may use the port: close it, or \
                    choose another port.
                    """,
                cause: error
            )
        }
        let result: Swift.Result<Result, any Error>
        do {
            guard let conversation = holder.conversation.withLock({ $0 }) else { throw CancellationError() }
            result = .success(try await body(conversation))
        } catch {
            result = .failure(error)
        }
        for server in servers { try? await server.close().get() }
        await connections.close()
        return try result.get()
    }

    /// The conversation, which is made when the port is known.
    private final class Holder: Sendable {
        let conversation = Mutex<SignInConversation?>(nil)
    }

    /// The open connections.
    private final class Connections: Sendable {
        private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

        func add(_ channel: any Channel) {
            channels.withLock { $0[ObjectIdentifier(channel)] = channel }
            channel.closeFuture.whenComplete { _ in
                self.channels.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
            }
        }

        func close() async {
            for channel in channels.withLock({ Array($0.values) }) { try? await channel.close().get() }
        }
    }

    /// Reads whole requests and responds to them; each connection has its own handler.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        /// The largest body in bytes. A token has a few hundred bytes.
        private static let maximumBodySize = 64 * 1024

        private let holder: Holder
        private let onOutcome: @Sendable (SignInConversation.Outcome) -> Void
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(holder: Holder, onOutcome: @escaping @Sendable (SignInConversation.Outcome) -> Void) {
            self.holder = holder
            self.onOutcome = onOutcome
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = []
            case .body(let buffer):
                body += buffer.readableBytesView
                if body.count > Self.maximumBodySize { context.close(promise: nil) }
            case .end:
                guard let head, let conversation = holder.conversation.withLock({ $0 }) else {
                    context.close(promise: nil)
                    return
                }
                let (response, outcome) = conversation.respond(
                    to: SignInConversation.Request(
                        method: head.method.rawValue,
                        target: head.uri,
                        host: head.headers.first(name: "Host"),
                        origin: head.headers.first(name: "Origin"),
                        cookie: head.headers.first(name: "Cookie"),
                        body: String(decoding: body, as: UTF8.self)
                    )
                )
                write(response, outcome, context)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }

        private func write(
            _ response: SignInConversation.Response,
            _ outcome: SignInConversation.Outcome?,
            _ context: ChannelHandlerContext
        ) {
            var fields = HTTPHeaders(response.fields.map { ($0.name, $0.value) })
            fields.add(name: "Content-Length", value: "\(response.body.utf8.count)")
            fields.add(name: "Connection", value: "close")
            let head = HTTPResponseHead(
                version: .http1_1,
                status: HTTPResponseStatus(statusCode: response.status),
                headers: fields
            )
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: response.body)))), promise: nil)
            let written = context.eventLoop.makePromise(of: Void.self)
            let channel = context.channel
            written.futureResult.whenComplete { [onOutcome] _ in
                if let outcome { onOutcome(outcome) }
                channel.close(promise: nil)
            }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        }
    }
}
