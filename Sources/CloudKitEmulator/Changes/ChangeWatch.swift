package import CloudKitModel
import GRDB

/// A zone whose records changed, for those who watch an emulator.
package struct WatchedChange: Sendable {
    package var zone: StoredZone
    /// The names of records that were saved, ``ChangeWatch/maximumNames`` at most.
    package var saved: [String] = []
    /// The names of records that were deleted, ``ChangeWatch/maximumNames`` at most.
    package var deleted: [String] = []
}

/// A zone of an emulator, with the database that it belongs to.
package struct StoredZone: Sendable {
    package var container: String
    package var environment: ContainerEnvironment
    /// The user whose private database it is; `nil` for the public database.
    package var owner: String?
    package var zoneName: String
    package var isDeleted: Bool
    /// The number of writes so far.
    package var sequence: Int64

    init(container: String, environment: String, owner: String, name: String, isDeleted: Bool, sequence: Int64) {
        self.container = container
        self.environment = ContainerEnvironment(rawValue: environment) ?? .development
        self.owner = owner.isEmpty ? nil : owner
        zoneName = name
        self.isDeleted = isDeleted
        self.sequence = sequence
    }
}

/// Finds what changed since it last looked, also through other processes that use the same file.
///
/// It reads the counters that every write moves on, so writes do nothing for it, and nothing happens while no one
/// watches.
package struct ChangeWatch: Sendable {
    /// The number of record names of one change above which the others are left out.
    package static let maximumNames = 200
    /// The numbers of the databases' changes, and of the zones' writes, at the last look.
    private var databases: [Int64: Int64] = [:]
    private var zones: [Int64: Int64] = [:]
    private var hasLooked = false

    /// Makes a watch, which has seen nothing.
    package init() {}

    /// The changes since the last call. The first call finds none, and remembers how things are.
    package mutating func changes(of emulator: CloudKitEmulator) throws -> [WatchedChange] {
        var copy = self
        let changes = try emulator.read { db in try copy.look(db) }
        self = copy
        return changes
    }

    private mutating func look(_ db: Database) throws -> [WatchedChange] {
        var changes: [WatchedChange] = []
        let rows = try db.rows(
            """
            SELECT database.id, database.sequence, container.identifier, container.environment, database.owner
            FROM database JOIN container ON container.id = database.container
            """
        )
        for row in rows {
            let (database, sequence): (Int64, Int64) = (row[0], row[1])
            let before = databases.updateValue(sequence, forKey: database)
            guard before != sequence else { continue }
            let zoneRows = try db.rows(
                """
                SELECT id, sequence, name, deleted FROM zone WHERE database = ? AND database_sequence > ?
                ORDER BY database_sequence
                """,
                [database, hasLooked ? before ?? 0 : -1]
            )
            for zoneRow in zoneRows {
                let (zone, position): (Int64, Int64) = (zoneRow[0], zoneRow[1])
                let last = zones.updateValue(position, forKey: zone) ?? 0
                guard hasLooked else { continue }
                var change = WatchedChange(
                    zone: StoredZone(
                        container: row[2],
                        environment: row[3],
                        owner: row[4],
                        name: zoneRow[2],
                        isDeleted: zoneRow[3],
                        sequence: position
                    )
                )
                for record in try db.rows(
                    "SELECT name, deleted FROM record WHERE zone = ? AND sequence > ? ORDER BY sequence LIMIT ?",
                    [zone, last, 2 * Self.maximumNames]
                ) {
                    let (name, isDeleted): (String, Bool) = (record[0], record[1])
                    let path = isDeleted ? \WatchedChange.deleted : \WatchedChange.saved
                    if change[keyPath: path].count < Self.maximumNames { change[keyPath: path].append(name) }
                }
                changes.append(change)
            }
        }
        hasLooked = true
        return changes
    }
}
