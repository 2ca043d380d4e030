package import CloudKitModel
package import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// SQL expressions for the zone of a record, where each record without a parent has a zone of its own.
///
/// The triggers use them for rows that any SQLite tool inserts, and ``ZoneAssignment`` uses them for records that the
/// program adds. So both make the same decision:
///
/// - A record is in the zone of its parent.
/// - Before the parent exists, it is in the zone of other records with the same parent.
/// - A parent that is added after its children is in their zone.
struct RootZones {
    /// All tables of the file.
    let tables: [RecordTable]
    /// The zone of rows that are inserted without one.
    let home: ZoneRowID

    /// The zones of the private database.
    private static let ownZones = "+_zone IN (\(Zones.ids(in: "\(DatabaseScope.private.number)")))"

    /// The index that finds a record by its name alone.
    static func indexes(of table: RecordTable) -> [String] {
        let name = quoted("mist_name_\(table.recordType)")
        return ["CREATE INDEX IF NOT EXISTS \(name) ON \(table.name) (_recordName)"]
            + [table.parentField].compactMap(\.self).map { field in
                let index = quoted("mist_parent_\(table.recordType)")
                return "CREATE INDEX IF NOT EXISTS \(index) ON \(table.name) (\(field.column))"
            }
    }

    /// A row that searches leave out: the row that is being inserted.
    struct Row {
        let table: RecordTable
        let id: String

        fileprivate func condition(in other: RecordTable) -> String {
            other.id == table.id ? " AND _id <> \(id)" : ""
        }
    }

    private func zones(_ own: Row?, where condition: (RecordTable) -> String?) -> String? {
        let parts = tables.compactMap { table in
            condition(table).map {
                "SELECT _zone FROM \(table.name) WHERE \($0) AND \(Self.ownZones)\(own?.condition(in: table) ?? "")"
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: " UNION ALL ")
    }

    /// The zones of the records with a name.
    func zones(named name: String, except own: Row? = nil) -> String {
        zones(own) { _ in "_recordName = \(name)" } ?? "SELECT NULL WHERE false"
    }

    /// The zones of the records whose parent has a name.
    private func zones(below name: String, except own: Row?) -> String {
        zones(own) { table in table.parentField.map { "\($0.column) = \(name)" } } ?? "SELECT NULL WHERE false"
    }

    /// The zone that a new record belongs to; null for a root that needs a zone of its own.
    ///
    /// - Parameters:
    ///   - name: The record's name, in SQL.
    ///   - parent: The name of its parent, in SQL; `nil` where its type has none.
    ///   - own: The row, where it is in the table already.
    /// - Returns: The SQL expression.
    func zone(named name: String, parent: String?, except own: Row? = nil) -> String {
        func first(_ select: String) -> String { "(SELECT min(_zone) FROM (\(select)))" }
        var choices: [String] = []
        if let parent {
            choices = [zones(named: parent, except: own), zones(below: parent, except: own)].map(first)
        }
        choices.append(first(zones(below: name, except: own)))
        return choices.count == 1 ? choices[0] : "coalesce(\(choices.joined(separator: ", ")))"
    }

    /// The number of zones that have a record with a name.
    func zoneCount(named name: String) -> String {
        "(SELECT count(DISTINCT _zone) FROM (\(zones(named: name))))"
    }

    /// Whether a record with a name is in another zone, and none is in this zone.
    func leads(to name: String, outOf zone: String) -> String {
        let inside = tables.map { "SELECT 1 FROM \($0.name) WHERE _zone = \(zone) AND _recordName = \(name)" }
        return """
            \(name) IS NOT NULL AND NOT EXISTS (\(inside.joined(separator: " UNION ALL "))) \
            AND EXISTS (\(zones(named: name)))
            """
    }

    /// The number of zones that the service has, or will have for the rows of this file.
    var count: String { Zones.count(withRowsOf: tables, home: home) }
}

// MARK: - Triggers

extension RootZones {
    /// Whether an inserted row has no zone yet. A row that replaces a record of the home zone stays there.
    var isUnassigned: String {
        """
        NEW._zone = \(home) AND NOT EXISTS (
            \(KnownVersions.named("NEW._recordName", in: "\(home)"))
        )
        """
    }

    /// A random UUID, the name of a new zone.
    private static let randomName = """
        (printf('%s-%s-4%s-A%s-%s', hex(randomblob(4)), hex(randomblob(2)), substr(hex(randomblob(2)), 2), \
        substr(hex(randomblob(2)), 2), hex(randomblob(6))))
        """

    /// The names of all triggers that a table may have.
    static func names(of table: RecordTable) -> [String] {
        ["mist_zone_\(table.recordType)", "mist_inside_\(table.recordType)"]
            + table.fields.filter { $0.type == .reference }.map { "mist_inside_\(table.recordType).\($0.name)" }
    }

    /// The triggers of a table: one gives a row its zone, the others refuse links that lead out of the zone.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - condition: When triggers do not rest.
    /// - Returns: The statements that create them, in the order of ``names(of:)``.
    func triggers(of table: RecordTable, when condition: String) -> [String] {
        let parent = table.parentField.map { "NEW.\($0.column)" }
        let own = Row(table: table, id: "NEW._id")
        let zone = zone(named: "NEW._recordName", parent: parent, except: own)
        let references = table.fields.filter { $0.type == .reference }
        func refusal(_ field: StoredField, _ zone: String) -> String {
            """
            SELECT \(TriggerRefusal.linkToOtherZone.raise("the reference \(field.name) leads to another zone"))
                WHERE \(leads(to: "NEW.\(field.column)", outOf: zone));
            """
        }
        let assigned = "(SELECT _zone FROM \(table.name) WHERE _id = NEW._id)"
        let names = Self.names(of: table).map(quoted)
        let ambiguity = parent.map { parent in
            """
            SELECT \(TriggerRefusal.parentInSeveralZones.raise("the parent is in several zones"))
                WHERE \(zoneCount(named: parent)) > 1;
            """
        }
        return [
            """
            CREATE TRIGGER \(names[0]) AFTER INSERT ON \(table.name) WHEN \(condition) AND \(isUnassigned)
            BEGIN
                SELECT \(TriggerRefusal.nameTakenInOtherZone.raise("a record in another zone has the name"))
                    WHERE EXISTS (
                        SELECT 1 FROM \(table.name) WHERE _recordName = NEW._recordName AND _id <> NEW._id
                    );
                \(ambiguity ?? "")
                SELECT \(TriggerRefusal.tooManyZones.raise("too many zones"))
                    WHERE \(zone) IS NULL AND \(count) >= \(ZoneLayout.mostZones);
                \(Zones.insertion(named: Self.randomName, if: "\(zone) IS NULL"))
                UPDATE \(table.name) SET _zone = coalesce(\(zone), \(Zones.latest)) WHERE _id = NEW._id;
                SELECT \(TriggerRefusal.nameTaken.raise("a record of another type has the name"))
                    \(KnownVersions.ofOtherType("NEW._recordName", in: assigned, than: table.id));
                \(references.map { refusal($0, assigned) }.joined(separator: "\n    "))
            END
            """,
            """
            CREATE TRIGGER \(names[1]) AFTER INSERT ON \(table.name) WHEN \(condition) AND NOT (\(isUnassigned))
            BEGIN
                SELECT 1;
                \(references.map { refusal($0, "NEW._zone") }.joined(separator: "\n    "))
            END
            """,
        ]
            + zip(names.dropFirst(2), references).map { name, field in
                """
                CREATE TRIGGER \(name) AFTER UPDATE OF \(field.column) ON \(table.name)
                WHEN NEW.\(field.column) IS NOT OLD.\(field.column) AND \(condition)
                BEGIN
                    \(refusal(field, "NEW._zone"))
                END
                """
            }
    }
}

// MARK: - Records that the program adds

/// Chooses the zones of records that the program adds, and refuses links that lead out of them.
package struct ZoneAssignment {
    package let file: StoreFile
    let scope: DatabaseScope
    package let db: Database

    package init(file: StoreFile, scope: DatabaseScope, db: Database) {
        self.file = file
        self.scope = scope
        self.db = db
    }

    /// The zone of a record that is not here yet.
    ///
    /// - Parameters:
    ///   - fields: The record's fields.
    ///   - name: Its name.
    ///   - table: The table of its type.
    ///   - newName: Chooses the name of a zone.
    /// - Returns: The zone, which is new for a root where roots have zones of their own.
    /// - Throws: A ``StoreError``: `tooManyZones`, or `link` for a parent that is in several zones.
    package func zone(
        for fields: [String: FieldValue],
        named name: String,
        in table: RecordTable,
        newName: () -> String = { UUID().uuidString }
    ) throws -> ZoneRowID {
        let home = file.homeZones[scope] ?? 0
        guard scope == .private, file.hasZonePerRoot else { return home }
        let zones = RootZones(tables: file.orderedTables, home: home)
        let parent = table.parentField.flatMap { fields[$0.name]?.referenceValue }
        if let zoneID = parent?.zoneID, let zone = try number(of: zoneID) { return zone }
        if let parent, let field = table.parentField {
            let count = try db.value("SELECT \(zones.zoneCount(named: "?1"))", [parent.recordName], as: Int.self) ?? 0
            guard count <= 1 else {
                throw StoreError(
                    .link,
                    "The parent \(parent.recordName) is in \(count) zones. Name the zone in the reference: RecordReference(recordName:zoneID:).",
                    recordType: table.recordType,
                    recordName: name,
                    fieldName: field.name
                )
            }
        }
        let sql = "SELECT \(zones.zone(named: "?1", parent: parent == nil ? nil : "?2"))"
        let arguments: StatementArguments = parent.map { [name, $0.recordName] } ?? [name]
        if let zone = try db.value(sql, arguments, as: ZoneRowID.self) { return zone }
        return try newZone(named: name, in: table, newName: newName)
    }

    /// A new zone for a root.
    ///
    /// - Parameters:
    ///   - name: The name of the root.
    ///   - table: The table of its type.
    ///   - newName: Chooses the name of the zone.
    /// - Returns: The zone.
    /// - Throws: A ``StoreError``: `tooManyZones`.
    func newZone(
        named name: String,
        in table: RecordTable,
        newName: () -> String = { UUID().uuidString }
    ) throws -> ZoneRowID {
        let zones = RootZones(tables: file.orderedTables, home: file.homeZones[scope] ?? 0)
        guard try db.value("SELECT \(zones.count)", as: Int.self) ?? 0 < ZoneLayout.mostZones else {
            throw StoreError.tooManyZones(recordType: table.recordType, recordName: name)
        }
        return try Zones(scope: scope, db: db).identifier(of: ZoneID(zoneName: newName()))
    }

    /// The number of a zone; `nil` for a zone that is gone, or that the file does not have.
    func number(of zone: ZoneID) throws -> ZoneRowID? { try Zones(scope: scope, db: db).number(of: zone) }

    /// Refuses fields whose references lead to a record of another zone. A target that is not on this machine is not an
    /// error.
    ///
    /// - Parameters:
    ///   - fields: The fields that are written.
    ///   - name: The record's name.
    ///   - table: The table of its type.
    ///   - zone: The record's zone.
    /// - Throws: A ``StoreError``: `link`, with the names of both zones.
    func checkLinks(
        of fields: [String: FieldValue],
        named name: String,
        in table: RecordTable,
        zone: StoredZone
    ) throws {
        guard scope == .private, file.hasZonePerRoot else { return }
        let zones = RootZones(tables: file.orderedTables, home: file.homeZones[scope] ?? 0)
        let condition = zones.leads(to: "?1", outOf: "?2")
        for field in table.fields {
            for target in fields[field.name]?.references ?? [] {
                guard try db.value("SELECT \(condition)", [target.recordName, zone.id], as: Bool.self) == true else {
                    continue
                }
                let other = try db.value(
                    "SELECT min(_zone) FROM (\(zones.zones(named: "?1")))",
                    [target.recordName],
                    as: ZoneRowID.self
                ).flatMap { try StoredZone.fetch($0, db) }
                throw StoreError(
                    .link,
                    """
                    The reference leads to \(target.recordName) in the zone \(other?.zoneID.zoneName ?? ""), and the record is in the zone \
                    \(zone.zoneID.zoneName). References stay in a zone: keep the name of the record in a field of type String.
                    """,
                    recordType: table.recordType,
                    recordName: name,
                    fieldName: field.name
                )
            }
        }
    }

    /// Removes the zones whose records were all removed before they were sent.
    func removeUnused() throws {
        guard scope == .private, file.hasZonePerRoot else { return }
        try Zones(scope: scope, db: db).removeUnused(except: file.homeZones[scope], tables: file.orderedTables)
    }
}

extension StoreError {
    static func tooManyZones(recordType: String? = nil, recordName: String? = nil) -> StoreError {
        StoreError(
            .tooManyZones,
            """
            The database has \(ZoneLayout.mostZones) zones or more, and the service allows 1,000. Add the record below a parent, or keep all \
            records in one zone: configuration.zones = .single("Records").
            """,
            recordType: recordType,
            recordName: recordName
        )
    }
}
