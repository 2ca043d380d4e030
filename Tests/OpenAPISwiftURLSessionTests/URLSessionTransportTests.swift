import Foundation
import HTTPTypes
import Hummingbird
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import OpenAPISwiftTransportSupport
import OpenAPISwiftURLSession
import Testing

/// Behaviour that URLSession shares with the other client transports, and behaviour of its own.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct URLSessionTransportTests {
    private let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")

    // MARK: Bodies

    @Test(arguments: [0, 1, 70_000, 5_000_000])
    func aBodyComesBackAsItWasSent(count: Int) async throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        try await withCaller(registerEcho) { caller async throws in
            let bodies: [HTTPBody] = [
                HTTPBody(bytes),
                HTTPBody(bytes, length: .unknown),
                streamed(bytes, length: .unknown),
                streamed(bytes, length: .known(Int64(count))),
            ]
            for body in bodies {
                let fields: HTTPFields = [.contentType: "application/octet-stream"]
                let (response, echo) = try await caller.send(.post, "/echo", fields: fields, body: body)
                #expect(response.status == .ok)
                #expect(try await [UInt8](collecting: #require(echo), upTo: count) == bytes)
            }
        }
    }

    @Test func aRequestWithoutBodyHasNone() async throws {
        func tellBody(_ transport: any ServerTransport) throws {
            for method in [HTTPRequest.Method.get, .post, .delete] {
                try transport.register(
                    { _, body, _ in
                        var text = "none"
                        if let body { text = try await "'\(String(collecting: body, upTo: 10))'" }
                        return (HTTPResponse(status: .ok), HTTPBody(text))
                    },
                    method: method,
                    path: "/body"
                )
            }
        }
        try await withCaller(tellBody) { caller async throws in
            #expect(try await caller.answer(.get, "/body").summary == "200 none")
            #expect(try await caller.answer(.delete, "/body").summary == "200 none")
            #expect(try await caller.answer(.delete, "/body", body: "x").summary == "200 'x'")
        }
    }

    @Test func aQueryArrivesWithItsBody() async throws {
        try await withCaller(registerQuery) { caller async throws in
            let fields: HTTPFields = [.contentType: "application/json"]
            for body in [HTTPBody("{}"), HTTPBody("{}", length: .unknown)] {
                let answer = try await caller.answer(.query, "/shelf", fields: fields, body: body)
                #expect(answer.summary == "200 QUERY {}")
            }
        }
    }

    @Test func aResponseIsReadWhileItArrives() async throws {
        let (stream, sender) = AsyncStream<HTTPBody.ByteChunk>.makeStream()
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in (HTTPResponse(status: .ok), HTTPBody(stream, length: .unknown)) },
                method: .get,
                path: "/events"
            )
        }
        try await withCaller(register) { caller async throws in
            sender.yield([1])
            let (_, body) = try await caller.send(.get, "/events")
            var iterator = try #require(body).makeAsyncIterator()
            // Each chunk is sent only after the one before it arrived.
            for number in UInt8(1)...4 {
                #expect(try await iterator.next() == [number])
                sender.yield([number + 1])
            }
            #expect(try await iterator.next() == [5])
            sender.finish()
            #expect(try await iterator.next() == nil)
        }
    }

    @Test func aResponseThatIsGivenUpStopsItsSource() async throws {
        let (ended, signal) = AsyncStream<Void>.makeStream()
        // One chunk, and then nothing while the reader waits.
        let (stream, sender) = AsyncStream<HTTPBody.ByteChunk>.makeStream()
        sender.onTermination = { _ in signal.yield() }
        sender.yield([1])
        // A server that notices that its client has disconnected.
        let router = Router(context: OperationRequestContext.self)
        try HummingbirdTransport(router).register(
            { _, _, _ in (HTTPResponse(status: .ok), HTTPBody(stream, length: .unknown)) },
            method: .get,
            path: "/events"
        )
        try await withRunningServer(of: router, limits: ServerLimits(shutdownTimeout: .zero)) { url in
            let caller = Caller(transport: URLSessionTransport(), baseURL: url)
            do {
                let (_, body) = try await caller.send(.get, "/events")
                var iterator = try #require(body).makeAsyncIterator()
                #expect(try await iterator.next() == [1])
            }
            var iterator = ended.makeAsyncIterator()
            #expect(await iterator.next() != nil)
        }
        sender.finish()
    }

    @Test func anErrorOfTheRequestBodyIsThrownAsItIs() async throws {
        struct Unreadable: Error {}
        try await withCaller(registerEcho) { caller async throws in
            let stream = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
                continuation.yield([1])
                continuation.finish(throwing: Unreadable())
            }
            await #expect(throws: Unreadable.self) {
                try await caller.answer(.post, "/echo", body: HTTPBody(stream, length: .known(5)))
            }
        }
    }

    @Test func aResponseThatBreaksOffThrowsWhileItIsRead() async throws {
        struct Broken: Error {}
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in
                    let stream = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
                        continuation.yield([1, 2, 3])
                        continuation.finish(throwing: Broken())
                    }
                    return (HTTPResponse(status: .ok), HTTPBody(stream, length: .known(6)))
                },
                method: .get,
                path: "/"
            )
        }
        try await withCaller(register) { caller async throws in
            let error = await #expect(throws: TransportError.self) {
                let (_, body) = try await caller.send(.get, "/")
                _ = try await [UInt8](collecting: #require(body), upTo: 100)
            }
            #expect(error?.code == .connectionLost)
        }
    }

    @Test func theLengthOfAResponseIsKnownWhereItIsAnnounced() async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register({ _, _, _ in (HTTPResponse(status: .ok), "Hello") }, method: .get, path: "/known")
            try transport.register(
                { _, _, _ in (HTTPResponse(status: .ok), HTTPBody(AsyncStream { $0.finish() }, length: .unknown)) },
                method: .get,
                path: "/unknown"
            )
        }
        try await withCaller(register) { caller async throws in
            #expect(try await caller.send(.get, "/known").1?.length == .known(5))
            #expect(try await caller.send(.get, "/unknown").1?.length == .unknown)
        }
    }

    // MARK: Heads

    @Test func thePathAndTheQueryArriveByteForByte() async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { request, _, _ in (HTTPResponse(status: .ok), HTTPBody(request.path ?? "")) },
                method: .get,
                path: "/v1/query/{id}"
            )
        }
        try await withCaller(path: "/v1/", register) { caller async throws in
            for query in ["a=%2F+b&&c=~%7E&=", "", "a%5Bb%5D=1,2;3:4/5?6@7", "%e2%82%ac=%E2%82%AC"] {
                let target = "/query/a%2Fb+c%20d%252F%C3%A9?\(query)"
                #expect(try await caller.answer(.get, target).summary == "200 /v1\(target)")
            }
        }
    }

    @Test func fieldsOfOneNameAreJoined() async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { request, _, _ in
                    let text = request.headerFields[values: .many].joined(separator: ", ")
                    return (HTTPResponse(status: .ok, headerFields: [.many: text, .eTag: "e"]), nil)
                },
                method: .get,
                path: "/fields"
            )
        }
        try await withCaller(register) { caller async throws in
            var fields = HTTPFields()
            for value in ["b=1", "a=2", "b=3"] { fields.append(HTTPField(name: .many, value: value)) }
            let answer = try await caller.answer(.get, "/fields", fields: fields)
            let values = answer.fields[.many]?.split(separator: ",").map { $0.filter { $0 != " " } }
            #expect(values == ["b=1", "a=2", "b=3"])
            #expect(answer.fields[.eTag] == "e")
        }
    }

    @Test func headAndStatusesWithoutContentHaveNoBody() async throws {
        func register(_ transport: any ServerTransport) throws {
            func add(_ method: HTTPRequest.Method, _ path: String, _ status: HTTPResponse.Status) throws {
                try transport.register(
                    { _, _, _ in
                        (HTTPResponse(status: status, headerFields: [.contentLength: "5", .eTag: "e"]), "Hello")
                    },
                    method: method,
                    path: path
                )
            }
            try add(.head, "/pet", .ok)
            try add(.get, "/pet", .ok)
            try add(.get, "/204", .noContent)
            try add(.get, "/304", .notModified)
            try add(.get, "/404", .notFound)
            try add(.get, "/401", .unauthorized)
            try add(.get, "/421", .misdirectedRequest)
        }
        try await withCaller(register) { caller async throws in
            for _ in 0..<2 {
                let head = try await caller.answer(.head, "/pet")
                #expect(head.summary == "200")
                #expect(head.fields[.contentLength] == "5")
                #expect(try await caller.answer(.get, "/204").summary == "204")
                #expect(try await caller.answer(.get, "/304").summary == "304")
                #expect(try await caller.answer(.get, "/404").summary == "404 Hello")
                #expect(try await caller.answer(.get, "/401").summary == "401 Hello")
                #expect(try await caller.answer(.get, "/421").summary == "421 Hello")
                #expect(try await caller.answer(.get, "/pet").summary == "200 Hello")
            }
        }
    }

    // MARK: Redirects

    @Test func redirectsAreFollowedOrHandedOver() async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in (HTTPResponse(status: .found, headerFields: [.location: "/there"]), "Moved") },
                method: .get,
                path: "/here"
            )
            try transport.register({ _, _, _ in (HTTPResponse(status: .ok), "There") }, method: .get, path: "/there")
        }
        try await withCaller(register) { caller async throws in
            #expect(try await caller.answer(.get, "/here").summary == "200 There")
        }
        try await withCaller(configuration: .direct, register) { caller async throws in
            let (response, _) = try await caller.send(.get, "/here")
            #expect(response.status == .found)
            #expect(response.headerFields[.location] == "/there")
        }
    }

    // MARK: Ends

    @Test func cancellingTheCallerCancelsTheCall() async throws {
        let (started, signal) = AsyncStream<Void>.makeStream()
        func register(_ transport: any ServerTransport) throws { try registerSlow(on: transport, signal) }
        try await withCaller(register) { caller async throws in
            let task = Task { try await caller.send(.get, "/slow").0 }
            var iterator = started.makeAsyncIterator()
            await iterator.next()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func cancellingAReaderEndsItsWait() async throws {
        let (stream, sender) = AsyncStream<HTTPBody.ByteChunk>.makeStream()
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in (HTTPResponse(status: .ok), HTTPBody(stream, length: .unknown)) },
                method: .get,
                path: "/events"
            )
        }
        try await withCaller(register) { caller async throws in
            let (reading, signal) = AsyncStream<Void>.makeStream()
            sender.yield([1])
            let task = Task {
                let (_, body) = try await caller.send(.get, "/events")
                for try await _ in try #require(body) { signal.yield() }
                try Task.checkCancellation()
            }
            var iterator = reading.makeAsyncIterator()
            await iterator.next()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        sender.finish()
    }

    @Test func anUnreachableServerIsATransportError() async throws {
        // The port of an old service that is no longer in use. A port that was free a moment ago may belong to another
        // test now.
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let error = await #expect(throws: TransportError.self) {
            try await URLSessionTransport().send(request, body: nil, baseURL: url, operationID: "test")
        }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("127.0.0.1:9") == true)
    }

    @Test func aServerThatDoesNotAnswerRunsIntoTheTimeout() async throws {
        let (_, signal) = AsyncStream<Void>.makeStream()
        func register(_ transport: any ServerTransport) throws { try registerSlow(on: transport, signal) }
        try await withCaller(register) { caller async throws in
            // FoundationNetworking supports only timeouts of whole seconds.
            let transport = URLSessionTransport(configuration: .init(timeout: .seconds(1)))
            let slow = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/slow")
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(slow, body: nil, baseURL: caller.baseURL, operationID: "test")
            }
            #expect(error?.code == .timedOut)
        }
    }

    @Test(arguments: ["/", "/v1", "ftp://example.com", "http:///v1"])
    func anInvalidURLIsATransportError(text: String) async throws {
        let url = try #require(URL(string: text))
        let error = await #expect(throws: TransportError.self) {
            try await URLSessionTransport().send(request, body: nil, baseURL: url, operationID: "test")
        }
        #expect(error?.code == .invalidURL)
    }

    @Test func manyRequestsAtATimeEachGetTheirOwnAnswer() async throws {
        try await withCaller(registerEcho) { caller async throws in
            try await withThrowingTaskGroup { group in
                for number in 0..<50 {
                    group.addTask {
                        let answer = try await caller.answer(.post, "/echo", body: HTTPBody("body \(number)"))
                        #expect(answer.text == "body \(number)")
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    // MARK: - Support

    private func withCaller<Result>(
        path: String = "",
        configuration: URLSessionTransport.Configuration = .init(),
        _ handlers: (any ServerTransport) throws -> Void,
        _ body: (Caller) async throws -> Result
    ) async throws -> Result {
        let router = Router()
        try handlers(HummingbirdTransport(router))
        return try await withRunningServer(of: router, limits: ServerLimits(shutdownTimeout: .zero)) { url in
            let url = try #require(URL(string: "\(url.absoluteString)\(path)"))
            return try await body(
                Caller(transport: URLSessionTransport(configuration: configuration), baseURL: url)
            )
        }
    }

    private func registerSlow(
        on transport: any ServerTransport,
        _ signal: AsyncStream<Void>.Continuation
    ) throws {
        try transport.register(
            { _, _, _ in
                signal.yield()
                // Waits until the server stops.
                try await Task.sleep(for: .seconds(3600))
                return (HTTPResponse(status: .ok), nil)
            },
            method: .get,
            path: "/slow"
        )
    }
}
