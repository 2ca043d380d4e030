package import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Decides which browsers may use the console's page.
///
/// The browser of the person who started the server opens the printed address, which has a secret. The answer replaces
/// the secret by a cookie and leads to the address without it, so that it stays in no history. Where other machines
/// reach the server, a password takes the place of the secret.
///
/// Every web page that the person visits can send requests to this machine, so the cookie alone is no proof. It is
/// `SameSite=Strict`, but a page on another port of this machine counts as the same site. So a request also has to say
/// that it comes from the page's own origin, in fields that a page cannot change.
package final class PageAccess: Sendable {
    private struct State {
        /// The value of the cookie.
        var session = StartSecret()
        /// The secret of an address that is opened once.
        var singleUse: StartSecret?
        var minute: Int64 = 0
        var wrongPasswords = 0
    }

    /// The secret of the printed address. Where there is a password, it opens nothing.
    package let secret = StartSecret()
    private let password: String?
    private let state = Mutex(State())

    /// - Parameter password: What a person gives to use the page; `nil` lets the printed address do.
    package init(password: String? = nil) {
        self.password = password
    }

    /// Whether a session is opened with a password.
    package var needsPassword: Bool { password != nil }

    /// The number of wrong passwords in a minute after which every attempt is refused.
    private static let maximumAttempts = 10

    /// The result of giving a password.
    package enum Attempt {
        /// The value of `Set-Cookie`.
        case opened(cookie: String)
        case wrong
        /// There were too many wrong passwords within the minute.
        case tooMany
    }

    /// Opens a session with a password.
    package func open(password given: String, for request: HTTPRequest, at time: Date) -> Attempt {
        guard let password else { return .wrong }
        let minute = Int64((time.timeIntervalSince1970 / 60).rounded(.down))
        return state.withLock { state in
            if state.minute != minute { (state.minute, state.wrongPasswords) = (minute, 0) }
            guard state.wrongPasswords < Self.maximumAttempts else { return .tooMany }
            guard Array(given.utf8).isEqual(inConstantTimeTo: Array(password.utf8)) else {
                state.wrongPasswords += 1
                return .wrong
            }
            return .opened(cookie: Self.cookie(state.session, for: request))
        }
    }

    /// Opens a session with the secret of the printed address.
    ///
    /// - Returns: The value of `Set-Cookie`; `nil` for another secret, and where a password is needed.
    package func open(secret given: String, for request: HTTPRequest) -> String? {
        guard password == nil else { return nil }
        return state.withLock { state in
            let isSingleUse = state.singleUse?.isEqual(to: given) == true
            guard isSingleUse || secret.isEqual(to: given) else { return nil }
            if isSingleUse { state.singleUse = nil }
            return Self.cookie(state.session, for: request)
        }
    }

    /// Makes a secret that opens a session once. The command line of the browser shows it to other users of the machine.
    package func makeSingleUseSecret() -> StartSecret {
        state.withLock { state in
            let secret = StartSecret()
            state.singleUse = secret
            return secret
        }
    }

    /// The cookie of a session, as the value of `Set-Cookie`, for a browser that has given the password.
    func cookie(for request: HTTPRequest) -> String {
        state.withLock { Self.cookie($0.session, for: request) }
    }

    /// Makes all cookies invalid.
    package func close() {
        state.withLock { $0.session = StartSecret() }
    }

    /// Whether a request carries the cookie of a session and comes from the page.
    package func isOpen(for request: HTTPRequest) -> Bool {
        guard request.comesFromOwnPage else { return false }
        let name = Self.cookieName(for: request)
        let session = state.withLock { $0.session }
        return request.headerFields[values: .cookie].contains { field in
            field.split(separator: ";").contains { part in
                let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                return pair.count == 2 && pair[0] == name && session.isEqual(to: String(pair[1]))
            }
        }
    }

    /// Browsers do not tell the ports of a host apart, so two emulators would overwrite each other's cookie.
    private static func cookieName(for request: HTTPRequest) -> String {
        "mistkit-console-\(request.authority.flatMap { HostName($0)?.port } ?? 80)"
    }

    private static func cookie(_ session: StartSecret, for request: HTTPRequest) -> String {
        "\(cookieName(for: request))=\(session.revealDigits()); Path=/; HttpOnly; SameSite=Strict"
    }
}

extension HTTPRequest {
    /// Whether the browser says that the server's own page sent the request.
    ///
    /// Browsers send `Origin` with every request that is not GET or HEAD, and `Sec-Fetch-Site` with all. A request that
    /// only reads may lack both, as that of an old browser does.
    package var comesFromOwnPage: Bool {
        let isRead = method == .get || method == .head
        let site = headerFields[.secFetchSite]
        if let site, site != "same-origin", !(isRead && site == "none") { return false }
        if let origin = headerFields[.origin] { return goes(toOrigin: origin) }
        return isRead || site == "same-origin"
    }
}

extension [UInt8] {
    /// Whether two texts are equal. How long it takes does not depend on where they differ.
    package func isEqual(inConstantTimeTo other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        return zip(self, other).reduce(into: 0 as UInt8) { $0 |= $1.0 ^ $1.1 } == 0
    }
}
