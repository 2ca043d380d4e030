import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Peated
import PeatedStub
import Testing

struct TokenRenewalTests {
    @Test func aHundredRequestsRefusedAtOnceShareOneRenewal() async throws {
        // The renewal gets its response when all other requests have been refused: no request can be late and find the
        // new token.
        let allRefused = Signal()
        let bench = try await TestBench.loggedIn { operation in
            if operation == Operations.Refresh.id { await allRefused.wait() }
            return nil
        }
        await bench.stub.expireAccessTokens()

        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 {
                group.addTask { try await bench.peated.currentUser().username }
            }
            await bench.transport.answered(1 + 100)
            allRefused.send()
            return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(names == Array(repeating: "ada", count: 100))
        #expect(await bench.stub.refreshCount == 1)
        #expect(
            await bench.transport.log
                == ["login 200"] + Array(repeating: "getCurrentUser 401", count: 100) + ["refresh 200"]
                + Array(repeating: "getCurrentUser 200", count: 100)
        )
    }

    @Test func aRefusedRenewalFailsAllWaitingRequestsAndEndsTheSession() async throws {
        let allRefused = Signal()
        let bench = try await TestBench.loggedIn { operation in
            if operation == Operations.Refresh.id { await allRefused.wait() }
            return nil
        }
        await bench.stub.revokeAll()

        let outcomes = await withTaskGroup(of: String.self) { group in
            for _ in 0..<10 {
                group.addTask { await outcome { try await bench.peated.currentUser() } }
            }
            await bench.transport.answered(1 + 10)
            allRefused.send()
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }

        // A request that begins to wait later finds that the session has ended.
        let refused = "unauthorized: The refresh token was used before or has expired."
        #expect(outcomes.contains(refused))
        #expect(outcomes.subtracting([refused, "unauthorized: No user is logged in."]).isEmpty)
        #expect(await bench.stub.refreshCount == 1)
        #expect(bench.store.load() == nil)
        // The next call sends no request.
        let requests = await bench.transport.log.count
        #expect(
            await outcome { try await bench.peated.currentUser() }
                == "unauthorized: No user is logged in."
        )
        #expect(await bench.transport.log.count == requests)
    }

    @Test func aRenewalThatIsLostOnItsWayKeepsTheSession() async throws {
        let outages = Countdown(1)
        let bench = try await TestBench.loggedIn { operation in
            guard operation == Operations.Refresh.id, outages.next() else { return nil }
            throw TransportError(code: .connectionFailed, message: "No route.")
        }
        await bench.stub.expireAccessTokens()
        let before = bench.store.load()

        #expect(await outcome { try await bench.peated.currentUser() } == "network: connectionFailed")
        #expect(bench.store.load() == before)
        #expect(try await bench.peated.currentUser().username == "ada")
    }

    @Test func aTokenThatAnotherProcessRenewedMeanwhileIsTaken() async throws {
        let bench = try await TestBench.loggedIn()
        await bench.stub.expireAccessTokens()
        let login = Operations.Login.Input(body: .json(.init(email: "ada@example.com", password: "peat")))
        let session = try await bench.stub.login(login, context: Caller()).ok.body.json

        // The request is sent with the old token. While it is under way, another process renews the token.
        let stale = StaleFirstLoad(
            first: bench.store.load(),
            then: Credentials(accessToken: session.accessToken, refreshToken: session.refreshToken)
        )
        let peated = PeatedClient(
            serverURL: try Servers.Server1.url(),
            credentials: stale,
            transport: bench.transport
        )

        #expect(try await peated.currentUser().username == "ada")
        #expect(await bench.transport.log == ["login 200", "getCurrentUser 401", "getCurrentUser 200"])
        #expect(await bench.stub.refreshCount == 0)
    }

    @Test func aRequestThatIsRefusedTwiceIsNotSentAThirdTime() async throws {
        let bench = try await TestBench.loggedIn { operation in
            operation == Operations.GetCurrentUser.id ? (.init(status: .unauthorized), nil) : nil
        }
        #expect(await outcome { try await bench.peated.currentUser() } == "unauthorized: The service gives no reason.")
        #expect(
            await bench.transport.log
                == ["login 200", "getCurrentUser 401", "refresh 200", "getCurrentUser 401"]
        )
    }

    @Test func whoLogsOutDuringARenewalStaysLoggedOut() async throws {
        let (isRenewing, hasLoggedOut) = (Signal(), Signal())
        let bench = try await TestBench.loggedIn { operation in
            if operation == Operations.Refresh.id {
                isRenewing.send()
                await hasLoggedOut.wait()
            }
            return nil
        }
        await bench.stub.expireAccessTokens()

        async let result = outcome { try await bench.peated.currentUser() }
        await isRenewing.wait()
        try await bench.peated.logOut()
        hasLoggedOut.send()

        #expect(await result == "unauthorized: No user is logged in.")
        #expect(bench.store.load() == nil)
    }

    @Test func aWaitingRequestMayBeCancelledWithoutAffectingTheOthers() async throws {
        let (isRenewing, isCancelled) = (Signal(), Signal())
        let bench = try await TestBench.loggedIn { operation in
            if operation == Operations.Refresh.id {
                isRenewing.send()
                await isCancelled.wait()
            }
            return nil
        }
        await bench.stub.expireAccessTokens()

        // The first request begins the renewal, and is cancelled.
        let first = Task { await outcome { try await bench.peated.currentUser() } }
        await isRenewing.wait()
        async let second = bench.peated.currentUser()
        await bench.transport.answered(3)
        first.cancel()
        isCancelled.send()

        #expect(await first.value == "cancelled")
        #expect(try await second.username == "ada")
        #expect(await bench.stub.refreshCount == 1)
    }
}

/// A store whose content changes after the first read, as if another process had written the file.
private final class StaleFirstLoad: CredentialStore {
    private let first: Credentials?
    private let next: Credentials
    private let loads = Countdown(1)

    init(first: Credentials?, then next: Credentials) {
        self.first = first
        self.next = next
    }

    func load() -> Credentials? { loads.next() ? first : next }
    func save(_ credentials: Credentials?) {}
}
