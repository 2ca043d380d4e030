import GRDB

/// The tables of the emulator's database.
///
/// A record is one row, with its body as the bytes of its JSON. Rows of other tables find it:
///
/// - `entry` holds one row for each value of each indexed field (for a list: one for each different element), clustered
///   by field, zone and value. A filter on equality or a range, a sort, and a page from the middle are each one walk
///   along that tree, however many records there are. A record that lacks a sortable field has a row with the value
///   ``OrderedValue/absent``.
/// - `location_entry` does the same for locations, by latitude. The first versions called it `place`.
/// - `word` does the same for the words of texts, for searches.
/// - `link` holds the references with an action (`DELETE_SELF`, `VALIDATE`), by the record that they point to.
///
/// `record.sequence` counts the writes of its zone. It is the change tag (in base 36), and the order of the zone's
/// change feed: each record is in the feed once, where it was last written. Deleted records stay as rows with no body.
enum Tables {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("ground floor") { db in
            try db.execute(
                sql: """
                    CREATE TABLE secret (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
                    CREATE TABLE registered_container (identifier TEXT PRIMARY KEY) WITHOUT ROWID;
                    CREATE TABLE api_token (
                        token TEXT NOT NULL, container TEXT NOT NULL, PRIMARY KEY (token, container)
                    ) WITHOUT ROWID;
                    CREATE TABLE server_key (
                        id TEXT PRIMARY KEY, container TEXT NOT NULL, public_key BLOB NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE user (
                        name TEXT PRIMARY KEY, given_name TEXT, family_name TEXT, email_address TEXT, phone_number TEXT
                    ) WITHOUT ROWID;
                    CREATE TABLE used_web_token (token BLOB PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;

                    CREATE TABLE identity (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                    CREATE TABLE container (
                        id INTEGER PRIMARY KEY, identifier TEXT NOT NULL, environment TEXT NOT NULL,
                        UNIQUE (identifier, environment)
                    );
                    CREATE TABLE database (
                        id INTEGER PRIMARY KEY AUTOINCREMENT, container INTEGER NOT NULL, owner TEXT NOT NULL,
                        sequence INTEGER NOT NULL DEFAULT 0,
                        UNIQUE (container, owner)
                    );
                    CREATE TABLE zone (
                        id INTEGER PRIMARY KEY AUTOINCREMENT, database INTEGER NOT NULL, name TEXT NOT NULL,
                        deleted INTEGER NOT NULL DEFAULT 0,
                        sequence INTEGER NOT NULL DEFAULT 0,
                        database_sequence INTEGER NOT NULL DEFAULT 0,
                        UNIQUE (database, name)
                    );
                    CREATE INDEX zone_feed ON zone (database, database_sequence);

                    CREATE TABLE record_type (
                        id INTEGER PRIMARY KEY, container INTEGER NOT NULL, name TEXT NOT NULL,
                        UNIQUE (container, name)
                    );
                    CREATE TABLE field (
                        id INTEGER PRIMARY KEY, type INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
                        UNIQUE (type, name)
                    );

                    CREATE TABLE record (
                        id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name TEXT NOT NULL, type INTEGER NOT NULL,
                        sequence INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0,
                        created INTEGER NOT NULL, creator INTEGER, modified INTEGER NOT NULL, modifier INTEGER,
                        body BLOB
                    );
                    CREATE UNIQUE INDEX record_name ON record (zone, name);
                    CREATE UNIQUE INDEX record_feed ON record (zone, sequence);
                    CREATE INDEX record_created_order ON record (zone, type, created) WHERE deleted = 0;
                    CREATE INDEX record_modified_order ON record (zone, type, modified) WHERE deleted = 0;

                    CREATE TABLE entry (
                        field INTEGER NOT NULL, zone INTEGER NOT NULL, value BLOB NOT NULL, record INTEGER NOT NULL,
                        PRIMARY KEY (field, zone, value, record)
                    ) WITHOUT ROWID;
                    CREATE TABLE place (
                        field INTEGER NOT NULL, zone INTEGER NOT NULL,
                        latitude REAL NOT NULL, longitude REAL NOT NULL, record INTEGER NOT NULL,
                        PRIMARY KEY (field, zone, latitude, longitude, record)
                    ) WITHOUT ROWID;
                    CREATE TABLE link (
                        zone INTEGER NOT NULL, name TEXT NOT NULL, action INTEGER NOT NULL, source INTEGER NOT NULL,
                        PRIMARY KEY (zone, name, action, source)
                    ) WITHOUT ROWID;
                    CREATE INDEX link_source ON link (source);
                    """
            )
        }
        migrator.registerMigration("discovery of users", migrate: createTablesOfDiscovery)
        migrator.registerMigration("sharing", migrate: createTablesOfSharing)
        migrator.registerMigration("subscriptions", migrate: SubscriptionTables.create)
        migrator.registerMigration("assets") { db in try AssetTables.create(in: db) }
        migrator.registerMigration("sign-in", migrate: SignInTables.make)
        migrator.registerMigration("environments", migrate: CredentialTables.separateEnvironments)
        migrator.registerMigration("user records", migrate: UserRecordTables.create)
        migrator.registerMigration("tickets of one sign-in", migrate: SignInTables.makeUsedTickets)
        migrator.registerMigration("made names of uploads") { db in try AssetTables.addMadeNames(in: db) }
        migrator.registerMigration("made device tokens", migrate: SubscriptionTables.addMadeTokens)
        migrator.registerMigration("location entries") { db in
            try db.execute(sql: "ALTER TABLE place RENAME TO location_entry")
        }
        migrator.registerMigration("imported schemas", migrate: SchemaTables.create)
        migrator.registerMigration("words", migrate: IndexRows.createWords)
        migrator.registerMigration("restricted users", migrate: RestrictionTables.create)
        return migrator
    }
}
