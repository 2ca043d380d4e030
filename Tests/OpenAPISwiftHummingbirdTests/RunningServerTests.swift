import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import OpenAPISwiftRuntime
import ServiceLifecycle
import Synchronization
import Testing
import UnixSignals

@testable import OpenAPISwiftHummingbird

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Servers stop, whatever their clients do. If a server does not stop, its test reaches the time limit.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct RunningServerTests {

    private static let halfARequest = "POST /upload HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\nhalf"

    /// A router that signals when it begins to read an upload.
    private func uploads() -> (Router<OperationRequestContext>, started: AsyncStream<Void>) {
        let (started, start) = AsyncStream<Void>.makeStream()
        let router = Router(context: OperationRequestContext.self)
        router.post("upload") { request, _ in
            start.yield()
            var count = 0
            for try await chunk in request.body { count += chunk.readableBytes }
            return "\(count)"
        }
        return (router, started)
    }

    // MARK: Stopping

    @Test func halfABodyDoesNotKeepAServerThatStops() async throws {
        let (router, started) = uploads()
        let limits = ServerLimits(shutdownTimeout: .milliseconds(50))
        let connections = try await withRunningServer(of: router, limits: limits) { url in
            var started = started.makeAsyncIterator()
            var connections: [RawConnection] = []
            for _ in 0..<3 {
                let connection = try RawConnection(to: url)
                connection.send(Self.halfARequest)
                await started.next()
                connections.append(connection)
            }
            return connections
        }
        for connection in connections { #expect(await connection.receiveAll() == "") }
    }

    @Test func aClientThatTakesNoResponseDoesNotKeepAServerThatStops() async throws {
        let (started, start) = AsyncStream<Void>.makeStream()
        let router = Router(context: OperationRequestContext.self)
        router.get("endless") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    start.yield()
                    while true { try await writer.write(ByteBuffer(repeating: 0x61, count: 1 << 20)) }
                }
            )
        }
        let connection = try await withRunningServer(of: router, limits: ServerLimits(shutdownTimeout: .zero)) { url in
            let connection = try RawConnection(to: url)
            connection.send("GET /endless HTTP/1.1\r\nhost: h\r\n\r\n")
            var started = started.makeAsyncIterator()
            await started.next()
            return connection
        }
        #expect(await connection.receiveAll().hasPrefix("HTTP/1.1 200 "))
    }

    @Test func aRequestUnderWayIsAnsweredByAServerThatStops() async throws {
        let (started, start) = AsyncStream<Void>.makeStream()
        let router = Router(context: OperationRequestContext.self)
        router.get("last") { _, _ in
            start.yield()
            // This returns when the server has begun to stop.
            try? await gracefulShutdown()
            return "answered"
        }
        let limits = ServerLimits(shutdownTimeout: .seconds(3600))
        let connection = try await withRunningServer(of: router, limits: limits) { url in
            let connection = try RawConnection(to: url)
            connection.send("GET /last HTTP/1.1\r\nhost: h\r\n\r\n")
            var started = started.makeAsyncIterator()
            await started.next()
            return connection
        }
        #expect(await connection.receiveAll().hasSuffix("\r\n\r\nanswered"))
    }

    @Test func aServerOfACancelledTaskClosesItsConnectionsAtOnce() async throws {
        let (router, started) = uploads()
        let limits = ServerLimits(shutdownTimeout: .seconds(3600))
        let task = Task {
            try await withRunningServer(of: router, limits: limits) { url in
                let connection = try RawConnection(to: url)
                connection.send(Self.halfARequest)
                var started = started.makeAsyncIterator()
                await started.next()
                withUnsafeCurrentTask { $0?.cancel() }
                return connection
            }
        }
        #expect(try await task.value.receiveAll() == "")
    }

    @Test func aSecondSignalClosesTheConnectionsAtOnce() async throws {
        let (router, started) = uploads()
        let (urls, continuation) = AsyncStream<URL>.makeStream()
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = Task { [logger] in
            try await runServer(
                of: router.buildResponder(),
                host: "127.0.0.1",
                port: 0,
                limits: ServerLimits(shutdownTimeout: .seconds(3600)),
                logger: logger,
                until: [.sigusr1]
            ) { continuation.yield($0) }
        }
        var urlIterator = urls.makeAsyncIterator()
        let url = try #require(await urlIterator.next())
        let connection = try RawConnection(to: url)
        connection.send(Self.halfARequest)
        var startedIterator = started.makeAsyncIterator()
        await startedIterator.next()

        let idle = try RawConnection(to: url)
        idle.send("GET /nothing HTTP/1.1\r\nhost: h\r\n\r\n")
        #expect(await idle.receive().hasPrefix("HTTP/1.1 404 "))
        kill(getpid(), SIGUSR1)
        // The first signal closes idle connections.
        #expect(await idle.receive() == "")
        kill(getpid(), SIGUSR1)
        try await server.value
        #expect(await connection.receiveAll() == "")
    }

    // MARK: Timeouts

    @Test func aConnectionWithoutARequestIsClosed() async throws {
        var limits = ServerLimits()
        limits.idleTimeout = .milliseconds(50)
        try await withRunningServer(of: uploads().0, limits: limits) { url in
            #expect(try await RawConnection(to: url).receiveAll() == "")
            let connection = try RawConnection(to: url)
            connection.send("GET /nothing HTTP/1.1\r\nhost: h\r\n\r\n")
            #expect(await connection.receiveAll().hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test func halfAHeadIsClosed() async throws {
        var limits = ServerLimits()
        limits.headTimeout = .milliseconds(50)
        try await withRunningServer(of: uploads().0, limits: limits) { url in
            let connection = try RawConnection(to: url)
            connection.send("GET /nothing HTTP/1.1\r\nhost: h\r\n")
            #expect(await connection.receiveAll() == "")
        }
    }

    @Test func halfABodyIsClosedAndIsAnErrorToItsHandler() async throws {
        let (outcomes, continuation) = AsyncStream<Result<Int, any Error>>.makeStream()
        let router = Router(context: OperationRequestContext.self)
        router.post("upload") { request, _ in
            do {
                var count = 0
                for try await chunk in request.body { count += chunk.readableBytes }
                continuation.yield(.success(count))
            } catch {
                continuation.yield(.failure(error))
            }
            return HTTPResponse.Status.ok
        }
        var limits = ServerLimits()
        limits.transferTimeout = .milliseconds(50)
        try await withRunningServer(of: router, limits: limits) { url in
            let headers = ["content-length: 10\r\n\r\nhalf", "transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"]
            var outcomes = outcomes.makeAsyncIterator()
            for rest in headers {
                let connection = try RawConnection(to: url)
                connection.send("POST /upload HTTP/1.1\r\nhost: h\r\n\(rest)")
                // A part of a body must never be taken for the whole body.
                if case .success(let count) = await outcomes.next() { Issue.record("\(count) bytes were the body") }
                _ = await connection.receiveAll()
            }
        }
    }

    @Test func aResponseThatIsNotTakenIsClosed() async throws {
        let (ended, end) = AsyncStream<Void>.makeStream()
        let router = Router(context: OperationRequestContext.self)
        router.get("endless") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    defer { end.yield() }
                    while true { try await writer.write(ByteBuffer(repeating: 0x61, count: 1 << 20)) }
                }
            )
        }
        var limits = ServerLimits()
        limits.transferTimeout = .milliseconds(200)
        try await withRunningServer(of: router, limits: limits) { url in
            let connection = try RawConnection(to: url)
            connection.send("GET /endless HTTP/1.1\r\nhost: h\r\n\r\n")
            var ended = ended.makeAsyncIterator()
            await ended.next()
            #expect(await connection.receive().hasPrefix("HTTP/1.1 200 "))
        }
    }

    // MARK: Limits

    @Test func connectionsAboveTheLimitWaitForOthersToClose() async throws {
        let log = Mutex<[String]>([])
        let router = Router(context: OperationRequestContext.self)
        router.get("**") { request, _ in
            log.withLock { $0.append(request.uri.path) }
            return HTTPResponse.Status.ok
        }
        var limits = ServerLimits()
        limits.maximumConnections = 2
        try await withRunningServer(of: router, limits: limits) { url in
            func get(_ path: String, on connection: RawConnection) async {
                connection.send("GET \(path) HTTP/1.1\r\nhost: h\r\n\r\n")
                #expect(await connection.receive().hasPrefix("HTTP/1.1 200 "))
            }
            var first: RawConnection? = try RawConnection(to: url)
            let second = try RawConnection(to: url)
            if let first { await get("/first", on: first) }
            await get("/second", on: second)
            let third = try RawConnection(to: url)
            third.send("GET /third HTTP/1.1\r\nhost: h\r\n\r\n")
            for _ in 0..<20 { await get("/second", on: second) }
            log.withLock { $0.append("close") }
            first = nil
            #expect(await third.receive().hasPrefix("HTTP/1.1 200 "))
        }
        #expect(log.withLock { $0 }.suffix(2) == ["close", "/third"])
    }

    @Test func aListenerPausesWhenThereIsNoFileDescriptorLeft() throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let channel = EmbeddedChannel(handler: AcceptPauseHandler(logger: logger))
        func switches() -> [Bool] { channel.options.compactMap { $0.value as? Bool } }

        channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
        #expect(switches() == [false])
        channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
        channel.embeddedEventLoop.advanceTime(by: AcceptPauseHandler.duration)
        #expect(switches() == [true])
        channel.pipeline.fireErrorCaught(IOError(errnoCode: ENFILE, reason: "accept"))
        #expect(switches() == [false])
        try channel.throwIfErrorCaught()

        channel.pipeline.fireErrorCaught(IOError(errnoCode: EINVAL, reason: "accept"))
        #expect(throws: IOError.self) { try channel.throwIfErrorCaught() }
    }
}
