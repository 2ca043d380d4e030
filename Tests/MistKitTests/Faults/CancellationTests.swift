import CloudKitEmulatorServer
import Foundation
import HTTPTypes
import MistTesting
import OpenAPISwiftRuntime
import Synchronization
import Testing

@testable import MistKit

/// Cancelling a call ends each of its waits, and leaves no request under way.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct CancellationTests {
    private static let calls: [Call] = [.fetch, .query, .create, .zones, .forceDelete]

    @Test(arguments: EmulatorConnection.allCases)
    func aRequestWithoutAReplyEndsWithItsTask(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection, faults: [FaultRule(.hang, calls: .all)]) { emulator in
            for call in Self.calls {
                let transport = ObservedTransport(emulator.transport)
                let service = service(emulator, transport, TestClock().timer)
                emulator.faults.forgetRequests()
                let task = Task {
                    await call.outcome(on: service, zone: .default, existing: .note("a", "old"))
                }
                await eventually { !emulator.faults.requests.isEmpty }
                task.cancel()
                let outcome = await task.value
                #expect(outcome.hasPrefix(call.isWrite ? "outcomeUnknown" : "cancelled"))
                #expect(transport.counts.underWay == 0)
                #expect(emulator.faults.requests.count == 1)
            }
        }
    }

    @Test func aReplyThatDoesNotEndEndsWithItsTask() async throws {
        // The test does not advance the emulator's clock.
        let pieces = FaultRule(.slowReply(chunkSize: 1, pause: .seconds(3600)), calls: .all)
        try await withCloudKitEmulator(over: .socket, faults: [pieces]) { emulator in
            for call in Self.calls {
                let transport = ObservedTransport(emulator.transport)
                let service = service(emulator, transport, TestClock().timer)
                emulator.faults.forgetRequests()
                let task = Task {
                    await call.outcome(on: service, zone: .default, existing: .note("a", "old"))
                }
                await eventually { !emulator.faults.requests.isEmpty }
                task.cancel()
                let outcome = await task.value
                #expect(outcome.hasPrefix(call.isWrite ? "outcomeUnknown" : "cancelled"))
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
            let clock = TestClock()
            let service = service(emulator, transport, clock.timer)
            let task = Task {
                try await failure {
                    try await service.privateDatabase.save(Record.note("n", "new"))
                }
            }
            await clock.waitForSleepers()
            task.cancel()
            let error = try await task.value
            // A write whose response was lost may have been done; a refused write was not done.
            #expect(error.code == (fault.leavesOutcomeOpen ? .outcomeUnknown : .cancelled))
            #expect(error.mayHaveBeenDone == fault.leavesOutcomeOpen)
            #expect(transport.counts.underWay == 0)
            #expect(emulator.faults.requests.count == 1)
        }
    }

    @Test func theWaitWhileTheContainerIsThrottledEndsWithItsTask() async throws {
        try await withCloudKitEmulator { emulator in
            let clock = TestClock()
            let service = service(emulator, ObservedTransport(emulator.transport), clock.timer)
            service.retrier.throttle?.hold(for: .seconds(5))
            let task = Task {
                try await failure { try await service.privateDatabase.fetch("a") }
            }
            await clock.waitForSleepers()
            task.cancel()
            let error = try await task.value
            #expect(error.code == .cancelled)
            #expect(emulator.faults.requests.isEmpty)
        }
    }

    @Test func aBatchKeepsWhatWasDoneBefore() async throws {
        try await withCloudKitEmulator(faults: [FaultRule(.hang, calls: .from(3))]) { emulator in
            let transport = ObservedTransport(emulator.transport)
            let service = service(emulator, transport, TestClock().timer)
            let records = (0..<1000).map { Record.note("r\($0)", "new") }
            let progress = Mutex<[BatchProgress]>([])
            let task = Task {
                try await service.privateDatabase.save(records) { step in progress.withLock { $0.append(step) } }
            }
            await eventually { emulator.faults.requests.count == 3 }
            task.cancel()
            let results = try await task.value
            let expected = records.enumerated().map { index, record in
                index < 400 ? "ok" : "\(index < 600 ? "outcomeUnknown" : "cancelled") \(record.recordName ?? "")"
            }
            #expect(results.map { summary($0) } == expected)
            #expect(results.map { $0.error?.mayHaveBeenDone ?? false } == (0..<1000).map { 400..<600 ~= $0 })
            #expect(
                progress.withLock { $0 } == [
                    BatchProgress(completed: 200, total: 1000), BatchProgress(completed: 400, total: 1000),
                    BatchProgress(completed: 400, unknown: 200, total: 1000),
                ]
            )
            #expect(transport.counts.underWay == 0)
            #expect(emulator.faults.requests.count == 3)
        }
    }

    /// Four requests run at a time. `answered` of them get a response; then the next four are cancelled, after the
    /// emulator has done `done` of them.
    @Test(arguments: [(0, 0), (0, 4), (1, 2), (2, 0), (3, 4), (4, 4)])
    func aCancelledBatchTellsWhatIsKnown(answered: Int, done: Int) async throws {
        try await withCloudKitEmulator { emulator in
            let gate = GatedTransport(emulator.transport, answering: answered, doing: done)
            let service = emulator.observedService(as: .serverKey, through: gate, clock: TestClock().timer)
            let records = (0..<4000).map { Record.note("r\($0)", "new") }
            let progress = Mutex<[BatchProgress]>([])
            let task = Task {
                try await service.publicDatabase.save(records) { step in progress.withLock { $0.append(step) } }
            }
            await eventually { gate.isStill }
            task.cancel()
            let results = try await task.value

            let saved = results.indices.filter { results[$0].error == nil }
            let unknown = results.indices.filter { results[$0].error?.code == .outcomeUnknown }
            let unsent = results.indices.filter { results[$0].error?.code == .cancelled }
            #expect(results.count == 4000)
            #expect(saved.count == answered * 200)
            #expect(unknown.count == 4 * 200)
            #expect(unsent.count == 4000 - answered * 200 - 4 * 200)
            #expect(unknown.allSatisfy { results[$0].error?.mayHaveBeenDone == true })
            #expect(unsent.allSatisfy { results[$0].error?.mayHaveBeenDone == false })
            #expect(unsent.allSatisfy { results[$0].error?.message == "Not sent, because the task was cancelled." })
            #expect(results.indices.allSatisfy { results[$0].error.map { $0.item != nil } ?? true })
            #expect(
                progress.withLock { $0.last }
                    == BatchProgress(completed: answered * 200, unknown: 4 * 200, total: 4000)
            )

            // The service has all records that are reported as saved, and some of those that are reported as unknown.
            let names = records.compactMap(\.recordName)
            let fetched = try await emulator.service(as: .serverKey).publicDatabase.fetch(names)
            let found = Set(fetched.indices.filter { fetched[$0].error == nil })
            #expect(found.count == (answered + done) * 200)
            #expect(found.isSuperset(of: saved))
            #expect(found.isDisjoint(with: unsent))
        }
    }

    @Test func aBatchOfACancelledTaskIsNotSent() async throws {
        try await withCloudKitEmulator { emulator in
            let service = service(emulator, ObservedTransport(emulator.transport), TestClock().timer)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await failure {
                    try await service.privateDatabase.save((0..<1000).map { Record.note("r\($0)", "new") })
                }
            }
            let error = try await task.value
            #expect(error.code == .cancelled)
            #expect(!error.mayHaveBeenDone)
            #expect(emulator.faults.requests.isEmpty)
        }
    }

    @Test func manyRequestsAtATimeEndTogether() async throws {
        try await withCloudKitEmulator(faults: [FaultRule(.hang, calls: .all)]) { emulator in
            let transport = ObservedTransport(emulator.transport)
            let service = service(emulator, transport, TestClock().timer, as: .serverKey)
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
            let service = service(emulator, transport, TestClock().timer)
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

extension Fault {
    /// Whether the client cannot tell if a write was done.
    fileprivate var leavesOutcomeOpen: Bool {
        ["lost reply", "503 without a body"].contains(description)
    }
}

extension Call {
    fileprivate var isWrite: Bool {
        switch self {
        case .fetch, .fetchMany, .query, .changes, .zones, .caller: false
        default: true
        }
    }
}

/// A transport that passes on some requests, and holds the responses to later ones back until they are cancelled.
private final class GatedTransport: ClientTransport {
    private let inner: any ClientTransport
    private let answered: Int
    private let done: Int
    private let state = Mutex((begun: 0, held: 0))

    /// - Parameters:
    ///   - inner: The transport that sends the requests.
    ///   - answered: The number of requests that get a response.
    ///   - done: The number of later requests that reach the service.
    init(_ inner: any ClientTransport, answering answered: Int, doing done: Int) {
        self.inner = inner
        self.answered = answered
        self.done = done
    }

    /// Whether four requests wait for a response that does not arrive.
    var isStill: Bool { state.withLock { $0.held == 4 } }

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let number = state.withLock { state in
            state.begun += 1
            return state.begun
        }
        if number <= answered + done {
            let reply = try await inner.send(request, body: body, baseURL: baseURL, operationID: operationID)
            if number <= answered { return reply }
        }
        state.withLock { $0.held += 1 }
        let (never, continuation) = AsyncStream<Never>.makeStream()
        defer { continuation.finish() }
        for await _ in never {}
        throw CancellationError()
    }
}

extension RunningEmulator {
    /// A service whose requests go through a transport that counts them.
    func observedService(
        as identity: Identity,
        through transport: any ClientTransport,
        clock: any Clock<Duration> = TestClock(skippingWaits: true).timer
    ) -> CloudKitService {
        let manager: any TokenManager
        if identity == .serverKey, let key = try? ServerToServerKey(serverKeyPEM) {
            manager = ServerToServerAuthManager(keyID: serverKeyID, privateKey: key)
        } else {
            manager = AdaptiveTokenManager(apiToken: apiToken, webAuthToken: identity == .user ? webAuthToken : nil)
        }
        var configuration = CloudKitService.Configuration(serverURL: serverURL, transport: transport)
        configuration.clock = clock
        configuration.random = { 0.5 }
        return CloudKitService(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: manager,
            configuration: configuration
        )
    }
}
