package import GRDB

/// The owner of some tables: the only source file with SQL that names them.
///
/// Everything else calls the owner's verbs. A query that joins tables belongs to the owner of the rows that it returns
/// or changes, and takes what it needs of another table from a fragment of SQL that the other owner names. Triggers are
/// composed of such fragments, too. A test of each target with tables finds SQL that names a table of another file.
package protocol OwnedTables {
    /// The statements that create the tables in a new file.
    static var definition: String { get }

    /// Creates the tables that a file does not have yet. Their definitions say `IF NOT EXISTS`.
    static func create(in db: Database) throws

    /// Whether a file has the tables, as they are in a new file.
    static func exist(in db: Database) throws -> Bool
}

extension OwnedTables {
    package static func create(in db: Database) throws { try db.execute(sql: definition) }

    package static func exist(in db: Database) throws -> Bool { try tableNames.allSatisfy { try db.tableExists($0) } }

    /// The names of the tables, from their definitions: each begins on a line of its own.
    ///
    /// Each opening of a file asks for some of them, which would take a regular expression a millisecond.
    package static var tableNames: [String] {
        definition.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.starts(with: ["CREATE", "TABLE"]) else { return nil }
            return words.first { $0.hasPrefix("mist_") }.map(String.init)
        }
    }
}
