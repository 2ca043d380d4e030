/// The pages of a change feed, each fetched while you work on the one before it.
///
/// ```swift
/// for try await page in database.changes(inZone: notes, since: token) {
///     store(page.changedRecords)
///     remove(page.deletedRecords)
///     token = page.token    // store this together with the records: it says that they were seen
/// }
/// ```
///
/// The sequence ends when the service has no more changes at the moment. Each page has the token to continue from, so
/// you may leave the loop at any page. The service may send empty pages while more changes are coming.
///
/// The first page is fetched when the loop asks for it, and the next page as soon as the loop gets a page. Leaving the
/// loop cancels the request for the next page. A cancelled task gets ``CloudKitError/Code-swift.struct/cancelled`` at
/// once.
public struct ChangePages<Page: ChangePage>: AsyncSequence, Sendable {
    private let makeNext: @Sendable () -> Iterator.Next

    /// Pages of a feed whose position may be more than a token.
    init<Position>(_ source: PageSource<Page, Position>) {
        makeNext = {
            let reader = PageReader(source)
            return { () async throws(CloudKitError) in try await reader.next() }
        }
    }

    /// Pages of a feed in which each page begins at the token of the page before.
    init(
        operation: String,
        startToken: Page.Token?,
        fetchPage: @escaping @Sendable (_ token: Page.Token?) async throws(CloudKitError) -> Page
    ) {
        self.init(
            PageSource<Page, Page.Token?>(operation: operation, start: startToken) {
                (token) async throws(CloudKitError) in
                let page = try await fetchPage(token)
                return ArrivedPage { () throws(CloudKitError) in
                    (page, page.moreComing ? .some(page.token) : nil, page.isEmpty)
                }
            }
        )
    }

    /// Starts to go through the pages; the first one is fetched when it is asked for.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(nextPage: makeNext())
    }

    /// Goes through the pages.
    public struct Iterator: AsyncIteratorProtocol {
        typealias Next = () async throws(CloudKitError) -> Page?

        let nextPage: Next

        /// Waits for the next page.
        ///
        /// - Parameter actor: The actor that the caller runs on.
        /// - Returns: The page, which may be empty; `nil` when the service has no more changes.
        /// - Throws: A ``CloudKitError``: the error of the request; there are no further pages after it.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Page? {
            try await nextPage()
        }
    }
}

/// A page of a change feed: ``ZoneChanges``, ``TypedZoneChanges``, ``MultipleZoneChanges`` or ``DatabaseChanges``.
public protocol ChangePage: Sendable {
    /// How far a program has followed the feed.
    associatedtype Token: Hashable & Sendable

    /// Where the next page begins.
    var token: Token { get }

    /// Whether the service has more changes now.
    var moreComing: Bool { get }

    /// Whether the page has a token and nothing else.
    var isEmpty: Bool { get }
}
