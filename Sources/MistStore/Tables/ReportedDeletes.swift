import GRDB
import SQLiteTables

/// The deletes that a zone was not read past yet, `mist_deleted`: those of this device that were acknowledged, and
/// those of other devices and of verifications with records here that refer to the deleted one.
struct ReportedDeletes: TableOwner {
    static let definition = """
        -- Deletes that the zone was not read past yet: by this device and acknowledged, or by another device, with
        -- records here that refer to the deleted one.
        CREATE TABLE mist_deleted (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            -- 0: another device, 1: this one, 2: a verification.
            is_own INTEGER NOT NULL,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        """

    /// Whose delete it is.
    enum Author: Int64, DatabaseValueConvertible {
        case otherDevice = 0
        case thisDevice = 1
        /// A verification has found that the service does not have the record.
        case verification = 2
    }

    let db: Database

    /// The deletes of a zone, as a query.
    static func all(in zone: String) -> String { "SELECT 1 FROM mist_deleted WHERE zone = \(zone)" }

    /// Notes a delete, unless one of the name is noted.
    func note(_ name: String, by author: Author, in zone: ZoneRowID) throws {
        try db.run(
            "INSERT INTO mist_deleted (zone, name, is_own) VALUES (?, ?, ?) ON CONFLICT (zone, name) DO NOTHING",
            [zone, name, author]
        )
    }

    /// Whether this device has deleted a record of the name since the zone was read, and the service has acknowledged
    /// it.
    func isOwn(_ name: String, in zone: ZoneRowID) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_deleted WHERE zone = ? AND name = ? AND is_own = ?)",
            [zone, name, Author.thisDevice],
            as: Bool.self
        ) ?? false
    }

    /// The names that an author has deleted.
    func names(by author: Author, in zone: ZoneRowID) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(sql: "SELECT name FROM mist_deleted WHERE zone = ? AND is_own = ?"),
            arguments: [zone, author]
        )
    }

    /// Forgets this device's delete of a name.
    func forgetOwn(_ name: String, in zone: ZoneRowID) throws {
        try db.run(
            "DELETE FROM mist_deleted WHERE zone = ? AND name = ? AND is_own = ?",
            [zone, name, Author.thisDevice]
        )
    }

    /// Forgets this device's deletes after the zone was read to its end. An error may stand for the delete of a record
    /// that was not delivered.
    func forgetOwn(in zone: ZoneRowID) throws {
        try db.run(
            """
            DELETE FROM mist_deleted WHERE zone = ?1 AND is_own = ?2
                AND name NOT IN (\(UndeliveredRecords.names(in: "?1")))
            """,
            [zone, Author.thisDevice]
        )
    }

    func forgetAll(in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_deleted WHERE zone = ?", [zone])
    }
}
