/// The elements of a listing, fetched page by page as they are asked for.
///
/// ```swift
/// for try await tasting in peated.feed().prefix(30) { … }
/// // GET /v1/feed?filter=global, then GET /v1/feed?filter=global&cursor=… if 30 were not on the first page
/// ```
public struct Pages<Element: Sendable>: AsyncSequence, Sendable {
    /// What fetching a page can fail with.
    public typealias Failure = PeatedError

    typealias Load = @Sendable (_ cursor: String?) async throws -> (elements: [Element], next: String?)

    private let load: Load

    init(load: @escaping Load) {
        self.load = load
    }

    /// Where in the listing one reader is.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let load: Load
        private var page: ArraySlice<Element> = []
        private var cursor: String?
        private var isLastPage = false

        fileprivate init(load: @escaping Load) {
            self.load = load
        }

        /// The next element, from a new page if the last one is at its end.
        public mutating func next() async throws(PeatedError) -> Element? {
            while page.isEmpty, !isLastPage {
                let (load, cursor) = (load, cursor)
                let loaded = try await PeatedError.wrap { try await load(cursor) }
                page = loaded.elements[...]
                // A service that sends the same cursor again would keep this loop running forever.
                isLastPage = loaded.next == nil || loaded.next == cursor
                self.cursor = loaded.next
            }
            return page.popFirst()
        }
    }

    /// Begins at the first page.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(load: load)
    }
}
