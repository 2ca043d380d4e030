import CloudKitModel
import GRDB
public import MistKit

/// The present value of something in a store at once, then another after each commit that changes it.
///
/// ```swift
/// for try await open in store.privateDatabase.recordUpdates(of: Query<Todo> { Filter(\.isDone == false) }) {
///     print(open.map(\.title))
/// }
/// ```
///
/// Each call that returns one is named by what it observes: ``LocalDatabase/recordUpdates(of:)``,
/// ``LocalDatabase/recordUpdates(of:named:)``, ``LocalDatabase/unreadableUpdates(of:)``, ``LocalDatabase/statusUpdates()`` and
/// ``LocalDatabase/statusUpdates(of:named:)``.
///
/// When commits follow each other quickly, values in between may be left out, but never the last one. Commits of other
/// processes are seen within about a quarter of a second. Nothing is read before the iteration begins, and each iteration
/// observes on its own. Leaving the loop ends the observation.
public struct StoreUpdates<Element: Sendable>: AsyncSequence, Sendable {
    let observe: @Sendable () -> AsyncThrowingStream<Element, any Error>

    /// The iterator of ``StoreUpdates``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var values: AsyncThrowingStream<Element, any Error>.Iterator

        /// Waits for the next value: the present one at first, then one that a commit has changed.
        ///
        /// - Parameter actor: The actor of the caller.
        /// - Returns: The value; `nil` when the task is cancelled.
        /// - Throws: A ``StoreError`` when the value cannot be read, such as `query` or `closed`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            try await values.next(isolation: actor)
        }
    }

    /// Begins to observe.
    public func makeAsyncIterator() -> Iterator {
        Iterator(values: observe().makeAsyncIterator())
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
    /// The records of a query: the present ones at once, then another list after each commit that changes it.
    ///
    /// - Parameter query: The query.
    /// - Returns: The lists.
    public func recordUpdates<Model: CloudKitRecord>(of query: Query<Model>) -> StoreUpdates<[StoredRecord<Model>]> {
        StoreUpdates {
            observe(watchesOtherProcesses: true) { db in
                try StoreReader(database: self, db: db).find(query).map {
                    ObservedRow(record: $0, fields: $0.record.fields)
                }
            } yielding: { rows in
                rows.map(\.record)
            }
        }
    }

    /// The record with a name: the present one at once, then another value after each commit that changes it.
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    /// - Returns: The record, each time; `nil` while this machine does not have it.
    public func recordUpdates<Model: CloudKitRecord>(
        of type: Model.Type,
        named recordName: String
    ) -> StoreUpdates<StoredRecord<Model>?> {
        StoreUpdates {
            observe(watchesOtherProcesses: true) { db in
                let table = try file.table(of: Model.recordType)
                return try record(named: recordName, as: type, table, db).map {
                    ObservedRow(record: $0, fields: $0.record.fields)
                }
            } yielding: { row in
                row?.record
            }
        }
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
        observe(in: region, watchesOtherProcesses: watchesOtherProcesses, read, yielding: \.self)
    }

    /// The result of `read`, in another form: at once, and again after each commit that changes it.
    private func observe<Value: Equatable & Sendable, Element: Sendable>(
        in region: DatabaseRegion? = nil,
        watchesOtherProcesses: Bool,
        _ read: @escaping @Sendable (Database) throws -> Value,
        yielding element: @escaping @Sendable (Value) -> Element
    ) -> AsyncThrowingStream<Element, any Error> {
        if file.isReadOnly { return pollingObservation(read, yielding: element) }
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let tracking = region.map { ValueObservation.tracking(region: $0, fetch: read) } ?? .tracking(read)
            let cancellable = tracking.removeDuplicates().start(
                in: file.database,
                scheduling: .task,
                onError: { [file] error in
                    continuation.finish(throwing: (error as? DatabaseError).map { file.storeError($0) } ?? error)
                },
                onChange: { continuation.yield(element($0)) }
            )
            if watchesOtherProcesses { file.commitWatcher.add(file.database) }
            let number = file.addObservation { continuation.finish(throwing: $0) }
            continuation.onTermination = { [file] _ in
                file.removeObservation(number)
                cancellable.cancel()
                if watchesOtherProcesses { file.commitWatcher.remove(file.database) }
            }
        }
    }

    /// The result of `read` in a file that was opened for reading: at once, and again after each commit that changes it.
    private func pollingObservation<Value: Equatable & Sendable, Element: Sendable>(
        _ read: @escaping @Sendable (Database) throws -> Value,
        yielding element: @escaping @Sendable (Value) -> Element
    ) -> AsyncThrowingStream<Element, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                do {
                    guard let pool = file.database as? DatabasePool else { return continuation.finish() }
                    var last: Value?
                    try await CommitWatcher.forEachCommit(toFileAtPath: pool.path) {
                        let value = try await pool.read(read)
                        if value != last { continuation.yield(element(value)) }
                        last = value
                    }
                } catch is CancellationError {
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: (error as? DatabaseError).map { file.storeError($0) } ?? error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
