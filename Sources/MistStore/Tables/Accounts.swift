import GRDB
import SQLiteTables

/// The row of `mist_account` in the file of the public database: whose private records are open. It is the only place
/// that says so; the row of `mist_state` in each file says to whom the file belongs.
struct Accounts: TableOwner {
    /// A program without the table opens the first file, and finds by the owner in it whether it may use it. So the
    /// table needs no new format. Other files than that of the public database have it without rows.
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_account (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            -- The file that is open, and the user whose file it is, where the file is named by the user.
            file TEXT NOT NULL,
            user TEXT,
            -- The file that is to be removed, with its user.
            removing TEXT,
            removing_user TEXT
        )
        """

    let db: Database

    /// The file that is open, and the one that is to be removed.
    func row() throws -> (open: UserFile, removing: UserFile?) {
        guard let row = try db.row("SELECT file, user, removing, removing_user FROM mist_account") else {
            return (.first, nil)
        }
        return (
            UserFile(kind: row["file"], user: row["user"]) ?? .first,
            UserFile(kind: row["removing"], user: row["removing_user"])
        )
    }

    /// Notes the file that is open from now on, and the one that is to be removed.
    func set(open: UserFile, removing: UserFile?) throws {
        try db.run(
            """
            INSERT INTO mist_account (id, file, user, removing, removing_user) VALUES (1, ?1, ?2, ?3, ?4)
            ON CONFLICT (id) DO UPDATE SET file = ?1, user = ?2, removing = ?3, removing_user = ?4
            """,
            [open.kind.rawValue, open.user, removing?.kind.rawValue, removing?.user]
        )
    }
}
