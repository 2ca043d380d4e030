import CloudKitWebServices

/// The records that match a query, fetched page by page while you go through them.
///
/// ```swift
/// for try await note in database.records(matching: query) {
///     print(note["title"]?.stringValue ?? "")
/// }
/// // POST .../records/query  {"query":{"recordType":"Note"}}
/// // POST .../records/query  {"query":{"recordType":"Note"},"continuationMarker":"EgY..."}   after 200 records
/// ```
///
/// While you work on the records of a page, the next page is fetched and read, but no page after it. So at most two
/// pages are in memory. Leaving the loop cancels the request that is under way.
///
/// A second loop over the sequence queries the service again. A cancelled task gets
/// ``CloudKitError/Code-swift.struct/cancelled`` at the next record, or at once while it waits for a page.
///
/// ## Topics
///
/// ### All at once
/// - ``collect(limit:)``
/// - ``first()``
///
/// ### Page by page
/// - ``pages``
/// - ``RecordPage``
///
/// ### With the items that failed
/// - ``results``
public struct RecordSequence<Model: Sendable>: AsyncSequence, Sendable {
    /// Where a page begins, and the number of records that are still wanted. Positions are equal when the pages begin
    /// at the same record.
    struct Position: Equatable, Sendable {
        /// Where the page begins; `nil` for the first one.
        var marker: String?
        /// The most records of this page and all pages after it together; `nil` for all.
        var remaining: Int?

        static func == (left: Position, right: Position) -> Bool { left.marker == right.marker }
    }

    let fetchPage: @Sendable (Position) async throws(CloudKitError) -> ArrivedPage<RecordPage<Model>, Position>
    let startMarker: String?
    /// The most records of all pages together.
    var limit: Int?

    fileprivate func makeReader(looksAhead: Bool) -> PageReader<RecordPage<Model>, Position> {
        PageReader(
            PageSource(
                operation: Operations.QueryRecords.id,
                start: Position(marker: startMarker, remaining: limit),
                looksAhead: looksAhead,
                fetch: fetchPage
            )
        )
    }

    /// The same records, a page at a time. Each page has a marker from which you can continue later.
    ///
    /// ```swift
    /// for try await page in database.records(matching: query).pages {
    ///     try await store(page.results, resumeAt: page.marker)
    /// }
    /// ```
    public var pages: Pages { Pages(records: self) }

    /// The same records as results, with an error for each item that failed.
    ///
    /// A loop over the records themselves ends with the error of the first item that failed.
    public var results: Results { Results(records: self) }

    /// Fetches the records into an array.
    ///
    /// - Parameter limit: The most records to fetch, not negative; `nil` for all.
    /// - Returns: The records in the order of the query.
    /// - Throws: A ``CloudKitError``: the error of a page, or of the first item that failed.
    public func collect(limit: Int? = nil) async throws -> [Model] {
        var records = self
        records.limit = [self.limit, limit].compactMap(\.self).min()
        var collected: [Model] = []
        if records.limit == 0 { return [] }
        // The caller has no work between the pages, so looking ahead gains nothing.
        let reader = records.makeReader(looksAhead: false)
        while let page = try await reader.next() {
            for result in page.results { collected.append(try result.get()) }
        }
        return collected
    }

    /// Fetches the first record, and no other.
    ///
    /// ```swift
    /// let newest = try await database.records(matching: Query<Article> { Sort(\.publishedDate, ascending: false) }).first()
    /// // POST .../records/query  {"query":{"recordType":"Article","sortBy":[…]},"resultsLimit":1}
    /// ```
    ///
    /// - Returns: The record; `nil` if no record matches.
    /// - Throws: A ``CloudKitError``: the error of the request, or of the record.
    public func first() async throws -> Model? {
        try await collect(limit: 1).first
    }

    /// Starts to go through the records; the first page is fetched when the first record is asked for.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(results: results.makeAsyncIterator())
    }

    /// Goes through the records.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var results: Results.Iterator

        /// The next record.
        ///
        /// - Parameter actor: The actor that the caller runs on.
        /// - Returns: The record; `nil` after the last one.
        /// - Throws: A ``CloudKitError``: the error of a page, or of an item that failed.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Model? {
            if let result = try results.nextOfPage() { return try result.get() }
            return try await results.next(isolation: actor)?.get()
        }
    }

    /// The records of a query as results, with an error for each item that failed.
    public struct Results: AsyncSequence, Sendable {
        let records: RecordSequence

        /// Starts to go through the results.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> Iterator {
            Iterator(pages: records.pages.makeAsyncIterator())
        }

        /// Goes through the results.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var pages: Pages.Iterator
            private var page: [Result<Model, CloudKitError>] = []
            private var index = 0

            fileprivate init(pages: Pages.Iterator) {
                self.pages = pages
            }

            /// The next result of the page that was read last.
            fileprivate mutating func nextOfPage() throws -> Result<Model, CloudKitError>? {
                guard index < page.count else { return nil }
                if Task.isCancelled { throw CloudKitError.cancelled(operation: Operations.QueryRecords.id) }
                defer { index += 1 }
                return page[index]
            }

            /// The next record, or the error of an item that failed.
            ///
            /// - Parameter actor: The actor that the caller runs on.
            /// - Returns: The result; `nil` after the last one.
            /// - Throws: A ``CloudKitError``: the error of a page.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws -> Result<Model, CloudKitError>? {
                while index == page.count {
                    guard let next = try await pages.next(isolation: actor) else { return nil }
                    page = next.results
                    index = 0
                }
                return try nextOfPage()
            }
        }
    }

    /// The records a page at a time.
    public struct Pages: AsyncSequence, Sendable {
        let records: RecordSequence

        /// Starts to go through the pages.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> Iterator {
            Iterator(reader: records.limit == 0 ? nil : records.makeReader(looksAhead: true))
        }

        /// Goes through the pages.
        public struct Iterator: AsyncIteratorProtocol {
            /// The reader of the pages; `nil` when the limit of records is 0.
            fileprivate let reader: PageReader<RecordPage<Model>, Position>?

            /// Waits for the next page, and requests the page after it.
            ///
            /// - Parameter actor: The actor that the caller runs on.
            /// - Returns: The page, which may be empty; `nil` after the last one.
            /// - Throws: A ``CloudKitError``: the error of the request; there are no further pages after it.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws -> RecordPage<Model>? {
                try await reader?.next()
            }
        }
    }
}

/// One page of the records that match a query.
public struct RecordPage<Model: Sendable>: Sendable {
    /// The records of the page, with an error for each item that failed.
    public var results: [Result<Model, CloudKitError>]

    /// Where the next page begins; pass it as `startingAt`. It is `nil` for the last page, and for a page that the
    /// limit of the query cut off.
    ///
    /// It belongs to the query that returned the page: the same type, filters, sorts and zone, with the same values. Keep the
    /// value of a filter on the present time, such as `.now`, together with the marker.
    public var marker: String?

    /// Makes a page, for instance in the tests of a program.
    public init(results: [Result<Model, CloudKitError>], marker: String?) {
        self.results = results
        self.marker = marker
    }
}

extension ArrivedPage {
    /// A page of a query.
    ///
    /// - Parameters:
    ///   - announced: Where the next page begins, if that is known before this page is read.
    ///   - position: Where the page begins, and the number of records that are still wanted.
    ///   - read: Reads the page.
    init<Model>(
        announced: String?,
        at position: Position,
        read: @escaping @Sendable () throws(CloudKitError) -> RecordPage<Model>
    ) where Page == RecordPage<Model>, Position == RecordSequence<Model>.Position {
        // With a limit, the number of records that are left to ask for is known only after the page was read.
        self.announced = position.remaining == nil ? announced.map { Position(marker: $0) } : nil
        self.read = { () throws(CloudKitError) in
            var page = try read()
            var next = page.marker.map { Position(marker: $0) }
            if let remaining = position.remaining {
                if page.results.count >= remaining {
                    if page.results.count > remaining {
                        page.results.removeLast(page.results.count - remaining)
                        // The marker would continue after the records that were removed.
                        page.marker = nil
                    }
                    next = nil
                }
                next?.remaining = remaining - page.results.count
            }
            return (page, next, page.results.isEmpty)
        }
    }
}
