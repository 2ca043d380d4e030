import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The service's version of a record, a row of `mist_record`.
struct KnownVersion: Sendable {
    let id: KnownVersionID
    let type: TableID
    let zone: ZoneRowID
    let name: String
    let row: RecordRowID
    let tag: String?
    let created: ServiceTime?
    let modified: ServiceTime?
    let times: EditTimes
    let other: [String: FieldValue]
    let isConflicting: Bool
    /// When and on which device the record was created. It stays the same when a record is moved.
    var creation: EditTime? { times.creation ?? created?.creation }
    /// Whether the file has a row for the record. It has none where a delete was taken back, until the record is found.
    var hasRow: Bool { row != Self.noRow }
    fileprivate static let noRow: RecordRowID = 0
    /// Whether a verification has found that the version is not the service's. It is looked up.
    var isDistrusted: Bool { tag == Self.noTag }
    /// The tag of a version that is not the service's: no version has it.
    fileprivate static let noTag = ""
    private let writtenBytes: Data?
    /// The parts of counters that this file has sent, and that no version has shown yet.
    var writes: [EditTimes.Part] { writtenBytes.flatMap { EditTimes($0) }?.parts ?? [] }

    fileprivate static let columns =
        "id, type, zone, name, row, tag, created, modified, times, other, is_conflicting, written"

    /// Reads the current row of a statement, which selects ``columns``.
    fileprivate init(_ statement: Statement, _ sealer: FieldSealer?) throws {
        func column(_ index: CInt) -> ColumnValue {
            ColumnValue(sqliteStatement: statement.sqliteStatement, index: index)
        }
        id = KnownVersionID(column(0).integer ?? 0)
        type = TableID(column(1).integer ?? 0)
        zone = ZoneRowID(column(2).integer ?? 0)
        name = column(3).text ?? ""
        row = RecordRowID(column(4).integer ?? 0)
        tag = column(5).text
        created = column(6).integer.map { ServiceTime($0) }
        modified = column(7).integer.map { ServiceTime($0) }
        times = try sealer.opened(times: column(8).blob, of: name).flatMap { EditTimes($0) } ?? EditTimes()
        other = try sealer.opened(try column(9).text.map(OtherFields.read) ?? [:], for: .version(name))
        isConflicting = column(10).integer == 1
        writtenBytes = try sealer.opened(times: column(11).blob, of: name)
    }

    static func fetch(
        named name: String,
        in zone: ZoneRowID,
        _ sealer: FieldSealer?,
        _ db: Database
    ) throws -> KnownVersion? {
        let statement = try db.cachedStatement(sql: KnownVersions.selectionByName)
        try statement.bind([ColumnValue(zone), .text(name)])
        // The cursor resets the statement when it is released.
        let cursor = try Row.fetchCursor(statement)
        return try withExtendedLifetime(cursor) { try cursor.next() == nil ? nil : KnownVersion(statement, sealer) }
    }

    /// The versions of the records whose names are in a JSON array, by name.
    static func fetch(
        named names: ColumnValue,
        in zone: ZoneRowID,
        _ sealer: FieldSealer?,
        _ db: Database
    ) throws -> [String: KnownVersion] {
        let statement = try db.cachedStatement(sql: KnownVersions.selectionByNames)
        try statement.bind([ColumnValue(zone), names])
        var versions: [String: KnownVersion] = [:]
        let cursor = try Row.fetchCursor(statement)
        while try cursor.next() != nil {
            let version = try KnownVersion(statement, sealer)
            versions[version.name] = version
        }
        return versions
    }
}

/// The system fields of a version, in the form of the tables: its tag, its times and the numbers of its users.
struct Stamps {
    let tag: String?
    let created: ServiceTime?
    let creator: UserRowID?
    let modified: ServiceTime?
    let modifier: UserRowID?

    init(of record: Record, _ users: Users) throws {
        tag = record.recordChangeTag
        created = record.created?.time
        creator = try users.number(of: record.created?.userRecordName)
        modified = record.modified?.time
        modifier = try users.number(of: record.modified?.userRecordName)
    }
}

/// What the service has, or may have, of records: `mist_record`. A record that was never sent or received has no row.
struct KnownVersions: TableOwner {
    static let definition = """
        -- What the service has, or may have: a row for each record that was ever sent or received and is not deleted here.
        CREATE TABLE mist_record (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            type INTEGER NOT NULL,
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            -- The row of the type's table, _id.
            row INTEGER NOT NULL,
            -- NULL while the outcome of the first create is unknown.
            tag TEXT,
            -- Creation: with the name and the zone it tells one life of a record from another.
            created INTEGER,
            creator INTEGER,
            modified INTEGER,
            modifier INTEGER,
            parent TEXT,
            share TEXT,
            -- mist_edits of the service's version.
            times BLOB,
            -- JSON: the fields that have no column.
            other TEXT,
            -- The last refetch that met the record.
            epoch INTEGER NOT NULL DEFAULT 0,
            -- 1: to be looked up before it is sent again.
            is_conflicting INTEGER NOT NULL DEFAULT 0,
            -- In the form of mist_edits: the parts of counters that this file has sent. They show what the service has stored.
            written BLOB,
            UNIQUE (zone, name)
        );
        CREATE INDEX mist_record_conflict ON mist_record (zone) WHERE is_conflicting = 1;
        CREATE INDEX mist_record_other ON mist_record (type, row) WHERE other IS NOT NULL;
        """

    static func update(from format: Int64) -> [String] {
        guard format < 3 else { return [] }
        return [
            "ALTER TABLE mist_record ADD COLUMN written BLOB",
            "UPDATE mist_record SET written = (\(SentOperations.times(ofRecord: "id")))",
        ]
    }

    let db: Database
    let sealer: FieldSealer?
}

// MARK: - SQL for others

extension KnownVersions {
    fileprivate static let selectionByName =
        "SELECT \(KnownVersion.columns) FROM mist_record WHERE zone = ? AND name = ?"
    fileprivate static let selectionByNames =
        "SELECT \(KnownVersion.columns) FROM mist_record WHERE zone = ? AND name IN (SELECT value FROM json_each(?))"

    /// A row if a record is known: `zone` and `name` are expressions.
    static func named(_ name: String, in zone: String) -> String {
        "SELECT 1 FROM mist_record WHERE zone = \(zone) AND name = \(name)"
    }

    /// A row if the service is known to have a record.
    static func acknowledged(_ name: String, in zone: String) -> String {
        """
        SELECT 1 FROM mist_record AS known WHERE known.zone = \(zone) AND known.name = \(name) AND known.tag IS NOT NULL
        """
    }

    /// The records of a type that the service is not known to have, as a query of number, zone and name.
    static func unacknowledged(of type: String) -> String {
        "SELECT id, zone, name FROM mist_record WHERE type = \(type) AND tag IS NULL AND is_conflicting = 0"
    }

    /// A row if a record is to be looked up before it is sent again.
    static func conflicting(_ name: String, in zone: String) -> String {
        """
        SELECT 1 FROM mist_record AS known
        WHERE known.zone = \(zone) AND known.name = \(name) AND known.is_conflicting = 1
        """
    }

    /// The names of the records that are to be looked up before they are sent again.
    static func conflictingNames(in zone: String) -> String {
        "SELECT name FROM mist_record WHERE zone = \(zone) AND is_conflicting = 1"
    }

    /// The zones of those records.
    static let zonesWithConflicts = "SELECT zone FROM mist_record WHERE is_conflicting = 1"

    /// The number of the last refetch that met a record of a zone.
    static func latestEpoch(in zone: String) -> String {
        "SELECT coalesce(max(epoch), 0) FROM mist_record WHERE zone = \(zone)"
    }

    /// The records with a name that are of another type, beginning with `FROM`.
    static func ofOtherType(_ name: String, in zone: String, than type: TableID) -> String {
        "FROM mist_record WHERE zone = \(zone) AND name = \(name) AND type <> \(type)"
    }

    /// The value of a column for the record that a row of a type's table is, as a query.
    static func column(_ column: String, ofName name: String, in zone: String) -> String {
        "SELECT \(column) FROM mist_record WHERE zone = \(zone) AND name = \(name)"
    }

    /// The value of a column for the row of a type's table, as a query. A version that belongs to another row has none.
    static func column(_ column: String, ofRowOf table: RecordTable) -> String {
        """
        SELECT \(column) FROM mist_record
        WHERE zone = _zone AND name = _recordName AND mist_record.type = \(table.id) AND mist_record.row = _id
        """
    }

    /// The JSON of the fields that have no column, of a row of a type's table. A small index makes it cheap.
    static func other(of table: TableID) -> String {
        "(SELECT other FROM mist_record WHERE type = \(table) AND row = _id AND other IS NOT NULL)"
    }

    /// A system field of a row of a type's table, as an expression.
    static func systemField(_ column: String) -> String {
        "(\(Self.column(column, ofName: "_recordName", in: "_zone")))"
    }

    /// The records of a selection, as the values of tombstones, beginning with `SELECT`.
    static func asTombstones(depth: String, where condition: String) -> String {
        """
        SELECT id, type, zone, name, tag, created, creator, \(FileState.editTime), \(depth), epoch, tag IS NULL \
        FROM mist_record WHERE \(condition)
        """
    }

    /// A statement of triggers that forgets records.
    static func deletion(where condition: String) -> String { "DELETE FROM mist_record WHERE \(condition);" }

    /// A statement of triggers that gives the record of a name another row.
    static let rowReplacement = """
        UPDATE mist_record SET row = NEW._id WHERE zone = NEW._zone AND name = NEW._recordName;
        """

    /// A join of the row that was sent of an edit, as `mist_record`.
    static func join(_ number: String) -> String { "JOIN mist_record ON mist_record.id = \(number)" }

    /// Whether a joined record is that of an edit.
    static func isJoined(type: String, row: String) -> String {
        "mist_record.type = \(type) AND mist_record.row = \(row)"
    }
}

// MARK: - Reading

extension KnownVersions {
    func fetch(named name: String, in zone: ZoneRowID) throws -> KnownVersion? {
        try KnownVersion.fetch(named: name, in: zone, sealer, db)
    }

    /// Whether the service has a record of the name.
    func isAcknowledged(_ name: String, in zone: ZoneRowID) throws -> Bool {
        try db.value("SELECT EXISTS (\(Self.acknowledged("?2", in: "?1")))", [zone, name], as: Bool.self) ?? false
    }

    /// Whether nothing has shown yet that the service has stored the create of a record: neither an acknowledgement,
    /// nor a refusal because the record exists, nor an entry in a feed or a query.
    func mayNeverHaveBeenStored(_ name: String, in zone: ZoneRowID) throws -> Bool {
        try db.value(
            "SELECT tag IS NULL AND is_conflicting = 0 FROM mist_record WHERE zone = ? AND name = ?",
            [zone, name],
            as: Bool.self
        ) ?? false
    }

    /// The type and the row of a record that was sent; `nil` when this life of the record is not here any more.
    func place(of record: KnownVersionID, named name: String, in zone: ZoneRowID) throws -> (TableID, RecordRowID)? {
        let statement = try db.cachedStatement(
            sql: "SELECT type, row FROM mist_record WHERE id = ? AND zone = ? AND name = ?"
        )
        return try Row.fetchOne(statement, arguments: [record, zone, name]).map { ($0[0], $0[1]) }
    }

    /// The type of a record.
    func type(of name: String, in zone: ZoneRowID) throws -> TableID? {
        try db.value("SELECT type FROM mist_record WHERE zone = ? AND name = ?", [zone, name], as: TableID.self)
    }

    /// The names of the acknowledged records of a zone that a refetch did not meet.
    func missed(by epoch: Int64, in zone: ZoneRowID) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(
                sql: "SELECT name FROM mist_record WHERE zone = ? AND epoch <> ? AND tag IS NOT NULL"
            ),
            arguments: [zone, epoch]
        )
    }

    /// The fields of a record that have no column, in a file of any format.
    func otherFields(of name: String, in zone: ZoneRowID) throws -> [String: FieldValue] {
        let text = try db.value(
            "SELECT other FROM mist_record WHERE zone = ? AND name = ?",
            [zone, name],
            as: String.self
        )
        return try sealer.opened(try text.map(OtherFields.read) ?? [:], for: .version(name))
    }

    /// The records of a type that have fields without a column.
    func withOtherFields(of type: TableID) throws -> [(name: String, zone: ZoneRowID)] {
        try db.rows("SELECT name, zone FROM mist_record WHERE type = ? AND other IS NOT NULL", [type])
            .map { ($0["name"], $0["zone"]) }
    }

    /// Whether the service has a record of a zone.
    func hasAcknowledged(in zone: ZoneRowID) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_record WHERE zone = ? AND tag IS NOT NULL)",
            [zone],
            as: Bool.self
        ) ?? false
    }

    /// The number of records of a scope that the service has or may have, or `most` where there are more.
    func count(in scope: DatabaseScope, atMost most: Int = .max) throws -> Int {
        try db.value(
            "SELECT count(*) FROM (SELECT 1 FROM mist_record WHERE zone IN (\(Zones.ids(in: "?"))) LIMIT ?)",
            [scope.number, most],
            as: Int.self
        ) ?? 0
    }

    /// The number of records of a scope that are looked up before they are sent again.
    func conflictingCount(in scope: DatabaseScope) throws -> Int {
        try db.value(
            "SELECT count(*) FROM mist_record WHERE is_conflicting = 1 AND zone IN (\(Zones.ids(in: "?")))",
            [scope.number],
            as: Int.self
        ) ?? 0
    }

    var isEmpty: Bool {
        get throws { try db.value("SELECT NOT EXISTS (SELECT 1 FROM mist_record)", as: Bool.self) ?? true }
    }
}

// MARK: - Writing

extension KnownVersions {
    /// Adds a record that is sent for the first time.
    func insert(_ name: String, in zone: ZoneRowID, row: RecordRowID, of type: TableID) throws -> KnownVersionID {
        try db.run("INSERT INTO mist_record (type, zone, name, row) VALUES (?, ?, ?, ?)", [type, zone, name, row])
        return db.lastInserted(KnownVersionID.self)
    }

    /// Adds a record that this device does not have any more, so that it is looked up and becomes a row again.
    func insertForLookup(_ name: String, in zone: ZoneRowID, of type: TableID) throws {
        try db.run(
            """
            INSERT INTO mist_record (type, zone, name, row, is_conflicting) VALUES (?, ?, ?, ?, 1)
            ON CONFLICT (zone, name) DO NOTHING
            """,
            [type, zone, name, KnownVersion.noRow]
        )
    }

    /// Whether a record whose delete was taken back is still to be looked up, in another zone of a scope than the given one.
    func isLookedUp(
        _ name: String,
        of type: TableID,
        outside zone: ZoneRowID,
        in scope: DatabaseScope
    ) throws -> Bool {
        try db.value(
            """
            SELECT EXISTS (
                SELECT 1 FROM mist_record
                WHERE type = ? AND name = ? AND row = ? AND zone <> ? AND zone IN (\(Zones.ids(in: "?")))
            )
            """,
            [type, name, KnownVersion.noRow, zone, scope.number],
            as: Bool.self
        ) ?? false
    }

    /// Gives a row to a version that is looked up and has none.
    func setRow(_ row: RecordRowID, of record: KnownVersionID) throws {
        try db.run("UPDATE mist_record SET row = ? WHERE id = ?", [row, record])
    }

    /// Adds the records of a type that were never sent: another copy of the file may have sent them. A record that takes
    /// the name of a deleted one is left out, because its delete comes first.
    func insertUnsent(of table: RecordTable) throws {
        try db.run(
            """
            INSERT INTO mist_record (type, zone, name, row)
                SELECT ?1, _zone, _recordName, _id FROM \(table.name)
                WHERE _id IN (\(PendingEdits.rows(where: "type = ?1 AND field = ?2")))
                    AND NOT EXISTS (\(Tombstones.ofSameName))
                ON CONFLICT (zone, name) DO NOTHING
            """,
            [table.id, FieldID.insert]
        )
    }

    private static let upsert = """
        INSERT INTO mist_record
            (type, zone, name, row, tag, created, creator, modified, modifier, parent, share, times, other, epoch)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (zone, name) DO UPDATE SET
            type = excluded.type, row = excluded.row, tag = excluded.tag, created = excluded.created,
            creator = excluded.creator, modified = excluded.modified, modifier = excluded.modifier,
            parent = excluded.parent, share = excluded.share, times = excluded.times, other = excluded.other,
            epoch = excluded.epoch, is_conflicting = 0
        """

    /// Stores a version of the service. The record needs no lookup then.
    ///
    /// - Parameters:
    ///   - record: The version.
    ///   - name: Its name.
    ///   - stamps: Its system fields.
    ///   - times: The bytes of its field `mist_edits`.
    ///   - other: Its fields that have no column.
    ///   - table: The table of its type.
    ///   - row: Its row in that table.
    ///   - zone: Its zone.
    /// - Throws: A `DatabaseError` when the file fails.
    func store(
        _ record: Record,
        named name: String,
        _ stamps: Stamps,
        times: Data?,
        other: [String: FieldValue],
        in table: RecordTable,
        row: RecordRowID,
        zone: StoredZone
    ) throws {
        try db.run(
            Self.upsert,
            binding: [
                ColumnValue(table.id), ColumnValue(zone.id), .text(name), ColumnValue(row), ColumnValue(stamps.tag),
                ColumnValue(stamps.created), ColumnValue(stamps.creator), ColumnValue(stamps.modified),
                ColumnValue(stamps.modifier), ColumnValue(record.parent?.recordName),
                ColumnValue(record.share?.recordName),
                ColumnValue(try sealer.sealed(times: times, of: name)),
                ColumnValue(try OtherFields.text(try sealer.sealed(other, of: table.recordType, for: .version(name)))),
                .integer(zone.epoch),
            ]
        )
    }

    /// Stores the system fields of a version that the service has acknowledged, and the edit times that were sent.
    func acknowledge(
        _ record: KnownVersionID,
        named name: String,
        _ stamps: Stamps,
        times: Data?,
        epoch: Int64
    ) throws {
        try db.run(
            """
            UPDATE mist_record SET tag = ?, created = ?, creator = ?, modified = ?, modifier = ?, times = ?, epoch = ?
            WHERE id = ?
            """,
            binding: [
                ColumnValue(stamps.tag), ColumnValue(stamps.created), ColumnValue(stamps.creator),
                ColumnValue(stamps.modified), ColumnValue(stamps.modifier),
                ColumnValue(try sealer.sealed(times: times, of: name)), .integer(epoch),
                ColumnValue(record),
            ]
        )
    }

    /// Sets the fields that have no column.
    func setOther(
        _ other: [String: FieldValue],
        _ record: KnownVersionID,
        named name: String,
        of recordType: String
    ) throws {
        let other = try sealer.sealed(other, of: recordType, for: .version(name))
        try db.run("UPDATE mist_record SET other = ? WHERE id = ?", [try OtherFields.text(other), record])
    }

    /// Seals the edit times of a file that was not sealed.
    func sealTimes() throws {
        for id in try Int64.fetchAll(db, sql: "SELECT id FROM mist_record WHERE times NOTNULL OR written NOTNULL") {
            guard let row = try db.row("SELECT name, times, written FROM mist_record WHERE id = ?", [id]) else {
                continue
            }
            try db.run(
                "UPDATE mist_record SET times = ?, written = ? WHERE id = ?",
                [
                    try sealer.sealed(times: row["times"], of: row["name"]),
                    try sealer.sealed(times: row["written"], of: row["name"]), id,
                ]
            )
        }
    }

    /// Seals the fields without a column again, with the encrypted fields that are known now.
    ///
    /// - Parameters:
    ///   - sealer: The sealer.
    ///   - isSealed: Whether they are sealed already.
    /// - Throws: A `DatabaseError` when the file fails.
    func sealOther(_ sealer: FieldSealer, isSealed: Bool) throws {
        for row in try db.rows(
            """
            SELECT mist_record.id AS id, mist_record.name AS name, other, type.name AS type
            FROM mist_record JOIN (\(RecordTypes.numbers)) AS type ON type.id = mist_record.type WHERE other IS NOT NULL
            """
        ) {
            let stored = try OtherFields.read(row["other"])
            let subject = SealedSubject.version(row["name"])
            let fields = isSealed ? try sealer.opened(stored, for: subject) : stored
            try setOther(fields, row["id"], named: row["name"], of: row["type"])
        }
    }

    /// Sets the parts of counters that this file has sent.
    func setWritten(_ times: EditTimes, _ record: KnownVersionID, named name: String) throws {
        let bytes = try sealer.sealed(times: Data(times.bytes), of: name)
        try db.run("UPDATE mist_record SET written = ? WHERE id = ?", [bytes, record])
    }

    /// Notes that a refetch has met a record.
    func note(_ epoch: Int64, _ record: KnownVersionID) throws {
        try db.run("UPDATE mist_record SET epoch = ? WHERE id = ?", [epoch, record])
    }

    /// Notes that a refetch has met the record of a name.
    func note(_ epoch: Int64, named name: String?, in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_record SET epoch = ? WHERE zone = ? AND name = ?", [epoch, zone, name])
    }

    /// Lets a record be looked up before it is sent again.
    func markConflicting(_ record: KnownVersionID) throws {
        try db.run("UPDATE mist_record SET is_conflicting = 1 WHERE id = ?", [record])
    }

    /// Lets the record of a row be looked up, because a verification has found that its version is not the service's.
    ///
    /// Its tag is one that no version has: so whatever the lookup finds is another version, and is stored.
    func distrust(_ name: String, in zone: ZoneRowID, row: RecordRowID, of type: TableID) throws {
        try db.run(
            """
            INSERT INTO mist_record (type, zone, name, row, tag, is_conflicting) VALUES (?1, ?2, ?3, ?4, ?5, 1)
            ON CONFLICT (zone, name) DO UPDATE SET type = ?1, row = ?4, tag = ?5, modified = NULL, is_conflicting = 1
            """,
            [type, zone, name, row, KnownVersion.noTag]
        )
    }

    /// Lets the record of a known version be looked up, because a verification has found that its row is missing.
    func distrust(_ name: String, in zone: ZoneRowID) throws {
        try db.run(
            """
            UPDATE mist_record SET tag = ?, modified = NULL, is_conflicting = 1 WHERE zone = ? AND name = ?
            """,
            [KnownVersion.noTag, zone, name]
        )
    }

    /// Whether a record is to be looked up before it is sent again.
    func isConflicting(_ name: String, in zone: ZoneRowID) throws -> Bool {
        try db.value("SELECT EXISTS (\(Self.conflicting("?2", in: "?1")))", [zone, name], as: Bool.self) ?? false
    }

    /// Lets a record that was never acknowledged be looked up: something has shown that the service has it, or had it.
    func markStored(_ name: String, in zone: ZoneRowID) throws {
        try db.run(
            "UPDATE mist_record SET is_conflicting = 1 WHERE zone = ? AND name = ? AND tag IS NULL",
            [zone, name]
        )
    }

    /// Lets an acknowledged record be looked up that a sweep did not meet.
    ///
    /// - Returns: Whether the record is one.
    func markMissed(_ name: String, in zone: StoredZone) throws -> Bool {
        try db.run(
            """
            UPDATE mist_record SET is_conflicting = 1
            WHERE zone = ? AND name = ? AND tag IS NOT NULL AND epoch <> ?
            """,
            [zone.id, name, zone.epoch]
        )
        return db.changesCount > 0
    }

    /// Lets the record of a name be looked up, whatever is known of it.
    func markForLookup(_ name: String, in zone: ZoneRowID, of type: TableID) throws {
        try insertForLookup(name, in: zone, of: type)
        try db.run("UPDATE mist_record SET is_conflicting = 1 WHERE zone = ? AND name = ?", [zone, name])
    }

    /// The version is known: the record needs no lookup.
    func endConflict(_ record: KnownVersionID) throws {
        try db.run("UPDATE mist_record SET is_conflicting = 0 WHERE id = ?", [record])
    }

    /// The version is known: the record of a name needs no lookup.
    func endConflict(named name: String, in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_record SET is_conflicting = 0 WHERE zone = ? AND name = ?", [zone, name])
    }

    func forget(_ record: KnownVersionID) throws {
        try db.run("DELETE FROM mist_record WHERE id = ?", [record])
    }

    /// Forgets the versions in a zone that is gone, but those of records that are being moved out of it.
    func forgetAll(in zone: ZoneRowID) throws {
        let isMoved = Moves.ofRecord("mist_record.name", from: "mist_record.zone")
        try db.run("DELETE FROM mist_record WHERE zone = ? AND NOT EXISTS (\(isMoved))", [zone])
    }

    func forgetAll(of type: TableID) throws {
        try db.run("DELETE FROM mist_record WHERE type = ?", [type])
    }
}

extension ServiceTime {
    /// The creation of a record without edit times, which the service stored at this time.
    var creation: EditTime { EditTime(self, device: 0) }
}
