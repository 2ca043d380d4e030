import GRDB
import SQLiteTables

/// The rows that the engine met and that do not fit the program's type, `mist_unreadable`. Whether a row still does not
/// fit is checked when the status is read, so a row that fits meanwhile may be noted, too.
struct UnreadableRows: TableOwner {
    /// A program without the table does not miss it, so it needs no new format.
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_unreadable (
            type INTEGER NOT NULL,
            row INTEGER NOT NULL,
            UNIQUE (type, row)
        )
        """

    let db: Database

    /// The rows of a type that are noted, as a query.
    static func rows(of type: String) -> String { "SELECT row FROM mist_unreadable WHERE type = \(type)" }

    func note(_ row: RecordRowID, of table: TableID) throws {
        try db.run(
            "INSERT INTO mist_unreadable (type, row) VALUES (?, ?) ON CONFLICT (type, row) DO NOTHING",
            [table, row]
        )
    }

    func forget(_ row: RecordRowID, of table: TableID) throws {
        try db.run("DELETE FROM mist_unreadable WHERE type = ? AND row = ?", [table, row])
    }

    /// Forgets the rows that are gone.
    func removeOrphans(of table: RecordTable) throws {
        try db.run(
            "DELETE FROM mist_unreadable WHERE type = ? AND row NOT IN (SELECT _id FROM \(table.name))",
            [table.id]
        )
    }
}
