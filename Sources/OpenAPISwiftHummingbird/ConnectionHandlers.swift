import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// The connections of a server, so that all can be closed.
final class OpenConnections: Sendable {

    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in
            _ = self.channels.withLock { $0.removeValue(forKey: id) }
        }
    }

    /// Closes all connections, also those with requests in progress, and returns when they are closed.
    func closeAll() async {
        let open = channels.withLock { Array($0.values) }
        for channel in open { channel.close(promise: nil) }
        for channel in open { try? await channel.closeFuture.get() }
    }
}

/// Closes a connection whose client exceeds a timeout.
///
/// The handler itself only compares times. It adds two further handlers to its channel, which report progress to it:
/// one at the position where messages are bytes, and one where they are parts of requests and responses.
final class ConnectionTimeoutHandler: ChannelInboundHandler, RemovableChannelHandler {

    typealias InboundIn = NIOAny

    private let limits: ServerLimits
    private let connections: OpenConnections
    /// Gives the header field `Date` of each response; `nil` leaves the machine's time.
    fileprivate let date: (@Sendable () -> String)?
    private let logger: Logger
    private var nextCheck: Scheduled<Void>?
    fileprivate var progress = ConnectionProgress(openedAt: .now())

    init(_ limits: ServerLimits, _ connections: OpenConnections, date: (@Sendable () -> String)?, logger: Logger) {
        self.date = date
        self.limits = limits
        self.connections = connections
        self.logger = logger
    }

    func handlerAdded(context: ChannelHandlerContext) {
        progress = ConnectionProgress(openedAt: context.eventLoop.now)
        connections.add(context.channel)
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(PartProgressHandler(self), position: .after(decoder))
            try pipeline.addHandler(ByteProgressHandler(self), position: .first)
        } catch {
            // Without both handlers, a transfer looks like a connection on which nothing happens.
            logger.error("A connection has no timeouts", metadata: ["error": "\(error)"])
            return
        }
        scheduleCheck(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        nextCheck?.cancel()
        nextCheck = nil
    }

    private func scheduleCheck(_ context: ChannelHandlerContext) {
        let interval = TimeAmount(limits.checkInterval)
        nextCheck = context.eventLoop.assumeIsolated().scheduleTask(in: interval) { [self] in
            let buffered = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
            guard let stall = progress.stall(limits, at: context.eventLoop.now, bufferedBytes: buffered) else {
                return scheduleCheck(context)
            }
            logger.debug("A connection made no progress and is closed", metadata: ["stall": "\(stall)"])
            context.close(promise: nil)
        }
    }
}

/// Reports the parts of requests and responses to a ``ConnectionTimeoutHandler``.
private final class PartProgressHandler: ChannelDuplexHandler, RemovableChannelHandler {

    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let timeouts: ConnectionTimeoutHandler

    init(_ timeouts: ConnectionTimeoutHandler) {
        self.timeouts = timeouts
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: timeouts.progress.receiveHead(at: context.eventLoop.now)
        case .body: break
        case .end: timeouts.progress.receiveEnd(at: context.eventLoop.now)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .end:
            timeouts.progress.endResponse(at: context.eventLoop.now)
        case .head(var head):
            guard let date = timeouts.date else { break }
            head.headers.replaceOrAdd(name: "Date", value: date())
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: break
        }
        context.write(data, promise: promise)
    }
}

/// Reports bytes to a ``ConnectionTimeoutHandler``.
private final class ByteProgressHandler: ChannelDuplexHandler, RemovableChannelHandler {

    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private let timeouts: ConnectionTimeoutHandler

    init(_ timeouts: ConnectionTimeoutHandler) {
        self.timeouts = timeouts
    }

    func read(context: ChannelHandlerContext) {
        timeouts.progress.startReading(at: context.eventLoop.now)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        timeouts.progress.receiveBytes(at: context.eventLoop.now)
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        timeouts.progress.stopReading()
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        timeouts.progress.write()
        context.write(data, promise: promise)
    }
}

/// Stops accepting for a while when the system has no file descriptor or no memory for another connection.
///
/// NIO's own pause for this case has no effect: after such an error a read is still pending, so the listening socket
/// stays registered with the selector, which reports it again at once. This handler switches off automatic reading,
/// which removes the socket from the selector.
final class AcceptPauseHandler: ChannelInboundHandler {

    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    static let duration = TimeAmount.milliseconds(250)

    private let logger: Logger
    private var isPaused = false
    private var isReported = false

    init(logger: Logger) {
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReported = false
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, Self.shortages.contains(error.errnoCode) else {
            context.fireErrorCaught(error)
            return
        }
        guard !isPaused else { return }
        isPaused = true
        if !isReported {
            isReported = true
            logger.error(
                "New connections wait, as the system has no resources for them; see the limit of open files, ulimit -n",
                metadata: ["error": "\(error)"]
            )
        }
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.duration) { [self] in
            isPaused = false
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    private static let shortages: Set<CInt> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]
}
