import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import CloudKitSchema
import HTTPTypes
import OpenAPISwiftRuntime

/// The operations of the document about single parts of a schema.
extension AdministrationHandlers {
    func describeSchema(
        _ input: Operations.DescribeSchema.Input,
        context: AdministrationHost
    ) throws -> Operations.DescribeSchema.Output {
        let (container, environment) = (
            try Self.checked(input.path.container), ContainerEnvironment(input.path.environment)
        )
        let schema = try context.emulator.schema(of: container, in: environment)
        let isEnforced = try context.emulator.enforcesSchema(of: container, in: environment)
        let types = schema.recordTypes.map { type in
            Components.Schemas.RecordTypeDescription(
                name: type.name,
                fields: type.fields.map { field in
                    .init(
                        name: field.name,
                        _type: field.type.description,
                        indexes: FieldIndexes.spellings.compactMap { name, index in
                            field.indexes.contains(index) ? .init(rawValue: name.lowercased()) : nil
                        },
                        isEncrypted: field.type.isEncrypted
                    )
                },
                grants: type.grants.map { grant in
                    .init(
                        role: grant.role,
                        permissions: grant.permissions.names.compactMap { .init(rawValue: $0.lowercased()) }
                    )
                }
            )
        }
        return .ok(.init(body: .json(.init(isEnforced: isEnforced, roles: schema.roles, types: types))))
    }

    func addIndex(
        _ input: Operations.AddIndex.Input,
        context: AdministrationHost
    ) throws -> Operations.AddIndex.Output {
        let new = try input.body.json
        let index: FieldIndexes =
            switch new.index {
            case .queryable: .queryable
            case .sortable: .sortable
            case .searchable: .searchable
            }
        let changes = try change(input.path.container, input.path.environment, new.recordType, context) { type in
            if let position = type.fields.firstIndex(where: { $0.name == new.field }) {
                type.fields[position].indexes.formUnion(index)
                return
            }
            let system = SystemField(rawValue: new.field) ?? SystemField(systemFieldName: new.field)
            guard let system else {
                throw AdministrationFailure(
                    .notFound,
                    .notFound,
                    "The record type '\(type.name)' has no field '\(new.field.prefix(255))'."
                )
            }
            if let position = type.fields.firstIndex(where: { $0.name == system.rawValue }) {
                type.fields[position].indexes.formUnion(index)
            } else {
                type.fields.append(.init(name: system.rawValue, type: system.type, indexes: index))
            }
        }
        return .ok(.init(body: .json(changes)))
    }

    func addGrant(
        _ input: Operations.AddGrant.Input,
        context: AdministrationHost
    ) throws -> Operations.AddGrant.Output {
        let new = try input.body.json
        let permission: ContainerSchema.Permissions =
            switch new.permission {
            case .read: .read
            case .create: .create
            case .write: .write
            }
        let changes = try change(input.path.container, input.path.environment, new.recordType, context) { type in
            if let position = type.grants.firstIndex(where: { $0.role == new.role }) {
                type.grants[position].permissions.formUnion(permission)
            } else {
                type.grants.append(.init(permission, to: new.role))
            }
        }
        return .ok(.init(body: .json(changes)))
    }

    func generateSwift(
        _ input: Operations.GenerateSwift.Input,
        context: AdministrationHost
    ) throws -> Operations.GenerateSwift.Output {
        let container = try Self.checked(input.path.container)
        let schema = try context.emulator.schema(of: container, in: .init(input.path.environment))
        let sources = RecordModels(of: schema).files.map(\.source)
        return .ok(.init(body: .plainText(HTTPBody(sources.joined(separator: "\n")))))
    }

    /// Imports the schema of development with a change of one record type.
    private func change(
        _ container: String,
        _ environment: Components.Schemas.Environment,
        _ recordType: String,
        _ context: AdministrationHost,
        _ change: (inout ContainerSchema.RecordType) throws -> Void
    ) throws -> Components.Schemas.SchemaChanges {
        let container = try Self.checked(container)
        guard environment == .development else {
            throw AdministrationFailure(
                .conflict,
                .refused,
                "Production gets its schema by a deployment: change the schema of development, and deploy it."
            )
        }
        var schema = try context.emulator.schema(of: container, in: .development)
        guard let position = schema.recordTypes.firstIndex(where: { $0.name == recordType }) else {
            throw AdministrationFailure(
                .notFound,
                .notFound,
                "Development has no record type '\(recordType.prefix(255))'."
            )
        }
        try change(&schema.recordTypes[position])
        let comparison = try context.emulator.importSchema(schema, into: container)
        context.server.events.send { .schema(of: container) }
        return .init(comparison)
    }
}

extension SystemField {
    /// The system field with a name of queries, such as `recordName`; `nil` for another name.
    fileprivate init?(systemFieldName name: String) {
        self.init(fieldName: nil, systemFieldName: SystemFieldName(rawValue: name))
    }
}
