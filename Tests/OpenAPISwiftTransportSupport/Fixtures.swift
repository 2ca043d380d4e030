package import HTTPTypes
package import OpenAPISwiftRuntime

/// Registers `POST /echo`, which answers with the body it gets.
package func registerEcho(on transport: any ServerTransport) throws {
    try transport.register({ _, body, _ in (HTTPResponse(status: .ok), body) }, method: .post, path: "/echo")
}

/// A body that comes in chunks.
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
