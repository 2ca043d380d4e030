import GRDB
public import MistKit

/// The state of a record on its way to the service.
public struct RecordStatus: Hashable, Sendable {
    /// The states of a record.
    public enum State: Hashable, Sendable {
        /// The service has the record as it is here.
        case synchronised
        /// It was changed or removed here, and the service has not acknowledged the change.
        case edited
        /// A request with the change is under way, or its outcome is not known yet.
        case sending
        /// The service refused the change, and it waits.
        case parked(ParkedRecord)
    }

    /// The state of the record or of its removal.
    public let state: State
    /// Whether the record is on this machine. A removed record has a status until the service has acknowledged the
    /// removal.
    public let exists: Bool
    /// The change tag of the service's version that was merged last; `nil` for a record that the service never
    /// acknowledged.
    public let recordChangeTag: String?
}

extension StoreReader {
    /// Where a record is on its way to the service.
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    /// - Returns: The status; `nil` when there is no such record on this machine, and no removal of it to be sent.
    /// - Throws: A ``StoreError``: `unknownRecordType` when the store was opened without the type.
    public func status<Model: CloudKitRecord>(of type: Model.Type, _ recordName: String) throws -> RecordStatus? {
        let table = try database.file.table(of: Model.recordType)
        if let row = try database.row(named: recordName, table, db) {
            let isEdited = try db.value(
                "SELECT EXISTS (SELECT 1 FROM mist_edit WHERE type = ? AND row = ?)",
                [table.id, row.id],
                as: Bool.self
            )
            return RecordStatus(
                state: try state(of: row.name, in: row.zone, table, row: row.id, isEdited: isEdited ?? false),
                exists: true,
                recordChangeTag: try KnownVersion.fetch(named: row.name, in: row.zone, db)?.tag
            )
        }
        let tombstone = try db.row(
            """
            SELECT zone, tag FROM mist_tombstone
            WHERE type = ? AND name = ? AND zone IN (SELECT id FROM mist_zone WHERE scope = ?)
            """,
            [table.id, recordName, database.scope.number]
        )
        guard let tombstone else { return nil }
        return RecordStatus(
            state: try state(of: recordName, in: tombstone["zone"], table, row: nil, isEdited: true),
            exists: false,
            recordChangeTag: tombstone["tag"]
        )
    }

    private func state(
        of name: String,
        in zone: Int64,
        _ table: RecordTable,
        row: Int64?,
        isEdited: Bool
    ) throws -> RecordStatus.State {
        let isSent = try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_sent WHERE zone = ? AND name = ?)",
            [zone, name],
            as: Bool.self
        )
        if isSent == true { return .sending }
        guard isEdited else { return .synchronised }
        // A record that was refused without a time for the next attempt is sent again after an edit.
        let parked = try db.row(
            """
            SELECT name, reason, message, until FROM mist_parked WHERE zone = ?1 AND name = ?2 AND (
                until IS NOT NULL OR NOT EXISTS (
                    SELECT 1 FROM mist_edit WHERE type = ?3 AND row = ?4 AND raw > mist_parked.since
                )
            )
            """,
            [zone, name, table.id, row]
        )
        if let parked { return .parked(ParkedRecord(parked)) }
        let missing = try db.value("SELECT parked FROM mist_type WHERE id = ?", [table.id], as: String.self)
        if let missing {
            let type = ParkedRecordType(recordType: table.recordType, fieldName: missing.isEmpty ? nil : missing)
            return .parked(ParkedRecord(recordName: name, reason: "schema", message: type.message, until: nil))
        }
        return .edited
    }
}

extension LocalDatabase {
    /// Where a record is on its way to the service.
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    /// - Returns: The status; `nil` when there is no such record on this machine, and no removal of it to be sent.
    /// - Throws: A ``StoreError``: `unknownRecordType` when the store was opened without the type.
    public func status<Model: CloudKitRecord>(
        of type: Model.Type,
        _ recordName: String
    ) async throws -> RecordStatus? {
        try await read { try $0.status(of: type, recordName) }
    }

    /// The status of a record: the present one at once, then another after each commit that changes it.
    ///
    /// ```swift
    /// for try await status in todos.statusUpdates(of: Todo.self, "milk") {
    ///     if case .parked(let record)? = status?.state { print(record.message) }
    /// }
    /// ```
    ///
    /// When commits follow each other quickly, states in between may be left out, but never the last one.
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    /// - Returns: The states; `nil` while there is no such record. The stream throws a ``StoreError``, for instance
    ///   when the store was opened without the type.
    public func statusUpdates<Model: CloudKitRecord>(
        of type: Model.Type,
        _ recordName: String
    ) -> AsyncThrowingStream<RecordStatus?, any Error> {
        observe(in: .fullDatabase, watchesOtherProcesses: true) { db in
            try StoreReader(database: self, db: db).status(of: type, recordName)
        }
    }
}
