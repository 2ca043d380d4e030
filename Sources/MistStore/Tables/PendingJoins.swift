import GRDB
import SQLiteTables

/// The user whom records of no one join, and the place of the user's file.
struct JoinTarget: Hashable {
    let place: UserFile
    let user: String
}

/// The row of `mist_join` in the file of the public database: the records of no one are being added to those of a user.
///
/// It is written before the copy, and removed after the source was withdrawn. So after a crash in between, the copy goes
/// on to the same user, also where another one signs in next.
struct PendingJoins: TableOwner {
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_join (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            -- The file of no one, and the file of the user.
            file TEXT NOT NULL,
            target TEXT NOT NULL,
            user TEXT NOT NULL
        )
        """

    static let areNeededForReading = false

    let db: Database

    /// The file of no one, and the user to whose file its records are added; `nil` where none are.
    func row() throws -> (source: UserFile, target: JoinTarget)? {
        guard let row = try db.row("SELECT file, target, user FROM mist_join"),
            let source = UserFile(kind: row["file"], user: nil),
            let place = UserFile(kind: row["target"], user: row["user"])
        else { return nil }
        return (source, JoinTarget(place: place, user: row["user"]))
    }

    func begin(from source: UserFile, to target: JoinTarget) throws {
        try db.run(
            "INSERT OR REPLACE INTO mist_join (id, file, target, user) VALUES (1, ?, ?, ?)",
            [source.kind.rawValue, target.place.kind.rawValue, target.user]
        )
    }

    func end() throws { try db.run("DELETE FROM mist_join") }
}
