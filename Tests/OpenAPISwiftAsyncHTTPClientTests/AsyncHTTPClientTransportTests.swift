import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import OpenAPISwiftTransportSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(10)))
struct AsyncHTTPClientTransportTests {

    private let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")

    @Test func aKnownLengthIsAnnouncedAndAnUnknownOneIsChunked() async throws {
        func tellFraming(_ transport: any ServerTransport) throws {
            try transport.register(
                { request, _, _ in
                    let length = request.headerFields[.contentLength] ?? "none"
                    let coding = request.headerFields[.transferEncoding] ?? "none"
                    return (HTTPResponse(status: .ok), HTTPBody("length \(length), coding \(coding)"))
                },
                method: .put,
                path: "/"
            )
        }
        func stream() -> AsyncStream<HTTPBody.ByteChunk> {
            AsyncStream { continuation in
                continuation.yield([1, 2])
                continuation.yield([3])
                continuation.finish()
            }
        }
        try await Carrier.socket.withServer(handlers: tellFraming) { caller async throws in
            func framing(_ body: HTTPBody) async throws -> String? {
                // A Content-Length in the header fields does no harm.
                try await caller.answer(.put, "/", fields: [.contentType: "text/plain"], body: body).text
            }
            #expect(try await framing("Hello") == "length 5, coding none")
            #expect(try await framing(HTTPBody()) == "length 0, coding none")
            #expect(try await framing(HTTPBody("Hello", length: .unknown)) == "length none, coding chunked")
            #expect(try await framing(HTTPBody(stream(), length: .known(3))) == "length 3, coding none")
            #expect(try await framing(HTTPBody(stream(), length: .unknown)) == "length none, coding chunked")
            let announced = try await caller.answer(.put, "/", fields: [.contentLength: "5"], body: "Hello")
            #expect(announced.text == "length 5, coding none")
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
        try await Carrier.socket.withServer(handlers: register) { caller async throws in
            #expect(try await caller.send(.get, "/known").1?.length == .known(5))
            #expect(try await caller.send(.get, "/unknown").1?.length == .unknown)
        }
    }

    @Test func anErrorOfTheRequestBodyIsThrownAsItIs() async throws {
        struct Unreadable: Error {}
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, body, _ in
                    _ = try await [UInt8](collecting: body ?? HTTPBody(), upTo: 100)
                    return (HTTPResponse(status: .ok), nil)
                },
                method: .put,
                path: "/"
            )
        }
        try await Carrier.socket.withServer(handlers: register) { caller async throws in
            let stream = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
                continuation.yield([1])
                continuation.finish(throwing: Unreadable())
            }
            await #expect(throws: Unreadable.self) {
                try await caller.answer(.put, "/", body: HTTPBody(stream, length: .known(5)))
            }
        }
    }

    @Test func anUnreachableServerIsATransportError() async throws {
        // A port that was free a moment ago.
        let url = try await withRunningServer(of: Router()) { $0 }
        // A transport that retried would reach this time limit.
        let transport = AsyncHTTPClientTransport(configuration: .init(timeout: .hours(1)))
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(request, body: nil, baseURL: url, operationID: "test")
        }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("127.0.0.1:\(url.port ?? 0)") == true)
        let text = try #require(error).description
        #expect(text.contains("Cause: "), "\(text)")
        #expect(text.contains("Connection refused"), "\(text)")
        #expect(!text.contains("(("), "\(text)")
        #expect(!text.contains("))"), "\(text)")
    }

    @Test func aRedirectIsHandedToTheCallerUnlessTheClientFollowsIt() async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in (HTTPResponse(status: .found, headerFields: [.location: "/new"]), nil) },
                method: .get,
                path: "/"
            )
            try transport.register(
                { _, _, _ in (HTTPResponse(status: .ok), nil) },
                method: .get,
                path: "/new"
            )
        }
        try await Carrier.socket.withServer(handlers: register) { caller async throws in
            for (configuration, status) in [
                (AsyncHTTPClientTransport.Configuration(), 302), (.transfers, 302), (.init(client: .shared), 200),
            ] {
                let transport = AsyncHTTPClientTransport(configuration: configuration)
                let (response, _) = try await transport.send(
                    request,
                    body: nil,
                    baseURL: caller.baseURL,
                    operationID: "test"
                )
                #expect(response.status.code == status)
            }
        }
    }

    @Test func aServerThatDoesNotAnswerRunsIntoTheTimeout() async throws {
        func register(_ transport: any ServerTransport) throws {
            try transport.register(
                { _, _, _ in
                    // Waits until the server stops.
                    try await Task.sleep(for: .seconds(3600))
                    return (HTTPResponse(status: .ok), nil)
                },
                method: .get,
                path: "/"
            )
        }
        try await Carrier.socket.withServer(handlers: register) { caller async throws in
            let transport = AsyncHTTPClientTransport(configuration: .init(timeout: .milliseconds(50)))
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(request, body: nil, baseURL: caller.baseURL, operationID: "test")
            }
            #expect(error?.code == .timedOut)
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
        try await Carrier.socket.withServer(handlers: register) { caller async throws in
            let (_, body) = try await caller.send(.get, "/")
            let error = await #expect(throws: TransportError.self) {
                try await [UInt8](collecting: #require(body), upTo: 100)
            }
            #expect(error?.code == .connectionLost)
        }
    }

    @Test(arguments: ["/", "/v1", "ftp://example.com", "http:///v1"])
    func anInvalidURLIsATransportError(text: String) async throws {
        let url = try #require(URL(string: text))
        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientTransport().send(request, body: nil, baseURL: url, operationID: "test")
        }
        #expect(error?.code == .invalidURL)
    }
}
