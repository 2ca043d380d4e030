public import CloudKitModel
import GRDB
public import MistKit

/// The database whose records a mirror has.
public struct MirrorOrigin: Hashable, Sendable {
    /// The identifier of the container, such as `iCloud.com.example.notes`.
    public var container: String
    /// The container's environment.
    public var environment: ContainerEnvironment
    /// Which of the container's databases it is.
    public var scope: DatabaseScope

    /// Describes a database.
    public init(_ database: CloudKitDatabase) {
        container = database.service.containerIdentifier
        environment = database.service.environment
        scope = database.scope
    }

    /// Reads the origin from the bookkeeping of a mirror; `nil` where the row names no database.
    ///
    /// - Parameter row: The row of `mirror_state`.
    init?(_ row: Row) {
        guard let scope = DatabaseScope(rawValue: row["database"]),
            let environment = ContainerEnvironment(rawValue: row["environment"])
        else { return nil }
        self.scope = scope
        self.environment = environment
        container = row["container"]
    }
}

extension MirrorOrigin: CustomStringConvertible {
    /// The origin as messages show it.
    public var description: String {
        "the \(scope.rawValue) database of \(container), \(environment.rawValue)"
    }
}
