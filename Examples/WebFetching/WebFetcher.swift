import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import Synchronization

/// The configuration of a ``WebFetcher``: how it introduces itself to hosts, and its limits.
public struct FetchConfiguration: Sendable {
    /// The name of the program in `robots.txt`.
    public var product: String
    /// The header field User-Agent. It should tell the host's owner where to find out who sends the requests.
    public var userAgent: String
    /// The header field Accept.
    public var acceptedTypes = "*/*"
    /// The maximum duration of a request, from the connection to the last byte.
    public var timeLimit = Duration.seconds(30)
    /// The largest body that is accepted, in bytes after decompression.
    public var sizeLimit = 10 * 1024 * 1024
    /// The maximum number of redirects that are followed.
    public var redirectLimit = 5
    /// The pause between two requests to one host. A longer Crawl-delay of `robots.txt` replaces it, up to
    /// ``longestPause``.
    public var pause = Duration.seconds(1)
    /// The longest pause that a `robots.txt` can demand.
    public var longestPause = Duration.seconds(30)
    /// Whether `robots.txt` is fetched and obeyed.
    public var obeysRobots = true

    /// Creates the default configuration of a program.
    ///
    /// - Parameter product: The name of the program.
    public init(product: String) {
        self.product = product
        userAgent = product + "/1.0"
    }
}

/// A document that was fetched.
public struct FetchedDocument: Sendable, Hashable {
    /// The body, decompressed.
    public var body: [UInt8]
    /// The header field Content-Type.
    public var contentType: String?
    /// The address of the last request, which relative links refer to.
    public var address: WebAddress
    /// The header field ETag, for the next conditional request.
    public var etag: String?
    /// The header field Last-Modified, for the next conditional request.
    public var lastModified: String?

    /// Creates a document.
    public init(
        body: [UInt8],
        contentType: String? = nil,
        address: WebAddress,
        etag: String? = nil,
        lastModified: String? = nil
    ) {
        self.body = body
        self.contentType = contentType
        self.address = address
        self.etag = etag
        self.lastModified = lastModified
    }
}

/// The result of fetching a document.
public struct FetchResult: Sendable, Hashable {
    /// The response.
    public enum Answer: Sendable, Hashable {
        /// There is a document.
        case document(FetchedDocument)
        /// The document has not changed since the validators of the request.
        case notModified
        /// There is no document.
        case failure(FetchFailure)
    }

    /// The response.
    public var answer: Answer
    /// The new address of the document, if the redirects begin with permanent ones: the target of the last of these.
    /// `nil` without them, and after a failure.
    public var newAddress: WebAddress?

    /// Creates a result.
    public init(_ answer: Answer, newAddress: WebAddress? = nil) {
        self.answer = answer
        self.newAddress = newAddress
    }
}

/// Fetches documents over HTTP, with consideration for their hosts.
///
/// A request is conditional where the caller has validators. Redirects are followed one by one. Each host gets one
/// request at a time, with a pause between two, and only for paths that its `robots.txt` allows. A response that takes
/// too long or is too large ends with a failure. A host that sends Retry-After gets no further request before that
/// time.
///
/// A fetcher keeps each `robots.txt` during its lifetime; create a fetcher for each run.
///
/// ```swift
/// try await withWebFetcher(FetchConfiguration(product: "celestra")) { fetcher in
///     let result = try await fetcher.fetch("https://www.swift.org/atom.xml", etag: feed.etag)
///     // GET https://www.swift.org/robots.txt
///     // GET https://www.swift.org/atom.xml
///     // If-None-Match: "5f2a"
/// }
/// ```
public final class WebFetcher: Sendable {
    /// The rules for a host, or the reason why its documents are not fetched.
    private enum Permission: Sendable {
        case rules(RobotsFile)
        case failure(FetchFailure)
    }

    private let client: HTTPClient
    private let configuration: FetchConfiguration
    private let gate: HostGate
    private let timer: ElapsedTime
    private let now: @Sendable () -> Date
    private let permissions = Mutex<[String: Permission]>([:])

    fileprivate init(
        client: HTTPClient,
        configuration: FetchConfiguration,
        clock: any Clock<Duration>,
        timer: any Clock<Duration>,
        now: @escaping @Sendable () -> Date
    ) {
        self.client = client
        self.configuration = configuration
        gate = HostGate(clock: ElapsedTime(clock))
        self.timer = ElapsedTime(timer)
        self.now = now
    }

    /// Fetches a document.
    ///
    /// - Parameters:
    ///   - address: The address of the document.
    ///   - etag: The ETag of the document that the caller has.
    ///   - lastModified: The Last-Modified of the document that the caller has.
    ///   - obeysRobots: Whether the host's `robots.txt` is obeyed. It is meant for programs that follow links; for an
    ///     API, pass `false`.
    /// - Returns: The document, or the reason why it could not be fetched.
    /// - Throws: `CancellationError` if the task was cancelled.
    public func fetch(
        _ address: String,
        etag: String? = nil,
        lastModified: String? = nil,
        obeysRobots: Bool = true
    ) async throws -> FetchResult {
        guard let start = WebAddress(address) else {
            let message = "\"\(address)\" is not an address that begins with http:// or https://."
            return FetchResult(.failure(FetchFailure(.invalidAddress, message)))
        }
        var headers = HTTPHeaders([("Accept", configuration.acceptedTypes)])
        if let etag { headers.add(name: "If-None-Match", value: etag) }
        if let lastModified { headers.add(name: "If-Modified-Since", value: lastModified) }

        var current = start
        var visited: [WebAddress] = []
        var newAddress: WebAddress?
        var isPermanentSoFar = true
        while true {
            let response: Response
            do {
                response = try await send(to: current, headers: headers, obeysRobots: obeysRobots)
            } catch let failure as FetchFailure {
                return FetchResult(.failure(failure))
            }
            let verdict = ResponseRules.verdict(
                status: response.status,
                location: response.headers.first(name: "Location"),
                at: current,
                after: visited,
                limit: configuration.redirectLimit
            )
            switch verdict {
            case .document:
                let document = FetchedDocument(
                    body: response.body,
                    contentType: response.headers.first(name: "Content-Type"),
                    address: current,
                    etag: response.headers.first(name: "ETag"),
                    lastModified: response.headers.first(name: "Last-Modified")
                )
                return FetchResult(.document(document), newAddress: newAddress)
            case .notModified:
                return FetchResult(.notModified, newAddress: newAddress)
            case .failure(let failure):
                return FetchResult(.failure(failure))
            case .redirect(let target, let isPermanent):
                isPermanentSoFar = isPermanentSoFar && isPermanent
                if isPermanentSoFar { newAddress = target }
                visited.append(current)
                current = target
            }
        }
    }

    // MARK: - One request

    /// A response that was read to its end. The body is empty if the status is not a success.
    private struct Response {
        var status: Int
        var headers: HTTPHeaders
        var body: [UInt8]
    }

    /// Sends one request for a document, if the host's rules allow it, after the pause of the host.
    private func send(to address: WebAddress, headers: HTTPHeaders, obeysRobots: Bool) async throws -> Response {
        var pause = configuration.pause
        if configuration.obeysRobots, obeysRobots {
            switch try await permission(for: address) {
            case .failure(let failure): throw failure
            case .rules(let robots):
                guard robots.allows(address.pathAndQuery, for: configuration.product) else {
                    throw FetchFailure(.refusedByRobots, "\(address.robots) forbids \(address.pathAndQuery).")
                }
                if let seconds = robots.delay(for: configuration.product) {
                    let longest = configuration.longestPause
                    pause = max(pause, min(longest, .seconds(min(seconds, 86_400))))
                }
            }
        }
        return try await gate.withTurn(at: address.authority, pause: pause) {
            if let rest = gate.closedFor(address.authority) {
                let message =
                    "\(address.authority) asks for no requests for \(rest.components.seconds + 1) more seconds."
                throw FetchFailure(.postponed, message)
            }
            let response = try await exchange(address, headers: headers, limit: configuration.sizeLimit)
            if response.status == 429 || response.status == 503,
                let seconds = ResponseRules.retryAfter(response.headers.first(name: "Retry-After"), now: now())
            {
                gate.close(address.authority, for: .seconds(min(seconds, 1e9)))
            }
            return response
        }
    }

    /// The rules of the host of an address. Its `robots.txt` is fetched once.
    private func permission(for address: WebAddress) async throws -> Permission {
        let key = "\(address.scheme)://\(address.authority)"
        if let known = permissions.withLock({ $0[key] }) { return known }
        var current = address.robots
        var visited: [WebAddress] = []
        while true {
            let next: WebAddress? = try await gate.withTurn(at: current.authority, pause: .zero) {
                // Another request to the host may have fetched it while this one waited.
                if permissions.withLock({ $0[key] }) != nil { return nil }
                let found = try await permission(at: current, after: visited)
                switch found {
                case .success(let permission):
                    permissions.withLock { $0[key] = permission }
                    return nil
                case .failure(let redirect): return redirect.target
                }
            }
            guard let next else { break }
            visited.append(current)
            current = next
        }
        return permissions.withLock { $0[key] } ?? .rules(RobotsFile(""))
    }

    private struct Redirect: Error {
        var target: WebAddress
    }

    /// Requests `robots.txt` from one address. A client error means that there are no rules; a server error means that
    /// the host does not want requests.
    private func permission(
        at address: WebAddress,
        after visited: [WebAddress]
    ) async throws -> Result<Permission, Redirect> {
        let response: Response
        do {
            response = try await exchange(address, headers: [:], limit: RobotsFile.maximumSize, keepsStart: true)
        } catch let failure as FetchFailure {
            return .success(.failure(failure))
        }
        let verdict = ResponseRules.verdict(
            status: response.status,
            location: response.headers.first(name: "Location"),
            at: address,
            after: visited,
            limit: 5
        )
        switch verdict {
        case .document: return .success(.rules(RobotsFile(String(decoding: response.body, as: UTF8.self))))
        case .redirect(let target, _): return .failure(Redirect(target: target))
        case .failure(let failure) where (failure.status ?? 0) >= 500:
            let message =
                "\(address) answers with status \(response.status), so no further request is sent to the host."
            return .success(.failure(FetchFailure(.refusedByRobots, message, status: response.status)))
        case .failure, .notModified: return .success(.rules(RobotsFile("")))
        }
    }

    /// Sends a request and reads the response, within the limits of time and size.
    ///
    /// - Throws: ``FetchFailure``, or `CancellationError`.
    private func exchange(
        _ address: WebAddress,
        headers: HTTPHeaders,
        limit: Int,
        keepsStart: Bool = false
    ) async throws -> Response {
        var request = HTTPClientRequest(url: address.text)
        request.headers = headers
        request.headers.add(name: "User-Agent", value: configuration.userAgent)
        request.headers.add(name: "Accept-Encoding", value: "gzip, deflate")
        let prepared = request
        return try await withThrowingTaskGroup(of: Response?.self) { group in
            group.addTask {
                try await self.read(prepared, at: address, limit: limit, keepsStart: keepsStart)
            }
            group.addTask {
                try await self.timer.sleep(self.configuration.timeLimit)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let response = first else {
                let seconds = configuration.timeLimit / .seconds(1)
                throw FetchFailure(.timedOut, "\(address) did not answer within \(seconds) seconds.")
            }
            return response
        }
    }

    private func read(
        _ request: HTTPClientRequest,
        at address: WebAddress,
        limit: Int,
        keepsStart: Bool
    ) async throws -> Response {
        var head: HTTPClientResponse?
        do {
            // The task group enforces the time limit. This timeout only ends a connection after the task has ended.
            let response = try await client.execute(request, timeout: .hours(1))
            head = response
            var result = Response(status: Int(response.status.code), headers: response.headers, body: [])
            guard (200...299).contains(result.status) else { return result }
            for try await part in response.body {
                result.body += part.readableBytesView
                guard result.body.count > limit else { continue }
                guard keepsStart else { throw WebFetcher.tooLarge(address, limit: limit) }
                result.body.removeLast(result.body.count - limit)
                break
            }
            return result
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw WebFetcher.failure(error, at: address, hasHead: head != nil, limit: limit)
        }
    }

    private static func tooLarge(_ address: WebAddress, limit: Int) -> FetchFailure {
        FetchFailure(.tooLarge, "The response of \(address) has more than \(limit) bytes.")
    }

    private static func failure(
        _ error: any Error,
        at address: WebAddress,
        hasHead: Bool,
        limit: Int
    ) -> FetchFailure {
        switch error {
        case let failure as FetchFailure: return failure
        case NIOHTTPDecompression.DecompressionError.limit: return tooLarge(address, limit: limit)
        case is NIOHTTPDecompression.DecompressionError, is NIOHTTPDecompression.ExtraDecompressionError:
            return FetchFailure(.undecodable, "The compressed response of \(address) is damaged: \(error)")
        case let error as HTTPClientError where [.connectTimeout, .deadlineExceeded, .readTimeout].contains(error):
            return FetchFailure(.timedOut, "\(address) did not answer in time: \(error)")
        default: break
        }
        if hasHead { return FetchFailure(.truncated, "The response of \(address) ended early: \(error)") }
        return FetchFailure(.unreachable, "\(address) cannot be reached: \(error)")
    }
}

/// Creates a fetcher for the duration of a closure.
///
/// - Parameters:
///   - configuration: The behaviour of the fetcher towards hosts.
///   - clock: The clock of pauses.
///   - timer: The clock of the time limit of a request.
///   - now: Returns the current time, for a Retry-After that is a date.
///   - body: The closure that uses the fetcher.
/// - Returns: The result of the closure.
/// - Throws: The error of the closure.
public func withWebFetcher<Value>(
    _ configuration: FetchConfiguration,
    clock: any Clock<Duration> = ContinuousClock(),
    timer: any Clock<Duration> = ContinuousClock(),
    now: @escaping @Sendable () -> Date = { Date() },
    _ body: (WebFetcher) async throws -> Value
) async throws -> Value {
    var settings = HTTPClient.Configuration(
        redirectConfiguration: .disallow,
        decompression: .enabled(limit: .size(configuration.sizeLimit))
    )
    settings.connectionPool.idleTimeout = .seconds(5)
    // A host that refuses a connection now will refuse it in the next ten seconds, too.
    settings.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
    let fetcher = WebFetcher(client: client, configuration: configuration, clock: clock, timer: timer, now: now)
    do {
        let value = try await body(fetcher)
        try await client.shutdown()
        return value
    } catch {
        try? await client.shutdown()
        throw error
    }
}
