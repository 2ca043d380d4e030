import GRDB

/// The tables of a user's file.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            // Tastings as the service has them: `content` is its JSON.
            try db.execute(
                sql: """
                    CREATE TABLE tasting (id TEXT PRIMARY KEY, content TEXT NOT NULL);
                    CREATE TABLE feed_item (
                        feed TEXT NOT NULL, rank INTEGER NOT NULL, tasting TEXT, gap TEXT,
                        PRIMARY KEY (feed, rank), UNIQUE (feed, tasting), CHECK ((tasting IS NULL) <> (gap IS NULL))
                    ) WITHOUT ROWID;
                    """
            )
            // Tastings of this machine, until both feeds that will have them were fetched. `service` is the identifier
            // that the service chose.
            try db.execute(
                sql: """
                    CREATE TABLE own_tasting (
                        id TEXT PRIMARY KEY, service TEXT UNIQUE, content TEXT NOT NULL, picture TEXT,
                        is_in_global INTEGER NOT NULL DEFAULT 0, is_in_own INTEGER NOT NULL DEFAULT 0
                    );
                    CREATE TABLE own_toast (tasting TEXT PRIMARY KEY, is_on INTEGER NOT NULL, mutation TEXT NOT NULL);
                    """
            )
            // Pictures by the SHA-256 of their bytes, and the service's identifiers for them.
            try db.execute(
                sql: """
                    CREATE TABLE picture (
                        digest TEXT PRIMARY KEY, size INTEGER NOT NULL, number INTEGER NOT NULL
                    );
                    CREATE TABLE picture_name (image TEXT PRIMARY KEY, digest TEXT NOT NULL);
                    """
            )
        }
        return migrator
    }
}
