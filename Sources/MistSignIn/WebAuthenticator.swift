public import CloudKitModel
public import MistKit

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Lets a person sign in with a browser, for a program without its own web page.
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
/// To sign a person in automatically when a request first needs a person, call ``webAuthToken(from:)`` in the manager's
/// closure:
///
/// ```swift
/// let manager = AdaptiveTokenManager(apiToken: apiToken, storage: .file("session.json")) { url in
///     try await WebAuthenticator().webAuthToken(from: url)
/// }
/// ```
///
/// ## How the token comes back
///
/// When you make an API token, you choose one of two ways in the CloudKit console; ``Callback`` must be the same. In
/// both ways the program listens only on the loopback interface, and only while it waits.
///
/// - *Post Message*: the browser shows a page of the program with one button, which opens the service's page in a
///   second window. The second window posts the token to the first, which sends it to the program. The port can be any
///   free port, if the API token allows every domain.
/// - *URL Redirect*: the service's page sends the browser to the address that you entered in the console, such as
///   `http://127.0.0.1:8642/signed-in`. The program listens on the port of this address.
///
/// ## Protection against other tokens
///
/// The address that the browser opens contains a random number of 128 bits. The browser sends this number back in a
/// cookie, or in the address to which the page sends the token. A request without the number is refused, and the wait
/// continues. So no other page in the browser and no other program on the machine can pass in another token. Requests
/// for another host name are refused, too.
///
/// ## Topics
///
/// ### Making an authenticator
/// - ``init(callback:timeout:clock:open:)``
/// - ``Callback``
///
/// ### Signing in
/// - ``signIn(_:to:)``
/// - ``webAuthToken(from:)``
/// - ``openInBrowser(_:)``
public struct WebAuthenticator: Sendable {
    /// The way in which the web authentication token comes back, as it is set for the API token.
    public enum Callback: Hashable, Sendable {
        /// By a message to the page that opened the service's page: "Post Message" in the console.
        ///
        /// - Parameter port: The port to listen on; 0 means any free port.
        case postMessage(port: Int = 0)
        /// By the address to which the service's page sends the browser: "URL Redirect" in the console.
        ///
        /// - Parameter url: The address as in the console: `http`, a port, and the host `127.0.0.1` or `localhost`.
        case redirect(to: URL)
    }

    private let callback: Callback
    private let timeout: Duration
    private let clock: any Clock<Duration>
    private let open: @Sendable (URL) async throws -> Void

    /// Makes an authenticator; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - callback: How the token comes back.
    ///   - timeout: The time to wait for the person, by default 5 minutes. The service's page is valid for about 15
    ///     minutes.
    ///   - clock: The clock that measures the timeout.
    ///   - open: Shows a person an address of this machine, by default in the system's browser. On a machine without a
    ///     browser, print the address.
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

    /// Signs a person in, unless a person is signed in already.
    ///
    /// The method fetches the caller from the service. If the service requires a person, the method lets a person sign
    /// in, gives the token to the manager, which stores it, and fetches the caller again.
    ///
    /// - Parameters:
    ///   - manager: The credentials of the service.
    ///   - service: The service.
    /// - Returns: The identity of the person.
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

    /// Lets a person sign in at an address of the service.
    ///
    /// When this method returns or throws, the program does not listen any more.
    ///
    /// - Parameter signInURL: The `CloudKitError.redirectURL` of the error
    ///   `CloudKitError.Code.authenticationRequired`.
    /// - Returns: The web authentication token, for `AdaptiveTokenManager.signIn(webAuthToken:)`.
    /// - Throws: A `CloudKitError`: `CloudKitError.Code.signInFailed` when the sign-in page reports a refusal, the time
    ///   is over, no browser opened or the port is in use; `CloudKitError.Code.invalidArgument` for a callback that
    ///   cannot reach this machine; `CloudKitError.Code.cancelled`.
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
        let address = try SignInCallbackAddress(callback)
        let state = SignInConversation.newState()
        let (outcomes, continuation) = AsyncStream<SignInConversation.Outcome>.makeStream()
        let outcome = try await LoopbackServer.run(host: address.host, port: address.port) { port in
            SignInConversation(signInURL: signInURL.absoluteString, callback: address.at(port: port), state: state)
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
            // CloudKit JS distinguishes these two cases.
            let explanation =
                switch reason {
                case "accessError": "The user declined, or may not use this container."
                default: "The sign-in page could not sign the user in."
                }
            throw CloudKitError(code: .signInFailed, message: "\(explanation) Its error is \(reason).")
        }
    }
}

/// The address to which the browser brings the token.
struct SignInCallbackAddress {
    var host: String
    var port: Int
    var path: String
    /// Whether the first page opens the service's page in a second window. If not, it redirects to the service's page.
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

    func at(port: Int) -> SignInCallbackAddress {
        var address = self
        address.port = port
        return address
    }
}
