import CloudKitEmulator
import Foundation
import HTTPTypes
import MistTesting
import OpenAPISwiftRuntime
import Synchronization
import TestSupport
import Testing

@testable import MistKit

/// Tokens that are replaced while requests are under way.
@Suite(.serialized)
struct TokenRotationTests {
    private let apiToken = String(repeating: "0123456789abcdef", count: 4)

    // MARK: - Storage

    @Test func everyNextTokenIsStoredBeforeTheCallReturns() async throws {
        let storage = MemoryTokenStorage(webAuthToken: "t0")
        let manager = AdaptiveTokenManager(apiToken: apiToken, storage: storage)
        let transport = FakeTransport { _, number in
            let token = ["X-Apple-CloudKit-Web-Auth-Token": "t\(number)"]
            return number == 2
                ? reply(.badRequest, #"{"serverErrorCode":"BAD_REQUEST"}"#, headers: token) : reply(headers: token)
        }
        var stored: [String?] = []
        for _ in 1...3 {
            _ = try? await pipeline(manager).send(over: transport)
            stored.append(storage.webAuthToken())
        }
        #expect(transport.sent.map { webToken(of: $0.request) } == ["t0", "t1", "t2"])
        #expect(stored == ["t1", "t2", "t3"])
        try await manager.signOut()
        #expect(storage.webAuthToken() == nil)
    }

    @Test func theStorageIsReadOnceAndNeverWrittenTwiceAtATime() async throws {
        let storage = WatchedStorage(token: "t0")
        let manager = WebAuthTokenManager(apiToken: apiToken, storage: storage)
        let transport = FakeTransport { _, number in
            reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "t\(number)"])
        }
        let pipeline = pipeline(manager)
        try await withThrowingTaskGroup { group in
            for _ in 1...100 { group.addTask { _ = try await pipeline.send(over: transport) } }
            try await group.waitForAll()
        }
        let events = storage.events
        #expect(events.first == "read")
        #expect(events.filter { $0 == "read" }.count == 1)
        #expect(!events.contains("overlap"))
        // If several tokens arrive together, only the newest is stored, so there are at most as many writes as tokens.
        #expect(events.count <= 101)
        #expect(events.last == "wrote \(try await manager.revealWebAuthToken())")
    }

    @Test func aStorageThatFailsIsToldOnceAndDoesNotFailRequests() async throws {
        let storage = WatchedStorage(token: "t0")
        let log = RecordedLog()
        let manager = WebAuthTokenManager(apiToken: apiToken, storage: storage, logger: log.logger())
        let transport = FakeTransport { _, number in
            reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "secret\(number)"])
        }
        // The first read of the token succeeds, before the storage fails.
        #expect(try await manager.revealWebAuthToken() == "t0")
        storage.fails = true
        for _ in 1...3 { _ = try await pipeline(manager).send(over: transport) }
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("warning The next web authentication token could not be stored"))
        #expect(log.lines.allSatisfy { !$0.contains("secret") })
        #expect(try await manager.revealWebAuthToken() == "secret3")
        let error = try await failure {
            try await manager.replace(webAuthToken: "secret-new")
        }
        #expect(error.code == .tokenStorage)
        #expect(!"\(error)".contains("secret-new"))
        #expect(try await manager.revealWebAuthToken() == "secret-new")
        storage.fails = false
        _ = try await pipeline(manager).send(over: transport)
        #expect(storage.events.last == "wrote secret4")
    }

    @Test func aStorageThatCannotBeReadFailsTheRequestBeforeItIsSent() async throws {
        let storage = WatchedStorage(token: "t0")
        storage.fails = true
        let manager = AdaptiveTokenManager(apiToken: apiToken, storage: storage)
        let transport = FakeTransport([reply()])
        let error = try await pipeline(manager).failure(over: transport)
        #expect(error.code == .tokenStorage)
        #expect(transport.sent.isEmpty)
        // The storage is read again when it works again.
        storage.fails = false
        _ = try await pipeline(manager).send(over: transport)
        #expect(transport.sent.map { webToken(of: $0.request) } == ["t0"])
    }

    @Test func aRequestThatIsCancelledStoresItsTokenAllTheSame() async throws {
        let storage = MemoryTokenStorage(webAuthToken: "t0")
        let manager = WebAuthTokenManager(apiToken: apiToken, storage: storage)
        let transport = FakeTransport { _, _ in
            withUnsafeCurrentTask { $0?.cancel() }
            return reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "t1"])
        }
        let pipeline = pipeline(manager)
        _ = await Task { try await pipeline.send(over: transport) }.result
        #expect(storage.webAuthToken() == "t1")
    }

    // MARK: - Tokens that are good for one use

    @Test(arguments: EmulatorConnection.allCases)
    func requestsAtATimeSucceedWhereEachTokenIsTakenOnce(connection: EmulatorConnection) async throws {
        var configuration = EmulatorConfiguration()
        configuration.webAuthTokens.areSingleUse = true
        try await withCloudKitEmulator(over: connection, configuration: configuration) { emulator in
            let storage = MemoryTokenStorage(webAuthToken: emulator.webAuthToken)
            for usesTokensOnce in [false, true] {
                let manager = AdaptiveTokenManager(
                    apiToken: emulator.apiToken,
                    storage: storage,
                    usesTokensOnce: usesTokensOnce
                )
                let database = service(of: emulator, manager).privateDatabase
                try await withThrowingTaskGroup { group in
                    for number in 0..<30 {
                        group.addTask {
                            try await database.create(
                                Record(recordType: "Note", recordName: "\(usesTokensOnce)-\(number)")
                            )
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await manager.revealWebAuthToken() == storage.webAuthToken())
            }
        }
    }

    @Test func requestsThatTakeTurnsEachUseTheTokenOfTheOneBefore() async throws {
        let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: "t0", usesTokensOnce: true)
        let transport = FakeTransport { _, number in
            reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "t\(number)"])
        }
        let pipeline = pipeline(manager)
        try await withThrowingTaskGroup { group in
            for _ in 1...50 { group.addTask { _ = try await pipeline.send(over: transport) } }
            try await group.waitForAll()
        }
        #expect(transport.sent.map { webToken(of: $0.request) } == (0..<50).map { "t\($0)" })
    }

    @Test func aTurnEndsWithALostConnectionAndWithACancelledTask() async throws {
        let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: "t0", usesTokensOnce: true)
        let (arrivals, arrived) = AsyncStream<Int>.makeStream()
        let transport = FakeTransport { _, number in
            arrived.yield(number)
            switch number {
            case 1: throw TransportError(code: .connectionLost, message: "lost")
            case 2:
                try await Task.sleep(for: .seconds(3600))
                return reply()
            default: return reply()
            }
        }
        let pipeline = pipeline(manager)
        #expect(try await pipeline.failure(over: transport).code == .network)
        let stuck = Task { try await pipeline.send(over: transport) }
        for await number in arrivals where number == 2 { break }
        // Two requests wait for their turn; one of them is cancelled.
        let waiting = Task { try await pipeline.failure(over: transport).code }
        let next = Task { try await pipeline.send(over: transport).0.status }
        waiting.cancel()
        #expect(try await waiting.value == .cancelled)
        stuck.cancel()
        _ = await stuck.result
        #expect(try await next.value == .ok)
        #expect(transport.sent.count == 3)
    }

    @Test func aRefusalThatOvertakesTheNextTokenEndsNoSession() async throws {
        let manager = AdaptiveTokenManager(apiToken: apiToken, webAuthToken: "t0")
        let (arrivals, arrived) = AsyncStream<Int>.makeStream()
        let (gate, open) = AsyncStream<Void>.makeStream()
        let transport = FakeTransport { exchange, number in
            arrived.yield(number)
            if number == 1 {
                // The first request used the token up, and its response is slow.
                for await _ in gate { break }
                return reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "t1"])
            }
            if number == 2 { open.yield() }
            return self.webToken(of: exchange.request) == "t0" ? self.required : reply()
        }
        let pipeline = pipeline(manager)
        let first = Task { try await pipeline.send(over: transport).0.status }
        for await number in arrivals where number == 1 { break }
        #expect(try await pipeline.send(over: transport).0.status == .ok)
        #expect(try await first.value == .ok)
        #expect(transport.sent.map { webToken(of: $0.request) } == ["t0", "t0", "t1"])
    }

    @Test func aSignInClosureMayAskTheService() async throws {
        let holder = Mutex<(@Sendable () async throws -> Void)?>(nil)
        let manager = AdaptiveTokenManager(apiToken: apiToken) { _ in
            try await holder.withLock { $0 }?()
            return "ann"
        }
        let transport = FakeTransport { exchange, _ in
            self.webToken(of: exchange.request) == nil ? self.required : reply()
        }
        let pipeline = pipeline(manager)
        // With sign-in allowed, the request would wait for the closure, and the closure for the request.
        var background = pipeline
        background.allowsSignIn = false
        holder.withLock { [background] in
            $0 = {
                let error = try await background.failure(over: transport)
                #expect(error.code == .authenticationRequired)
            }
        }
        _ = try await pipeline.send(over: transport)
        #expect(transport.sent.map { webToken(of: $0.request) } == [nil, nil, "ann"])
    }

    @Test func aRefusedTokenThatIsTheNewestIsNotSentAgain() async throws {
        let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: "t0")
        let transport = FakeTransport([required])
        let error = try await pipeline(manager).failure(over: transport)
        #expect(error.code == .authenticationRequired)
        #expect(transport.sent.count == 1)
        #expect(try await manager.revealWebAuthToken() == "t0")
    }

    // MARK: - Upgrade and fallback

    @Test func waitingRequestsContinueAfterOneSignIn() async throws {
        let asked = Mutex<[String]>([])
        let manager = AdaptiveTokenManager(apiToken: apiToken, storage: .memory) { url in
            asked.withLock { $0.append(url.absoluteString) }
            return "ann"
        }
        let transport = FakeTransport { exchange, _ in
            self.webToken(of: exchange.request) == nil ? self.required : reply()
        }
        let pipeline = pipeline(manager)
        try await withThrowingTaskGroup { group in
            for _ in 1...20 { group.addTask { _ = try await pipeline.send(body: "{}", over: transport) } }
            try await group.waitForAll()
        }
        #expect(asked.withLock { $0 } == ["https://example.com/sign-in"])
        #expect(try await manager.revealWebAuthToken() == "ann")
        #expect(transport.sent.filter { webToken(of: $0.request) == "ann" }.count == 20)
    }

    @Test func aSessionThatIsOverFallsBackToTheAPIToken() async throws {
        let storage = MemoryTokenStorage(webAuthToken: "ann")
        let manager = AdaptiveTokenManager(apiToken: apiToken, storage: storage)
        let transport = FakeTransport { exchange, _ in
            self.webToken(of: exchange.request) == nil ? reply() : self.required
        }
        let error = try await pipeline(manager).failure(over: transport)
        #expect(error.code == .authenticationRequired)
        #expect(error.redirectURL == "https://example.com/sign-in")
        #expect(storage.webAuthToken() == nil)
        // The request is not sent again without a token; the next request is sent without one.
        #expect(transport.sent.map { webToken(of: $0.request) } == ["ann"])
        _ = try await pipeline(manager).send(over: transport)
        #expect(transport.sent.map { webToken(of: $0.request) } == ["ann", nil])
    }

    @Test func aRefusalWith401IsAboutThePersonWhereTheAPITokenWasTakenBefore() async throws {
        let refused = reply(.unauthorized, #"{"serverErrorCode":"AUTHENTICATION_FAILED"}"#)
        let fresh = AdaptiveTokenManager(apiToken: apiToken, webAuthToken: "ann")
        _ = try await pipeline(fresh).failure(over: FakeTransport([refused]))
        #expect(try await fresh.isSignedIn)
        let used = AdaptiveTokenManager(apiToken: apiToken, webAuthToken: "ann")
        let transport = FakeTransport([reply(), refused])
        _ = try await pipeline(used).send(over: transport)
        _ = try await pipeline(used).failure(over: transport)
        #expect(try await !used.isSignedIn)
    }

    @Test func aSignInThatFailsIsTheErrorOfTheCall() async throws {
        struct Closed: Error {}
        let manager = AdaptiveTokenManager(apiToken: apiToken) { _ in throw Closed() }
        let transport = FakeTransport([required])
        let error = try await pipeline(manager).failure(over: transport)
        #expect(error.code == .signInFailed)
        #expect(error.cause is Closed)
        #expect(error.requestUUID == "u1")
        #expect(error.redirectURL == "https://example.com/sign-in")
        #expect(error.operation == "queryRecords")
    }

    @Test func signInsAreLimitedWhenEveryTokenIsRefused() async throws {
        let manager = AdaptiveTokenManager(apiToken: apiToken) { _ in "ann" }
        let transport = FakeTransport([required])
        let error = try await pipeline(manager).failure(over: transport)
        #expect(error.code == .authenticationRequired)
        #expect(transport.sent.count == 1 + RequestPipeline.maximumRecoveries)
    }

    @Test func aRequestIsNotResentAsAnotherUser() async throws {
        let manager = AdaptiveTokenManager(apiToken: apiToken, webAuthToken: "ann")
        let transport = FakeTransport { _, _ in
            try await manager.signIn(webAuthToken: "bob")
            return self.required
        }
        let error = try await pipeline(manager).failure(over: transport)
        #expect(error.code == .authenticationRequired)
        #expect(transport.sent.count == 1)
        #expect(try await manager.revealWebAuthToken() == "bob")
    }

    @Test(arguments: EmulatorConnection.allCases)
    func anExpiredSessionOnTheEmulatorSignsInAgain(connection: EmulatorConnection) async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(over: connection, clock: clock) { emulator in
            let storage = MemoryTokenStorage()
            let signIns = Mutex(0)
            let manager = AdaptiveTokenManager(apiToken: emulator.apiToken, storage: storage) { _ in
                signIns.withLock { $0 += 1 }
                return try emulator.rules.issueWebAuthToken(for: emulator.userRecordName)
            }
            let database = service(of: emulator, manager).privateDatabase
            try await database.create(Record(recordType: "Note", recordName: "a"))
            clock.advance(by: 31 * 60)
            try await database.create(Record(recordType: "Note", recordName: "b"))
            #expect(signIns.withLock { $0 } == 2)
            #expect(storage.webAuthToken() != nil)
        }
    }

    // MARK: - Support

    private let required = reply(
        HTTPResponse.Status(code: 421),
        #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","uuid":"u1","redirectURL":"https://example.com/sign-in"}"#
    )

    /// Records the calls to it.
    private final class WatchedStorage: TokenStorage {
        private struct State {
            var token: String?
            var events: [String] = []
            var isBusy = false
            var fails = false
        }
        struct Broken: Error {
            var text: String
        }

        private let state: Mutex<State>

        init(token: String) { state = Mutex(State(token: token)) }

        var events: [String] { state.withLock { $0.events } }
        var fails: Bool {
            get { state.withLock { $0.fails } }
            set { state.withLock { $0.fails = newValue } }
        }

        func webAuthToken() async throws -> String? {
            try begin(nil)
            await Task.yield()
            return state.withLock {
                $0.isBusy = false
                $0.events.append("read")
                return $0.token
            }
        }

        func store(webAuthToken: String?) async throws {
            try begin(webAuthToken)
            await Task.yield()
            state.withLock {
                $0.isBusy = false
                $0.token = webAuthToken
                $0.events.append("wrote \(webAuthToken ?? "nothing")")
            }
        }

        private func begin(_ token: String?) throws {
            try state.withLock {
                if $0.isBusy { $0.events.append("overlap") }
                if $0.fails { throw Broken(text: "cannot: \(token ?? "")") }
                $0.isBusy = true
            }
        }
    }

    private func service(of emulator: RunningEmulator, _ manager: any TokenManager) -> CloudKitService {
        var configuration = emulator.serviceConfiguration
        configuration.logger = RecordedLog().logger()
        return CloudKitService(
            containerIdentifier: emulator.containerIdentifier,
            environment: emulator.environment,
            tokenManager: manager,
            configuration: configuration
        )
    }

    private func pipeline(_ manager: any TokenManager) -> TestPipeline {
        TestPipeline(
            tokenManager: manager,
            retryPolicy: .never,
            logger: RecordedLog().logger(),
            clock: TestClock(skippingWaits: true).timer,
            random: { 0.5 }
        )
    }

    private func webToken(of request: HTTPRequest) -> String? {
        request.path?.split(separator: "?").last?.split(separator: "&")
            .first { $0.hasPrefix("ckWebAuthToken=") }
            .map { String($0.dropFirst("ckWebAuthToken=".count)) }
    }
}
