public import Foundation
public import HTTPTypes
public import OpenAPISwiftRuntime
import Synchronization

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends the requests of a generated client with URLSession.
///
/// ```swift
/// let client = Client(
///     serverURL: URL(string: "https://example.com/v1")!,
///     transport: URLSessionTransport()
/// )
/// let pet = try await client.getPet(path: .init(petId: "a/b"))
/// // GET /v1/pets/a%2Fb HTTP/2
/// // host: example.com
/// ```
///
/// On Apple platforms it uses the system's settings: proxies, certificates, the network's state; and it adds no library
/// to the program. Elsewhere it uses FoundationNetworking, and `AsyncHTTPClientTransport` does more.
///
/// ## What streams and what does not
///
/// | | Apple platforms | Linux and others |
/// | --- | --- | --- |
/// | a request's body | streams, in parts of 64 KiB, as fast as the connection takes them | is read into memory first, up to ``Configuration-swift.struct/maximumBufferedBodySize`` |
/// | a response's body | streams; one that is read slowly holds the server back | comes in parts while it arrives; what is not read yet stays in memory, up to the same limit |
///
/// So an exchange in both directions at once works on Apple platforms only, and large uploads and downloads belong to
/// `AsyncHTTPClientTransport` elsewhere. Cancelling the calling task cancels the request, and a response that is given
/// up before its end closes its connection.
///
/// ## What URLSession does on its own
///
/// Header fields of one name become one field, joined by commas, in both directions; of `Set-Cookie` on Linux too,
/// where cookies that hold commas cannot be told apart any more. The reason phrase of a status is not available. Bodies
/// with a `Content-Encoding` are decoded, and their length is not known then. `Host`, `Connection` and `Content-Length`
/// are URLSession's to write. Neither cookies nor responses are kept, unless the configuration of the session says so.
///
/// Failures to connect, lost connections and timeouts are thrown as `TransportError`.
public struct URLSessionTransport: ClientTransport {
    /// What becomes of a response that sends the client elsewhere.
    public enum Redirects: Hashable, Sendable {
        /// URLSession goes there, up to its own limit, and drops `Authorization` for another host.
        case follow
        /// The caller gets the response.
        case handOver
    }

    /// What a transport sends with.
    public struct Configuration: Sendable {
        /// What becomes of redirects.
        public var redirects: Redirects
        /// How long the connection may be silent before the request fails.
        public var timeout: Duration
        /// How many bytes of a request's body are read into memory where such bodies do not stream, and how many of a
        /// response may wait there for their reader.
        public var maximumBufferedBodySize: Int
        /// Changes the configuration of the session that is made for the transport; by default it is ephemeral, with no
        /// cookies and no cache.
        public var configureSession: @Sendable (URLSessionConfiguration) -> Void

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - redirects: What becomes of redirects.
        ///   - timeout: How long the connection may be silent; at least a millisecond.
        ///   - maximumBufferedBodySize: How many bytes of a body may be in memory where bodies do not stream.
        ///   - configureSession: Changes the configuration of the transport's session, for example to add a proxy.
        public init(
            redirects: Redirects = .follow,
            timeout: Duration = .seconds(60),
            maximumBufferedBodySize: Int = 256 << 20,
            configureSession: @escaping @Sendable (URLSessionConfiguration) -> Void = { _ in }
        ) {
            self.redirects = redirects
            self.timeout = timeout
            self.maximumBufferedBodySize = maximumBufferedBodySize
            self.configureSession = configureSession
        }

        /// Hands redirects to the caller: for callers that sign their requests.
        public static var direct: Configuration { Configuration(redirects: .handOver) }
    }

    /// What the transport sends with.
    public let configuration: Configuration

    private let session: Session

    /// Makes a transport, with a session of its own. Copies share it; it ends with the last.
    ///
    /// - Parameter configuration: What to send with.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        session = Session(configuration)
    }

    /// Sends a request and returns the response as soon as its head has arrived.
    ///
    /// - Parameters:
    ///   - request: The request; its path stands below the path of the base URL.
    ///   - body: The body of the request, or nil if it has none.
    ///   - baseURL: The URL of the server, `http` or `https`.
    ///   - operationID: The operation of the document; it has no influence.
    /// - Returns: The response, and its body as a stream.
    /// - Throws: `TransportError`, `CancellationError`, or the error of a streamed request body.
    public func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try Task.checkCancellation()
        let server = baseURL.authority ?? baseURL.description
        var urlRequest = try URLRequest(request, baseURL: baseURL)
        let seconds = configuration.timeout / .seconds(1)
        urlRequest.timeoutInterval = max(seconds, 0.001)

        let exchange = Exchange(
            server: server,
            redirects: configuration.redirects,
            limit: configuration.maximumBufferedBodySize
        )
        #if canImport(FoundationNetworking)
            if let body {
                urlRequest.httpBody = Data(
                    try await [UInt8](collecting: body, upTo: configuration.maximumBufferedBodySize)
                )
            }
            let upload: UploadStream? = nil
        #else
            var upload: UploadStream?
            switch (body?.bufferedBytes, body) {
            case (let bytes?, _): urlRequest.httpBody = Data(bytes)
            case (nil, let body?):
                // A length in the header fields keeps URLSession from sending chunks.
                if case .known(let length) = body.length {
                    urlRequest.setValue("\(length)", forHTTPHeaderField: "Content-Length")
                }
                let stream = try UploadStream(body) { exchange.task?.task?.cancel() }
                urlRequest.httpBodyStream = stream.input
                exchange.body = stream
                upload = stream
            case (nil, nil): break
            }
        #endif
        let task = session.start(urlRequest, exchange)
        #if !canImport(FoundationNetworking)
            upload?.start()
        #endif
        return try await withTaskCancellationHandler {
            let response = try await exchange.head(upload: upload) { task.cancel() }
            return try exchange.response(response, to: request, cancel: { task.cancel() })
        } onCancel: {
            task.cancel()
        }
    }
}

extension URLRequest {
    fileprivate init(_ request: HTTPRequest, baseURL: URL) throws {
        guard
            let scheme = baseURL.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let authority = baseURL.authority, !authority.isEmpty, baseURL.host()?.isEmpty == false,
            let url = URL(string: "\(scheme)://\(authority)\(baseURL.requestTarget(appending: request.path))")
        else {
            throw TransportError(
                code: .invalidURL,
                message: "'\(baseURL)' is no server to send to; give the client a URL such as https://example.com/v1."
            )
        }
        self.init(url: url)
        httpMethod = request.method.rawValue
        for field in request.headerFields where field.name != .contentLength {
            addValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
    }
}

/// A session, and what its tasks are for. The session keeps its delegate; so the delegate is another object than the
/// one that ends it.
private final class Session: Sendable {
    private let session: URLSession
    private let delegate = Delegate()

    init(_ configuration: URLSessionTransport.Configuration) {
        let settings = URLSessionConfiguration.ephemeral
        settings.httpCookieStorage = nil
        settings.httpShouldSetCookies = false
        settings.httpCookieAcceptPolicy = .never
        settings.urlCache = nil
        settings.requestCachePolicy = .reloadIgnoringLocalCacheData
        settings.timeoutIntervalForRequest = max(configuration.timeout / .seconds(1), 0.001)
        configuration.configureSession(settings)
        session = URLSession(configuration: settings, delegate: delegate, delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    func start(_ request: URLRequest, _ exchange: Exchange) -> URLSessionDataTask {
        let task = session.dataTask(with: request)
        exchange.task = WeakTask(task)
        delegate.exchanges.withLock { $0[task.taskIdentifier] = exchange }
        task.resume()
        return task
    }
}
