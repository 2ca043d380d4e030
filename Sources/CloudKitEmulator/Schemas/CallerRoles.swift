import CloudKitModel
import CloudKitSchema
import GRDB

/// The security roles of a caller in a public database.
struct CallerRoles {
    /// The caller; `nil` for an anonymous one.
    let user: String?
    /// The names of the roles that the caller has for every record.
    private let roles: Set<String>

    /// - Parameters:
    ///   - user: The caller; `nil` for an anonymous one.
    ///   - own: The caller's roles of those that the schema creates.
    init(user: String?, own: Set<String> = []) {
        self.user = user
        let predefined: [PredefinedRole] = user == nil ? [.world] : [.world, .icloud]
        roles = own.union(predefined.map(\.rawValue))
    }

    /// The caller's permissions for a record of a type. Types without a declaration have the default grants.
    ///
    /// - Parameters:
    ///   - type: The record type.
    ///   - creator: The user who created the record; `nil` for a record that does not exist yet.
    /// - Returns: The permissions.
    func permissions(for type: Schema.RecordType?, creator: String?) -> ContainerSchema.Permissions {
        let isCreator = user != nil && user == creator
        return (type?.enforcedDeclaration?.grants ?? Self.defaultGrants).reduce(into: []) { permissions, grant in
            if roles.contains(grant.role) || isCreator && grant.role == PredefinedRole.creator.rawValue {
                permissions.formUnion(grant.permissions)
            }
        }
    }

    private static let defaultGrants: [ContainerSchema.Grant] = .publicDefault
}

/// The records of a type that a caller may read in a public database.
enum ReadableRecords {
    case all
    /// The records that the caller created.
    case own(creator: String)
    case noRecords
}

extension CallerRoles {
    func readableRecords(of type: Schema.RecordType) -> ReadableRecords {
        if permissions(for: type, creator: nil).contains(.read) { return .all }
        guard let user, permissions(for: type, creator: user).contains(.read) else { return .noRecords }
        return .own(creator: user)
    }

    /// Whether the caller may read a record.
    func mayRead(_ row: RecordRow, of type: Schema.RecordType) -> Bool {
        permissions(for: type, creator: row.creator).contains(.read)
    }
}

extension DatabaseContext {
    /// The roles of the caller. They have an effect in public databases only.
    func callerRoles(in schema: Schema) throws -> CallerRoles {
        guard let user, address.scope == .public, schema.declaration?.roles.isEmpty == false else {
            return CallerRoles(user: user)
        }
        let rows = try db.rows("SELECT role FROM user_role WHERE container = ? AND user = ?", [containerID, user])
        return CallerRoles(user: user, own: Set(rows.map { $0[0] }))
    }
}
