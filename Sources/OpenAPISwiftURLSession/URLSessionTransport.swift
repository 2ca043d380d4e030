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
/// On Apple platforms, it uses the system's settings for proxies, certificates and the network, and it adds no library
/// to the program. On other platforms it uses FoundationNetworking, which can do less than `AsyncHTTPClientTransport`.
///
/// ## What streams and what does not
///
/// | | Apple platforms | Linux and others | | --- | --- | --- | | a request's body | streams, in parts of 64 KiB, as
/// fast as the connection takes them | is read into memory first, up to
/// ``Configuration-swift.struct/maximumBufferedBodySize`` | | a response's body | streams; one that is read slowly
/// holds the server back | comes in parts while it arrives; what is not read yet stays in memory, up to the same limit
/// |
///
/// So sending and receiving at the same time works only on Apple platforms. On other platforms, use
/// `AsyncHTTPClientTransport` for large uploads and downloads. Cancelling the calling task cancels the request. If you
/// stop reading a response before its end, its connection is closed.
///
/// ## What URLSession does on its own
///
/// Several header fields with the same name become one field, joined by commas, in both directions. On Linux this
/// includes `Set-Cookie`, so cookies that contain commas cannot be separated any more. The reason phrase of a status is
/// not available. Bodies with a `Content-Encoding` are decoded, and their length is then not known. URLSession itself
/// writes `Host`, `Connection` and `Content-Length`. Neither cookies nor responses are kept, unless the configuration
/// of the session says so.
///
/// Failures to connect, lost connections and timeouts are thrown as `TransportError`.
public struct URLSessionTransport: ClientTransport {
    /// What the transport does with a redirect.
    public enum Redirects: Hashable, Sendable {
        /// URLSession follows redirects, up to its own limit, and drops `Authorization` for another host.
        case follow
        /// The caller gets the redirect as the response.
        case handOver
    }

    /// The settings of a transport.
    public struct Configuration: Sendable {
        /// What the transport does with redirects.
        public var redirects: Redirects
        /// How long the connection may be silent before the request fails.
        public var timeout: Duration
        /// The maximum number of bytes in memory where bodies do not stream: of a request's body, and of a response
        /// that is not read yet.
        public var maximumBufferedBodySize: Int
        /// Changes the configuration of the transport's session. The configuration that it gets is ephemeral, without
        /// cookies and without a cache.
        public var configureSession: @Sendable (URLSessionConfiguration) -> Void

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - redirects: What the transport does with redirects.
        ///   - timeout: How long the connection may be silent; at least a millisecond.
        ///   - maximumBufferedBodySize: The maximum number of bytes of a body in memory where bodies do not stream; 256
        ///     MiB by default.
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

        /// A configuration that returns redirects to the caller, for callers that sign their requests.
        public static var direct: Configuration { Configuration(redirects: .handOver) }
    }

    /// The settings of the transport.
    public let configuration: Configuration

    private let session: Session

    /// Creates a transport with its own session.
    ///
    /// Copies of the transport share the session. The session ends with the last copy.
    ///
    /// - Parameter configuration: The settings of the transport.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        session = Session(configuration)
    }

    /// Sends a request and returns the response as soon as its head has arrived.
    ///
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
        try Task.checkCancellation()
        let server = baseURL.authority ?? baseURL.description
        var urlRequest = try URLRequest(request, baseURL: baseURL)
        let seconds = configuration.timeout / .seconds(1)
        urlRequest.timeoutInterval = max(seconds, 0.001)

        let pending = PendingResponse(
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
                // With a length in the header fields, URLSession does not use chunked transfer coding.
                if case .known(let length) = body.length {
                    urlRequest.setValue("\(length)", forHTTPHeaderField: "Content-Length")
                }
                let stream = try UploadStream(body) { pending.task?.task?.cancel() }
                urlRequest.httpBodyStream = stream.input
                pending.body = stream
                upload = stream
            case (nil, nil): break
            }
        #endif
        let task = session.start(urlRequest, pending)
        #if !canImport(FoundationNetworking)
            upload?.start()
        #endif
        return try await withTaskCancellationHandler {
            let response = try await pending.head(upload: upload) { task.cancel() }
            return try pending.response(response, to: request, cancel: { task.cancel() })
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
                message:
                    "'\(baseURL)' cannot be used as the URL of a server; give the client a URL such as https://example.com/v1."
            )
        }
        self.init(url: url)
        httpMethod = request.method.rawValue
        for field in request.headerFields where field.name != .contentLength {
            addValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
    }
}

/// The owner of a session: it ends the session when it is released. A session retains its delegate, so the delegate is
/// a separate object.
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

    func start(_ request: URLRequest, _ pending: PendingResponse) -> URLSessionDataTask {
        let task = session.dataTask(with: request)
        pending.task = WeakTask(task)
        delegate.responses.withLock { $0[task.taskIdentifier] = pending }
        task.resume()
        return task
    }
}
