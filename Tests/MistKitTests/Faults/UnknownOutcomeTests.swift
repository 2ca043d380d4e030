import CloudKitEmulatorServer
import Foundation
import MistKit
import MistTesting
import Testing

/// What a failed call says about writes that may have been done.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct UnknownOutcomeTests {
    /// Checks the documented promise "the call itself throws only when nothing was done" for each way to lose a
    /// response.
    @Test(arguments: [
        (Fault.loseReply, "network", true),
        (.resetReply(), "network", true),
        (.loseRequest, "network", true),
        (.invalidJSON, "decoding", true),
        (.truncateReply(afterBytes: 30), "decoding", true),
        (.htmlPage(status: 200), "unexpectedResponse", true),
        (.refuse("INTERNAL_ERROR"), "INTERNAL_ERROR", true),
        (.refuse("QUOTA_EXCEEDED"), "QUOTA_EXCEEDED", false),
        (.throttle(), "THROTTLED", false),
        (.refuse("AUTHENTICATION_FAILED"), "AUTHENTICATION_FAILED", false),
        (.htmlPage(status: 404), "unexpectedResponse", false),
    ])
    func aBatchThrowsOnlyWhereNothingWasDone(
        fault: Fault,
        code: String,
        mayHaveBeenDone: Bool
    ) async throws {
        try await withCloudKitEmulator { emulator in
            emulator.faults.add(FaultRule(fault, on: "records/modify", calls: .all))
            let service = emulator.service(as: .user) {
                $0.retryPolicy = RetryPolicy()
                $0.clock = TestClock(skippingWaits: true).timer
                $0.random = { 0.5 }
            }
            let database = service.privateDatabase
            do {
                let results = try await database.save([Record.note("a", "new"), .note("b", "new")])
                #expect(results.map { summary($0) } == ["\(code) a", "\(code) b"])
                #expect(results.allSatisfy { $0.error?.mayHaveBeenDone == true })
                #expect(mayHaveBeenDone)
            } catch {
                let error = try #require(error as? CloudKitError)
                #expect("\(error.code)" == code)
                #expect(!error.mayHaveBeenDone)
                #expect(!mayHaveBeenDone)
            }
        }
    }
}

extension Result {
    /// The failure.
    var error: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
