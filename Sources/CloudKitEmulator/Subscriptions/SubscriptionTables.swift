import GRDB

/// The tables of subscriptions, of the devices that receive pushes, and of the pushes that wait for them.
///
/// A subscription belongs to a user, or a server-to-server key, in a database. `push` holds the pushes that were not
/// fetched yet. A push is written in the transaction of its change, so a change that was rolled back has no push.
enum SubscriptionTables {
    static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE subscription (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, database INTEGER NOT NULL, owner TEXT NOT NULL,
                    name TEXT NOT NULL, body BLOB NOT NULL,
                    UNIQUE (database, owner, name)
                );
                CREATE TABLE device_token (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, container INTEGER NOT NULL, owner TEXT NOT NULL,
                    apns_environment TEXT NOT NULL, client TEXT, token TEXT NOT NULL,
                    courier TEXT UNIQUE, registered INTEGER NOT NULL DEFAULT 0, badge INTEGER NOT NULL DEFAULT 0,
                    UNIQUE (container, token)
                );
                CREATE INDEX device_token_owner ON device_token (container, owner);
                CREATE TABLE push (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, device_token INTEGER NOT NULL, payload BLOB NOT NULL
                );
                CREATE INDEX push_queue ON push (device_token, id);
                """
        )
    }

    /// Adds the column `is_made`, for tokens that `tokens/create` made. Every token now has a courier, so the courier
    /// no longer shows this.
    static func addMadeTokens(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE device_token ADD COLUMN is_made INTEGER NOT NULL DEFAULT 0;
                UPDATE device_token SET is_made = courier IS NOT NULL;
                """
        )
    }
}
