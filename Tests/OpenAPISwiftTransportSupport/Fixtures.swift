package import HTTPTypes
package import OpenAPISwiftRuntime

/// Registers `POST /echo`, which responds with the body of the request.
package func registerEcho(on transport: any ServerTransport) throws {
    try transport.register({ _, body, _ in (HTTPResponse(status: .ok), body) }, method: .post, path: "/echo")
}

/// Registers `QUERY /shelf`, which responds with the method and the text of the request.
package func registerQuery(on transport: any ServerTransport) throws {
    try transport.register(
        { request, body, _ in
            let text = try await String(collecting: body ?? HTTPBody(), upTo: 100)
            return (HTTPResponse(status: .ok), HTTPBody("\(request.method) \(text)"))
        },
        method: .query,
        path: "/shelf"
    )
}

/// A body in several chunks.
package func streamed(_ bytes: [UInt8], length: HTTPBody.Length) -> HTTPBody {
    let (stream, continuation) = AsyncStream<HTTPBody.ByteChunk>.makeStream()
    var rest = bytes[...]
    while !rest.isEmpty {
        continuation.yield(rest.prefix(60_000))
        rest = rest.dropFirst(60_000)
    }
    continuation.finish()
    return HTTPBody(stream, length: length)
}

extension HTTPField.Name {
    package static var many: Self { HTTPField.Name("x-many")! }
}
