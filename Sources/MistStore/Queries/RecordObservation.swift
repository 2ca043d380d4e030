import CloudKitModel
import GRDB
public import MistKit

/// The results of a query: the present one at once, then another after each commit that changes it.
///
/// ```swift
/// for try await open in store.privateDatabase.values(of: Query<Todo> { Filter(\.isDone == false) }) {
///     print(open.map(\.title))
/// }
/// ```
///
/// Where commits follow each other quickly, results in between are left out, the last never is. Commits of other processes are seen within a
/// quarter of a second. Leaving the loop ends the observation.
public struct RecordObservation<Model: CloudKitRecord>: AsyncSequence, Sendable {
    let database: LocalDatabase
    let query: Query<Model>

    /// Gives the results one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var rows: AsyncThrowingStream<[ObservedRow<Model>], any Error>.Iterator

        /// The next result; it waits for a commit that changes it.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> [StoredRecord<Model>]? {
            try await rows.next(isolation: actor)?.map(\.record)
        }
    }

    /// Begins to observe.
    public func makeAsyncIterator() -> Iterator {
        let (database, query) = (database, query)
        let rows = database.observe(watchesOtherProcesses: true) { db in
            try StoreReader(database: database, db: db).find(query).map {
                ObservedRow(record: $0, fields: $0.record.fields)
            }
        }
        return Iterator(rows: rows.makeAsyncIterator())
    }
}

/// A record, and what it is compared by: a model need not be equatable.
private struct ObservedRow<Model: CloudKitRecord>: Equatable, Sendable {
    let record: StoredRecord<Model>
    let fields: CloudKitModel.Record.Fields

    static func == (left: ObservedRow, right: ObservedRow) -> Bool {
        left.record.recordName == right.record.recordName
            && left.record.recordChangeTag == right.record.recordChangeTag && left.fields == right.fields
    }
}

extension LocalDatabase {
    /// The results of a query: the present one at once, then another after each commit that changes it.
    ///
    /// - Parameter query: The query.
    /// - Returns: The results. Nothing is read before the first is asked for.
    public func values<Model: CloudKitRecord>(of query: Query<Model>) -> RecordObservation<Model> {
        RecordObservation(database: self, query: query)
    }

    /// What `read` returns: at once, and after each commit that changes it.
    ///
    /// - Parameters:
    ///   - region: What commits must change; `nil` for what `read` reads. SQLite tells nothing of tables that are `WITHOUT ROWID`.
    ///   - watchesOtherProcesses: Whether commits of other processes count.
    ///   - read: Reads the value.
    /// - Returns: The values.
    func observe<Value: Equatable & Sendable>(
        in region: DatabaseRegion? = nil,
        watchesOtherProcesses: Bool,
        _ read: @escaping @Sendable (Database) throws -> Value
    ) -> AsyncThrowingStream<Value, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let tracking = region.map { ValueObservation.tracking(region: $0, fetch: read) } ?? .tracking(read)
            let cancellable = tracking.removeDuplicates().start(
                in: file.database,
                scheduling: .task,
                onError: { continuation.finish(throwing: ($0 as? DatabaseError).map { StoreError($0) } ?? $0) },
                onChange: { continuation.yield($0) }
            )
            if watchesOtherProcesses { file.commitWatcher.add(file.database) }
            continuation.onTermination = { _ in
                cancellable.cancel()
                if watchesOtherProcesses { file.commitWatcher.remove(file.database) }
            }
        }
    }
}
