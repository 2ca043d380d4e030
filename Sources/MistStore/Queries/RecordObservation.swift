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
/// When commits follow each other quickly, results in between may be left out, but never the last one. Commits of other
/// processes are seen within about a quarter of a second. Leaving the loop ends the observation.
public struct RecordObservation<Model: CloudKitRecord>: AsyncSequence, Sendable {
    let database: LocalDatabase
    let query: Query<Model>

    /// The iterator of a ``RecordObservation``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var rows: AsyncThrowingStream<[ObservedRow<Model>], any Error>.Iterator

        /// Waits for the next result: the present one at first, then a result that a commit has changed.
        ///
        /// - Parameter actor: The actor of the caller.
        /// - Returns: The records of the query; `nil` when the task is cancelled.
        /// - Throws: A ``StoreError`` when the query or the file fails.
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

/// A record with its fields. Records are compared by their fields, because a model does not have to be `Equatable`.
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
    /// - Returns: The results. Nothing is read before the iteration begins.
    public func values<Model: CloudKitRecord>(of query: Query<Model>) -> RecordObservation<Model> {
        RecordObservation(database: self, query: query)
    }

    /// The result of `read`: at once, and again after each commit that changes it.
    ///
    /// - Parameters:
    ///   - region: The tables that a commit must change before `read` is called again; `nil` for the tables that `read`
    ///     reads. SQLite does not report changes of tables that are `WITHOUT ROWID`.
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
                onError: { [file] error in
                    continuation.finish(throwing: (error as? DatabaseError).map { file.storeError($0) } ?? error)
                },
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
