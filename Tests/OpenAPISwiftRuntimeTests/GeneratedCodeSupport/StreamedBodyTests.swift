import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import Testing

/// Bodies of any length pass through client and server chunk by chunk.
struct StreamedBodyTests {

    /// Sends a body to a server that reads the whole request, and returns the body of the response.
    private func send(_ body: HTTPBody, taking source: CountedChunks?, answer: HTTPBody) async throws -> HTTPBody {
        let transport = InProcessTransport { error in Issue.record(error) }
        let server = UniversalServer(
            serverURL: .defaultOpenAPIServerURL,
            handler: (),
            configuration: .init(),
            middlewares: [ErrorHandlingMiddleware()]
        )
        try server.register(
            on: transport,
            operationID: "op",
            method: .post,
            path: "/op",
            decode: { request in
                try request.requireContentType("application/octet-stream")
                return try request.rawBody()
            },
            handle: { _, body in for try await chunk in body { source?.take(chunk.count) } },
            encode: { _, response in try response.setBody(answer, contentType: "application/octet-stream") }
        )
        let client = UniversalClient(
            serverURL: .defaultOpenAPIServerURL,
            configuration: .init(),
            transport: transport,
            middlewares: []
        )
        return try await client.send(
            body,
            operationID: "op",
            method: .post,
            encode: { body, request in
                request.addPath("/op")
                try request.setBody(body, contentType: "application/octet-stream")
            },
            decode: { response in try response.rawBody() }
        )
    }

    private func body(_ source: CountedChunks) -> HTTPBody {
        HTTPBody(source, length: .unknown, iterationBehavior: .single)
    }

    @Test func aLongRequestHasOneChunkInFlight() async throws {
        let source = CountedChunks()
        _ = try await send(body(source), taking: source, answer: "done")
        #expect(source.taken == source.length)
        #expect(source.largestBacklog <= source.chunk.count)
    }

    @Test func aLongResponseHasOneChunkInFlight() async throws {
        let source = CountedChunks()
        let answer = try await send("go", taking: nil, answer: body(source))
        #expect(source.largestBacklog == 0)
        for try await chunk in answer { source.take(chunk.count) }
        #expect(source.taken == source.length)
        #expect(source.largestBacklog <= source.chunk.count)
    }
}
