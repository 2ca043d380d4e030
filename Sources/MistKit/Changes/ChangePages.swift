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
/// The sequence ends when nothing more waits at the moment. Each page has the token to go on from, so it may be left
/// at any page. Pages can be empty while more is coming; the service does that.
///
/// The first page is fetched when it is asked for, the next one as soon as a page is handed over. A loop that is left takes the
/// request for the next page with it, and a cancelled task gets ``CloudKitError/Code-swift.struct/cancelled`` at once.
public struct ChangePages<Page: ChangePage>: AsyncSequence, Sendable {
    /// A page, and what comes after it.
    struct Step: Sendable {
        enum Next: Sendable {
            case nothing
            case page(@Sendable () async throws(CloudKitError) -> Step)
            /// The page says that the next one begins where it did itself.
            case stuck
        }

        var page: Page
        var next: Next
    }

    let operation: String
    let firstStep: @Sendable () async throws(CloudKitError) -> Step

    init(operation: String, firstStep: @escaping @Sendable () async throws(CloudKitError) -> Step) {
        self.operation = operation
        self.firstStep = firstStep
    }

    /// Pages each of which begins at the token of the one before.
    init(
        operation: String,
        startToken: Page.Token?,
        fetchPage: @escaping @Sendable (_ token: Page.Token?) async throws(CloudKitError) -> Page
    ) {
        self.init(operation: operation) { () async throws(CloudKitError) in
            try await Self.step(after: startToken, of: operation, fetchPage)
        }
    }

    private static func step(
        after token: Page.Token?,
        of operation: String,
        _ fetchPage: @escaping @Sendable (Page.Token?) async throws(CloudKitError) -> Page
    ) async throws(CloudKitError) -> Step {
        let page = try await fetchPage(token)
        guard page.moreComing else { return Step(page: page, next: .nothing) }
        let next = page.token
        if next == token {
            if page.isEmpty { throw .endlessPages(operation: operation) }
            return Step(page: page, next: .stuck)
        }
        return Step(
            page: page,
            next: .page { () async throws(CloudKitError) in try await step(after: next, of: operation, fetchPage) }
        )
    }

    /// Starts to go through the pages; the first one is fetched when it is asked for.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(pages: self)
    }

    /// Goes through the pages.
    public struct Iterator: AsyncIteratorProtocol {
        enum State {
            case start
            case ahead(PageAhead<Step>)
            case stuck
            case finished
        }

        let pages: ChangePages
        var state = State.start

        /// Waits for the next page.
        ///
        /// - Parameter actor: Where the caller runs.
        /// - Returns: The page, which may be empty; `nil` when nothing more waits.
        /// - Throws: A ``CloudKitError``: the error of the request; there are no further pages after it.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Page? {
            let present = state
            state = .finished
            if case .finished = present { return nil }
            if Task.isCancelled { throw CloudKitError.cancelled(operation: pages.operation) }
            let step: Step
            switch present {
            case .start: step = try await pages.firstStep()
            case .ahead(let ahead): step = try await ahead.page(of: pages.operation)
            case .stuck: throw CloudKitError.endlessPages(operation: pages.operation)
            case .finished: return nil
            }
            switch step.next {
            case .nothing: break
            case .page(let fetch): state = .ahead(PageAhead(fetch))
            case .stuck: state = .stuck
            }
            return step.page
        }
    }
}

/// A page of a change feed: ``ZoneChanges``, ``TypedZoneChanges``, ``MultipleZoneChanges`` or ``DatabaseChanges``.
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
