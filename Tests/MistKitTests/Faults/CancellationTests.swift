import CloudKitEmulatorServer
import Foundation
import MistTesting
import OpenAPISwiftRuntime
import Testing

@testable import MistKit

/// Wherever a call waits, cancelling ends it, and nothing of it goes on.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct CancellationTests {
    private static let calls: [Call] = [.fetch, .query, .create, .zones, .forceDelete]

    @Test(arguments: EmulatorConnection.allCases)
    func aRequestWithoutAReplyEndsWithItsTask(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection, faults: [FaultRule(.hang, calls: .all)]) { emulator in
            for call in Self.calls {
                let transport = ObservedTransport(emulator.transport)
                let service = service(emulator, transport, StoppedClock())
                emulator.faults.forgetRequests()
                let task = Task {
                    await call.outcome(on: service, zone: .default, existing: .note("a", "old"))
                }
                await eventually { !emulator.faults.requests.isEmpty }
                task.cancel()
                let outcome = await task.value
                #expect(outcome.hasPrefix("cancelled"))
                #expect(transport.counts.underWay == 0)
                #expect(emulator.faults.requests.count == 1)
            }
        }
    }

    @Test func aReplyThatDoesNotEndEndsWithItsTask() async throws {
        // Nobody moves the clock of the emulator on.
        let pieces = FaultRule(.slowReply(chunkSize: 1, pause: .seconds(3600)), calls: .all)
        try await withCloudKitEmulator(over: .socket, faults: [pieces]) { emulator in
            for call in Self.calls {
                let transport = ObservedTransport(emulator.transport)
                let service = service(emulator, transport, StoppedClock())
                emulator.faults.forgetRequests()
                let task = Task {
                    await call.outcome(on: service, zone: .default, existing: .note("a", "old"))
                }
                await eventually { !emulator.faults.requests.isEmpty }
                task.cancel()
                let outcome = await task.value
                #expect(outcome.hasPrefix("cancelled"))
                #expect(transport.counts.underWay == 0)
            }
        }
    }

    @Test(arguments: [
        Fault.throttle(retryAfter: 5), .loseReply, .refuseItems("TRY_AGAIN_LATER"), .emptyReply(status: 503),
    ])
    func theWaitForAnotherAttemptEndsWithItsTask(fault: Fault) async throws {
        try await withCloudKitEmulator(faults: [FaultRule(fault, calls: .all)]) { emulator in
            let transport = ObservedTransport(emulator.transport)
            let clock = StoppedClock()
            let service = service(emulator, transport, clock)
            let task = Task {
                try await failure {
                    try await service.privateDatabase.save(.note("n", "new"))
                }
            }
            await eventually { clock.waiting == 1 }
            task.cancel()
            let error = try await task.value
            #expect(error.code == .cancelled)
            #expect(transport.counts.underWay == 0)
            #expect(emulator.faults.requests.count == 1)
        }
    }

    @Test func theWaitAtTheBrakeEndsWithItsTask() async throws {
        try await withCloudKitEmulator { emulator in
            let clock = StoppedClock()
            let service = service(emulator, ObservedTransport(emulator.transport), clock)
            service.retrier.brake.hold(for: .seconds(5))
            let task = Task {
                try await failure { try await service.privateDatabase.fetch("a") }
            }
            await eventually { clock.waiting == 1 }
            task.cancel()
            let error = try await task.value
            #expect(error.code == .cancelled)
            #expect(emulator.faults.requests.isEmpty)
        }
    }

    @Test func aBatchKeepsWhatWasDoneBefore() async throws {
        try await withCloudKitEmulator(faults: [FaultRule(.hang, calls: .from(3))]) { emulator in
            let transport = ObservedTransport(emulator.transport)
            let service = service(emulator, transport, StoppedClock())
            let records = (0..<1000).map { Record.note("r\($0)", "new") }
            let task = Task { try await service.privateDatabase.save(records) }
            await eventually { emulator.faults.requests.count == 3 }
            task.cancel()
            let results = try await task.value
            #expect(
                results.map { summary($0) }
                    == records.enumerated().map { $0.offset < 400 ? "ok" : "cancelled \($0.element.recordName ?? "")" }
            )
            #expect(transport.counts.underWay == 0)
            #expect(emulator.faults.requests.count == 3)
        }
    }

    @Test func manyRequestsAtATimeEndTogether() async throws {
        try await withCloudKitEmulator(faults: [FaultRule(.hang, calls: .all)]) { emulator in
            let transport = ObservedTransport(emulator.transport)
            let service = service(emulator, transport, StoppedClock(), as: .serverKey)
            let names = (0..<2000).map { "r\($0)" }
            let task = Task {
                try await failure { try await service.publicDatabase.fetch(names) }
            }
            await eventually { emulator.faults.requests.count == 4 }
            task.cancel()
            let error = try await task.value
            #expect(error.code == .cancelled)
            #expect(transport.counts.underWay == 0)
            #expect(emulator.faults.requests.count == 4)
        }
    }

    @Test func leavingALoopEndsThePageThatIsOnItsWay() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = ObservedTransport(emulator.transport)
            let service = service(emulator, transport, StoppedClock())
            try await service.privateDatabase.createZone("Notes")
            let records = (0..<30).map { Record.note("r\($0)", "new") }
            _ = try await service.privateDatabase.save(records)
            emulator.faults.add(FaultRule(.hang, on: "records/query", calls: .from(2)))
            for try await _ in service.privateDatabase.records(matching: Query(recordType: "Note"), pageSize: 10) {
                await eventually { emulator.faults.requests.filter { $0.hasSuffix("query") }.count == 2 }
                #expect(transport.counts.underWay == 1)
                break
            }
            await eventually { transport.counts.underWay == 0 }
        }
    }

    private func service(
        _ emulator: RunningEmulator,
        _ transport: ObservedTransport,
        _ clock: any Clock<Duration>,
        as identity: RunningEmulator.Identity = .user
    ) -> CloudKitService {
        emulator.observedService(as: identity, through: transport, clock: clock)
    }
}

extension RunningEmulator {
    /// A service whose requests go through a transport that counts them.
    func observedService(
        as identity: Identity,
        through transport: ObservedTransport,
        clock: any Clock<Duration> = FakeClock()
    ) -> CloudKitService {
        let manager: any TokenManager
        if identity == .serverKey, let key = try? ServerToServerKey(serverKeyPEM) {
            manager = ServerToServerAuthManager(keyID: serverKeyID, privateKey: key)
        } else {
            manager = AdaptiveTokenManager(apiToken: apiToken, webAuthToken: identity == .user ? webAuthToken : nil)
        }
        return CloudKitService(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: manager,
            serverURL: serverURL,
            transport: transport,
            clock: clock,
            random: { 0.5 }
        )
    }
}
