import GRDB

/// The row of `mist_join` in the file of the public database: the records of no one are being added to those of a user.
///
/// It is written before the copy, and removed after the source was withdrawn. So after a crash in between, the copy goes
/// on to the same user, whoever signs in next.
struct PendingJoins: TableOwner {
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_join (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            -- The file of no one, and the file of the user.
            file TEXT NOT NULL,
            target TEXT NOT NULL,
            target_user TEXT
        )
        """

    static let areNeededForReading = false

    let db: Database

    /// The file of no one, and the file to which its records are added; `nil` where none are.
    func row() throws -> (source: UserFile, target: UserFile)? {
        guard let row = try db.row("SELECT file, target, target_user FROM mist_join"),
            let source = UserFile(kind: row["file"], user: nil),
            let target = UserFile(kind: row["target"], user: row["target_user"])
        else { return nil }
        return (source, target)
    }

    func begin(from source: UserFile, to target: UserFile) throws {
        try db.run(
            "INSERT OR REPLACE INTO mist_join (id, file, target, target_user) VALUES (1, ?, ?, ?)",
            [source.kind.rawValue, target.kind.rawValue, target.user]
        )
    }

    func end() throws { try db.run("DELETE FROM mist_join") }
}
