import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The declarations of the programs of a store, in the file of the public database: `mist_declared_type`,
/// `mist_declared_field` and `mist_setting`.
///
/// Programs do not read them: each goes by its own types and configuration. They are for tools that open the store
/// without the types of its program. Where two programs declare a field or a setting differently, that of the program
/// that opened the store last counts, as for the triggers of a table; a change of a merge policy is noted with its time.
/// A type or a field that only another program declares stays.
struct Declarations: TableOwner {
    /// A program without the tables does not miss them, so they need no new format. Other files than that of the public
    /// database have them without rows.
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_declared_type (
            name TEXT PRIMARY KEY,
            -- 1: records have a field for the edit times of their fields.
            has_edit_times INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS mist_declared_field (
            type TEXT NOT NULL,
            name TEXT NOT NULL,
            -- In the type.
            position INTEGER NOT NULL,
            kind TEXT NOT NULL,
            -- The policy, or the name of a closure, which only the program has.
            merge TEXT NOT NULL,
            -- The policy before, and when it was changed. The machine's time.
            former_merge TEXT,
            changed INTEGER,
            is_parent INTEGER NOT NULL,
            is_encrypted INTEGER NOT NULL,
            -- 1: a record without the field cannot be read as the type.
            is_required INTEGER NOT NULL,
            -- 1: the files of the field are downloaded on demand alone.
            is_on_demand INTEGER NOT NULL,
            -- A JSON array.
            former_names TEXT NOT NULL,
            PRIMARY KEY (type, name)
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS mist_setting (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            -- The zone of all private records; NULL with a zone for each record without a parent.
            zone TEXT,
            -- The limit of deletes without a permission; NULL without a limit.
            deletes INTEGER,
            fraction REAL,
            recovery_days INTEGER NOT NULL,
            recovery_bytes INTEGER NOT NULL,
            joins_signed_out INTEGER NOT NULL
        )
        """

    static let areNeededForReading = false

    let db: Database
}

// MARK: - Noting

extension Declarations {
    /// Notes the declaration of a program that opens the store.
    ///
    /// - Parameters:
    ///   - declaration: The declaration.
    ///   - now: The present time.
    /// - Throws: A `DatabaseError` when the file fails.
    func note(_ declaration: StoreDeclaration, at now: MachineTime) throws {
        for type in declaration.types {
            try db.run(
                """
                INSERT INTO mist_declared_type (name, has_edit_times) VALUES (?1, ?2)
                ON CONFLICT (name) DO UPDATE SET has_edit_times = ?2
                """,
                [type.recordType, type.hasEditTimes]
            )
            // Another field may be the parent by now.
            try db.run("UPDATE mist_declared_field SET is_parent = 0 WHERE type = ?", [type.recordType])
            for (position, field) in type.fields.enumerated() {
                try note(field, at: position, of: type.recordType, now)
            }
        }
        let settings = declaration.settings
        try db.run(
            """
            INSERT INTO mist_setting (id, zone, deletes, fraction, recovery_days, recovery_bytes, joins_signed_out)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (id) DO UPDATE SET
                zone = ?1, deletes = ?2, fraction = ?3, recovery_days = ?4, recovery_bytes = ?5, joins_signed_out = ?6
            """,
            [
                settings.zones.isPerRoot ? nil : settings.zones.homeZone.zoneName,
                settings.massDeletionLimit?.records, settings.massDeletionLimit?.fraction, settings.recoveryDays,
                settings.recoveryBytes, settings.joinsRecordsMadeSignedOut,
            ]
        )
    }

    private func note(
        _ field: StoreDeclaration.DeclaredField,
        at position: Int,
        of recordType: String,
        _ now: MachineTime
    ) throws {
        let names = try JSONEncoder().encode(field.schema.formerNames)
        try db.run(
            """
            INSERT INTO mist_declared_field (
                type, name, position, kind, merge, is_parent, is_encrypted, is_required, is_on_demand, former_names
            )
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            ON CONFLICT (type, name) DO UPDATE SET
                position = ?3, kind = ?4, merge = ?5,
                former_merge = CASE WHEN merge <> ?5 THEN merge ELSE former_merge END,
                changed = CASE WHEN merge <> ?5 THEN ?11 ELSE changed END,
                is_parent = ?6, is_encrypted = ?7, is_required = ?8, is_on_demand = ?9, former_names = ?10
            """,
            [
                recordType, field.schema.name, position, field.schema.type.rawValue,
                DeclaredMerge(field).rawValue, field.schema.isParent, field.schema.isEncrypted, field.isRequired,
                field.isOnDemand, String(decoding: names, as: UTF8.self), now,
            ]
        )
    }
}

/// How a field is merged, as the table has it.
private enum DeclaredMerge: RawRepresentable {
    case policy(FieldMerge)
    case closure

    init(_ field: StoreDeclaration.DeclaredField) {
        self = field.hasClosure ? .closure : .policy(field.schema.merge)
    }

    /// The name of a policy; `nil` for one that only a later version knows.
    init?(rawValue: String) {
        if rawValue == "closure" {
            self = .closure
        } else if let policy = FieldMerge(rawValue: rawValue) {
            self = .policy(policy)
        } else {
            return nil
        }
    }

    var rawValue: String {
        switch self {
        case .policy(let policy): policy.rawValue
        case .closure: "closure"
        }
    }
}

// MARK: - Reading

extension Declarations {
    /// A change of a field's merge policy.
    struct PolicyChange: Hashable, Sendable {
        let recordType: String
        let fieldName: String
        let former: String
        let present: String
        let time: MachineTime
    }

    /// Whether the file has this declaration already: the types and fields of it, and its settings.
    func have(_ declaration: StoreDeclaration) throws -> Bool {
        guard let present = try read(), present.settings == declaration.settings else { return false }
        return declaration.types.allSatisfy { type in
            guard let known = present.types.first(where: { $0.recordType == type.recordType }),
                known.hasEditTimes == type.hasEditTimes
            else { return false }
            // Fields of other programs may stand between them.
            let names = Set(type.fields.map(\.schema.name))
            return known.fields.filter { names.contains($0.schema.name) } == type.fields
        }
    }

    /// What the programs have declared; `nil` where no program has opened the store since the tables exist.
    ///
    /// - Throws: A ``StoreError`` with the code `newerFormat` for a policy that only a later version knows; a
    ///   `DatabaseError` when the file fails.
    func read() throws -> StoreDeclaration? {
        guard try Self.exist(in: db), let settings = try settings() else { return nil }
        let rows = try db.rows("SELECT * FROM mist_declared_field ORDER BY type, position, name")
        let fields = Dictionary(grouping: rows) { row -> String in row["type"] }
        let types = try db.rows("SELECT name, has_edit_times FROM mist_declared_type ORDER BY name").map { row in
            let name: String = row["name"]
            return StoreDeclaration.DeclaredType(
                recordType: name,
                hasEditTimes: row["has_edit_times"],
                fields: try (fields[name] ?? []).map(Self.field)
            )
        }
        return StoreDeclaration(types: types, settings: settings)
    }

    /// The merge policies that were changed, the latest first.
    func policyChanges() throws -> [PolicyChange] {
        try db.rows(
            """
            SELECT type, name, former_merge, merge, changed FROM mist_declared_field WHERE changed IS NOT NULL
            ORDER BY changed DESC, type, name
            """
        ).map { row in
            PolicyChange(
                recordType: row["type"],
                fieldName: row["name"],
                former: row["former_merge"],
                present: row["merge"],
                time: row["changed"]
            )
        }
    }

    private func settings() throws -> StoreDeclaration.Settings? {
        try db.row("SELECT * FROM mist_setting").map { row in
            let (zone, deletes): (String?, Int?) = (row["zone"], row["deletes"])
            return StoreDeclaration.Settings(
                zones: zone.map { .single($0) } ?? .perRoot,
                massDeletionLimit: deletes.map { MassDeletionLimit(records: $0, fraction: row["fraction"] ?? 0) },
                recoveryDays: row["recovery_days"],
                recoveryBytes: row["recovery_bytes"],
                joinsRecordsMadeSignedOut: row["joins_signed_out"]
            )
        }
    }

    private static func field(_ row: Row) throws -> StoreDeclaration.DeclaredField {
        let (name, kind, text): (String, String, String) = (row["name"], row["kind"], row["merge"])
        guard let merge = DeclaredMerge(rawValue: text) else {
            throw StoreError(
                .newerFormat,
                "A later version of MistStore has declared the merge policy \(text). Use that version.",
                recordType: row["type"],
                fieldName: name
            )
        }
        let names: String = row["former_names"]
        var (policy, hasClosure) = (FieldMerge.latest, false)
        switch merge {
        case .policy(let declared): policy = declared
        case .closure: hasClosure = true
        }
        return StoreDeclaration.DeclaredField(
            schema: RecordSchema.Field(
                name: name,
                type: FieldType(rawValue: kind),
                isEncrypted: row["is_encrypted"],
                merge: policy,
                formerNames: (try? JSONDecoder().decode([String].self, from: Data(names.utf8))) ?? [],
                isParent: row["is_parent"]
            ),
            hasClosure: hasClosure,
            isRequired: row["is_required"],
            isOnDemand: row["is_on_demand"]
        )
    }
}
