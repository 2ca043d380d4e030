import GRDB
public import MistKit

/// The state of a record on its way to the service.
public struct RecordStatus: Hashable, Sendable {
    /// The states of a record.
    ///
    /// Later versions may add states, so a `switch` over them has a `default`.
    public struct State: Hashable, Sendable {
        private enum Kind: String {
            case synchronised, edited, sending, parked
        }

        private let kind: Kind

        private init(_ kind: Kind) {
            self.kind = kind
        }

        /// The service has the record as it is here.
        public static let synchronised = Self(.synchronised)

        /// It was changed or removed here, and the service has not acknowledged the change.
        public static let edited = Self(.edited)

        /// A request with the change is under way, or its outcome is not known yet.
        public static let sending = Self(.sending)

        /// The service refused the change, or it cannot be sent, and it waits: see ``RecordStatus/parked``.
        public static let parked = Self(.parked)
    }

    /// The state of the record or of its removal.
    public let state: State
    /// Why the change waits, in the state ``State/parked``; otherwise `nil`.
    public let parked: ParkedRecord?
    /// Whether the record is on this machine. A removed record has a status until the service has acknowledged the
    /// removal.
    public let exists: Bool
    /// The change tag of the service's version that was merged last; `nil` for a record that the service never
    /// acknowledged.
    public let recordChangeTag: String?

    init(state: State, parked: ParkedRecord? = nil, exists: Bool, recordChangeTag: String?) {
        self.state = state
        self.parked = parked
        self.exists = exists
        self.recordChangeTag = recordChangeTag
    }
}

extension RecordStatus.State: CustomStringConvertible {
    /// The name of the state.
    public var description: String { kind.rawValue }
}

extension StoreReading {
    /// Where a record is on its way to the service.
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    /// - Returns: The status; `nil` when there is no such record on this machine, and no removal of it to be sent.
    /// - Throws: A ``StoreError``: `unknownRecordType` when the store was opened without the type.
    public func status<Model: CloudKitRecord>(of type: Model.Type, named recordName: String) throws -> RecordStatus? {
        let table = try database.file.table(of: Model.recordType)
        if let row = try database.row(named: recordName, table, db) {
            let (state, parked) = try state(of: row, table)
            return RecordStatus(
                state: state,
                parked: parked,
                exists: true,
                recordChangeTag: try KnownVersion.fetch(named: row.name, in: row.zone, database.file.sealer, db)?.tag
            )
        }
        return try Tombstones(db: db).find(recordName, of: table.id, in: database.scope).map { zone, tag in
            let (state, parked) = try stateOfChange(to: recordName, in: zone, table, row: nil)
            return RecordStatus(state: state, parked: parked, exists: false, recordChangeTag: tag)
        }
    }

    private func state(of row: LocalRow, _ table: RecordTable) throws -> (RecordStatus.State, ParkedRecord?) {
        let isChanged = try PendingEdits(db: db).hasEdits(row.id, of: table.id)
        if isChanged { return try stateOfChange(to: row.name, in: row.zone, table, row: row.id) }
        let isSent = try SentOperations(db: db, sealer: database.file.sealer).isSent(row.name, in: row.zone)
        return isSent ? (.sending, nil) : (.synchronised, nil)
    }

    /// The state of a record that was changed or removed here, and why it waits; the row is `nil` for one that was removed.
    private func stateOfChange(
        to name: String,
        in zone: ZoneRowID,
        _ table: RecordTable,
        row: RecordRowID?
    ) throws -> (RecordStatus.State, ParkedRecord?) {
        if try SentOperations(db: db, sealer: database.file.sealer).isSent(name, in: zone) { return (.sending, nil) }
        let parking = Parking(scope: database.scope, db: db, sealer: database.file.sealer)
        if let parked = try parking.record(name, in: zone, row: row, of: table.id) { return (.parked, parked) }
        guard let missing = try RecordTypes(db: db).missingField(of: table.id) else { return (.edited, nil) }
        let type = ParkedRecordType(recordType: table.recordType, missing: missing)
        return (.parked, ParkedRecord(recordName: name, reason: .schema, message: type.message, until: nil))
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
        named recordName: String
    ) async throws -> RecordStatus? {
        try await read { try $0.status(of: type, named: recordName) }
    }

    /// The status of a record: the present one at once, then another after each commit that changes it.
    ///
    /// ```swift
    /// for try await status in todos.statusUpdates(of: Todo.self, named: "milk") {
    ///     if let reason = status?.parked?.message { print(reason) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    /// - Returns: The states; `nil` while there is no such record. The iteration throws a ``StoreError``, for instance
    ///   when the store was opened without the type.
    public func statusUpdates<Model: CloudKitRecord>(
        of type: Model.Type,
        named recordName: String
    ) -> StoreUpdates<RecordStatus?> {
        StoreUpdates {
            observe(in: .fullDatabase, watchesOtherProcesses: true) { db in
                try StoreReader(database: self, db: db).status(of: type, named: recordName)
            }
        }
    }
}
