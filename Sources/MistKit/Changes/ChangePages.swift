/// The pages of a change feed, fetched one after the other while you go through them.
///
/// ```swift
/// for try await page in database.changes(inZone: notes, since: token) {
///     store(page.changedRecords)
///     remove(page.deletedRecords)
///     token = page.token    // store this together with the records: it says that they were seen
/// }
/// ```
///
/// The sequence ends when nothing more waits at the moment. Each page has the token to go on from, so it may be left
/// at any page. Pages can be empty while more is coming; the service does that.
public struct ChangePages<Page: ChangePage>: AsyncSequence, Sendable {
    let operation: String
    let startToken: Page.Token?
    let fetchPage: @Sendable (_ token: Page.Token?) async throws(CloudKitError) -> Page

    /// Starts to go through the pages; the first one is fetched when it is asked for.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(pages: self, state: .after(startToken))
    }

    /// Goes through the pages.
    public struct Iterator: AsyncIteratorProtocol {
        enum State {
            case after(Page.Token?)
            /// The last page said that the next one begins where it did itself.
            case stuck
            case finished
        }

        let pages: ChangePages
        var state: State

        /// Fetches the next page.
        ///
        /// - Parameter actor: Where the caller runs.
        /// - Returns: The page, which may be empty; `nil` when nothing more waits.
        /// - Throws: The error of the request; there are no further pages after it.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(CloudKitError) -> Page? {
            let token: Page.Token?
            switch state {
            case .after(let next): token = next
            case .stuck:
                state = .finished
                throw .endlessPages(operation: pages.operation)
            case .finished: return nil
            }
            state = .finished
            if Task.isCancelled { throw .cancelled(operation: pages.operation) }
            let page = try await pages.fetchPage(token)
            if page.moreComing {
                if page.token != token {
                    state = .after(page.token)
                } else if page.isEmpty {
                    throw .endlessPages(operation: pages.operation)
                } else {
                    state = .stuck
                }
            }
            return page
        }
    }
}

/// A page of a change feed: ``ZoneChanges`` or ``DatabaseChanges``.
public protocol ChangePage: Sendable {
    /// How far somebody followed the feed.
    associatedtype Token: Hashable & Sendable

    /// Where the next page begins.
    var token: Token { get }

    /// Whether the service has more now.
    var moreComing: Bool { get }

    /// Whether the page says nothing but where to go on.
    var isEmpty: Bool { get }
}
