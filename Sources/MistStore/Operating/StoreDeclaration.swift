import MistKit

/// What a program says about the data of its store, in its types and in its configuration: everything that another
/// process must know to write, merge and send its records as the program does.
///
/// ``Declarations`` keeps it in the store, so that a tool without the types of the program can synchronise.
struct StoreDeclaration: Hashable, Sendable {
    /// A record type.
    struct DeclaredType: Hashable, Sendable {
        var recordType: String
        /// Whether records have a field for the edit times of their fields.
        var hasEditTimes: Bool
        var fields: [DeclaredField]
    }

    /// A field of a record type.
    struct DeclaredField: Hashable, Sendable {
        /// The field, without its indexes.
        var schema: RecordSchema.Field
        /// Whether a closure of the program merges it.
        var hasClosure: Bool
        /// Whether a record without it cannot be read as the type.
        var isRequired: Bool
        /// Whether its files are downloaded on demand alone.
        var isOnDemand: Bool
    }

    /// The settings that decide about data.
    struct Settings: Hashable, Sendable {
        var zones: ZoneLayout
        var massDeletionLimit: MassDeletionLimit?
        var recoveryDays: Int
        var recoveryBytes: Int64
        var joinsRecordsMadeSignedOut: Bool
    }

    var types: [DeclaredType]
    var settings: Settings
}

extension StoreDeclaration {
    /// The declaration of a program.
    init(
        _ records: [any CloudKitRecord.Type],
        _ configuration: StoreConfiguration
    ) {
        types = records.map { model in
            let recordType = model.recordType
            let required = model.requiredFields()
            let closures = configuration.closures[recordType] ?? [:]
            return DeclaredType(
                recordType: recordType,
                hasEditTimes: !configuration.typesWithoutEditTimes.contains(recordType),
                fields: model.schema.fields.map { field in
                    var schema = field
                    schema.indexes = []
                    // A closure takes the place of the policy.
                    if closures[field.name] != nil { schema.merge = .latest }
                    return DeclaredField(
                        schema: schema,
                        hasClosure: closures[field.name] != nil,
                        isRequired: required.contains(field.name),
                        isOnDemand: configuration.download(of: field.name, recordType) == .onDemand
                    )
                }
            )
        }
        settings = Settings(
            zones: configuration.zones,
            massDeletionLimit: configuration.massDeletionLimit,
            recoveryDays: configuration.recoveryDays,
            recoveryBytes: configuration.recoveryBytes,
            joinsRecordsMadeSignedOut: configuration.joinsRecordsMadeSignedOut
        )
    }

    /// The schemas of the types. A field that another program has under a new name is not a field of its own.
    var schemas: [RecordSchema] {
        types.map { type in
            let former = Set(type.fields.flatMap(\.schema.formerNames))
            return RecordSchema(
                recordType: type.recordType,
                fields: type.fields.map(\.schema).filter { !former.contains($0.name) }
            )
        }
    }

    /// The fields that a record must have, by type.
    var requiredFields: [String: Set<String>] {
        Dictionary(
            uniqueKeysWithValues: types.map { type in
                (type.recordType, Set(type.fields.filter(\.isRequired).map(\.schema.name)))
            }
        )
    }

    /// The fields that a closure of the program merges, as `Type.field`.
    var closures: [String] {
        types.flatMap { type in
            type.fields.filter(\.hasClosure).map { "\(type.recordType).\($0.schema.name)" }
        }
    }
}

extension StoreConfiguration {
    /// The configuration of a process that has the declaration of a program, and not its types.
    init(_ declaration: StoreDeclaration) {
        self.init()
        zones = declaration.settings.zones
        massDeletionLimit = declaration.settings.massDeletionLimit
        recoveryDays = declaration.settings.recoveryDays
        recoveryBytes = declaration.settings.recoveryBytes
        joinsRecordsMadeSignedOut = declaration.settings.joinsRecordsMadeSignedOut
        for type in declaration.types {
            if !type.hasEditTimes { typesWithoutEditTimes.insert(type.recordType) }
            for field in type.fields where field.isOnDemand {
                downloads[type.recordType, default: [:]][field.schema.name] = .onDemand
            }
        }
    }
}
