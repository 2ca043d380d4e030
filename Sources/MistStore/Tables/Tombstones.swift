import GRDB
import MistKit
import SQLiteTables

/// The deletes that were not acknowledged, `mist_tombstone`: with ``PendingEdits`` the pending work. Triggers of the
/// record types' tables write them.
struct Tombstones: TableOwner {
    static let definition = """
        -- Deletes that were not acknowledged.
        CREATE TABLE mist_tombstone (
            record INTEGER PRIMARY KEY,
            type INTEGER NOT NULL,
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            tag TEXT,
            created INTEGER,
            creator INTEGER,
            time INTEGER NOT NULL,
            -- How far below a deleted record: children are deleted first.
            depth INTEGER NOT NULL DEFAULT 0,
            epoch INTEGER NOT NULL DEFAULT 0,
            is_conflicting INTEGER NOT NULL DEFAULT 0,
            \(permission),
            UNIQUE (zone, name)
        );
        """

    /// A ``Permission``.
    private static let permission = "is_permitted INTEGER NOT NULL DEFAULT 0"

    /// Whether a delete is sent where the deletes are more than the limit.
    enum Permission: Int64, DatabaseValueConvertible {
        /// It waits for the permission of a person.
        case needed = 0
        /// It is sent.
        case given = 1
        /// It is that of an old record, which a move has left, and whose copy was deleted here. It goes with the copy:
        /// see ``OldRecordFate``. An earlier program takes it for a permission.
        case ofCopy = 2
    }

    static func update(from format: Int64) -> [String] {
        format < 5 ? ["ALTER TABLE mist_tombstone ADD COLUMN \(permission)"] : []
    }

    /// A delete that is to be sent.
    struct Pending {
        let record: KnownVersionID
        let name: String
        let tag: String?
    }

    /// Which record a delete is of.
    struct DeletedRecord {
        let name: String
        let zone: ZoneRowID
        let type: TableID
        /// How far below a deleted record.
        let depth: Int64

        fileprivate static let columns = "name, zone, type, depth"

        fileprivate init(_ row: Row) {
            name = row["name"]
            zone = row["zone"]
            type = row["type"]
            depth = row["depth"]
        }
    }

    let db: Database
}

// MARK: - SQL for others

extension Tombstones {
    /// A statement of triggers that adds tombstones for the records that the service has, or may have. A record that it
    /// may have is looked up first, because a delete needs the tag.
    static func insert(depth: String, where condition: String) -> String {
        """
        INSERT INTO mist_tombstone (record, type, zone, name, tag, created, creator, time, depth, epoch, is_conflicting)
            \(KnownVersions.asTombstones(depth: depth, where: condition))
            ON CONFLICT (zone, name) DO UPDATE SET
                time = excluded.time, tag = excluded.tag, record = excluded.record, depth = excluded.depth;
        """
    }

    /// The depth of a record below a deleted one, as an expression.
    static func depth(below name: String, in zone: String) -> String {
        "1 + coalesce((SELECT depth FROM mist_tombstone WHERE zone = \(zone) AND name = \(name)), 0)"
    }

    /// A row if a record has a tombstone: `zone` and `name` are expressions.
    static func named(_ name: String, in zone: String) -> String {
        "SELECT 1 FROM mist_tombstone WHERE zone = \(zone) AND name = \(name)"
    }

    /// A row if the current row of a type's table has the name of a record with a tombstone.
    static let ofSameName =
        "SELECT 1 FROM mist_tombstone AS tombstone WHERE tombstone.zone = _zone AND tombstone.name = _recordName"

    /// The names of the deleted records that are to be looked up before the delete is sent.
    static func conflictingNames(in zone: String) -> String {
        "SELECT name FROM mist_tombstone WHERE zone = \(zone) AND is_conflicting"
    }

    /// The zones of those records.
    static let zonesWithConflicts = "SELECT zone FROM mist_tombstone WHERE is_conflicting"

    /// The zones of all deletes.
    static let zones = "SELECT zone FROM mist_tombstone"
}

// MARK: - Reading

extension Tombstones {
    /// When the deleted life of a name was created.
    ///
    /// - Returns: `nil` when the name has no tombstone; `.some(nil)` when the time of creation is unknown.
    func created(_ name: String, in zone: ZoneRowID) throws -> ServiceTime?? {
        try db.row("SELECT created FROM mist_tombstone WHERE zone = ? AND name = ?", [zone, name])
            .map { $0["created"] as ServiceTime? }
    }

    /// The deletes of a zone that can be sent, children first.
    ///
    /// - Parameters:
    ///   - zone: The zone.
    ///   - now: The machine's time.
    ///   - limit: The most deletes.
    ///   - needsPermission: Whether the deletes wait that were not permitted.
    /// - Returns: The deletes.
    /// - Throws: A `DatabaseError` when the file fails.
    func toSend(in zone: ZoneRowID, at now: MachineTime, limit: Int, needsPermission: Bool) throws -> [Pending] {
        try db.rows(
            """
            SELECT record, name, tag FROM mist_tombstone
            WHERE zone = ?1 AND NOT is_conflicting AND is_permitted IN (?5, iif(?4, ?5, ?6))
                AND NOT EXISTS (\(Parking.delaying("mist_tombstone.name", in: "mist_tombstone.zone", at: "?2")))
            ORDER BY depth DESC, time, record LIMIT ?3
            """,
            [zone, now, limit, needsPermission, Permission.given, Permission.needed]
        ).map { Pending(record: $0["record"], name: $0["name"], tag: $0["tag"]) }
    }

    /// The names of the deletes of a zone.
    func names(in zone: ZoneRowID) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(sql: "SELECT name FROM mist_tombstone WHERE zone = ?"),
            arguments: [zone]
        )
    }

    /// The zone and the tag of the delete of a record in a scope.
    func find(_ name: String, of table: TableID, in scope: DatabaseScope) throws -> (zone: ZoneRowID, tag: String?)? {
        try db.row(
            "SELECT zone, tag FROM mist_tombstone WHERE type = ? AND name = ? AND zone IN (\(Zones.ids(in: "?")))",
            [table, name, scope.number]
        ).map { ($0["zone"], $0["tag"]) }
    }

    /// Whether a record was deleted here, other than as what a move leaves or has left.
    ///
    /// - Parameters:
    ///   - name: The record's name.
    ///   - table: Its type.
    ///   - zone: A zone that is left out: that of an old record.
    ///   - scope: The scope.
    /// - Returns: Whether there is a delete of the name in another zone.
    /// - Throws: A `DatabaseError` when the file fails.
    func isDeleted(
        _ name: String,
        of table: TableID,
        outside zone: ZoneRowID,
        in scope: DatabaseScope
    ) throws -> Bool {
        try db.value(
            """
            SELECT EXISTS (
                SELECT 1 FROM mist_tombstone
                WHERE type = ? AND name = ? AND zone <> ? AND is_permitted <> ? AND zone IN (\(Zones.ids(in: "?")))
                    AND NOT EXISTS (\(Moves.ofRecord("mist_tombstone.name", from: "mist_tombstone.zone")))
            )
            """,
            [table, name, zone, Permission.ofCopy, scope.number],
            as: Bool.self
        ) ?? false
    }

    /// The permission of the delete of a name; `nil` where there is no such delete.
    func permission(_ name: String, in zone: ZoneRowID) throws -> Permission? {
        try db.row("SELECT is_permitted FROM mist_tombstone WHERE zone = ? AND name = ?", [zone, name])
            .map { $0["is_permitted"] }
    }

    /// The deletes of old records in a scope that go with their copies.
    func ofCopies(in scope: DatabaseScope) throws -> [DeletedRecord] {
        try db.rows(
            """
            SELECT \(DeletedRecord.columns) FROM mist_tombstone
            WHERE is_permitted = ? AND zone IN (\(Zones.ids(in: "?"))) ORDER BY record
            """,
            [Permission.ofCopy, scope.number]
        ).map(DeletedRecord.init)
    }

    var isEmpty: Bool {
        get throws { try db.value("SELECT NOT EXISTS (SELECT 1 FROM mist_tombstone)", as: Bool.self) ?? true }
    }

    /// The names of the deleted records of a type, sorted.
    func names(of table: TableID) throws -> [String] {
        try String.fetchAll(
            db,
            sql: "SELECT DISTINCT name FROM mist_tombstone WHERE type = ? ORDER BY 1",
            arguments: [table]
        )
    }

    /// The number of deletes of a scope.
    func count(in scope: DatabaseScope) throws -> Int {
        try db.value(
            "SELECT count(*) FROM mist_tombstone WHERE zone IN (\(Zones.ids(in: "?")))",
            [scope.number],
            as: Int.self
        ) ?? 0
    }

    /// Whether a delete is of a scope, whose number is the parameter, and was not permitted.
    private static let isWithoutPermission =
        "is_permitted = \(Permission.needed.rawValue) AND zone IN (\(Zones.ids(in: "?")))"

    /// The number of deletes of a scope that were not permitted.
    func countWithoutPermission(in scope: DatabaseScope) throws -> Int {
        try db.value(
            "SELECT count(*) FROM mist_tombstone WHERE \(Self.isWithoutPermission)",
            [scope.number],
            as: Int.self
        ) ?? 0
    }

    /// The deleted records of a scope whose delete was not permitted.
    func withoutPermission(in scope: DatabaseScope) throws -> [DeletedRecord] {
        try db.rows(
            "SELECT \(DeletedRecord.columns) FROM mist_tombstone WHERE \(Self.isWithoutPermission) ORDER BY record",
            [scope.number]
        ).map(DeletedRecord.init)
    }

    /// The names of a zone's deletes of records that the service is not known to have had, and that a refetch has not met.
    func neverStored(missedBy epoch: Int64, in zone: ZoneRowID) throws -> [String] {
        try db.rows("SELECT name FROM mist_tombstone WHERE zone = ? AND epoch <> ? AND tag IS NULL", [zone, epoch])
            .map { $0["name"] }
    }

    /// Whether a name has a tombstone that was not permitted.
    func needsPermission(_ name: String, in zone: ZoneRowID) throws -> Bool {
        try permission(name, in: zone) == .needed
    }

    /// The time of the latest delete.
    func latestTime() throws -> ServiceTime? {
        try db.value("SELECT max(time) FROM mist_tombstone", as: ServiceTime.self)
    }
}

// MARK: - Writing

extension Tombstones {
    /// Permits all deletes of a scope.
    ///
    /// - Returns: The number of deletes that were not permitted before.
    func permitAll(in scope: DatabaseScope) throws -> Int {
        try db.run(
            "UPDATE mist_tombstone SET is_permitted = ? WHERE \(Self.isWithoutPermission)",
            [Permission.given, scope.number]
        )
        return db.changesCount
    }

    /// Adds the delete of a record that was moved.
    ///
    /// - Parameters:
    ///   - record: The record's known version.
    ///   - depth: How far it is below the record that was moved.
    ///   - permission: Given where the record is in another zone.
    /// - Throws: A `DatabaseError` when the file fails.
    func insertOfMove(_ record: KnownVersionID, depth: Int64, _ permission: Permission = .given) throws {
        try db.run(Self.insert(depth: "?2", where: "id = ?1"), [record, depth])
        try db.run("UPDATE mist_tombstone SET is_permitted = ? WHERE record = ?", [permission, record])
    }

    /// Changes the permission of a delete.
    func set(_ permission: Permission, _ name: String, in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_tombstone SET is_permitted = ? WHERE zone = ? AND name = ?", [permission, zone, name])
    }

    /// The service does not have a record: if it never had it, its old records are the record, and their deletes have the
    /// permission that this one has.
    func handPermission(of name: String, in zone: ZoneRowID) throws {
        try db.run(
            """
            UPDATE mist_tombstone SET is_permitted = copy.is_permitted FROM (
                SELECT type, is_permitted FROM mist_tombstone
                WHERE zone = ?1 AND name = ?2 AND tag IS NULL AND is_permitted <> ?3
            ) AS copy
            WHERE mist_tombstone.name = ?2 AND mist_tombstone.type = copy.type AND mist_tombstone.is_permitted = ?3
            """,
            [zone, name, Permission.ofCopy]
        )
    }

    /// Adds the delete of a record, as triggers do.
    func insert(_ record: KnownVersionID) throws {
        try db.run(Self.insert(depth: "0", where: "id = ?1"), [record])
    }

    /// The service has another version of the deleted life: the delete is sent with the tag of that version.
    func renew(_ name: String, tag: String?, created: ServiceTime?, in zone: StoredZone) throws {
        try db.run(
            """
            UPDATE mist_tombstone SET tag = ?, created = ?, epoch = ?, is_conflicting = 0 WHERE zone = ? AND name = ?
            """,
            [tag, created, zone.epoch, zone.id, name]
        )
    }

    /// The service has stored a record that was deleted here meanwhile: the delete goes on with the new tag.
    func renew(_ record: KnownVersionID, _ stamps: Stamps) throws {
        try db.run(
            "UPDATE mist_tombstone SET tag = ?, created = ?, creator = ?, is_conflicting = 0 WHERE record = ?",
            binding: [
                ColumnValue(stamps.tag), ColumnValue(stamps.created), ColumnValue(stamps.creator), ColumnValue(record),
            ]
        )
    }

    /// Lets a deleted record be looked up before the delete is sent.
    func markConflicting(_ record: KnownVersionID) throws {
        try db.run("UPDATE mist_tombstone SET is_conflicting = 1 WHERE record = ?", [record])
    }

    /// Lets a deleted record be looked up before the delete is sent.
    func markConflicting(_ name: String, in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_tombstone SET is_conflicting = 1 WHERE zone = ? AND name = ?", [zone, name])
    }

    /// Notes that a refetch has met the deleted record of a name.
    func note(_ epoch: Int64, named name: String, in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_tombstone SET epoch = ? WHERE zone = ? AND name = ?", [epoch, zone, name])
    }

    func forget(_ record: KnownVersionID) throws {
        try db.run("DELETE FROM mist_tombstone WHERE record = ?", [record])
    }

    func forget(_ name: String, in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_tombstone WHERE zone = ? AND name = ?", [zone, name])
    }

    /// Forgets the deletes of records that a refetch did not meet: they are gone.
    func forgetMissed(by epoch: Int64, in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_tombstone WHERE zone = ? AND epoch <> ?", [zone, epoch])
    }

    func forgetAll(in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_tombstone WHERE zone = ?", [zone])
    }
}
