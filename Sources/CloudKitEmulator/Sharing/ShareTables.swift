import GRDB

extension Tables {
    /// The tables of shares and of the users who accepted them.
    ///
    /// - `share` finds the record of a share by its short name and by the record that it shares.
    /// - `share_member` says which records belong to a share: its own record, the root, and all records below the root.
    ///   A record that left the share keeps its row, because the change feeds of participants must report it as
    ///   deleted.
    /// - `participation` says which users accepted a share, from when to when.
    /// - `parent_link` holds the `parent` of records, to find the records below a record.
    /// - `shared_zone` is a shared database's list of zones, with its order of changes.
    ///
    /// Points in time are numbers of the zone's count of writes, by which its change feed is ordered.
    static func createTablesOfSharing(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE share (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, container INTEGER NOT NULL, zone INTEGER NOT NULL,
                    name TEXT NOT NULL, root TEXT, short_guid TEXT NOT NULL,
                    UNIQUE (zone, name), UNIQUE (container, short_guid)
                );
                CREATE UNIQUE INDEX share_root ON share (zone, root);
                CREATE TABLE share_member (
                    record INTEGER NOT NULL, share INTEGER NOT NULL, entered INTEGER NOT NULL, left_at INTEGER,
                    PRIMARY KEY (record, share)
                ) WITHOUT ROWID;
                CREATE INDEX share_member_share ON share_member (share);
                CREATE TABLE participation (
                    user TEXT NOT NULL, zone INTEGER NOT NULL, share INTEGER NOT NULL, permission TEXT NOT NULL,
                    accepted INTEGER NOT NULL, ended INTEGER,
                    PRIMARY KEY (user, zone, share)
                ) WITHOUT ROWID;
                CREATE INDEX participation_share ON participation (share);
                CREATE TABLE parent_link (
                    record INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name TEXT NOT NULL
                );
                CREATE INDEX parent_link_name ON parent_link (zone, name);
                CREATE TABLE shared_zone (
                    database INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,
                    database_sequence INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (database, zone)
                ) WITHOUT ROWID;
                CREATE INDEX shared_zone_zone ON shared_zone (zone);
                """
        )
    }
}

/// A row of `share`.
struct ShareRow {
    let id: Int64
    let zone: Int64
    /// The name of the share's own record.
    let name: String
    /// The name of the record that is shared; `nil` for the share of a whole zone.
    let root: String?
    let shortGUID: String

    private static let columns = "id, zone, name, root, short_guid"

    private init(_ row: Row) {
        id = row[0]
        zone = row[1]
        name = row[2]
        root = row[3]
        shortGUID = row[4]
    }

    static func fetch(named name: String, zone: Int64, _ db: Database) throws -> ShareRow? {
        try fetch("zone = ? AND name = ?", [zone, name], db)
    }

    static func fetch(ofRoot name: String, zone: Int64, _ db: Database) throws -> ShareRow? {
        try fetch("zone = ? AND root = ?", [zone, name], db)
    }

    static func fetch(ofZone zone: Int64, _ db: Database) throws -> ShareRow? {
        try fetch("zone = ? AND root IS NULL", [zone], db)
    }

    static func fetch(shortGUID: String, container: Int64, _ db: Database) throws -> ShareRow? {
        try fetch("container = ? AND short_guid = ?", [container, shortGUID], db)
    }

    static func fetch(id: Int64, _ db: Database) throws -> ShareRow? {
        try fetch("id = ?", [id], db)
    }

    /// The users who accepted the share and still see it.
    func users(_ db: Database) throws -> [String] {
        try db.values("SELECT user FROM participation WHERE share = ? AND ended IS NULL", [id])
    }

    /// The share to which a record belongs.
    static func id(ofMember record: Int64, _ db: Database) throws -> Int64? {
        try db.value("SELECT share FROM share_member WHERE record = ? AND left_at IS NULL", [record])
    }

    /// Whether anything of a zone is shared.
    static func exists(inZone zone: Int64, _ db: Database) throws -> Bool {
        try db.row("SELECT 1 FROM share WHERE zone = ? LIMIT 1", [zone]) != nil
    }

    private static func fetch(
        _ condition: String,
        _ arguments: SQLArguments,
        _ db: Database
    ) throws -> ShareRow? {
        try db.row("SELECT \(columns) FROM share WHERE \(condition)", arguments).map(ShareRow.init)
    }
}
