import ProcessLeases
import SQLiteTables

/// The owner of some of the store's own tables. `TableOwnershipTests` finds SQL that names a table of another file.
protocol TableOwner: OwnedTables {
    /// The tables whose rows only the store removes.
    static var guarded: [String] { get }

    /// Whether a store that is opened for reading needs the tables.
    static var areNeededForReading: Bool { get }

    /// The statements that update the tables of a file of an earlier format.
    static func update(from format: Int64) -> [String]
}

extension TableOwner {
    static var guarded: [String] { [] }
    static var areNeededForReading: Bool { true }
    static func update(from format: Int64) -> [String] { [] }
}

extension Leases: TableOwner {}
