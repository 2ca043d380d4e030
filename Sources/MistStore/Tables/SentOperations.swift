import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A row of `mist_sent`: the change of a record as it was sent.
struct SentOperation {
    enum Kind: String, DatabaseValueConvertible {
        case create, update, delete
    }

    let record: KnownVersionID
    let name: String
    let kind: Kind
    /// The bytes of the field `mist_edits` that was sent.
    let times: Data?

    fileprivate init(_ row: Row, _ sealer: FieldSealer?) throws {
        record = row["record"]
        name = row["name"]
        kind = Kind(rawValue: row["operation"]) ?? .update
        times = try sealer.opened(times: row["times"], of: name)
    }
}

/// What was sent and has no known outcome yet: the operations, and the values and times of their edits. `mist_sent`,
/// `mist_sent_field`.
struct SentOperations: TableOwner {
    static let definition = """
        CREATE TABLE mist_sent (
            record INTEGER PRIMARY KEY,
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            -- create, update, delete
            operation TEXT NOT NULL,
            -- mist_edits and the other fields as sent.
            times BLOB,
            -- 1: the reply was lost.
            is_uncertain INTEGER NOT NULL DEFAULT 0,
            \(request)
        );
        CREATE TABLE mist_sent_field (
            record INTEGER NOT NULL,
            field INTEGER NOT NULL,
            time INTEGER NOT NULL,
            value,
            PRIMARY KEY (record, field)
        ) WITHOUT ROWID;
        """

    /// The number of the request that carried the operation.
    private static let request = "request INTEGER"

    static func update(from format: Int64) -> [String] {
        guard format < 4 else { return [] }
        // A request under way in a file of an earlier format has an unknown outcome.
        return ["ALTER TABLE mist_sent ADD COLUMN \(request)", "UPDATE mist_sent SET is_uncertain = 1"]
    }

    let db: Database
    let sealer: FieldSealer?
}

// MARK: - SQL for others

extension SentOperations {
    /// The edit times that were sent of a record, as a query.
    static func times(ofRecord record: String) -> String { "SELECT times FROM mist_sent WHERE record = \(record)" }

    /// The zones to which operations were sent, as a query.
    static let zones = "SELECT zone FROM mist_sent"

    /// The operations of a zone, as a query.
    static func all(in zone: String) -> String { "SELECT 1 FROM mist_sent WHERE zone = \(zone)" }

    /// The operations of a zone whose reply was lost, as a query.
    static func uncertain(in zone: String) -> String {
        "SELECT 1 FROM mist_sent WHERE mist_sent.zone = \(zone) AND is_uncertain"
    }

    /// The names of the records of a zone whose operation has an unknown outcome.
    static func uncertainNames(in zone: String) -> String {
        "SELECT name FROM mist_sent WHERE zone = \(zone) AND is_uncertain"
    }

    /// A row if an operation of a record was sent: `zone` and `name` are expressions.
    static func named(_ name: String, in zone: String) -> String {
        "SELECT 1 FROM mist_sent WHERE zone = \(zone) AND name = \(name)"
    }

    /// The sent field of a record as `sent`, beginning with `FROM`.
    static func field(_ field: String, ofRecord record: String) -> String {
        "FROM mist_sent_field AS sent WHERE sent.record = \(record) AND sent.field = \(field)"
    }

    /// The sent fields of a row of a type's table as `sent`, as a query.
    static func sentFields(type: String, row: String) -> String {
        """
        SELECT 1 FROM mist_sent_field AS sent \(KnownVersions.join("sent.record"))
            WHERE \(KnownVersions.isJoined(type: type, row: row))
        """
    }
}

// MARK: - Reading

extension SentOperations {
    /// The operations of a request to a zone. Those of the answered items are forgotten one after the other.
    func all(of request: RequestNumber, in zone: ZoneRowID) throws -> [SentOperation] {
        try db.rows(
            "SELECT record, name, operation, times FROM mist_sent WHERE zone = ? AND request = ?",
            [zone, request]
        ).map { try SentOperation($0, sealer) }
    }

    /// The operation of a record whose reply was lost.
    func uncertain(_ name: String, in zone: ZoneRowID) throws -> SentOperation? {
        try db.row(
            "SELECT record, name, operation, times FROM mist_sent WHERE zone = ? AND name = ? AND is_uncertain",
            [zone, name]
        ).map { try SentOperation($0, sealer) }
    }

    /// The number of operations of a scope without a known outcome, by their kind.
    func summary(of scope: DatabaseScope) throws -> [(kind: String, operations: Int)] {
        try db.rows(
            """
            SELECT operation, count(*) AS operations FROM mist_sent WHERE zone IN (\(Zones.ids(in: "?")))
            GROUP BY operation ORDER BY operation
            """,
            [scope.number]
        ).map { ($0["operation"], $0["operations"]) }
    }

    /// Whether a delete of a name was sent whose reply was lost.
    func hasUncertainDelete(of name: String, in zone: ZoneRowID) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_sent WHERE zone = ? AND name = ? AND operation = ? AND is_uncertain)",
            [zone, name, SentOperation.Kind.delete],
            as: Bool.self
        ) ?? false
    }

    func isSent(_ name: String, in zone: ZoneRowID) throws -> Bool {
        try db.value("SELECT EXISTS (\(Self.named("?2", in: "?1")))", [zone, name], as: Bool.self) ?? false
    }

    /// Whether all operations of a request have a known outcome.
    func isEmpty(_ request: RequestNumber, in zone: ZoneRowID) throws -> Bool {
        try db.value(
            "SELECT NOT EXISTS (\(Self.all(in: "?")) AND request = ?)",
            [zone, request],
            as: Bool.self
        ) ?? true
    }

    /// The values that were sent of a record, by field.
    func values(of record: KnownVersionID, _ table: RecordTable) throws -> [String: FieldValue?] {
        var values: [String: FieldValue?] = [:]
        let statement = try db.cachedStatement(sql: "SELECT field, value FROM mist_sent_field WHERE record = ?")
        try statement.bind([ColumnValue(record)])
        let cursor = try Row.fetchCursor(statement)
        while let found = try cursor.next() {
            guard let field = table.field(found[0]) else { continue }
            var value = ColumnValue(sqliteStatement: statement.sqliteStatement, index: 1)
            if let sealing = field.sealing, value != .null {
                value = (try? sealing.opened(value, of: try recordName(of: record))) ?? .null
            }
            values[field.name] = .some(field.serviceValue(value))
        }
        return values
    }

    func isSent(_ field: FieldID, of record: KnownVersionID) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 \(Self.field("?2", ofRecord: "?1")))",
            [record, field],
            as: Bool.self
        ) ?? false
    }
}

// MARK: - Writing

extension SentOperations {
    /// Notes that a request carries an operation.
    func insert(
        _ kind: SentOperation.Kind,
        of record: KnownVersionID,
        named name: String,
        in zone: ZoneRowID,
        by request: RequestNumber,
        times: EditTimes? = nil
    ) throws {
        try db.run(
            """
            INSERT OR REPLACE INTO mist_sent (record, zone, name, operation, times, request)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            binding: [
                ColumnValue(record), ColumnValue(zone), .text(name), .text(kind.rawValue),
                ColumnValue(try sealer.sealed(times: times.map { Data($0.bytes) }, of: name)),
                ColumnValue(request),
            ]
        )
        if kind != .delete {
            try db.run("DELETE FROM mist_sent_field WHERE record = ?", binding: [ColumnValue(record)])
        }
    }

    /// Notes that another copy of the file may have created the records of a type that the service is not known to have.
    func insertUncertainCreates(of table: RecordTable) throws {
        try db.run(
            """
            INSERT INTO mist_sent (record, zone, name, operation, is_uncertain)
                SELECT id, zone, name, ?2, 1 FROM (\(KnownVersions.unacknowledged(of: "?1"))) WHERE true
                ON CONFLICT (record) DO UPDATE SET is_uncertain = 1
            """,
            [table.id, SentOperation.Kind.create]
        )
    }

    /// Notes the value of an edit that is sent; the insert has none.
    func insert(_ edit: EditRow, of record: KnownVersionID, value: ColumnValue) throws {
        let value = try edit.field?.sealing?.sealed(value, of: try recordName(of: record)) ?? value
        try db.run(
            "INSERT INTO mist_sent_field (record, field, time, value) VALUES (?, ?, ?, ?)",
            binding: [
                ColumnValue(record), ColumnValue(edit.field?.id ?? .insert), ColumnValue(edit.time), value,
            ]
        )
    }

    /// Seals the values of a field that were sent.
    func sealValues(of field: StoredField, _ sealing: FieldSealing) throws {
        let statement = try db.cachedStatement(
            sql: "SELECT record, value FROM mist_sent_field WHERE field = ? AND value IS NOT NULL"
        )
        try statement.bind([ColumnValue(field.id)])
        var plain: [(KnownVersionID, ColumnValue)] = []
        let cursor = try Row.fetchCursor(statement)
        while let found = try cursor.next() {
            plain.append((found[0], ColumnValue(sqliteStatement: statement.sqliteStatement, index: 1)))
        }
        for (record, value) in plain {
            try db.run(
                "UPDATE mist_sent_field SET value = ? WHERE record = ? AND field = ?",
                binding: [
                    try sealing.sealed(value, of: try recordName(of: record)), ColumnValue(record),
                    ColumnValue(field.id),
                ]
            )
        }
    }

    /// Seals the edit times of a file that was not sealed.
    func sealTimes() throws {
        for row in try db.rows("SELECT record, name, times FROM mist_sent WHERE times IS NOT NULL") {
            try db.run(
                "UPDATE mist_sent SET times = ? WHERE record = ?",
                [try sealer.sealed(times: row["times"], of: row["name"]), row["record"] as KnownVersionID]
            )
        }
    }

    /// The name of the record of an operation, with which its values are sealed.
    private func recordName(of record: KnownVersionID) throws -> String {
        try db.value("SELECT name FROM mist_sent WHERE record = ?", [record], as: String.self) ?? ""
    }

    /// Notes that the outcome of what was sent to a zone is unknown.
    func markUncertain(in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_sent SET is_uncertain = 1 WHERE zone = ?", [zone])
    }

    /// Forgets an operation, because its outcome is known.
    func forget(_ record: KnownVersionID) throws {
        try db.run("DELETE FROM mist_sent_field WHERE record = ?", binding: [ColumnValue(record)])
        try db.run("DELETE FROM mist_sent WHERE record = ?", binding: [ColumnValue(record)])
    }

    /// Forgets what was sent of a record, because its outcome is known.
    func forget(_ name: String, in zone: ZoneRowID) throws {
        try forget(where: "zone = ?1 AND name = ?2", [zone, name])
    }

    /// Forgets the operations of a request, because none was carried out.
    func forget(_ request: RequestNumber, in zone: ZoneRowID) throws {
        try forget(where: "zone = ?1 AND request = ?2", [zone, request])
    }

    /// Forgets what was sent to a zone, because its outcome is known.
    func forgetAll(in zone: ZoneRowID) throws {
        try forget(where: "zone = ?1", [zone])
    }

    /// Forgets what was sent to a zone that was read to its end: a change that did not come back was not carried out,
    /// and is sent again. Whether the change of a record that could not be delivered was carried out is known after its
    /// lookup.
    func forgetDelivered(in zone: ZoneRowID) throws {
        try forget(where: "zone = ?1 AND name NOT IN (\(UndeliveredRecords.names(in: "?1")))", [zone])
    }

    private func forget(where condition: String, _ arguments: StatementArguments) throws {
        try db.run(
            "DELETE FROM mist_sent_field WHERE record IN (SELECT record FROM mist_sent WHERE \(condition))",
            arguments
        )
        try db.run("DELETE FROM mist_sent WHERE \(condition)", arguments)
    }
}
