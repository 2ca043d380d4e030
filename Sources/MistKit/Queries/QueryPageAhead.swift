import Synchronization

/// A page of a query that is fetched and read while somebody works on the one before it.
///
/// Once it has come and somebody waits for it, its successor is sent for: before it is taken apart, where its marker stands at the edge of
/// the response. Whoever drops it, or is cancelled while waiting for it, ends its request and that of its successor.
final class QueryPageAhead<Model: Sendable>: Sendable {
    typealias Fetch = @Sendable (_ marker: String?) async throws(CloudKitError) -> RecordSequence<Model>.Arrival

    /// What the task that fetches the page and the loop that waits for it tell each other.
    private final class Handover: Sendable {
        private struct State {
            var isAwaited = false
            var nextMarker: String?
            var successor: QueryPageAhead?
        }

        private let fetch: Fetch
        private let state = Mutex(State())

        init(_ fetch: @escaping Fetch) {
            self.fetch = fetch
        }

        var successor: QueryPageAhead? { state.withLock { $0.successor } }

        /// The page has come.
        func arrived(nextMarker: String?) {
            state.withLock { state in
                state.nextMarker = nextMarker
                sendForSuccessor(&state)
            }
        }

        /// Somebody waits for the page.
        func await() {
            state.withLock { state in
                state.isAwaited = true
                sendForSuccessor(&state)
            }
        }

        private func sendForSuccessor(_ state: inout State) {
            guard state.isAwaited, state.successor == nil, let next = state.nextMarker else { return }
            state.successor = QueryPageAhead(after: next, fetch)
        }
    }

    /// Where the page begins.
    let marker: String
    private let handover: Handover
    private let task: Task<Result<RecordPage<Model>, CloudKitError>, Never>

    /// Starts to fetch.
    init(after marker: String, _ fetch: @escaping Fetch) {
        let handover = Handover(fetch)
        self.marker = marker
        self.handover = handover
        task = Task {
            do throws(CloudKitError) {
                let arrival = try await fetch(marker)
                handover.arrived(nextMarker: arrival.marker == marker ? nil : arrival.marker)
                return .success(try arrival.read())
            } catch {
                return .failure(error)
            }
        }
    }

    deinit {
        task.cancel()
    }

    /// Waits for the page.
    ///
    /// - Returns: The page, and the one after it if that is on its way.
    /// - Throws: The error of the request; a task that is cancelled does not get the page any more.
    func take() async throws(CloudKitError) -> (page: RecordPage<Model>, successor: QueryPageAhead?) {
        handover.await()
        let task = task
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        if Task.isCancelled { throw .cancelled(operation: "queryRecords") }
        return (try result.get(), handover.successor)
    }
}
