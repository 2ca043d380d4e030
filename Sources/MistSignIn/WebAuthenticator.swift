public import CloudKitModel
public import MistKit

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Gets a person to sign in, in a browser, for a program that has no web page of its own.
///
/// ```swift
/// import MistKit
/// import MistSignIn
///
/// let manager = AdaptiveTokenManager(apiToken: apiToken, storage: .file("session.json"))
/// let service = CloudKitService(containerIdentifier: "iCloud.com.example", tokenManager: manager)
/// let person = try await WebAuthenticator().signIn(manager, to: service)
/// // GET /database/1/iCloud.com.example/development/public/users/caller?ckAPIToken=...
/// //   421 AUTHENTICATION_REQUIRED, "redirectURL": "https://idmsa.apple.com/..."
/// // a browser opens at http://127.0.0.1:49152/..., the person signs in, and the token is stored
/// // GET /database/1/iCloud.com.example/development/public/users/caller?ckAPIToken=...&ckWebAuthToken=...
/// ```
///
/// To have it happen by itself when a request first needs a person, give ``webAuthToken(from:)`` to the manager:
///
/// ```swift
/// let manager = AdaptiveTokenManager(apiToken: apiToken, storage: .file("session.json")) { url in
///     try await WebAuthenticator().webAuthToken(from: url)
/// }
/// ```
///
/// ## How the token comes back
///
/// The CloudKit console asks for it when an API token is made, and ``Callback`` must say the same. Either way the
/// program listens on the loopback interface while it waits, and on nothing else.
///
/// - *Post Message*: the browser shows a page of the program with one button, which opens the service's page in a
///   second window. That window posts the token to the first, which hands it on. Any free port will do, as long as the
///   API token allows every domain.
/// - *URL Redirect*: the service's page sends the browser to the address that was given in the console, such as
///   `http://127.0.0.1:8642/signed-in`. The program listens at this very port.
///
/// ## What keeps others out
///
/// The address that is opened holds a random number of 128 bits, which the browser brings back in a cookie or with what
/// the page hands on. What comes without it is refused, and the wait goes on: neither another page in the browser nor
/// another program on the machine can slip in a token of its own. Requests for another host name are refused too.
///
/// ## Topics
///
/// ### Making one
/// - ``init(callback:timeout:clock:open:)``
/// - ``Callback``
///
/// ### Signing in
/// - ``signIn(_:to:)``
/// - ``webAuthToken(from:)``
/// - ``openInBrowser(_:)``
public struct WebAuthenticator: Sendable {
    /// How the API token has the web authentication token come back.
    public enum Callback: Hashable, Sendable {
        /// By a message to the page that opened the service's: "Post Message" in the console.
        ///
        /// - Parameter port: The port to listen on; 0 takes a free one.
        case postMessage(port: Int = 0)
        /// By the address to which the service's page sends the browser: "URL Redirect" in the console.
        ///
        /// - Parameter url: The address, as it stands in the console: `http`, a port, and the host `127.0.0.1` or
        ///   `localhost`.
        case redirect(to: URL)
    }

    private let callback: Callback
    private let timeout: Duration
    private let clock: any Clock<Duration>
    private let open: @Sendable (URL) async throws -> Void

    /// Makes one; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - callback: How the token comes back.
    ///   - timeout: How long to wait for the person. The service's page is good for about 15 minutes.
    ///   - clock: What the wait is measured with.
    ///   - open: Shows a person an address of this machine; by default the system's browser does. On a machine without
    ///     one, print the address.
    public init(
        callback: Callback = .postMessage(),
        timeout: Duration = .seconds(300),
        clock: any Clock<Duration> = ContinuousClock(),
        open: @escaping @Sendable (URL) async throws -> Void = { try WebAuthenticator.openInBrowser($0) }
    ) {
        self.callback = callback
        self.timeout = timeout
        self.clock = clock
        self.open = open
    }

    /// Signs a person in, unless one is.
    ///
    /// It asks the service who the caller is. Where the answer is that a person is needed, it gets one to sign in,
    /// gives the token to the manager, which stores it, and asks once more.
    ///
    /// - Parameters:
    ///   - manager: The credentials of the service.
    ///   - service: The service.
    /// - Returns: Who the person is to the service.
    /// - Throws: A `CloudKitError`: `CloudKitError.Code.signInFailed` if the user did not sign in;
    ///   `CloudKitError.Code.authenticationFailed` for an API token that is not registered; any error of
    ///   a request.
    @discardableResult
    public func signIn(
        _ manager: AdaptiveTokenManager,
        to service: CloudKitService
    ) async throws -> UserIdentity {
        do {
            return try await service.fetchCaller()
        } catch let error as CloudKitError where error.code == .authenticationRequired {
            guard let url = error.redirectURL.flatMap({ URL(string: $0) }) else { throw error }
            try await manager.signIn(webAuthToken: try await webAuthToken(from: url))
            return try await service.fetchCaller()
        }
    }

    /// Gets a person to sign in at an address of the service.
    ///
    /// When this returns or throws, nothing listens any more.
    ///
    /// - Parameter signInURL: The `CloudKitError.redirectURL` of the error
    ///   `CloudKitError.Code.authenticationRequired`.
    /// - Returns: The web authentication token, for `AdaptiveTokenManager.signIn(webAuthToken:)`.
    /// - Throws: A `CloudKitError`: `CloudKitError.Code.signInFailed` when the page was refused, the
    ///   time is over, no browser opened or the port is taken; `CloudKitError.Code.invalidArgument` for
    ///   a callback that cannot reach this machine; `CloudKitError.Code.cancelled`.
    public func webAuthToken(from signInURL: URL) async throws -> String {
        do {
            return try await receiveToken(from: signInURL)
        } catch let error as CloudKitError {
            throw error
        } catch is CancellationError {
            throw CloudKitError(code: .cancelled, message: "The task was cancelled while a person was to sign in.")
        } catch {
            throw CloudKitError(code: .signInFailed, message: "The sign-in page could not be opened.", cause: error)
        }
    }

    private func receiveToken(from signInURL: URL) async throws -> String {
        let place = try SignInCallbackPlace(callback)
        let state = SignInConversation.newState()
        let (outcomes, continuation) = AsyncStream<SignInConversation.Outcome>.makeStream()
        let outcome = try await LoopbackServer.run(host: place.host, port: place.port) { port in
            SignInConversation(signInURL: signInURL.absoluteString, place: place.at(port: port), state: state)
        } onOutcome: {
            continuation.yield($0)
        } whileRunning: { conversation in
            try await open(conversation.startURL)
            return try await withThrowingTaskGroup { group in
                group.addTask {
                    for await outcome in outcomes { return outcome }
                    throw CancellationError()
                }
                group.addTask { [timeout, clock] in
                    try await clock.sleep(for: timeout)
                    throw CloudKitError(
                        code: .signInFailed,
                        message: "The user did not sign in within \(timeout). Start again when the user is ready."
                    )
                }
                defer { group.cancelAll() }
                guard let first = try await group.next() else { throw CancellationError() }
                return first
            }
        }
        switch outcome {
        case .token(let token): return token.revealed
        case .refused(let reason):
            // The two that CloudKit JS knows.
            let explanation =
                switch reason {
                case "accessError": "The person declined, or may not use this container."
                default: "The sign-in page gave up."
                }
            throw CloudKitError(code: .signInFailed, message: "\(explanation) It said: \(reason).")
        }
    }
}

/// Where the browser brings the token.
struct SignInCallbackPlace {
    var host: String
    var port: Int
    var path: String
    /// Whether the first page opens the service's in a second window, or leads there itself.
    var opensPopup: Bool

    init(_ callback: WebAuthenticator.Callback) throws(CloudKitError) {
        switch callback {
        case .postMessage(let port):
            guard (0...65535).contains(port) else {
                throw CloudKitError(code: .invalidArgument, message: "A port is from 0 to 65535, not \(port).")
            }
            (host, self.port, path, opensPopup) = ("127.0.0.1", port, "/signed-in", true)
        case .redirect(let url):
            guard
                url.scheme?.lowercased() == "http",
                let host = url.host()?.lowercased(), host == "127.0.0.1" || host == "localhost",
                let port = url.port
            else {
                throw CloudKitError(
                    code: .invalidArgument,
                    message: """
                        The callback \(url.absoluteString) does not lead to this program. Give the API token one such as \
                        http://127.0.0.1:8642/signed-in in the CloudKit console, and the same here; or have it post a message.
                        """
                )
            }
            let path = url.path(percentEncoded: true)
            (self.host, self.port, self.path, opensPopup) = (host, port, path.isEmpty ? "/" : path, false)
        }
    }

    func at(port: Int) -> SignInCallbackPlace {
        var place = self
        place.port = port
        return place
    }
}
