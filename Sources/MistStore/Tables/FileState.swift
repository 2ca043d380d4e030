import GRDB
import MistKit
import SQLiteTables

/// The row of `mist_state`, which is about the whole file, with the former numbers of the file.
///
/// An instance lives as long as a transaction, and keeps what does not change meanwhile.
final class FileState: TableOwner {
    static let guarded = ["mist_state"]

    static let definition = """
        CREATE TABLE mist_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            format INTEGER NOT NULL,
            -- This copy of the file, 63 random bits.
            device INTEGER NOT NULL,
            -- 1 while the engine writes: the triggers of record types rest. Never committed as 1.
            applying INTEGER NOT NULL DEFAULT 0,
            -- The machine's time in milliseconds since 1970, where a simulation sets it; NULL reads the clock.
            clock INTEGER,
            -- The service's time minus the machine's, in milliseconds, and when a reply last confirmed it, in the
            -- service's time.
            clock_offset INTEGER NOT NULL DEFAULT 0,
            offset_learned INTEGER NOT NULL DEFAULT 0,
            -- By how much the stamps of records are later than the header field Date, where the two differ.
            date_bias INTEGER NOT NULL DEFAULT 0,
            -- The latest time of an edit that came from elsewhere.
            heard INTEGER NOT NULL DEFAULT 0,
            \(identity.joined(separator: ", ")),
            \(users.joined(separator: ",\n    "))
        );
        \(formerDevices)
        """

    /// The numbers that this file had before another copy of it was noticed.
    private static let formerDevices = """
        CREATE TABLE mist_former_device (
            device INTEGER PRIMARY KEY,
            -- When the file got another number. The machine's time.
            until INTEGER NOT NULL
        );
        """

    /// The columns for the user whose records the file has, and for the user who is signed in where that is another
    /// user: the user record names.
    private static let users = ["owner TEXT", "visitor TEXT"]

    /// The columns for the place of the file when it was opened last: see ``FileIdentity``.
    private static let identity = ["machine TEXT", "volume TEXT", "number TEXT", "path TEXT"]

    static func update(from format: Int64) -> [String] {
        let places = format < 5 ? identity.map { "ALTER TABLE mist_state ADD COLUMN \($0)" } : []
        guard format < 3 else { return places }
        return places + [formerDevices, "ALTER TABLE mist_state ADD COLUMN date_bias INTEGER NOT NULL DEFAULT 0"]
            + users.map { "ALTER TABLE mist_state ADD COLUMN \($0)" }
    }

    private let db: Database
    private var knownDevice: Int64?
    private var knownDevices: Set<Int64>?
    /// A time after every edit and version that the transaction has seen.
    private var latestTime: ServiceTime?

    init(_ db: Database) {
        self.db = db
    }
}

// MARK: - The format

extension FileState {
    /// The format of the tables; `nil` where another program has removed the row.
    static func format(_ db: Database) throws -> Int64? {
        try db.value("SELECT format FROM mist_state", as: Int64.self)
    }

    static func setFormat(_ format: Int64, _ db: Database) throws {
        try db.run("UPDATE mist_state SET format = ?", [format])
    }

    static func insert(format: Int64, device: Int64, into db: Database) throws {
        try db.execute(
            sql: "INSERT INTO mist_state (id, format, device) VALUES (1, ?, ?)",
            arguments: [format, device]
        )
    }

    /// Whether the file has the table of former numbers, which came with the third format.
    static func hasFormerDevices(_ db: Database) throws -> Bool { try db.tableExists("mist_former_device") }
}

// MARK: - Files that are removed

extension FileState {
    /// Takes the file away from every process that has it open, before it is removed. Without this row's table, no trigger
    /// of a record type runs, so each later change of another process fails, and none is lost with the file.
    static func withdraw(_ db: Database) throws {
        try db.execute(sql: "DROP TABLE mist_state; CREATE TABLE mist_withdrawn (id INTEGER PRIMARY KEY)")
    }

    /// Whether the file is being removed, or was: see ``withdraw(_:)``.
    ///
    /// SQLite is asked, and not GRDB: a connection that writes keeps what it knows of the schema, also when another
    /// process changes it.
    static func isWithdrawn(_ db: Database) throws -> Bool {
        let name = "mist_withdrawn"
        let query = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)"
        return try db.value(query, [name], as: Bool.self) ?? false
    }
}

// MARK: - Triggers and the clock

extension FileState {
    /// The row, after `FROM`.
    static let source = "mist_state"

    /// Whether triggers record edits: the engine does not write.
    static let recordsEdits = "(SELECT applying FROM mist_state) = 0"

    /// The time of an edit, as an expression. See ``TriggerClock``.
    static let editTime = "(SELECT \(TriggerClock.edit) FROM mist_state)"

    /// Whether a trigger that reads a column asks whether the engine writes.
    static func asksWhetherEngineWrites(_ table: String, _ column: String?) -> Bool {
        table == "mist_state" && column == "applying"
    }

    /// Lets the triggers of record types rest, or record edits again.
    static func setApplying(_ isApplying: Bool, _ db: Database) throws {
        try db.run("UPDATE mist_state SET applying = ?", [isApplying])
    }

    /// The times that a trigger would give to an edit now: in the service's time, and by the machine's clock.
    func presentEditTimes() throws -> (time: ServiceTime, raw: MachineTime) {
        let row = try db.row("SELECT \(TriggerClock.edit), \(TriggerClock.machine) FROM mist_state")
        return row.map { ($0[0], $0[1]) } ?? (0, 0)
    }

    /// Sets the time of the machine for triggers; `nil` reads the clock.
    ///
    /// - Returns: The time that was set before.
    @discardableResult
    static func setClock(_ time: MachineTime?, _ db: Database) throws -> MachineTime? {
        let former = try db.value("SELECT clock FROM mist_state", as: MachineTime.self)
        try db.run("UPDATE mist_state SET clock = ?", [time])
        return former
    }
}

/// The time in triggers, in milliseconds since 1970: expressions over the row of `mist_state`.
enum TriggerClock {
    /// The machine's clock, or `mist_state.clock` where a simulation sets it.
    static let machine = "coalesce(clock, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))"

    /// The time of an edit: the machine's clock in the service's time, and never before the latest time that came from
    /// elsewhere.
    static let edit = "max(\(machine) + clock_offset, heard)"
}

// MARK: - The service's clock

extension FileState {
    /// The service's time minus the machine's, in milliseconds.
    var clockOffset: Int64 {
        get throws { try db.value("SELECT clock_offset FROM mist_state", as: Int64.self) ?? 0 }
    }

    /// When a reply last confirmed the offset.
    var offsetConfirmed: ServiceTime {
        get throws { try db.value("SELECT offset_learned FROM mist_state", as: ServiceTime.self) ?? 0 }
    }

    /// By how much the stamps of records are later than the header field `Date`, in milliseconds.
    var dateBias: Int64 {
        get throws { try db.value("SELECT date_bias FROM mist_state", as: Int64.self) ?? 0 }
    }

    func setDateBias(_ bias: Int64) throws {
        try db.run("UPDATE mist_state SET date_bias = ?1 WHERE date_bias <> ?1", [bias])
    }

    /// Notes that a reply has confirmed the offset.
    func confirmOffset(at time: ServiceTime) throws {
        try db.run(
            "UPDATE mist_state SET offset_learned = max(offset_learned, ?1), heard = max(heard, ?1)",
            [time]
        )
    }

    /// Sets another offset, which a reply has shown.
    ///
    /// - Parameters:
    ///   - offset: The service's time minus the machine's, in milliseconds.
    ///   - time: When the service handled the request at the earliest.
    /// - Throws: A `DatabaseError` when the file fails.
    func setOffset(_ offset: Int64, confirmedAt time: ServiceTime) throws {
        try db.run(
            """
            UPDATE mist_state SET clock_offset = ?, heard = min(heard, ?), offset_learned = min(offset_learned, ?)
            """,
            [offset, time + EditTime.tolerance, time]
        )
    }

    /// Takes note of a time: later edits of this device have times after it. It is written at the end of the
    /// transaction.
    func noteTime(_ time: ServiceTime) {
        latestTime = max(latestTime ?? time, time)
    }

    /// Writes what the transaction has kept in memory until its end.
    func writeLatestTime() throws {
        guard let latestTime else { return }
        try db.run("UPDATE mist_state SET heard = max(heard, ?)", [latestTime])
    }
}

// MARK: - Copies and users

extension FileState {
    /// The number of this copy of the file. Another process may have changed it since the file was opened.
    var device: Int64 {
        get throws {
            if let knownDevice { return knownDevice }
            let device = try db.value("SELECT device FROM mist_state", as: Int64.self) ?? 0
            knownDevice = device
            return device
        }
    }

    /// The number of this file, and those that it had before.
    var devices: Set<Int64> {
        get throws {
            if let knownDevices { return knownDevices }
            let former = try Int64.fetchAll(db.cachedStatement(sql: "SELECT device FROM mist_former_device"))
            let devices = Set(former + [try device])
            knownDevices = devices
            return devices
        }
    }

    /// Gives this copy of the file another number.
    func setDevice(_ new: Int64, at now: MachineTime) throws {
        try db.run(
            "INSERT INTO mist_former_device (device, until) VALUES (?, ?) ON CONFLICT (device) DO NOTHING",
            [try device, now]
        )
        try db.run("UPDATE mist_state SET device = ?", [new])
        (knownDevice, knownDevices) = (new, nil)
    }

    /// Where the file was when it was opened last; `nil` before the first opening, and for a file of an earlier format.
    var identity: FileIdentity? {
        get throws {
            try db.row("SELECT machine, volume, number, path FROM mist_state WHERE path IS NOT NULL").map {
                FileIdentity(
                    machine: $0["machine"] ?? "",
                    volume: $0["volume"] ?? "",
                    number: $0["number"] ?? "",
                    path: $0["path"]
                )
            }
        }
    }

    /// Notes where the file is.
    func setIdentity(_ identity: FileIdentity) throws {
        try db.run(
            "UPDATE mist_state SET machine = ?, volume = ?, number = ?, path = ?",
            [identity.machine, identity.volume, identity.number, identity.path]
        )
    }

    /// When another copy of the file was noticed last.
    var copyNoticed: MachineTime? {
        get throws { try db.value("SELECT max(until) FROM mist_former_device", as: MachineTime.self) }
    }

    /// The user whose records the file has.
    var owner: String? {
        get throws { try db.value("SELECT owner FROM mist_state", as: String.self) }
    }

    /// The owner of the file, and the user who is signed in; `nil` where no other user than the owner is.
    var visit: (owner: String, visitor: String)? {
        get throws {
            try db.row("SELECT owner, visitor FROM mist_state WHERE visitor IS NOT NULL")
                .map { ($0["owner"] ?? "", $0["visitor"]) }
        }
    }

    /// The user who is signed in, as far as the file knows: the owner, or another one.
    var signedInUser: String? { get throws { try visit?.visitor ?? owner } }

    /// Notes the user who is signed in. The first user becomes the owner.
    ///
    /// - Returns: Whether the user is the owner.
    func noteUser(_ user: String) throws -> Bool {
        let owner = try owner
        let isOwner = owner == nil || owner == user
        try db.run(
            "UPDATE mist_state SET owner = coalesce(owner, ?1), visitor = CASE WHEN ?2 THEN NULL ELSE ?1 END",
            [user, isOwner]
        )
        return isOwner
    }

    /// Passes the file of the public database on to the user whose private records are open. Changes are sent in the
    /// name of the user who made them: while there are some of another user, that user stays the owner. Those that were
    /// made while no one was signed in become those of the user.
    ///
    /// - Parameter user: The user; `nil` for no one.
    /// - Throws: A `DatabaseError` when the file fails.
    func passOn(to user: String?) throws {
        let hasChanges = try !PendingEdits(db: db).isEmpty || !Tombstones(db: db).isEmpty
        try db.run(
            """
            UPDATE mist_state SET
                owner = CASE WHEN ?2 THEN coalesce(owner, ?1) ELSE ?1 END,
                visitor = CASE WHEN ?2 AND owner <> ?1 THEN ?1 END
            """,
            [user, hasChanges]
        )
    }
}
