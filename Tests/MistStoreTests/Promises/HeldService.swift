import MistKit
import MistStore
import Synchronization

/// A way to the service on which a test holds the next change back.
final class HeldService: SyncService {
    private let service: any SyncService
    private let isArmed = Atomic(false)
    private let arrivals = AsyncStream<Void>.makeStream()
    private let releases = AsyncStream<Void>.makeStream()

    init(_ service: any SyncService) {
        self.service = service
    }

    /// Holds the next change back, before it reaches the service.
    func holdNextChange() { isArmed.store(true, ordering: .relaxed) }

    func waitForChange() async {
        for await _ in arrivals.stream { return }
    }

    func release() { releases.continuation.yield() }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        if case .modify = request, isArmed.exchange(false, ordering: .relaxed) {
            arrivals.continuation.yield()
            for await _ in releases.stream { break }
            try Task.checkCancellation()
        }
        return try await service.send(request, to: scope)
    }
}
