import GRDB
import MistKit
import SQLiteTables

/// Brings the tables of a file up to date with the program's record types, in one transaction.
///
/// New types get tables, new fields get columns. Nothing is dropped: a file that a newer program has extended keeps the
/// tables and columns that this program does not know, with their values.
struct SchemaUpdate {
    let schemas: [RecordSchema]
    /// The zone of rows that are inserted without a zone.
    let homeZone: ZoneRowID
    /// Whether records without a parent have zones of their own.
    let hasZonePerRoot: Bool
    /// Seals the values of encrypted fields; `nil` in a file that is not sealed.
    let sealer: FieldSealer?

    init(_ schemas: [RecordSchema], homeZone: ZoneRowID, hasZonePerRoot: Bool = false, sealer: FieldSealer?) {
        self.schemas = schemas
        self.homeZone = homeZone
        self.hasZonePerRoot = hasZonePerRoot
        self.sealer = sealer
    }

    /// Updates the tables, the triggers and the indexes of a file.
    ///
    /// - Parameter db: The connection, within a transaction.
    /// - Returns: The tables of the program's types, and all tables of the file in the order of their numbers.
    /// - Throws: A ``StoreError``: `schema` where types do not fit each other or the file.
    func apply(to db: Database) throws -> (own: [RecordTable], all: [RecordTable]) {
        try check()
        let old = try RecordTypes(db: db).tables(sealer)
        for schema in schemas {
            try update(schema, old.first { $0.recordType == schema.recordType }, db)
        }
        try sealEncryptedFields(db)
        let all = try RecordTypes(db: db).tables(sealer)
        try replaceTriggers(of: all, db)
        let tables = described(all)
        for table in tables.own {
            let indexes = table.referenceIndexes + QueryIndexes.statements(for: table)
            for statement in indexes + (hasZonePerRoot ? RootZones.indexes(of: table) : []) {
                try db.execute(sql: statement)
            }
        }
        return tables
    }

    /// The tables as they are in a file that is read.
    ///
    /// - Parameter db: The connection.
    /// - Returns: The tables of the program's types, and all tables of the file in the order of their numbers.
    /// - Throws: A ``StoreError``: `schema` where types do not fit each other or the file, `needsUpdate` where the file
    ///   lacks a table or a column.
    func existing(in db: Database) throws -> (own: [RecordTable], all: [RecordTable]) {
        try check()
        let all = try RecordTypes(db: db).tables(sealer)
        for schema in schemas {
            guard let table = all.first(where: { $0.recordType == schema.recordType }) else {
                throw StoreError.needsUpdate(schema.recordType, nil)
            }
            for field in schema.fields {
                guard let stored = table[field.name] else {
                    throw StoreError.needsUpdate(schema.recordType, field.name)
                }
                try check(stored, field, of: schema)
            }
        }
        return described(all)
    }

    /// The tables of the program's types, as the program describes them, and all tables.
    private func described(_ all: [RecordTable]) -> (own: [RecordTable], all: [RecordTable]) {
        let known = Dictionary(uniqueKeysWithValues: schemas.map { ($0.recordType, $0) })
        let own = all.compactMap { table in known[table.recordType].map { table.described(by: $0) } }
        let described = Dictionary(uniqueKeysWithValues: own.map { ($0.id, $0) })
        return (own, all.map { described[$0.id] ?? $0 })
    }

    private func check(_ stored: StoredField, _ field: RecordSchema.Field, of schema: RecordSchema) throws(StoreError) {
        guard stored.type != field.type else { return }
        throw StoreError(
            .schema,
            """
            The field is \(field.type) in the program and \(stored.type) in the file. A field keeps its type: give the new \
            one another name.
            """,
            recordType: schema.recordType,
            fieldName: field.name
        )
    }

    /// Checks the record types without the file.
    private func check() throws {
        var types: [String: String] = [:]
        for schema in schemas {
            if let other = types.updateValue(schema.recordType, forKey: schema.recordType.lowercased()) {
                throw StoreError(
                    .schema,
                    "The record types \(other) and \(schema.recordType) need tables with the same name, because SQLite ignores case. Rename one of them.",
                    recordType: schema.recordType
                )
            }
            if schema.recordType.lowercased().hasPrefix("mist_") || schema.recordType.lowercased().hasPrefix("sqlite_")
            {
                throw StoreError(
                    .schema,
                    "Names that begin with mist_ or sqlite_ are those of the store's own tables. Rename the record type.",
                    recordType: schema.recordType
                )
            }
            if let problem = schema.problems().first {
                throw StoreError(.schema, problem, recordType: schema.recordType)
            }
            if let field = schema.fields.first(where: { $0.type == .assetList }) {
                throw StoreError(
                    .schema,
                    "The store keeps no lists of files. Make a record for each file, with a reference to this one.",
                    recordType: schema.recordType,
                    fieldName: field.name
                )
            }
            if sealer != nil { try SealedColumns.check(schema) }
            var names: [String: String] = [:]
            for field in schema.fields {
                if let other = names.updateValue(field.name, forKey: field.name.lowercased()) {
                    throw StoreError(
                        .schema,
                        "The fields \(other) and \(field.name) need columns of one name, as SQLite ignores case. Rename one of them.",
                        recordType: schema.recordType,
                        fieldName: field.name
                    )
                }
            }
        }
    }

    private func update(_ schema: RecordSchema, _ table: RecordTable?, _ db: Database) throws {
        guard let table else {
            let id = try RecordTypes(db: db).insert(schema.recordType)
            var fields = try schema.fields.map { try note($0, of: schema.recordType, id, isSealed: false, db) }
            for field in fields {
                fields += try noteFormers(of: field, among: fields, type: schema.recordType, id, db)
            }
            let table = RecordTable(id: id, recordType: schema.recordType, fields: fields)
            try db.execute(sql: table.definition(defaultZone: homeZone))
            return
        }
        for field in schema.fields {
            guard let stored = table[field.name] else {
                let isSealed = field.formerNames.contains { table[$0]?.sealing != nil }
                let added = try note(field, of: table.recordType, table.id, isSealed: isSealed, db)
                try add(added, to: table, db)
                try rename(field, of: table, to: added, db)
                try takeKeptValues(of: added, in: table, db)
                try addFormers(of: added, to: table, db)
                continue
            }
            try check(stored, field, of: schema)
            if stored.schema.isParent != field.isParent {
                try RecordTypes(db: db).setIsParent(field.isParent, stored.id)
            }
            try addFormers(of: StoredField(id: stored.id, schema: field, sealing: stored.sealing), to: table, db)
        }
    }

    /// Gives a field its number. The values of an encrypted field are sealed from the beginning, where there is a key, and
    /// so are those of a field that replaces a sealed one.
    private func note(
        _ field: RecordSchema.Field,
        of recordType: String,
        _ type: TableID,
        isSealed: Bool,
        _ db: Database
    ) throws -> StoredField {
        let id = try RecordTypes(db: db).insert(field, of: type)
        guard let sealer, field.isEncrypted || isSealed else { return StoredField(id: id, schema: field) }
        try RecordTypes(db: db).setIsSealed(id)
        let sealing = FieldSealing(sealer, of: field.name, recordType, otherNames: [], type: field.type.known)
        return StoredField(id: id, schema: field, sealing: sealing)
    }

    /// Seals the values of encrypted fields that the file has as plain values: the file was opened without a key until
    /// now, or the field was not encrypted.
    private func sealEncryptedFields(_ db: Database) throws {
        guard let sealer else { return }
        let tables = described(try RecordTypes(db: db).tables(sealer)).own
        for table in tables {
            let plain = table.fields.filter { field in
                guard field.sealing == nil else { return false }
                let related = table.fields.filter { $0.id == field.successor || $0.successor == field.id }
                return field.schema.isEncrypted || related.contains { $0.sealing != nil }
            }
            try SealedColumns(table: table, sealer: sealer, db: db).seal(plain)
        }
    }

    private func add(_ field: StoredField, to table: RecordTable, _ db: Database) throws {
        for column in field.definitions { try db.execute(sql: "ALTER TABLE \(table.name) ADD COLUMN \(column)") }
    }

    /// Moves values of a new field into its column. They were kept with the service's version while the type did not have
    /// the field.
    private func takeKeptValues(of field: StoredField, in table: RecordTable, _ db: Database) throws {
        let extended = RecordTable(id: table.id, recordType: table.recordType, fields: table.fields + [field])
        let versions = KnownVersions(db: db, sealer: sealer)
        for record in try versions.withOtherFields(of: table.id) {
            guard let zone = try StoredZone.fetch(record.zone, db),
                let known = try versions.fetch(named: record.name, in: zone.id),
                let row = try extended.row(id: known.row, db),
                let value = known.other[field.name], let pair = try? ColumnPair(value, of: field, in: zone.zoneID)
            else { continue }
            // The value under a former name may be newer. Then the column has it already.
            let isOlder = field.schema.formerNames.contains { name in
                func version(_ name: String, _ value: FieldValue?) -> FormerField {
                    FormerField(value: value, noted: known.times.time(of: name, value))
                }
                let former = version(name, row.fields[name])
                return FormerField.counts(
                    former,
                    over: version(field.name, value),
                    modified: known.modified?.rawValue ?? 0
                )
            }
            guard !isOlder else { continue }
            var other = known.other
            other[field.name] = nil
            try db.applying { try extended.update(row.id, [field.name: pair], at: nil, db) }
            try versions.setOther(other, known.id, named: known.name, of: table.recordType)
        }
    }

    /// Gives the former fields of a field their numbers, where the file does not have them.
    private func noteFormers(
        of field: StoredField,
        among fields: [StoredField],
        type recordType: String,
        _ type: TableID,
        _ db: Database
    ) throws -> [StoredField] {
        try field.schema.formerNames.filter { name in !fields.contains { $0.name == name } }.map { name in
            var former = field.schema
            (former.name, former.formerNames, former.isParent) = (name, [], false)
            let noted = try note(former, of: recordType, type, isSealed: field.sealing != nil, db)
            try RecordTypes(db: db).setSuccessor(field.id, of: noted.id)
            return StoredField(id: noted.id, schema: former, successor: field.id, sealing: noted.sealing)
        }
    }

    /// Keeps the former fields of a field beside it: a value that is written to one of them is written to the others.
    private func addFormers(of field: StoredField, to table: RecordTable, _ db: Database) throws {
        for name in field.schema.formerNames {
            // A former name of another type is a different field.
            guard let former = table[name], former.type == field.type else { continue }
            try RecordTypes(db: db).setSuccessor(field.id, of: former.id)
        }
        for former in try noteFormers(of: field, among: table.fields, type: table.recordType, table.id, db) {
            try add(former, to: table, db)
            try takeKeptValues(of: former, in: table, db)
        }
    }

    /// Copies the values of a renamed field into its new column. The old column stays, for older programs.
    private func rename(_ field: RecordSchema.Field, of table: RecordTable, to new: StoredField, _ db: Database) throws
    {
        guard let old = field.formerNames.lazy.compactMap({ table[$0] }).first, old.type == new.type else { return }
        if let sealer, new.sealing != nil, old.sealing == nil {
            try SealedColumns(table: table, sealer: sealer, db: db).seal([old])
        }
        let pairs = zip(new.columns, old.columns).map { "\($0) = \($1)" }.joined(separator: ", ")
        try db.applying { try db.execute(sql: "UPDATE \(table.name) SET \(pairs)") }
    }

    /// Replaces the triggers that differ from those of this version of the library, unless a newer version wrote them.
    private func replaceTriggers(of tables: [RecordTable], _ db: Database) throws {
        let rows = try db.rows("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
        let existing = Dictionary(
            uniqueKeysWithValues: rows.map { row -> (String, String) in (row["name"], row["sql"]) }
        )
        let namesByTable = Dictionary(grouping: rows) { row -> String in row["tbl_name"] }
        for table in tables {
            guard try RecordTypes(db: db).generation(of: table.id) <= RecordTable.generation else { continue }
            let rootZones = hasZonePerRoot ? RootZones(tables: tables, home: homeZone) : nil
            let triggers = ChangeTriggers(table: table, tables: tables, rootZones: rootZones)
            // An earlier version may have given its triggers other names.
            for row in namesByTable[table.recordType] ?? [] {
                let name: String = row["name"]
                guard name.hasPrefix("mist_"), !triggers.names.contains(name) else { continue }
                try db.execute(sql: "DROP TRIGGER \(quoted(name))")
            }
            for (name, definition) in zip(triggers.names, triggers.definitions) where existing[name] != definition {
                if existing[name] != nil { try db.execute(sql: "DROP TRIGGER \(quoted(name))") }
                try db.execute(sql: definition)
            }
            try RecordTypes(db: db).setGeneration(RecordTable.generation, of: table.id)
        }
    }
}

extension RecordTable {
    /// The table with the program's declarations of its fields. Fields that only the file knows come after them.
    fileprivate func described(by schema: RecordSchema) -> RecordTable {
        let own = schema.fields.compactMap { field in
            self[field.name].map {
                StoredField(id: $0.id, schema: field, successor: $0.successor, sealing: $0.sealing)
            }
        }
        let others = fields.filter { field in !own.contains { $0.id == field.id } }.map { field in
            // A former field is merged and kept as its successor is.
            guard let successor = own.first(where: { $0.id == field.successor }) else { return field }
            var schema = field.schema
            (schema.merge, schema.isEncrypted) = (successor.schema.merge, successor.schema.isEncrypted)
            return StoredField(id: field.id, schema: schema, successor: field.successor, sealing: field.sealing)
        }
        return RecordTable(id: id, recordType: recordType, fields: own + others)
    }
}

extension StoreError {
    /// The error of a file that has no table of a record type yet, or no column of a field.
    fileprivate static func needsUpdate(_ type: String, _ field: String?) -> StoreError {
        StoreError(
            .needsUpdate,
            """
            The file has no \(field == nil ? "table of this record type" : "column of this field") yet. Open the store once for \
            writing with this type, which adds it: MistStore(at:records:).
            """,
            recordType: type,
            fieldName: field
        )
    }
}
