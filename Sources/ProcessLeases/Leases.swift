package import GRDB
import SQLiteTables

/// The leases of a file, `mist_lease`: which process does a kind of work that only one process may do at a time.
///
/// ``FileLease`` decides; this type has the SQL. Both a store and a queue create the table in a file that lacks it, each
/// with rows of its own names.
package struct Leases: OwnedTables {
    package static let definition = """
        CREATE TABLE IF NOT EXISTS mist_lease (
            -- The work that the lease is for.
            name TEXT PRIMARY KEY,
            -- Grows with each holder. What an earlier holder does later has no effect.
            epoch INTEGER NOT NULL,
            -- The member that holds the lease, a random number; NULL where no member does.
            holder INTEGER,
            -- The name of the holder's process, for people.
            process TEXT,
            -- Changes about once a second while the holder lives.
            beat INTEGER NOT NULL,
            -- 1: the holder has locked the file beside the database. The end of its process ends the lock.
            is_locked INTEGER NOT NULL,
            -- The last epoch whose holder came to the end of its work, and the last one that did it for a program.
            done INTEGER NOT NULL,
            done_for_program INTEGER NOT NULL,
            \(times.joined(separator: ",\n            "))
        )
        """

    /// The number of the holder's process in the system, and times by the machine's clock: when the holder took the
    /// lease, when it last showed that it lives, and when the work was done last.
    private static let times = ["process_id INTEGER", "taken_at INTEGER", "beat_at INTEGER", "done_at INTEGER"]

    let name: String
    let db: Database

    package init(name: String, db: Database) {
        self.name = name
        self.db = db
    }

    /// Whether the file has the table with all columns.
    package static func exist(in db: Database) throws -> Bool {
        try db.tableExists("mist_lease") && missingTimes(db).isEmpty
    }

    /// Creates the table, or adds the columns that it lacks.
    package static func create(in db: Database) throws {
        try db.execute(sql: definition)
        for column in try missingTimes(db) { try db.execute(sql: "ALTER TABLE mist_lease ADD COLUMN \(column)") }
    }

    private static func missingTimes(_ db: Database) throws -> [String] {
        let columns = try db.columns(in: "mist_lease").map(\.name)
        return times.filter { time in !columns.contains { time.hasPrefix("\($0) ") } }
    }

    /// The lease. Without a row, it is free.
    package func row() throws -> LeaseRow {
        let row = try db.row(
            """
            SELECT epoch, holder, beat, is_locked, done, done_for_program, process, process_id, taken_at, beat_at, done_at
            FROM mist_lease WHERE name = ?
            """,
            [name]
        )
        // Finding each column by its name takes longer.
        guard let row else { return LeaseRow() }
        return LeaseRow(
            epoch: row[0],
            holder: row[1],
            beat: row[2],
            isLocked: row[3],
            done: row[4],
            doneForProgram: row[5],
            process: row[6],
            processID: row[7],
            takenAt: row[8],
            beatAt: row[9],
            doneAt: row[10]
        )
    }

    /// Makes a member the holder, in a new epoch.
    func take(
        _ member: LeaseMember,
        epoch: LeaseEpoch,
        process: (name: String, id: Int32),
        isLocked: Bool,
        at now: MachineTime
    ) throws {
        try db.run(
            """
            INSERT INTO mist_lease
                (name, epoch, holder, process, process_id, beat, is_locked, done, done_for_program, taken_at, beat_at)
            VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, 0, 0, ?7, ?7)
            ON CONFLICT (name) DO UPDATE SET
                epoch = ?2, holder = ?3, process = ?4, process_id = ?5, beat = 0, is_locked = ?6, taken_at = ?7,
                beat_at = ?7
            """,
            [name, epoch, member, process.name, process.id, isLocked, now]
        )
    }

    /// Shows that the holder lives.
    func beat(at now: MachineTime) throws {
        try db.run("UPDATE mist_lease SET beat = beat + 1, beat_at = ? WHERE name = ?", [now, name])
    }

    /// Frees the lease.
    func release() throws {
        try db.run(
            """
            UPDATE mist_lease SET holder = NULL, process = NULL, process_id = NULL, is_locked = 0, taken_at = NULL,
                beat_at = NULL
            WHERE name = ?
            """,
            [name]
        )
    }

    /// Notes that the holder came to the end of its work.
    func noteDone(forProgram: Bool, at now: MachineTime) throws {
        try db.run(
            """
            UPDATE mist_lease SET done = epoch, done_for_program = iif(?2, epoch, done_for_program), done_at = ?3
            WHERE name = ?1
            """,
            [name, forProgram, now]
        )
    }
}
