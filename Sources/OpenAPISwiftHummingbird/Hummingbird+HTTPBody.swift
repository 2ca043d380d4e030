package import HTTPTypes
package import Hummingbird
package import NIOCore
package import OpenAPISwiftRuntime

extension HTTPBody {

    /// The body of a request, or nil if it has none.
    ///
    /// Clients also send the length 0 with requests that have no body, so an empty body counts only if it has a content
    /// type.
    package convenience init?(of request: Request) {
        let fields = request.headers
        let length = fields[.contentLength].flatMap { Int64($0) }
        guard length ?? 0 > 0 || fields[.contentType] != nil || fields[.transferEncoding] != nil else { return nil }
        if length == 0 {
            self.init()
        } else {
            self.init(
                request.body.map { ArraySlice($0.readableBytesView) },
                length: length.map { .known($0) } ?? .unknown,
                iterationBehavior: .single
            )
        }
    }
}

extension Response {

    /// Makes the response of a server from that of a handler.
    ///
    /// A body that is in memory is sent as it is. Any other body is read as fast as the client receives it, and its
    /// task is cancelled when the client closes the connection. A body that throws closes the connection.
    /// - Parameters:
    ///   - response: The head of the response.
    ///   - body: The body, or nil if there is none.
    ///   - request: The request. The response to HEAD has no body, and keeps the length that the handler gave it.
    ///   - channel: The connection of the request. Without it, a body notices only with its next chunk that the client
    ///     has closed the connection, and its chunks do not wait for the event loop.
    package init(_ response: HTTPResponse, body: HTTPBody?, to request: HTTPRequest, on channel: (any Channel)?) {
        guard response.mayHaveBody(toRequest: request) else {
            let length = response.headerFields[.contentLength]
            self.init(status: response.status, headers: response.headerFields)
            // Without this line, Hummingbird sends the length 0.
            headers[.contentLength] = request.method == .head ? length : nil
            return
        }
        self.init(status: response.status, headers: response.headerFields, body: Self.body(body, on: channel))
    }

    private static func body(_ body: HTTPBody?, on channel: (any Channel)?) -> ResponseBody {
        guard let body else { return ResponseBody() }
        if let bytes = body.bufferedBytes {
            return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        }
        var length: Int?
        if case .known(let known) = body.length { length = Int(exactly: known) }
        return ResponseBody(contentLength: length) { writer in
            guard let channel else {
                try await writer.write(chunksOf: body, on: nil)
                return
            }
            // Only the new task uses the writer until it ends, and this function waits for the end.
            nonisolated(unsafe) let shared = writer
            try await Connection.of(channel).withCancellationOnClose {
                var writer = shared
                try await writer.write(chunksOf: body, on: channel.eventLoop)
            }
        }
    }
}

extension ResponseBodyWriter {

    /// Writes a whole body, as fast as the connection and its event loop accept the chunks.
    @concurrent mutating func write(chunksOf body: HTTPBody, on eventLoop: (any EventLoopGroup)?) async throws {
        var count = 0
        for try await chunk in body {
            try await write(ByteBuffer(bytes: chunk))
            count += chunk.count
            // If chunks arrive faster than the event loop runs, they pile up before it can report that the connection
            // is full. So the body waits for the event loop after each mebibyte.
            if count >= 1 << 20 {
                count = 0
                try await eventLoop?.any().submit {}.get()
            }
        }
        // A stream also ends when its task is cancelled, and is then not the whole body.
        try Task.checkCancellation()
        try await finish(nil)
    }
}
