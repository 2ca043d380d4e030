import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Peated
import PeatedStub
import Testing

struct PeatedClientTests {
    // MARK: Paging

    @Test func theFeedHasEveryTastingOnceLatestFirst() async throws {
        let bench = try await TestBench.loggedIn()
        var ids: [String] = []
        for try await tasting in bench.peated.feed() { ids.append(tasting.id) }
        #expect(ids == (1...45).reversed().map { "t\($0)" })
        #expect(await bench.transport.log == ["login 200", "getFeed 200", "getFeed 200", "getFeed 200"])
    }

    @Test func aPageIsFetchedOnlyWhenItIsAskedFor() async throws {
        let bench = try await TestBench.loggedIn()
        var ids: [String] = []
        for try await tasting in bench.peated.feed(.own, pageSize: 3).prefix(4) { ids.append(tasting.id) }
        #expect(ids == ["t44", "t42", "t40", "t38"])
        #expect(await bench.transport.log == ["login 200", "getFeed 200", "getFeed 200"])
    }

    @Test func aCursorThatDoesNotMoveEndsTheListing() async throws {
        let page: HTTPBody = #"{"results": [{"id": "b1", "name": "10", "brand": "Ardbeg"}], "nextCursor": "same"}"#
        let bench = try await TestBench.loggedIn { operation in
            guard operation == Operations.ListBottles.id else { return nil }
            return (.init(status: .ok, headerFields: [.contentType: "application/json"]), page)
        }
        var count = 0
        for try await _ in bench.peated.bottles() { count += 1 }
        #expect(count == 2)
    }

    @Test func anErrorOfALaterPageComesAfterTheElementsBeforeIt() async throws {
        let pages = Countdown(2)
        let bench = try await TestBench.loggedIn { operation in
            guard operation == Operations.GetFeed.id, !pages.next() else { return nil }
            throw TransportError(code: .timedOut, message: "Slow.")
        }
        var count = 0
        let error = await outcome {
            for try await _ in bench.peated.feed() { count += 1 }
        }
        #expect(error == "network: timedOut")
        #expect(count == 40)
    }

    // MARK: Writing

    @Test func toastsCountOncePerUser() async throws {
        let bench = try await TestBench.loggedIn()
        try await bench.peated.toast("t1")
        #expect(try await bench.peated.toast("t1").toasts == 1)
        try await bench.peated.logIn(googleCode: "google-code-of-bob")
        let seenByBob = try await bench.peated.tasting("t1")
        #expect(seenByBob.toasts == 1 && !seenByBob.hasToasted)
        #expect(try await bench.peated.toast("t1").toasts == 2)
        #expect(try await bench.peated.removeToast(from: "t1").toasts == 1)
    }

    // MARK: Over a socket

    @Test func theWholeStoryOverASocket() async throws {
        let stub = PeatedStub()
        let router = Router()
        try stub.register(on: HummingbirdTransport(router), serverURL: Servers.Server1.url())
        try await Application(router: router).test(.live) { server in
            let port = try #require(server.port)
            let url = try #require(URL(string: "http://localhost:\(port)/v1"))
            let peated = PeatedClient(serverURL: url, transport: AsyncHTTPClientTransport())

            #expect(try await peated.logIn(googleCode: "google-code-of-bob").displayName == "Bob")
            let bottle = try await peated.add(NewBottle(name: "Uigeadail", brand: "Ardbeg", category: .singleMalt))
            var ardbegs: [String] = []
            for try await bottle in peated.bottles(matching: "ardbeg") { ardbegs.append(bottle.name) }
            #expect(ardbegs == ["10", "Uigeadail"])

            await stub.expireAccessTokens()
            let tasting = try await peated.add(NewTasting(bottleId: bottle.id, notes: "Tar & honey", rating: 4.5))
            #expect(await stub.refreshCount == 1)

            let picture = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 40_503 >> 5) })
            let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jpg")
            try picture.write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            await stub.expireAccessTokens()
            try await peated.upload(imageAt: file, caption: "Amber", to: tasting.id)
            #expect(await stub.images == [tasting.id: picture])

            var feed = peated.feed(.own).makeAsyncIterator()
            let first = try await feed.next()
            #expect(first?.notes == "Tar & honey")
            #expect(first?.imageUrl == "/images/\(tasting.id).jpg")

            #expect(
                await outcome { try await peated.upload(imageAt: file, to: "t2") }
                    == "server: 403 The tasting is another user's."
            )
            try await peated.logOut()
            #expect(await outcome { try await peated.currentUser() } == "unauthorized: No user is logged in.")
        }
    }
}
