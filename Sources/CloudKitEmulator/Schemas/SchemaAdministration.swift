import CloudKitModel
public import CloudKitSchema
import GRDB

extension CloudKitEmulator {
    /// The schema of a container's environment.
    ///
    /// It is the imported or deployed schema, with the types and fields that writes added.
    ///
    /// ```swift
    /// print(try emulator.schema(of: "iCloud.com.example", in: .development))
    /// // DEFINE SCHEMA
    /// //
    /// //     RECORD TYPE Note (
    /// //         …
    /// //         title STRING QUERYABLE SORTABLE SEARCHABLE,
    /// ```
    ///
    /// - Parameters:
    ///   - container: The container's identifier.
    ///   - environment: The environment.
    /// - Returns: The schema. It is empty for a container without record types.
    /// - Throws: An ``EmulatorError``: `NOT_FOUND` for a container that is not registered, where the configuration asks
    ///   for that.
    public func schema(of container: String, in environment: ContainerEnvironment) throws -> ContainerSchema {
        try write { db in try Schema.load(container: containerID(container, environment, db), from: db).exported }
    }

    /// Whether the indexes and grants of a schema are enforced: it was imported or deployed.
    package func enforcesSchema(of container: String, in environment: ContainerEnvironment) throws(EmulatorError)
        -> Bool
    {
        try write { db in
            try Schema.load(container: containerID(container, environment, db), from: db).declaration != nil
        }
    }

    /// Replaces the schema of the development environment, as `cktool import-schema` does.
    ///
    /// From then on indexes and grants are enforced. Writes can add no other types and fields, unless
    /// ``EmulatorConfiguration/developmentSchema`` is ``EmulatorConfiguration/DevelopmentSchema/extendedByWrites``.
    ///
    /// ```swift
    /// let schema = try ContainerSchema(parsing: "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);")
    /// print(try emulator.importSchema(schema, into: "iCloud.com.example"))
    /// // + record type Note (title)
    /// ```
    ///
    /// - Parameters:
    ///   - schema: The schema. Types and fields that it does not name are dropped.
    ///   - container: The container's identifier.
    /// - Returns: The differences from the schema before.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for a schema that breaks a rule, that lacks or changes a type or
    ///   field of production, or that drops or changes a type or field of which there are records. Nothing is imported
    ///   then. The service deletes such records; the emulator leaves that to ``resetSchema(of:)``. `NOT_FOUND` as for
    ///   ``schema(of:in:)``.
    @discardableResult
    public func importSchema(_ schema: ContainerSchema, into container: String) throws -> SchemaComparison {
        try write { db in try importSchema(schema, into: container, db) }
    }

    /// Refuses a schema that ``importSchema(_:into:)`` would refuse, and changes nothing.
    ///
    /// - Throws: The error of ``importSchema(_:into:)``.
    package func checkImport(of schema: ContainerSchema, into container: String) throws(EmulatorError) {
        try tryOut { db in _ = try importSchema(schema, into: container, db) }
    }

    private func importSchema(
        _ schema: ContainerSchema,
        into container: String,
        _ db: Database
    ) throws -> SchemaComparison {
        let problems = schema.problems()
        guard problems.isEmpty else {
            throw EmulatorError.badRequest(problems.map(\.message).joined(separator: " "))
        }
        let (development, production) = try environments(of: container, db)
        let deployed = try Schema.load(container: production, from: db).exported
        let refused = SchemaComparison(from: deployed, to: schema).refused
        guard refused.isEmpty else {
            throw EmulatorError.badRequest(refused.map(\.description).joined(separator: "; "))
        }
        return try replaceSchema(of: development, by: schema, db)
    }

    /// Copies the development schema of a container to its production environment, as "Deploy Schema Changes" of the
    /// console does.
    ///
    /// No record is copied. A second deployment of the same schema does nothing. The indexes and grants of an imported
    /// schema are enforced in production afterwards.
    ///
    /// ```swift
    /// print(try emulator.deploySchema(of: "iCloud.com.example"))
    /// // + record type Note (title)
    /// ```
    ///
    /// - Parameter container: The container's identifier.
    /// - Returns: The additions to the schema of production.
    /// - Throws: An ``EmulatorError``: a `BAD_REQUEST` for changes that production refuses, such as a field whose type
    ///   differs in the two environments (nothing is deployed then); `NOT_FOUND` as for ``schema(of:in:)``.
    @discardableResult
    public func deploySchema(of container: String) throws -> SchemaComparison {
        try write { db in
            let (source, target) = try environments(of: container, db)
            let development = try Schema.load(container: source, from: db)
            let production = try Schema.load(container: target, from: db)
            let comparison = SchemaComparison(from: production.exported, to: development.exported)
            guard comparison.refused.isEmpty else {
                throw EmulatorError.badRequest(comparison.refused.map(\.description).joined(separator: "; "))
            }
            try replaceSchema(of: target, by: development.exported, db)
            // Where writes alone made the schema, no index and no grant is enforced, in either environment.
            if development.declaration == nil { try setDeclaration(nil, of: target, db) }
            return comparison
        }
    }

    /// Replaces the development schema of a container by that of production, and deletes all records of development, as
    /// `cktool reset-schema` does.
    ///
    /// All zones, records, shares and files of the public and private databases are deleted, and earlier change tokens
    /// expire.
    ///
    /// - Parameter container: The container's identifier.
    /// - Returns: The differences from the schema before.
    /// - Throws: An ``EmulatorError``: `NOT_FOUND` as for ``schema(of:in:)``.
    @discardableResult
    public func resetSchema(of container: String) throws -> SchemaComparison {
        try write { db in
            let (development, production) = try environments(of: container, db)
            try eraseRecords(ofContainer: development, named: container, .development, db)
            let deployed = try Schema.load(container: production, from: db)
            let comparison = try replaceSchema(of: development, by: deployed.exported, db)
            if deployed.declaration == nil { try setDeclaration(nil, of: development, db) }
            return comparison
        }
    }

    /// Sets the security roles of a user in a container.
    ///
    /// - Parameters:
    ///   - roles: The names of all roles that the user has afterwards. The schema must create each of them.
    ///   - user: The user record name.
    ///   - container: The container's identifier.
    ///   - environment: The environment.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for a role that the environment's schema does not create;
    ///   `NOT_FOUND` as for ``schema(of:in:)``.
    public func setRoles(
        _ roles: Set<String>,
        of user: String,
        in container: String,
        _ environment: ContainerEnvironment
    ) throws {
        try write { db in
            let id = try containerID(container, environment, db)
            let known = try Schema.load(container: id, from: db).declaration?.roles ?? []
            if let unknown = roles.sorted().first(where: { !known.contains($0) }) {
                throw EmulatorError.badRequest("The schema of \(container) does not create the role '\(unknown)'")
            }
            try db.run("DELETE FROM user_role WHERE container = ? AND user = ?", [id, user])
            for role in roles { try db.run("INSERT INTO user_role VALUES (?, ?, ?)", [id, user, role]) }
        }
    }
}

// MARK: - Rows

extension CloudKitEmulator {
    /// The row numbers of a container's environments.
    private func environments(
        of container: String,
        _ db: Database
    ) throws -> (development: Int64, production: Int64) {
        (try containerID(container, .development, db), try containerID(container, .production, db))
    }

    func containerID(_ container: String, _ environment: ContainerEnvironment, _ db: Database) throws -> Int64 {
        let request = RequestContext(self, DatabaseAddress(container, environment, .public), .anonymous)
        return try (DatabaseContext(request, db) ?? .create(request, db)).containerID
    }

    private func setDeclaration(_ schema: ContainerSchema?, of container: Int64, _ db: Database) throws {
        try db.run(
            "UPDATE container SET schema = ?, schema_revision = schema_revision + 1 WHERE id = ?",
            [schema?.description, container]
        )
    }

    /// Adds and drops rows of types and fields to match a schema, and stores the schema's text.
    @discardableResult
    private func replaceSchema(
        of container: Int64,
        by schema: ContainerSchema,
        _ db: Database
    ) throws -> SchemaComparison {
        let old = try Schema.load(container: container, from: db)
        let comparison = SchemaComparison(from: old.exported, to: schema)
        try drop(comparison.refused, from: old, container: container, db)
        try setDeclaration(schema, of: container, db)
        for type in schema.recordTypes {
            try db.run("INSERT OR IGNORE INTO record_type (container, name) VALUES (?, ?)", [container, type.name])
        }
        let current = try Schema.load(container: container, from: db)
        for declared in schema.recordTypes {
            guard let type = current[declared.name] else { continue }
            for field in declared.fields where type.fields[field.name] == nil {
                guard SystemField(rawValue: field.name) == nil else { continue }
                let kind = FieldKind(field.type)
                try db.run(
                    "INSERT INTO field (type, name, kind) VALUES (?, ?, ?)",
                    [type.id, field.name, kind.rawValue]
                )
                let row = Schema.Field(id: db.lastInsertedRowID, name: field.name, kind: kind)
                try row.indexAbsence(inRecordsOf: type, container: container, db)
            }
        }
        return comparison
    }

    /// Drops types and fields, also the fields that get another type.
    ///
    /// - Throws: A `BAD_REQUEST` that names the types and fields of which there are records.
    private func drop(_ changes: [SchemaChange], from old: Schema, container: Int64, _ db: Database) throws {
        var obstacles: [String] = []
        for change in changes {
            let (typeName, fieldName): (String, String?) =
                switch change {
                case .recordTypeDropped(let type): (type.name, nil)
                case .fieldDropped(let type, let field): (type, field.name)
                case .fieldTypeChanged(let type, let field, _, _): (type, field)
                default: ("", nil)
                }
            guard let type = old[typeName] else { continue }
            let count = try Self.recordCount(of: type, withValueIn: fieldName, container: container, db)
            if count > 0 {
                let records = count == 1 ? "1 record has" : "\(count) records have"
                obstacles.append("\(change.sentence), but \(records) values of it")
                continue
            }
            for field in fieldName.map({ [type.fields[$0]].compactMap { $0 } }) ?? Array(type.fields.values) {
                try db.run("DELETE FROM entry WHERE field = ?", [field.id])
                try db.run("DELETE FROM location_entry WHERE field = ?", [field.id])
                try db.run("DELETE FROM word WHERE field = ?", [field.id])
                try db.run("DELETE FROM field WHERE id = ?", [field.id])
            }
            // Deleted records keep the number of their type, so the type's row stays.
            if fieldName == nil, try db.row("SELECT 1 FROM record WHERE type = ? LIMIT 1", [type.id]) == nil {
                try db.run("DELETE FROM record_type WHERE id = ?", [type.id])
            }
        }
        guard obstacles.isEmpty else { throw EmulatorError.badRequest(obstacles.joined(separator: "; ")) }
    }

    /// The number of records of a type that have a value in a field; of all records of the type where no field is
    /// given.
    private static func recordCount(
        of type: Schema.RecordType,
        withValueIn field: String?,
        container: Int64,
        _ db: Database
    ) throws -> Int {
        let records = try RecordRowCursor(
            """
            SELECT \(RecordRow.columns) FROM database JOIN zone ON zone.database = database.id
            JOIN record ON record.zone = zone.id
            WHERE database.container = ? AND record.type = ? AND record.deleted = 0
            """,
            [container, type.id],
            db
        )
        var count = 0
        while let (record, _) = try records.next() {
            guard let field else {
                count += 1
                continue
            }
            if let value = try record.content().fields[field], !value.isNull { count += 1 }
        }
        return count
    }
}

// MARK: - What writes may add

extension DatabaseContext {
    /// Whether writes may add record types and fields to the schema.
    func writesExtend(_ schema: Schema) -> Bool {
        switch (address.environment, configuration.developmentSchema) {
        case (.production, _): configuration.productionSchema == .extendedByWrites
        case (_, .extendedByWrites): true
        case (_, .extendedUntilImport): schema.declaration == nil
        case (_, .importedOnly): false
        }
    }
}

extension EmulatorError {
    /// The failure in production for a record type that was not deployed. The native framework shows the service's
    /// words for fields; the words for types are the same sentence, as developers report it.
    static func notDeployed(type: String) -> EmulatorError {
        .badRequest("Cannot create new type '\(type)' in production schema")
    }

    /// The failure in production for a field that was not deployed (shown by the native framework).
    static func notDeployed(field: String, of type: String) -> EmulatorError {
        .badRequest("Cannot create or modify field '\(field)' in record '\(type)' in production schema")
    }

    /// The failure in development for a record type that the imported schema lacks. The words are those for queries.
    static func notDefined(type: String) -> EmulatorError {
        .badRequest("Did not find record type: \(type)")
    }

    /// The failure in development for a field that the imported schema lacks (observed live with a server-to-server
    /// key).
    static func notDefined(field: String, of type: String) -> EmulatorError {
        .badRequest("Field \(field) not found in \(type)")
    }
}
