import Foundation
import MistStore
import Synchronization

/// The network between a device and the service. It counts requests and changes, and fails on demand.
final class DemoNetwork: ForwardingSyncService {
    enum Failure: Hashable {
        /// No request gets through.
        case offline
        /// The next changes reach the service, and the reply is lost.
        case lostReply
        /// The next changes reach the service, and the process dies before it has the reply.
        case killedProcess
    }

    private struct State {
        var failure: Failure?
        var requests = 0
        var changes = 0
    }

    let target: CloudKitService
    private let state: Mutex<State>

    init(_ service: CloudKitService, failure: Failure? = nil) {
        target = service
        state = Mutex(State(failure: failure))
    }

    /// The next failure.
    var failure: Failure? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// The number of requests that reached the service.
    var requests: Int { state.withLock { $0.requests } }

    /// The number of records that the requests created, changed or deleted.
    var changes: Int { state.withLock { $0.changes } }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        guard failure != .offline else {
            throw CloudKitError(code: .network, message: "The device is offline.")
        }
        let reply = try await target.send(request, to: scope)
        let failure = state.withLock { state -> Failure? in
            state.requests += 1
            guard case .modify(let operations, _, _) = request else { return nil }
            state.changes += operations.count
            defer { state.failure = nil }
            return state.failure
        }
        switch failure {
        case .lostReply:
            var error = CloudKitError(code: .network, message: "The reply was lost.")
            error.mayHaveBeenDone = true
            throw error
        case .killedProcess:
            kill(getpid(), SIGKILL)
            return reply
        case .offline, nil: return reply
        }
    }
}
