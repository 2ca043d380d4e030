import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import HTTPTypes
import Logging
import MistTesting
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// A server stops even if clients have sent only parts of their requests. If it does not stop, the test reaches its
/// time limit.
@Suite(.timeLimit(.minutes(10)))
struct StoppingTests {
    /// A body that sends its first bytes, and never the others.
    private struct HalfABody: AsyncSequence, Sendable {
        struct AsyncIterator: AsyncIteratorProtocol {
            let isSent: AsyncStream<Void>.Continuation
            var isFirst = true

            mutating func next() async throws -> ArraySlice<UInt8>? {
                if isFirst {
                    isFirst = false
                    return [1, 2, 3]
                }
                // The client asks for more bytes after it has sent those it got.
                isSent.yield()
                try await Task.sleep(for: .seconds(3600))
                return nil
            }
        }

        let isSent: AsyncStream<Void>.Continuation

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(isSent: isSent) }
    }

    private func sendHalf(
        _ path: String,
        to address: URL,
        length: HTTPBody.Length = .known(1000)
    ) async -> Task<Void, any Error> {
        let (sent, isSent) = AsyncStream<Void>.makeStream()
        let body = HTTPBody(HalfABody(isSent: isSent), length: length, iterationBehavior: .single)
        let call = Task {
            _ = try await AsyncHTTPClientTransport().send(
                HTTPRequest(method: .post, scheme: nil, authority: nil, path: path),
                body: body,
                baseURL: address,
                operationID: "half"
            )
        }
        for await _ in sent { break }
        return call
    }

    @Test(arguments: [HTTPBody.Length.known(1000), .unknown])
    func halfARequestAndHalfAnAssetDoNotKeepTheServer(length: HTTPBody.Length) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var configuration = CloudKitEmulatorServer.Configuration(logger: logger)
        configuration.shutdownTimeout = .milliseconds(50)
        try await withCloudKitEmulator { emulator in
            // Another server with the same emulator, but its own limits.
            let server = try CloudKitEmulatorServer(emulator.rules, configuration: configuration)
            let calls = try await server.withRunningServer { address in
                let tokens = #"{"tokens":[{"recordType":"Note","fieldName":"file"}]}"#
                let reply = try await emulator.post("assets/upload", in: .private, as: .user, tokens)
                let url = try #require(reply.json["tokens"]?[0]?["url"]?.stringValue.flatMap(URL.init))
                return await [
                    sendHalf(emulator.path("records/modify", in: .public), to: address, length: length),
                    sendHalf(url.path, to: address, length: length),
                ]
            }
            for call in calls { await #expect(throws: TransportError.self) { try await call.value } }
        }
    }

    @Test func halfARequestDoesNotKeepAnEmulatorWhoseClosureEnds() async throws {
        let call = try await withCloudKitEmulator(over: .socket) { emulator in
            await sendHalf(emulator.path("records/modify", in: .public), to: emulator.serverURL)
        }
        await #expect(throws: TransportError.self) { try await call.value }
    }

    @Test(arguments: [Fault.hang, .delay(.seconds(3600)), .slowReply(chunkSize: 1, pause: .seconds(3600))])
    func aServerThatStopsEndsTheWaitOfAFault(fault: Fault) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let clock = TestClock()
        var configuration = CloudKitEmulatorServer.Configuration(logger: logger)
        configuration.shutdownTimeout = .seconds(3600)
        configuration.clock = clock.timer
        configuration.faults = [FaultRule(fault)]
        let server = try CloudKitEmulatorServer(CloudKitEmulator(), configuration: configuration)
        let call = try await server.withRunningServer { address in
            let call = Task {
                let (_, body) = try await AsyncHTTPClientTransport().send(
                    HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/"),
                    body: nil,
                    baseURL: address,
                    operationID: "wait"
                )
                // The reply without a fault is an error dictionary of this length or more.
                let bytes = try await [UInt8](collecting: try #require(body), upTo: 10_000)
                #expect(bytes.count < 20)
            }
            await clock.waitForSleepers()
            return call
        }
        _ = await call.result
        #expect(clock.sleeperCount == 0)
    }
}
