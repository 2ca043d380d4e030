import GRDB
import SQLiteTables

/// The row of `mist_author` in the file of the public database: the user whose private records are open. What the
/// program changes in the public database is this user's.
///
/// The owner of the file (``FileState/owner``) is the user whose changes wait. While another user's records are open,
/// the two differ until those changes were sent.
struct PublicAuthor: TableOwner {
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_author (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            -- NULL: the open records are those of no one.
            user TEXT
        )
        """

    static let areNeededForReading = false

    let db: Database

    /// The row; `nil` while no user is noted.
    private func row() throws -> Row? { try db.row("SELECT user FROM mist_author") }

    /// Whether another user than this one is noted, or none yet.
    func differs(from user: String?) throws -> Bool {
        guard let row = try row() else { return true }
        return row["user"] != user
    }

    /// Notes the user whose private records are open, and passes the file on, unless changes of another user wait.
    ///
    /// - Parameter user: The user; `nil` for no one.
    /// - Throws: A `DatabaseError` when the file fails.
    func note(_ user: String?) throws {
        try db.run(
            "INSERT INTO mist_author (id, user) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET user = ?1",
            [user]
        )
        try FileState(db).passOn(to: user)
    }

    /// Makes the file that of the author, before a change of the program. Changes are sent in the name of the user who
    /// made them: while there are some of another user, the change is refused.
    ///
    /// - Throws: A ``StoreError`` with the code `otherUser`, or a `DatabaseError`.
    func checkChange() throws {
        let state = FileState(db)
        if let row = try row() {
            let author: String? = row["user"]
            if try state.owner != author { try state.passOn(to: author) }
            if let owner = try state.owner, owner != author {
                throw StoreError(
                    .otherUser,
                    """
                    The public database has changes of the user \(owner) that were not sent yet, and \
                    \(author.map { "the records of the user \($0)" } ?? "those of no one") are open. Changes are sent in the name of the \
                    user who made them, so nothing was changed. Sign in as \(owner), and synchronise.
                    """
                )
            }
        }
        if try state.visit != nil { throw try StoreError.otherUser(db) }
    }
}

extension StoreFile {
    /// Notes in the file of the public database to whom a file of private records belongs, if this file is the open one.
    /// Another process may have opened another one, or synchronise one that is not open.
    func note(author user: String, of place: UserFile) throws {
        try wrapping {
            guard try database.read({ db in try PublicAuthor(db: db).differs(from: user) }) else { return }
            try database.write { db in
                guard try Accounts(db: db).row().open == place else { return }
                try PublicAuthor(db: db).note(user)
            }
        }
    }
}
