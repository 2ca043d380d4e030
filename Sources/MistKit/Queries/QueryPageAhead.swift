import CloudKitWebServices
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
            /// Where the successor begins, until it is sent for.
            var nextMarker: String?
            var successor: QueryPageAhead?

            /// The marker of the successor, if it is to be sent for now; it is told once.
            mutating func takeMarker() -> String? {
                isAwaited ? nextMarker.take() : nil
            }
        }

        private let fetch: Fetch
        private let state = Mutex(State())

        init(_ fetch: @escaping Fetch) {
            self.fetch = fetch
        }

        var successor: QueryPageAhead? { state.withLock { $0.successor } }

        /// The page has come. Before this returns, the request for the next one is on its way, where that can be.
        func arrived(nextMarker: String?) {
            let next = state.withLock { state in
                state.nextMarker = nextMarker
                return state.takeMarker()
            }
            if let next { sendForSuccessor(after: next, startsHere: true) }
        }

        /// Somebody waits for the page.
        func isWaitedFor() {
            let next = state.withLock { state in
                state.isAwaited = true
                return state.takeMarker()
            }
            if let next { sendForSuccessor(after: next, startsHere: false) }
        }

        private func sendForSuccessor(after marker: String, startsHere: Bool) {
            let successor = QueryPageAhead(after: marker, startsHere: startsHere, fetch)
            state.withLock { $0.successor = successor }
        }
    }

    /// Where the page begins.
    let marker: String
    private let handover: Handover
    private let page: PageAhead<RecordPage<Model>>

    /// Starts to fetch.
    ///
    /// - Parameters:
    ///   - marker: Where the page begins.
    ///   - startsHere: Whether the present thread brings the request on its way.
    ///   - isFollowed: Whether the successor is sent for as soon as the page has come.
    ///   - fetch: Fetches a page.
    init(after marker: String, startsHere: Bool = false, isFollowed: Bool = true, _ fetch: @escaping Fetch) {
        let handover = Handover(fetch)
        self.marker = marker
        self.handover = handover
        page = PageAhead(startsHere: startsHere) { () async throws(CloudKitError) in
            let arrival = try await fetch(marker)
            handover.arrived(nextMarker: !isFollowed || arrival.marker == marker ? nil : arrival.marker)
            return try arrival.read()
        }
    }

    /// Waits for the page.
    ///
    /// - Returns: The page, and the one after it if that is on its way.
    /// - Throws: The error of the request; a task that is cancelled does not get the page any more.
    func take() async throws(CloudKitError) -> (page: RecordPage<Model>, successor: QueryPageAhead?) {
        handover.isWaitedFor()
        return (try await page.page(of: Operations.QueryRecords.id), handover.successor)
    }
}
