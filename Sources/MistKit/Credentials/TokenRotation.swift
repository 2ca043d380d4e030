import HTTPTypes
import Synchronization

/// A web authentication token that every response may replace.
final class TokenRotation: Sendable {
    private struct State {
        var token: Secret?
        /// Grows when the person changes, not when the token rotates.
        var session: UInt64 = 1
    }

    private let state: Mutex<State>

    init(_ token: Secret?) {
        state = Mutex(State(token: token))
    }

    var current: (token: Secret?, session: UInt64) {
        state.withLock { ($0.token, $0.session) }
    }

    func replace(with token: Secret?) {
        state.withLock {
            $0.token = token
            $0.session += 1
        }
    }

    /// Adopts the token of a response, unless the person changed since the request was sent. The service accepts
    /// earlier tokens of the same person too, so the order of answers to requests at the same time does not matter.
    ///
    /// CloudKit JS reads both header fields, and adopts a token only where it held one.
    func adopt(from response: HTTPResponse, session: UInt64) {
        guard
            let text = response.headerFields[.webAuthToken] ?? response.headerFields[.cloudKitSession],
            !text.isEmpty
        else { return }
        let token = Secret(text)
        state.withLock {
            guard $0.session == session, $0.token != nil else { return }
            $0.token = token
        }
    }
}

extension HTTPField.Name {
    static let webAuthToken = Self("X-Apple-CloudKit-Web-Auth-Token")!
    static let cloudKitSession = Self("X-Apple-CloudKit-Session")!
}
