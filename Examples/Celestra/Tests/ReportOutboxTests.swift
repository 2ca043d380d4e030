import ArgumentParser
import ExampleTesting
import Foundation
import MistMutationQueue
import NIOHTTP1
import Testing

@testable import celestra

@Suite(.timeLimit(.minutes(2)))
struct ReportOutboxTests {
    /// Runs a test with a receiver and a file.
    private func withReceiver(_ body: (WebServer, _ file: String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "reports-\(UUID()).sqlite").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try await withWebServer { server in try await body(server, file) }
    }

    /// A run that sends a report, as a process of its own would.
    private func run(_ number: Int, _ server: WebServer, _ file: String) async throws -> [String] {
        let address = server.addresses[0] + "/hook"
        return try await ReportOutbox.with(file: file) { outbox in
            try await outbox.add(ReportOutbox.PendingReport(address: address, json: #"{"run":\#(number)}"#))
            return try await outbox.send()
        }
    }

    private func bodies(_ server: WebServer) -> [String] {
        server.requests.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test func aReportThatFindsTheReceiverDownIsSentByALaterRun() async throws {
        try await withReceiver { server, file in
            server.respond { _ in .response(503) }
            // More runs than a mutation has attempts: an outage does not use them up.
            for number in 1...12 {
                let reports = number == 1 ? "1 report waits" : "\(number) reports wait"
                #expect(
                    try await run(number, server, file) == ["\(reports) for the next run. It answers with status 503."]
                )
            }
            let first = try #require(server.requests.first?.headers.first(name: "Idempotency-Key"))
            server.forgetRequests()
            server.respond { _ in .response(204) }
            #expect(try await run(13, server, file) == [])
            // In the order of the runs, and the first one under the key that it had when it failed.
            #expect(bodies(server) == (1...13).map { #"{"run":\#($0)}"# })
            let keys = server.requests.compactMap { $0.headers.first(name: "Idempotency-Key") }
            #expect(keys.first == first && Set(keys).count == 13)
        }
    }

    @Test func aReportThatIsRefusedIsDroppedAndHoldsNoOtherUp() async throws {
        try await withReceiver { server, file in
            server.respond { request in
                .response(String(decoding: request.body, as: UTF8.self) == #"{"run":1}"# ? 400 : 200)
            }
            let address = server.addresses[0] + "/hook"
            let refused = try await run(1, server, file)
            #expect(refused == ["\(address) refuses a report, which is dropped. It answers with status 400."])
            let accepted = try await run(2, server, file)
            #expect(accepted == [])
            #expect(bodies(server) == [#"{"run":1}"#, #"{"run":2}"#])
        }
    }

    @Test func aReceiverThatCannotBeReachedIsWaitedFor() async throws {
        try await withReceiver { server, file in
            try await server.stop(0)
            #expect(try await run(1, server, file) == ["1 report waits for the next run. It cannot be reached."])
        }
    }

    @Test(arguments: [(408, false), (429, false), (500, false), (503, false), (400, true), (404, true), (301, true)])
    func aStatusSaysWhetherToTryAgain(status: UInt, isRefused: Bool) {
        let sentence = "It answers with status \(status)."
        #expect(
            ReportOutbox.decision(after: ReportOutbox.ReceiverFailure(status: status))
                == (isRefused ? .refused(sentence) : .wait(.offline, for: .seconds(60), sentence))
        )
    }

    @Test func anAddressWithoutASchemeIsAMistake() {
        #expect(throws: (any Error).self) { try UpdateCommand.parse(["--webhook", "example.com"]) }
    }
}
