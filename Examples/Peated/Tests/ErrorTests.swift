import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Peated
import PeatedStub
import Testing

struct ErrorTests {
    /// The outcome of a call when the service sends this response.
    private func outcomeOfUser(status: Int, _ fields: HTTPFields = [:], body: HTTPBody?) async throws -> String {
        let response = HTTPResponse(
            status: .init(code: status),
            headerFields: HTTPFields([HTTPField(name: .contentType, value: "application/json")] + fields)
        )
        let bench = try await TestBench.loggedIn { operation in
            operation == Operations.GetUser.id ? (response, body) : nil
        }
        return await outcome { try await bench.peated.user("bob") }
    }

    @Test func unauthorizedWithAWrongPassword() async throws {
        let peated = try TestBench().peated
        #expect(
            await outcome { try await peated.logIn(email: "ada@example.com", password: "turf") }
                == "unauthorized: The e-mail address or the password is wrong."
        )
        #expect(
            await outcome { try await peated.logIn(googleCode: "old") }
                == "unauthorized: Google does not know the code."
        )
        #expect(await outcome { try await peated.currentUser() } == "unauthorized: No user is logged in.")
    }

    @Test func validationWithTheFieldsThatAreWrong() async throws {
        let bench = try await TestBench.loggedIn()
        do throws(PeatedError) {
            _ = try await bench.peated.add(NewBottle(name: "", brand: "Talisker", statedAge: -1))
            Issue.record("The bottle was taken.")
        } catch {
            guard case .validation(let message, let fields) = error else { throw error }
            #expect(message == "The bottle is incomplete.")
            #expect(fields == ["name": ["is empty"], "statedAge": ["is negative"]])
        }
    }

    @Test func serverWithStatusAndMessage() async throws {
        let bench = try await TestBench.loggedIn()
        #expect(await outcome { try await bench.peated.bottle("none") } == "server: 404 There is no bottle none.")
        #expect(try await outcomeOfUser(status: 500, body: nil) == "server: 500 The service gives no reason.")
        #expect(
            try await outcomeOfUser(status: 502, body: "<h1>Oh!</h1>") == "server: 502 The service gives no reason."
        )
        #expect(try await outcomeOfUser(status: 400, body: #"{"message": "No."}"#) == "server: 400 No.")
    }

    @Test(arguments: [
        ("40", " after 40.0 seconds"), ("0", " after 0.0 seconds"), ("soon", ""), ("-1", ""), ("", ""),
        ("Sun, 06 Nov 1994 08:49:37 GMT", " after 60.0 seconds"),
        ("Sun, 06 Nov 1994 08:00:00 GMT", " after 0.0 seconds"),
    ])
    func theServiceNamesAWait(retryAfter: String, text: String) async throws {
        let fields: HTTPFields = [.retryAfter: retryAfter, .date: "Sun, 06 Nov 1994 08:48:37 GMT"]
        #expect(
            try await outcomeOfUser(status: 503, fields, body: nil) == "server: 503 The service gives no reason.\(text)"
        )
    }

    @Test(arguments: [#"{"id": 1, "username": "bob"}"#, #"{"id": "bob""#, "", "<html>"])
    func decodingOfWhatTheDocumentDoesNotHave(body: String) async throws {
        #expect(try await outcomeOfUser(status: 200, body: HTTPBody(body)) == "decoding")
    }

    @Test func networkBeforeAndDuringTheAnswer() async throws {
        let offline = try TestBench(intercept: { _ in
            throw TransportError(code: .connectionFailed, message: "No route.")
        })
        #expect(
            await outcome { try await offline.peated.logIn(email: "ada@example.com", password: "peat") }
                == "network: connectionFailed"
        )
        let half = AsyncThrowingStream<ArraySlice<UInt8>, any Error> { continuation in
            continuation.yield(ArraySlice(#"{"id": "bob","#.utf8))
            continuation.finish(throwing: TransportError(code: .connectionLost, message: "Cut."))
        }
        let body = HTTPBody(half, length: .unknown)
        #expect(try await outcomeOfUser(status: 200, body: body) == "network: connectionLost")
    }

    @Test func localWhenTheFileOrTheStoreCannotBeRead() async throws {
        let bench = try await TestBench.loggedIn()
        let tasting = try await bench.peated.add(NewTasting(bottleId: "b1"))
        let missing = URL(filePath: "/nowhere/picture.jpg")
        #expect(await outcome { try await bench.peated.upload(imageAt: missing, to: tasting.id) } == "local")

        struct Broken: CredentialStore {
            func load() throws -> Credentials? { throw POSIXError(.EACCES) }
            func save(_ credentials: Credentials?) throws { throw POSIXError(.EACCES) }
        }
        let peated = PeatedClient(
            serverURL: try Servers.Server1.url(),
            credentials: Broken(),
            transport: bench.transport
        )
        #expect(await outcome { try await peated.currentUser() } == "local")
        #expect(await outcome { try await peated.logIn(email: "ada@example.com", password: "peat") } == "local")
    }

    @Test func cancelledWhileTheServiceThinks() async throws {
        let isAsked = Signal()
        let bench = try await TestBench.loggedIn { operation in
            guard operation == Operations.GetUser.id else { return nil }
            isAsked.send()
            // This signal is never sent, so the wait ends with the task.
            await Signal().wait()
            throw CancellationError()
        }
        let task = Task { await outcome { try await bench.peated.user("bob") } }
        await isAsked.wait()
        task.cancel()
        #expect(await task.value == "cancelled")
    }

    @Test func noErrorShowsATokenOrAPassword() async throws {
        let bench = try await TestBench.loggedIn { operation in
            if operation == Operations.GetUser.id { throw TransportError(code: .timedOut, message: "Slow.") }
            return operation == Operations.GetBottle.id ? (HTTPResponse(status: .ok), "no JSON") : nil
        }
        let credentials = try #require(bench.store.load())
        var texts = ["\(credentials)", String(reflecting: credentials)]
        var dumped = ""
        dump(credentials, to: &dumped)
        texts.append(dumped)
        let calls: [() async throws -> Void] = [
            { _ = try await bench.peated.user("bob") },
            { _ = try await bench.peated.bottle("b1") },
            { try await bench.peated.logIn(email: "ada@example.com", password: "secret-password") },
        ]
        for call in calls {
            await #expect { try await call() } throws: { error in
                texts.append("\(error)")
                return true
            }
        }
        for text in texts {
            #expect(!text.contains(credentials.accessToken))
            #expect(!text.contains(credentials.refreshToken))
            #expect(!text.contains("secret-password"))
        }
    }
}
