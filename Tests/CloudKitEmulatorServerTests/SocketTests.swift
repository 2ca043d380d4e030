import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import Logging
import MistTesting
import NIOCore
import NIOPosix
import StreamingJSON
import Synchronization
import Testing

/// Behaviour that only a socket has: other programs as clients, ports, start and stop.
@Suite(.serialized)
struct SocketTests {
    private func quietServer() throws -> CloudKitEmulatorServer {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try CloudKitEmulatorServer(CloudKitEmulator(), configuration: .init(logger: logger))
    }

    @Test(.enabled(if: canRun("curl", ["--version"]), "curl"))
    func curlIsAClientLikeAnyOther() async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            let url = "\(emulator.serverURL)\(emulator.path("records/modify", in: .public))"
            let body = """
                {"operations":[{"operationType":"create","record":{"recordName":"n","recordType":"Note","fields":{}}}]}
                """
            let (status, output) = try await run(
                "curl",
                [
                    "--silent", "--include", "--data-binary", body,
                    "\(url)?ckAPIToken=\(emulator.apiToken)"
                        + "&ckWebAuthToken=\(percentEncoded(emulator.webAuthToken))",
                ]
            )
            #expect(status == 0)
            let parts = output.components(separatedBy: "\r\n\r\n")
            let head = parts[0].lowercased().components(separatedBy: "\r\n")
            #expect(head.first == "http/1.1 200 ok")
            #expect(head.contains("content-type: application/json; charset=utf-8"))
            #expect(head.contains { $0.hasPrefix("x-apple-request-uuid: ") })
            let json = try JSONReader.read(JSONValue.self, from: parts[1])
            #expect(json["records"]?[0]?["recordName"] == "n")
            #expect(json["records"]?[0]?["created"]?["userRecordName"] == .string(emulator.userRecordName))
        }
    }

    @Test func twoServersTakeTwoFreePorts() async throws {
        let server = try quietServer()
        let ports = try await server.withRunningServer { first in
            try await server.withRunningServer { second in [first, second].map(\.port) }
        }
        #expect(Set(ports).count == 2)
        #expect(ports.allSatisfy { $0 ?? 0 > 0 })
    }

    @Test func aPortThatIsTakenIsAnError() async throws {
        let server = try quietServer()
        try await server.withRunningServer { address in
            _ = await #expect(throws: (any Error).self) {
                try await server.withRunningServer(port: address.port ?? 0) { _ in }
            }
        }
    }

    @Test func aServerIsGoneWhenItsClosureEnds() async throws {
        let server = try quietServer()
        let address = try await server.withRunningServer { address in
            let (reached, _) = try await run("curl", ["--silent", "\(address)/"])
            #expect(reached == 0)
            return address
        }
        // curl's status 7: could not connect.
        #expect(try await run("curl", ["--silent", "\(address)/"]).status == 7)
        // The port is free again at once.
        try await server.withRunningServer(port: address.port ?? 0) { again in #expect(again == address) }
    }

    @Test func anErrorOfTheClosureEndsTheServerAndComesOut() async throws {
        struct Mishap: Error {}
        let server = try quietServer()
        await #expect(throws: Mishap.self) {
            try await server.withRunningServer { _ in throw Mishap() }
        }
    }

    @Test func aServerThatRunsEndsWhenItsTaskIsCancelled() async throws {
        let server = try quietServer()
        let (addresses, continuation) = AsyncStream<URL>.makeStream()
        let running = Task { try await server.run(port: 0) { continuation.yield($0) } }
        for await address in addresses {
            #expect(try await run("curl", ["--silent", "--output", "/dev/null", "\(address)/"]).status == 0)
            break
        }
        running.cancel()
        _ = await running.result
    }

    /// A query looks at many records and does not suspend. Without cancellation it would go on for no one.
    @Test(.timeLimit(.minutes(10))) func aQueryIsCancelledWhenItsClientLeaves() async throws {
        let (began, beginning) = AsyncStream<Void>.makeStream()
        let (ended, ending) = AsyncStream<Bool>.makeStream()
        let isWatched = Mutex(false)
        // The clock is read in the task of the request.
        let rules = try CloudKitEmulator {
            let isFirst = isWatched.withLock { isWatched in
                defer { isWatched = false }
                return isWatched
            }
            if isFirst {
                beginning.yield()
                let deadline = ContinuousClock.now + .seconds(20)
                while !Task.isCancelled, ContinuousClock.now < deadline { usleep(1000) }
                ending.yield(Task.isCancelled)
            }
            return Date()
        }
        let apiToken = try rules.registerAPIToken(for: "iCloud.test")
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = try CloudKitEmulatorServer(rules, configuration: .init(logger: logger))
        try await server.withRunningServer { address in
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: address.port ?? 0).get()
            isWatched.withLock { $0 = true }
            let body = #"{"query":{"recordType":"Note"}}"#
            let target = "/database/1/iCloud.test/development/public/records/query?ckAPIToken=\(apiToken)"
            let head = "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            try await channel.writeAndFlush(ByteBuffer(string: head + body)).get()
            for await _ in began { break }
            try await channel.close().get()
            for await isCancelled in ended {
                #expect(isCancelled)
                break
            }
        }
    }
}
