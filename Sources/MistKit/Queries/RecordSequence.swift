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
/// While you work on the records of a page, the next one is fetched and read, and no more than that one: what waits in memory is two
/// pages, however many records there are. Leaving the loop ends the request that is under way.
///
/// Going through it again asks the service again. A cancelled task gets ``CloudKitError/Code-swift.struct/cancelled`` at
/// the next record, at once when it waits for a page.
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
    /// A page that has come, and whose records are not taken apart yet.
    struct Arrival: Sendable {
        /// Where the next page begins, so that it can be sent for at once; `nil` when only reading this one tells.
        var marker: String?
        var read: @Sendable () throws(CloudKitError) -> RecordPage<Model>
    }

    /// The page after a marker, or the first one; with at most `limit` records.
    let fetchPage: @Sendable (_ marker: String?, _ limit: Int?) async throws(CloudKitError) -> Arrival
    let startMarker: String?
    /// The most records of all pages together.
    var limit: Int?

    /// The same records a page at a time, with a marker after each to go on from later.
    ///
    /// ```swift
    /// for try await page in database.records(matching: query).pages {
    ///     try await store(page.results, resumeAt: page.marker)
    /// }
    /// ```
    public var pages: Pages { Pages(records: self) }

    /// The same records, each with the item that failed in its place.
    ///
    /// Going through the records themselves ends with the error of such an item.
    public var results: Results { Results(records: self) }

    /// Fetches the records into an array.
    ///
    /// - Parameter limit: The most records to fetch; `nil` for all.
    /// - Returns: The records in the order of the query.
    /// - Throws: A ``CloudKitError``: the error of a page, or of the first item that failed.
    public func collect(limit: Int? = nil) async throws -> [Model] {
        var records = self
        records.limit = [self.limit, limit].compactMap(\.self).min()
        var collected: [Model] = []
        // Between the pages there is nothing to do meanwhile.
        var iterator = Pages.Iterator(records: records, fetchesAhead: false)
        while let page = try await iterator.next(isolation: #isolation) {
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
    /// - Returns: The record; `nil` where none matches.
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
        var results: Results.Iterator

        /// The next record.
        ///
        /// - Parameter actor: Where the caller runs.
        /// - Returns: The record; `nil` after the last one.
        /// - Throws: A ``CloudKitError``: the error of a page, or of an item that failed.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Model? {
            guard let result = try await results.next(isolation: actor) else { return nil }
            return try result.get()
        }
    }

    /// The records with the items that failed in their places.
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
            var pages: Pages.Iterator
            var page: [Result<Model, CloudKitError>] = []
            var index = 0

            /// The next record, or why there is none in its place.
            ///
            /// - Parameter actor: Where the caller runs.
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
                if Task.isCancelled { throw CloudKitError.cancelled(operation: Operations.QueryRecords.id) }
                defer { index += 1 }
                return page[index]
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
            Iterator(records: records, fetchesAhead: true)
        }

        /// Goes through the pages.
        public struct Iterator: AsyncIteratorProtocol {
            enum State {
                case after(marker: String?)
                case fetching(QueryPageAhead<Model>)
                /// The last page said that the next one begins where it did itself.
                case stuck
                case finished
            }

            let records: RecordSequence
            let fetchesAhead: Bool
            var state: State
            /// How many records may still come.
            var remaining: Int?

            init(records: RecordSequence, fetchesAhead: Bool) {
                self.records = records
                self.fetchesAhead = fetchesAhead
                state = .after(marker: records.startMarker)
                remaining = records.limit
            }

            private func pageAhead(after marker: String) -> QueryPageAhead<Model> {
                let (fetchPage, remaining) = (records.fetchPage, remaining)
                // With a limit, only a page that was read tells how many records are left to ask for.
                return QueryPageAhead(after: marker, isFollowed: remaining == nil) {
                    (marker) async throws(CloudKitError) in try await fetchPage(marker, remaining)
                }
            }

            /// Waits for the next page, and sends for the one after it.
            ///
            /// - Parameter actor: Where the caller runs.
            /// - Returns: The page, which may be empty; `nil` after the last one.
            /// - Throws: A ``CloudKitError``: the error of the request; there are no further pages after it.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws -> RecordPage<Model>? {
                if let remaining, remaining <= 0 { return nil }
                let present = state
                state = .finished
                var page: RecordPage<Model>
                let marker: String?
                var successor: QueryPageAhead<Model>?
                switch present {
                case .after(let start):
                    if Task.isCancelled { throw CloudKitError.cancelled(operation: Operations.QueryRecords.id) }
                    marker = start
                    let arrival = try await records.fetchPage(start, remaining)
                    if fetchesAhead, remaining == nil, let next = arrival.marker, next != start {
                        successor = pageAhead(after: next)
                    }
                    page = try arrival.read()
                case .fetching(let ahead):
                    marker = ahead.marker
                    (page, successor) = try await ahead.take()
                case .stuck:
                    throw CloudKitError.endlessPages(operation: Operations.QueryRecords.id)
                case .finished:
                    return nil
                }
                if let limit = remaining {
                    if page.results.count > limit {
                        page.results.removeLast(page.results.count - limit)
                        // It would go on after the records that were taken off.
                        page.marker = nil
                    }
                    remaining = limit - page.results.count
                }
                if let next = page.marker, remaining != 0 {
                    if next == marker {
                        if page.results.isEmpty {
                            throw CloudKitError.endlessPages(operation: Operations.QueryRecords.id)
                        }
                        state = .stuck
                    } else if !fetchesAhead {
                        state = .after(marker: next)
                    } else if let successor, successor.marker == next {
                        state = .fetching(successor)
                    } else {
                        state = .fetching(pageAhead(after: next))
                    }
                }
                return page
            }
        }
    }
}

/// One page of the records that match a query.
public struct RecordPage<Model: Sendable>: Sendable {
    /// The records, each with the item that failed in its place.
    public var results: [Result<Model, CloudKitError>]

    /// Where the next page begins, to be passed as `startingAt`; `nil` when this is the last one.
    ///
    /// It belongs to the query that returned the page: the same type, filters, sorts and zone, with the same values. Keep the
    /// value of a filter on the present time, such as `.now`, together with the marker.
    public var marker: String?
}

extension CloudKitError {
    /// A server that says "more is coming" for ever and stays where it is.
    static func endlessPages(operation: String) -> CloudKitError {
        var error = CloudKitError(
            code: .unexpectedResponse,
            message: "The server said that the next page begins where this one did."
        )
        error.operation = operation
        return error
    }
}
