import CloudKitModel
import GRDB

/// What a deployment brought from the development schema of a container to its production schema.
public struct SchemaDeployment: Hashable, Sendable {
    /// A field of a record type.
    public struct Field: Hashable, Sendable {
        /// The record type.
        public var recordType: String
        /// The field's name.
        public var name: String
        /// The field's type, such as `STRING` or `REFERENCE_LIST`.
        public var type: String

        /// Makes a field.
        public init(recordType: String, name: String, type: String) {
            self.recordType = recordType
            self.name = name
            self.type = type
        }
    }

    /// The record types that production did not have, by name.
    public var recordTypes: [String]
    /// The fields that production did not have, by record type and name. Those of new record types are among them.
    public var fields: [Field]

    /// Whether production had everything before.
    public var isEmpty: Bool { recordTypes.isEmpty && fields.isEmpty }

    /// Makes a description of a deployment.
    public init(recordTypes: [String] = [], fields: [Field] = []) {
        self.recordTypes = recordTypes
        self.fields = fields
    }
}

extension CloudKitEmulator {
    /// Copies the development schema of a container to its production environment, as "Deploy Schema Changes" of the
    /// console does.
    ///
    /// Record types and fields are added; nothing is changed or removed, and no record is copied. A second deployment of the
    /// same schema does nothing.
    ///
    /// ```swift
    /// try emulator.request(in: DatabaseAddress("iCloud.com.example", .development, .public), as: user).modifyRecords([create])
    /// try emulator.deploySchema(of: "iCloud.com.example")
    /// // SchemaDeployment(recordTypes: ["Note"], fields: [Note.title STRING])
    /// ```
    ///
    /// - Parameter container: The container's identifier.
    /// - Returns: What production did not have before.
    /// - Throws: An ``EmulatorError``: a `BAD_REQUEST` for a field whose type differs in the two environments, with nothing deployed; `NOT_FOUND`
    ///   for a container that is not registered, where the configuration asks for that.
    @discardableResult
    public func deploySchema(of container: String) throws -> SchemaDeployment {
        try write { db in
            let (source, target) = (
                try containerID(container, .development, db), try containerID(container, .production, db)
            )
            let development = try Schema.load(container: source, from: db)
            let production = try Schema.load(container: target, from: db)
            let missing = try SchemaDeployment(of: development, onto: production)
            for name in missing.recordTypes {
                try db.run("INSERT INTO record_type (container, name) VALUES (?, ?)", [target, name])
            }
            for field in missing.fields {
                try db.run(
                    """
                    INSERT INTO field (type, name, kind)
                    SELECT id, ?, ? FROM record_type WHERE container = ? AND name = ?
                    """,
                    [field.name, field.type, target, field.recordType]
                )
                guard let type = production[field.recordType], let kind = FieldKind(rawValue: field.type) else {
                    continue
                }
                let newField = Schema.Field(id: db.lastInsertedRowID, name: field.name, kind: kind)
                try newField.indexAbsence(inRecordsOf: type, container: target, db)
            }
            return missing
        }
    }

    /// The row number of a container's environment.
    private func containerID(_ container: String, _ environment: ContainerEnvironment, _ db: Database) throws -> Int64 {
        let request = RequestContext(self, DatabaseAddress(container, environment, .public), .anonymous)
        return try (DatabaseContext(request, db) ?? .create(request, db)).containerID
    }
}

extension DatabaseContext {
    /// Whether writes may add record types and fields to the schema.
    var writesExtendSchema: Bool {
        address.environment == .development || configuration.productionSchema == .extendedByWrites
    }
}

extension SchemaDeployment {
    /// What one schema has and the other lacks.
    ///
    /// - Throws: A `BAD_REQUEST` that names the fields whose types differ.
    init(of development: Schema, onto production: Schema) throws(EmulatorError) {
        self.init()
        var differences: [String] = []
        for type in development.types.values.sorted(by: { $0.name < $1.name }) {
            let known = production[type.name]
            if known == nil { recordTypes.append(type.name) }
            for field in type.fields.values.sorted(by: { $0.name < $1.name }) {
                guard let other = known?.fields[field.name] else {
                    fields.append(Field(recordType: type.name, name: field.name, type: field.kind.rawValue))
                    continue
                }
                guard other.kind != field.kind else { continue }
                differences.append(
                    "\(type.name).\(field.name) is \(field.kind.rawValue) in development and \(other.kind.rawValue) in production"
                )
            }
        }
        guard differences.isEmpty else {
            throw .badRequest("the type of a deployed field cannot change: " + differences.joined(separator: ", "))
        }
    }
}

extension EmulatorError {
    /// What production answers to a record type that was not deployed. The native framework shows the service's words for
    /// fields; those for types are the same sentence as developers report it.
    static func notDeployed(type: String) -> EmulatorError {
        .badRequest("Cannot create new type '\(type)' in production schema")
    }

    /// What production answers to a field that was not deployed (shown by the native framework).
    static func notDeployed(field: String, of type: String) -> EmulatorError {
        .badRequest("Cannot create or modify field '\(field)' in record '\(type)' in production schema")
    }
}
