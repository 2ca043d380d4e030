public import AsyncHTTPClient
public import HTTPTypes
public import NIOCore
import NIOHTTP1
public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Sends the requests of a generated client with AsyncHTTPClient.
///
/// ```swift
/// let client = Client(
///     serverURL: URL(string: "https://example.com/v1")!,
///     transport: AsyncHTTPClientTransport(configuration: .init(timeout: .seconds(20)))
/// )
/// let pet = try await client.getPet(path: .init(petId: "a/b"))
/// // GET /v1/pets/a%2Fb HTTP/1.1
/// // host: example.com
/// ```
///
/// Bodies stream both ways. A body of known length is sent with `content-length`, any other body in chunks. The path of
/// the URL and the path of the request are joined, and keep their percent-encoding. Cancelling the calling task cancels
/// the request. If you stop reading a response body before its end, its connection is closed.
///
/// Failures to connect, lost connections and timeouts are thrown as `TransportError`. Redirects are returned to the
/// caller. For a transport that follows them, use a configuration with an `HTTPClient` that does, such as `.shared`.
public struct AsyncHTTPClientTransport: ClientTransport {

    /// The client that a transport sends with, and how long the transport waits.
    public struct Configuration: Sendable {

        /// The client that sends requests. The transport does not shut it down.
        public var client: HTTPClient

        /// How long the head of a response may take, including the time to connect and to send the request.
        public var timeout: TimeAmount

        /// Creates a configuration with a client that all such configurations of the process share.
        ///
        /// The client returns redirects to the caller instead of following them. It reports a refused connection at
        /// once, and stops waiting for a connection after 10 seconds. It is never shut down.
        /// - Parameter timeout: How long the head of a response may take, including the time to connect and to send the
        ///   request.
        public init(timeout: TimeAmount = .minutes(1)) {
            self.init(client: Self.sharedClient, timeout: timeout)
        }

        /// Creates a configuration with your own client.
        /// - Parameters:
        ///   - client: The client that sends requests. AsyncHTTPClient's `.shared` follows redirects, and tries to
        ///     connect until the timeout.
        ///   - timeout: How long the head of a response may take, including the time to connect and to send the
        ///     request.
        public init(client: HTTPClient, timeout: TimeAmount = .minutes(1)) {
            self.client = client
            self.timeout = timeout
        }

        private static let sharedClient = HTTPClient(configuration: connectingOnce)

        /// A configuration without redirects and without a second attempt to connect. The caller decides about both.
        private static var connectingOnce: HTTPClient.Configuration {
            var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.networkFrameworkWaitForConnectivity = false
            configuration.timeout.connect = .seconds(10)
            return configuration
        }

        /// A configuration for large bodies, with another client that the process shares.
        ///
        /// A transfer may last a day, and fails when no byte is transferred for a minute. The client has its own
        /// connections. Otherwise it is like the client of ``init(timeout:)``.
        public static let transfers: Configuration = {
            var configuration = connectingOnce
            configuration.timeout.read = .seconds(60)
            configuration.timeout.write = .seconds(60)
            return Configuration(client: HTTPClient(configuration: configuration), timeout: .hours(24))
        }()
    }

    /// The client that the transport sends with, and how long the transport waits.
    public var configuration: Configuration

    /// Creates a transport.
    /// - Parameter configuration: The client to send with, and how long to wait.
    public init(configuration: Configuration = .init()) {
        self.configuration = configuration
    }

    /// Sends a request and returns the response as soon as its head has arrived.
    /// - Parameters:
    ///   - request: The request; its path is relative to the path of the base URL.
    ///   - body: The body of the request, or nil if it has none.
    ///   - baseURL: The URL of the server, `http` or `https`.
    ///   - operationID: The operation of the document; it is ignored.
    /// - Returns: The response, and its body as a stream.
    /// - Throws: `TransportError`, `CancellationError`, or the error of a streamed request body.
    public func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let response: HTTPClientResponse
        do {
            let clientRequest = try HTTPClientRequest(
                request,
                body: body,
                baseURL: baseURL,
                eventLoops: configuration.client.eventLoopGroup
            )
            response = try await configuration.client.execute(clientRequest, timeout: configuration.timeout)
        } catch {
            try Task.checkCancellation()
            throw TransportError(wrapping: error, server: baseURL.authority ?? baseURL.description) ?? error
        }
        return try response.httpResponse(to: request, from: baseURL)
    }
}

extension HTTPClientRequest {

    fileprivate init(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        eventLoops: any EventLoopGroup
    ) throws {
        guard let scheme = baseURL.scheme?.lowercased(), let authority = baseURL.authority,
            ["http", "https", "http+unix", "https+unix"].contains(scheme)
        else {
            throw TransportError(
                code: .invalidURL,
                message:
                    "'\(baseURL)' cannot be used as the URL of a server; give the client a URL such as https://example.com/v1."
            )
        }
        self.init(url: "\(scheme)://\(authority)\(baseURL.requestTarget(appending: request.path))")
        method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headerFields {
            headers.add(name: field.name.rawName, value: field.value)
        }
        guard let body else { return }
        let buffers = PacedBuffers(body: body, eventLoops: eventLoops)
        switch (body.bufferedBytes, body.length) {
        case (let bytes?, .known): self.body = .bytes(ByteBuffer(bytes: bytes))
        case (_, .known(let length)): self.body = .stream(buffers, length: .known(length))
        case (_, .unknown): self.body = .stream(buffers, length: .unknown)
        }
    }
}

extension HTTPClientResponse {

    func httpResponse(to request: HTTPRequest, from baseURL: URL) throws -> (HTTPResponse, HTTPBody?) {
        // AsyncHTTPClient accepts any number over HTTP/2, and `HTTPResponse.Status` traps on a number that is not a
        // status.
        guard let code = Int(exactly: status.code), (100...999).contains(code) else {
            throw TransportError(
                code: .connectionLost,
                message:
                    "\(baseURL.authority ?? baseURL.description) responded with \(status.code), which is not an HTTP status."
            )
        }
        var response = HTTPResponse(status: .init(code: code, reasonPhrase: status.reasonPhrase))
        for (name, value) in headers {
            guard let name = HTTPField.Name(name) else { continue }
            response.headerFields.append(HTTPField(name: name, value: value))
        }
        guard response.mayHaveBody(toRequest: request) else { return (response, nil) }
        var length = HTTPBody.Length.unknown
        // The length of an encoded body is not the number of bytes after decoding.
        if response.headerFields[.contentEncoding] == nil, let text = response.headerFields[.contentLength] {
            length = Int64(text).map { .known($0) } ?? .unknown
        }
        let chunks = ResponseChunks(body: body, server: baseURL.authority ?? baseURL.description)
        return (response, HTTPBody(chunks, length: length, iterationBehavior: .single))
    }
}

/// The chunks of a request, produced only as fast as the connection accepts them.
///
/// The client accepts chunks until its event loop reports that the connection is full. If chunks arrive faster than the
/// event loop runs, they pile up. So the sequence waits for the event loops after each mebibyte.
struct PacedBuffers: AsyncSequence, Sendable {

    let body: HTTPBody
    let eventLoops: any EventLoopGroup

    struct AsyncIterator: AsyncIteratorProtocol {

        var chunks: HTTPBody.Iterator
        let eventLoops: any EventLoopGroup
        var count = 0

        mutating func next() async throws -> ByteBuffer? {
            if count >= 1 << 20 {
                count = 0
                for loop in eventLoops.makeIterator() { try await loop.submit {}.get() }
            }
            guard let chunk = try await chunks.next() else { return nil }
            count += chunk.count
            return ByteBuffer(bytes: chunk)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(chunks: body.makeAsyncIterator(), eventLoops: eventLoops)
    }
}

/// The chunks of a response, with errors as `TransportError`.
private struct ResponseChunks: AsyncSequence, Sendable {

    let body: HTTPClientResponse.Body
    let server: String

    struct Iterator: AsyncIteratorProtocol {

        var buffers: HTTPClientResponse.Body.AsyncIterator
        let server: String

        mutating func next() async throws -> HTTPBody.ByteChunk? {
            do {
                return try await buffers.next(isolation: #isolation).map { ArraySlice($0.readableBytesView) }
            } catch {
                try Task.checkCancellation()
                throw TransportError(wrapping: error, server: server) ?? error
            }
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(buffers: body.makeAsyncIterator(), server: server)
    }
}
