import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import HTTPTypes
import MistTesting
import OpenAPISwiftRuntime
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FaultTests {
    @Test(arguments: [
        (EmulatorConnection.inProcess, TransportError.Code.timedOut), (.socket, .connectionLost),
    ])
    func aRequestThatHangsEndsAfterItsTime(connection: EmulatorConnection, code: TransportError.Code) async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(over: connection, clock: clock) { emulator in
            for (fault, seconds) in [(Fault.hang, 60.0), (.hang(for: .seconds(5)), 5)] {
                emulator.faults.add(FaultRule(fault))
                let path = emulator.path("zones/list", in: .private)
                let call = Task {
                    try await emulator.send(HTTPRequest(method: .get, scheme: nil, authority: nil, path: path))
                }
                await clock.waitForSleepers()
                clock.advance(by: seconds)
                let error = await #expect(throws: TransportError.self) { try await call.value }
                #expect(error?.code == code)
            }
        }
    }

    @Test func aRequestThatHangsEndsWithItsTask() async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(faults: [FaultRule(.hang)], clock: clock) { emulator in
            let path = emulator.path("zones/list", in: .private)
            let call = Task {
                try await emulator.send(HTTPRequest(method: .get, scheme: nil, authority: nil, path: path))
            }
            await clock.waitForSleepers()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(clock.sleeperCount == 0)
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func aReplyThatIsCutIsComplete(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let path = emulator.path("users/caller", in: .public)
            let token = emulator.webAuthToken.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let query = "?ckAPIToken=\(emulator.apiToken)&ckWebAuthToken=\(token)"
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path + query)
            let whole = try await emulator.send(request)
            #expect(whole.status == .ok && whole.body.count > 10)
            // The length in the head is that of the cut body: a client does not wait for the rest.
            emulator.faults.add(FaultRule(.truncateReply(afterBytes: 10)))
            let cut = try await emulator.send(request)
            #expect(cut.text == String(whole.text.prefix(10)))
            emulator.faults.add(FaultRule(.invalidJSON))
            #expect(try await emulator.send(request).text == "{\"records\" [" + whole.text.dropFirst())
        }
    }
}
