import GRDB

/// The owner of some of the store's own tables: the only source file with SQL that names them.
///
/// Everything else calls the owner's verbs. A query that joins tables belongs to the owner of the rows that it returns
/// or changes, and takes what it needs of another table from a fragment of SQL that the other owner names. Triggers are
/// composed of such fragments, too. `TableOwnershipTests` finds SQL that names a table of another file.
protocol TableOwner {
    /// The statements that create the tables in a new file.
    static var definition: String { get }

    /// The tables whose rows only the store removes.
    static var guarded: [String] { get }

    /// The statements that update the tables of a file of an earlier format.
    static func update(from format: Int64) -> [String]
}

extension TableOwner {
    static var guarded: [String] { [] }
    static func update(from format: Int64) -> [String] { [] }
}
