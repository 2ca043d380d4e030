/// The elements of a listing, fetched page by page as they are asked for.
///
/// ```swift
/// for try await tasting in peated.feed().prefix(30) { … }
/// // GET /v1/feed?filter=global, then GET /v1/feed?filter=global&cursor=… if 30 were not on the first page
/// ```
public struct Pages<Element: Sendable>: AsyncSequence, Sendable {
    /// The error of a page that cannot be fetched.
    public typealias Failure = PeatedError

    typealias Load = @Sendable (_ cursor: String?) async throws -> (elements: [Element], next: String?)

    private let load: Load

    init(load: @escaping Load) {
        self.load = load
    }

    /// The position of one reader in the listing.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let load: Load
        private var page: ArraySlice<Element> = []
        private var cursor: String?
        private var isLastPage = false

        fileprivate init(load: @escaping Load) {
            self.load = load
        }

        /// The next element. If the current page is at its end, the next page is fetched.
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
