import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import OpenAPISwiftTransportSupport
import Synchronization
import Testing

/// Behaviour that is the same in process and over a socket.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct CarrierTests {

    // MARK: Bodies

    @Test(arguments: Carrier.allCases, [0, 1, 70_000, 5_000_000])
    func aBodyComesBackAsItWasSent(carrier: Carrier, count: Int) async throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        try await carrier.withServer(handlers: registerEcho) { caller async throws in
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

    @Test(arguments: Carrier.allCases)
    func aRequestWithoutBodyHasNone(carrier: Carrier) async throws {
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
        try await carrier.withServer(handlers: tellBody) { caller async throws in
            #expect(try await caller.answer(.get, "/body").summary == "200 none")
            #expect(try await caller.answer(.post, "/body").summary == "200 none")
            #expect(try await caller.answer(.delete, "/body").summary == "200 none")
            let fields: HTTPFields = [.contentType: "text/plain"]
            #expect(try await caller.answer(.post, "/body", fields: fields, body: "").summary == "200 ''")
            #expect(try await caller.answer(.delete, "/body", body: "x").summary == "200 'x'")
        }
    }

    @Test(arguments: Carrier.allCases)
    func aQueryArrivesWithItsBody(carrier: Carrier) async throws {
        try await carrier.withServer(handlers: registerQuery) { caller async throws in
            let fields: HTTPFields = [.contentType: "application/json"]
            for body in [HTTPBody("{}"), HTTPBody("{}", length: .unknown), streamed([0x7B, 0x7D], length: .known(2))] {
                let answer = try await caller.answer(.query, "/shelf", fields: fields, body: body)
                #expect(answer.summary == "200 QUERY {}")
            }
            let other = try await caller.answer(.post, "/shelf", fields: fields, body: "{}")
            #expect(other.status == 405)
            #expect(other.fields[.allow] == "QUERY")
        }
    }

    @Test(arguments: Carrier.allCases)
    func chunksPassWhileTheRequestStillRuns(carrier: Carrier) async throws {
        let (stream, sender) = AsyncStream<HTTPBody.ByteChunk>.makeStream()
        try await carrier.withServer(handlers: registerEcho) { caller async throws in
            sender.yield([1])
            let fields: HTTPFields = [.contentType: "application/octet-stream"]
            let (_, echo) = try await caller.send(
                .post,
                "/echo",
                fields: fields,
                body: HTTPBody(stream, length: .unknown)
            )
            var iterator = try #require(echo).makeAsyncIterator()
            // Each chunk is sent only after the one before it came back.
            for number in UInt8(2)...5 {
                #expect(try await iterator.next() == [number - 1])
                sender.yield([number])
            }
            sender.finish()
            #expect(try await iterator.next() == [5])
            #expect(try await iterator.next() == nil)
        }
    }

    @Test(arguments: Carrier.allCases)
    func aResponseThatIsGivenUpStopsItsSource(carrier: Carrier) async throws {
        let (ended, source) = AsyncStream<Void>.makeStream()
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in
                    let endless = Endless(ended: source)
                    return (HTTPResponse(status: .ok), HTTPBody(endless, length: .unknown, iterationBehavior: .single))
                },
                method: .get,
                path: "/endless"
            )
        }
        try await carrier.withServer(handlers: register) { caller async throws in
            do {
                let (_, body) = try await caller.send(.get, "/endless")
                var iterator = try #require(body).makeAsyncIterator()
                let chunk = try #require(try await iterator.next())
                #expect(chunk.allSatisfy { $0 == 7 })
            }
            var iterator = ended.makeAsyncIterator()
            #expect(await iterator.next() != nil)
        }
    }

    // MARK: Heads

    @Test(arguments: Carrier.allCases)
    func fieldsOfOneNameStaySeparateAndInOrder(carrier: Carrier) async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { request, _, _ in
                    var response = HTTPResponse(status: .ok)
                    for value in request.headerFields[values: .many] {
                        response.headerFields.append(HTTPField(name: .setCookie, value: value))
                    }
                    return (response, nil)
                },
                method: .get,
                path: "/fields"
            )
        }
        try await carrier.withServer(handlers: register) { caller async throws in
            var fields = HTTPFields()
            for value in ["b=1", "a=2, c", "b=3"] { fields.append(HTTPField(name: .many, value: value)) }
            let (response, _) = try await caller.send(.get, "/fields", fields: fields)
            #expect(response.headerFields[values: .setCookie] == ["b=1", "a=2, c", "b=3"])
        }
    }

    @Test(arguments: Carrier.allCases)
    func pathParametersAreDecodedAndTheRequestIsNot(carrier: Carrier) async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { request, _, metadata in
                    let text = "\(metadata.pathParameters["id"] ?? "") | \(request.path ?? "")"
                    return (HTTPResponse(status: .ok), HTTPBody(text))
                },
                method: .get,
                path: "/v1/pets/{id}/x{part}.json"
            )
        }
        try await carrier.withServer(path: "/v1/", handlers: register) { caller async throws in
            let path = "/pets/a%2Fb+c%20d%252F%C3%A9/x1.json"
            #expect(try await caller.answer(.get, path).summary == "200 a/b+c d%2Fé | /v1\(path)")
        }
    }

    @Test(arguments: Carrier.allCases)
    func theQueryArrivesByteForByte(carrier: Carrier) async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { request, _, _ in (HTTPResponse(status: .ok), HTTPBody(request.path ?? "")) },
                method: .get,
                path: "/query"
            )
        }
        try await carrier.withServer(handlers: register) { caller async throws in
            for query in ["a=%2F+b&&c=~%7E&=", "", "a%5Bb%5D=1,2;3:4/5?6@7", "%e2%82%ac=%E2%82%AC"] {
                #expect(try await caller.answer(.get, "/query?\(query)").summary == "200 /query?\(query)")
            }
        }
    }

    @Test(arguments: Carrier.allCases)
    func headAndStatusesWithoutContentHaveNoBody(carrier: Carrier) async throws {
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
        }
        try await carrier.withServer(handlers: register) { caller async throws in
            // Each request is sent twice on one connection: a stray byte would spoil the second response.
            for _ in 0..<2 {
                let head = try await caller.answer(.head, "/pet")
                #expect(head.summary == "200")
                #expect(head.fields[.contentLength] == "5")
                #expect(head.fields[.eTag] == "e")
                #expect(try await caller.answer(.get, "/204").summary == "204")
                #expect(try await caller.answer(.get, "/304").summary == "304")
                #expect(try await caller.answer(.get, "/pet").summary == "200 Hello")
            }
        }
    }

    @Test(arguments: Carrier.allCases)
    func unknownPathsAndMethodsAndErrorsHaveTheirStatus(carrier: Carrier) async throws {
        struct Broken: Error {}
        func register(_ transport: any ServerTransport) throws {
            try transport.register({ _, _, _ in throw Broken() }, method: .get, path: "/broken")
            try transport.register({ _, _, _ in throw Broken() }, method: .put, path: "/broken")
        }
        try await carrier.withServer(handlers: register) { caller async throws in
            let unknown = try await caller.answer(.get, "/other")
            let method = try await caller.answer(.post, "/broken")
            let broken = try await caller.answer(.get, "/broken")
            #expect(unknown.status == 404)
            #expect(method.status == 405)
            #expect(method.fields[.allow] == "GET, PUT")
            #expect(broken.status == 500)
            #expect([unknown.text ?? "", method.text ?? "", broken.text ?? ""] == ["", "", ""])
        }
    }

    // MARK: Cancellation

    @Test(arguments: Carrier.allCases)
    func cancellingTheCallerCancelsTheCall(carrier: Carrier) async throws {
        let (started, signal) = AsyncStream<Void>.makeStream()
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in
                    signal.yield()
                    // Waits until it is cancelled: by its caller, or by the end of the server.
                    try await Task.sleep(for: .seconds(3600))
                    return (HTTPResponse(status: .ok), nil)
                },
                method: .get,
                path: "/slow"
            )
        }
        try await carrier.withServer(handlers: register) { caller async throws in
            let task = Task { try await caller.send(.get, "/slow").0 }
            var iterator = started.makeAsyncIterator()
            await iterator.next()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test(arguments: [Carrier.inProcess, .watchedSocket])
    func aClientThatGoesAwayCancelsTheHandler(carrier: Carrier) async throws {
        let (events, signal) = AsyncStream<String>.makeStream()
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in
                    signal.yield("started")
                    do {
                        try await Task.sleep(for: .seconds(3600))
                    } catch {
                        signal.yield("cancelled")
                    }
                    return (HTTPResponse(status: .ok), nil)
                },
                method: .get,
                path: "/slow"
            )
        }
        try await carrier.withServer(handlers: register) { caller async throws in
            let task = Task { try await caller.send(.get, "/slow").0 }
            var iterator = events.makeAsyncIterator()
            #expect(await iterator.next() == "started")
            task.cancel()
            // The server is still running, so it is the disconnection of the client that cancels the handler.
            #expect(await iterator.next() == "cancelled")
        }
    }

    @Test(arguments: [Carrier.watchedSocket])
    func aClientThatGoesAwayCancelsAResponseThatWaits(carrier: Carrier) async throws {
        let (ended, signal) = AsyncStream<Void>.makeStream()
        // One chunk, and then nothing while the reader waits.
        let (stream, sender) = AsyncStream<HTTPBody.ByteChunk>.makeStream()
        sender.onTermination = { _ in signal.yield() }
        sender.yield([1])
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in (HTTPResponse(status: .ok), HTTPBody(stream, length: .unknown)) },
                method: .get,
                path: "/events"
            )
        }
        try await carrier.withServer(handlers: register) { caller async throws in
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

    @Test(arguments: Carrier.allCases)
    func aCancelledUploadEndsTheHandlersReading(carrier: Carrier) async throws {
        let (events, signal) = AsyncStream<String>.makeStream()
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, body, _ in
                    do {
                        for try await chunk in body ?? HTTPBody() { signal.yield("read \(chunk.count)") }
                        signal.yield("ended")
                    } catch {
                        signal.yield("broken off")
                    }
                    try Task.checkCancellation()
                    return (HTTPResponse(status: .ok), nil)
                },
                method: .post,
                path: "/upload"
            )
        }
        // The sender is kept, because the body ends when the sender is released.
        let (upload, sender) = AsyncStream<HTTPBody.ByteChunk>.makeStream()
        try await carrier.withServer(handlers: register) { caller async throws in
            sender.yield([1, 2, 3])
            let task = Task {
                let body = HTTPBody(upload, length: .known(6))
                return try await caller.send(.post, "/upload", fields: [.contentType: "text/plain"], body: body).0
            }
            var iterator = events.makeAsyncIterator()
            #expect(await iterator.next() == "read 3")
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            // An AsyncStream ends when its reader is cancelled. Over a socket, the body is too short and breaks off.
            // With a watched socket, the handler's task is cancelled, so reading may end in either way.
            let end = await iterator.next()
            #expect(end == (carrier == .inProcess ? "ended" : "broken off") || carrier == .watchedSocket)
        }
        sender.finish()
    }
}

/// An endless sequence of chunks, which signals when it is no longer read.
private struct Endless: AsyncSequence, Sendable {

    let ended: AsyncStream<Void>.Continuation

    final class AsyncIterator: AsyncIteratorProtocol {
        let ended: AsyncStream<Void>.Continuation

        init(ended: AsyncStream<Void>.Continuation) { self.ended = ended }

        deinit { ended.yield() }

        func next() async throws -> HTTPBody.ByteChunk? { ArraySlice(repeating: 7, count: 1000) }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(ended: ended) }
}
