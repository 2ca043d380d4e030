import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import OpenAPISwiftRuntime
import Synchronization
import Testing

@testable import OpenAPISwiftAsyncHTTPClient
@testable import OpenAPISwiftHummingbird

/// Chunks that arrive faster than an event loop runs are held back on both sides. Otherwise a long body would pile up
/// in memory.
struct PacingTests {

    /// 16 MiB that are available at once.
    private let body = HTTPBody(
        AsyncStream { continuation in
            for _ in 0..<256 { continuation.yield(ArraySlice(repeating: 7, count: 64 << 10)) }
            continuation.finish()
        },
        length: .unknown
    )

    @Test func aClientWaitsForItsLoopsAfterEachMebibyte() async throws {
        let loops = PacingLoops()
        for try await buffer in PacedBuffers(body: body, eventLoops: loops) { loops.take(buffer.readableBytes) }
        #expect(loops.taken == 16 << 20)
        #expect(loops.largestLoad <= 1 << 20)
    }

    @Test func aServerWaitsForItsLoopAfterEachMebibyte() async throws {
        let loops = PacingLoops()
        var writer = Writer(loops: loops)
        try await writer.write(chunksOf: body, on: loops)
        #expect(loops.taken == 16 << 20)
        #expect(loops.largestLoad <= 1 << 20)
        #expect(loops.isFinished)
    }

    /// A writer that counts the bytes that a server writes.
    private struct Writer: ResponseBodyWriter {
        let loops: PacingLoops

        mutating func write(_ buffer: ByteBuffer) async throws { loops.take(buffer.readableBytes) }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws { loops.finish() }
    }
}

/// Event loops that count the bytes since the last wait for them.
private final class PacingLoops: EventLoopGroup {

    private struct Load {
        var taken = 0
        var sinceLastWait = 0
        var largest = 0
        var isFinished = false
    }

    private let loop = MultiThreadedEventLoopGroup.singleton.next()
    private let load = Mutex(Load())

    var taken: Int { load.withLock { $0.taken } }
    var largestLoad: Int { load.withLock { $0.largest } }
    var isFinished: Bool { load.withLock { $0.isFinished } }

    func take(_ count: Int) {
        load.withLock { load in
            load.taken += count
            load.sinceLastWait += count
            load.largest = max(load.largest, load.sinceLastWait)
        }
    }

    func finish() {
        load.withLock { $0.isFinished = true }
    }

    private func waited() -> any EventLoop {
        load.withLock { $0.sinceLastWait = 0 }
        return loop
    }

    func next() -> any EventLoop { waited() }

    func any() -> any EventLoop { waited() }

    func makeIterator() -> EventLoopIterator { EventLoopIterator([waited()]) }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(nil) }
    }
}
