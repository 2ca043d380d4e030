import GRDB

/// The leases of a file, `mist_lease`: which process does a kind of work that only one process may do at a time.
///
/// ``FileLease`` decides; this type has the SQL. A program without the table does not miss it, so it needs no new format.
struct Leases: TableOwner {
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_lease (
            -- The work that the lease is for.
            name TEXT PRIMARY KEY,
            -- Grows with each holder. What an earlier holder does later has no effect.
            epoch INTEGER NOT NULL,
            -- The member that holds the lease, a random number; NULL where no member does.
            holder INTEGER,
            -- The holder's process, for people.
            process TEXT,
            -- Changes about once a second while the holder lives.
            beat INTEGER NOT NULL,
            -- 1: the holder has locked the file beside the database. The end of its process ends the lock.
            is_locked INTEGER NOT NULL,
            -- The last epoch whose holder came to the end of its work, and the last one that did it for a program.
            done INTEGER NOT NULL,
            done_for_program INTEGER NOT NULL
        )
        """

    let name: String
    let db: Database

    /// The lease. Without a row, it is free.
    func row() throws -> LeaseRow {
        guard let row = try db.row("SELECT * FROM mist_lease WHERE name = ?", [name]) else { return LeaseRow() }
        return LeaseRow(
            epoch: row["epoch"],
            holder: row["holder"],
            beat: row["beat"],
            isLocked: row["is_locked"],
            done: row["done"],
            doneForProgram: row["done_for_program"]
        )
    }

    /// The name and the number of the process that holds the lease; `nil` where none does.
    func process() throws -> String? {
        try db.value("SELECT process FROM mist_lease WHERE name = ? AND holder IS NOT NULL", [name], as: String.self)
    }

    /// Makes a member the holder, in a new epoch.
    func take(_ member: LeaseMember, epoch: LeaseEpoch, process: String, isLocked: Bool) throws {
        try db.run(
            """
            INSERT INTO mist_lease (name, epoch, holder, process, beat, is_locked, done, done_for_program)
            VALUES (?1, ?2, ?3, ?4, 0, ?5, 0, 0)
            ON CONFLICT (name) DO UPDATE SET epoch = ?2, holder = ?3, process = ?4, beat = 0, is_locked = ?5
            """,
            [name, epoch, member, process, isLocked]
        )
    }

    /// Shows that the holder lives.
    func beat() throws {
        try db.run("UPDATE mist_lease SET beat = beat + 1 WHERE name = ?", [name])
    }

    /// Frees the lease.
    func release() throws {
        try db.run("UPDATE mist_lease SET holder = NULL, process = NULL, is_locked = 0 WHERE name = ?", [name])
    }

    /// Notes that the holder came to the end of its work.
    func noteDone(forProgram: Bool) throws {
        try db.run(
            """
            UPDATE mist_lease SET done = epoch, done_for_program = iif(?2, epoch, done_for_program) WHERE name = ?1
            """,
            [name, forProgram]
        )
    }
}
