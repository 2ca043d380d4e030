public import CloudKitModel

/// The schema of a container: its record types with their fields, indexes and grants, and its security roles.
///
/// It is the content of a schema file (`.ckdb`) in Apple's schema language, without the comments.
///
/// ```swift
/// let schema = ContainerSchema(
///     recordTypes: [
///         RecordType(
///             name: "Note",
///             fields: [
///                 Field(name: "title", type: .string, indexes: [.queryable, .sortable]),
///                 Field(name: "tags", type: .list(of: .string)),
///             ],
///             grants: .publicDefault
///         )
///     ]
/// )
/// print(schema)
/// // DEFINE SCHEMA
/// //
/// //     RECORD TYPE Note (
/// //         title STRING QUERYABLE SORTABLE,
/// //         tags  LIST<STRING>,
/// //         GRANT WRITE TO "_creator",
/// //         GRANT CREATE TO "_icloud",
/// //         GRANT READ TO "_world"
/// //     );
/// ```
///
/// ## Topics
///
/// ### Reading and writing
/// - ``init(parsing:)``
/// - ``description``
/// - ``SchemaDocument``
///
/// ### Checking and comparing
/// - ``problems()``
/// - ``SchemaComparison``
///
/// ### Swift
/// - ``RecordModels``
public struct ContainerSchema: Hashable, Sendable {
    /// The record type of users, which every container has.
    public static let userType = "Users"

    /// Whether a record type is one of the service's own: that of users, or one such as `cloudkit.share`, which exports of
    /// apps with shares have.
    package static func isServiceType(_ name: String) -> Bool { name == userType || name.isServiceName }

    /// The roles that the container defines, without the three that every container has.
    public var roles: [String]
    /// The record types.
    public var recordTypes: [RecordType]

    /// Makes a schema.
    ///
    /// - Parameters:
    ///   - roles: The roles that the container defines, without the three that every container has.
    ///   - recordTypes: The record types.
    public init(roles: [String] = [], recordTypes: [RecordType] = []) {
        self.roles = roles
        self.recordTypes = recordTypes
    }

    /// The record type of this name; `nil` where the schema has no such type.
    public subscript(recordType name: String) -> RecordType? { recordTypes.first { $0.name == name } }

    /// A record type: the fields of its records, and the permissions of each role in a public database.
    public struct RecordType: Hashable, Sendable {
        /// The name, such as `Note`.
        public var name: String
        /// The fields. System fields are listed only where they have an index.
        public var fields: [Field]
        /// The grants. Without a grant, users of a role may do nothing with the records.
        public var grants: [Grant]

        /// Makes a record type.
        ///
        /// - Parameters:
        ///   - name: The name: a letter, then letters, digits and underscores.
        ///   - fields: The fields.
        ///   - grants: What users of each role may do.
        public init(name: String, fields: [Field] = [], grants: [Grant] = []) {
            self.name = name
            self.fields = fields
            self.grants = grants
        }

        /// The field of this name; `nil` where the type does not name it.
        public subscript(field name: String) -> Field? { fields.first { $0.name == name } }

        /// The permissions of a role, by all grants together.
        ///
        /// - Parameter role: The name of a role.
        /// - Returns: The permissions; empty where no grant names the role.
        public func permissions(of role: String) -> Permissions {
            grants.reduce(into: []) { if $1.role == role { $0.formUnion($1.permissions) } }
        }
    }

    /// A field of a record type.
    public struct Field: Hashable, Sendable {
        /// The name, such as `title` or, for a system field, `___createTime`.
        public var name: String
        /// The type of its values.
        public var type: SchemaFieldType
        /// The indexes, which decide what queries can do with the field.
        public var indexes: FieldIndexes

        /// Makes a field.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - type: The type of its values.
        ///   - indexes: The indexes.
        public init(name: String, type: SchemaFieldType, indexes: FieldIndexes = []) {
            self.name = name
            self.type = type
            self.indexes = indexes
        }
    }

    /// The permissions of a role for the records of a type in a public database.
    public struct Grant: Hashable, Sendable {
        /// The permissions.
        public var permissions: Permissions
        /// The role's name, such as `_icloud`.
        public var role: String

        /// Makes a grant.
        ///
        /// - Parameters:
        ///   - permissions: What users of the role may do.
        ///   - role: The role's name.
        public init(_ permissions: Permissions, to role: String) {
            self.permissions = permissions
            self.role = role
        }
    }

    /// A set of permissions for the records of a type.
    public struct Permissions: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt8

        /// Makes a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// `READ`: fetch and query records.
        public static let read = Permissions(rawValue: 1 << 0)
        /// `CREATE`: save new records.
        public static let create = Permissions(rawValue: 1 << 1)
        /// `WRITE`: change and delete records.
        public static let write = Permissions(rawValue: 1 << 2)

        /// Each permission with its spelling, in the order in which they are written.
        package static let spellings: [(name: String, permission: Permissions)] = [
            ("READ", .read), ("CREATE", .create), ("WRITE", .write),
        ]

        /// The spellings of the permissions in the set.
        package var names: [String] { Self.spellings.filter { contains($0.permission) }.map(\.name) }
    }
}

extension [ContainerSchema.Grant] {
    /// The grants of a new record type: all callers read, signed-in users create, and the creator of a record changes
    /// it.
    public static var publicDefault: [ContainerSchema.Grant] {
        [
            ContainerSchema.Grant(.write, to: PredefinedRole.creator.rawValue),
            ContainerSchema.Grant(.create, to: PredefinedRole.icloud.rawValue),
            ContainerSchema.Grant(.read, to: PredefinedRole.world.rawValue),
        ]
    }
}

/// A role that every container has.
public enum PredefinedRole: String, CaseIterable, Sendable {
    /// `_world`: every caller, also without a user.
    case world = "_world"
    /// `_icloud`: signed-in users, and server-to-server keys.
    case icloud = "_icloud"
    /// `_creator`: the user who created the record.
    case creator = "_creator"
}

extension SystemField {
    /// The type of its values.
    public var type: SchemaFieldType { SchemaFieldType(of: valueType) }
}
