import GRDB

/// The addresses that receive the web authentication tokens of users, for each API token that has one, and the tickets
/// that were used.
enum SignInTables {
    static func make(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE sign_in_address (
                    token TEXT NOT NULL, container TEXT NOT NULL, url TEXT NOT NULL, PRIMARY KEY (token, container)
                ) WITHOUT ROWID;
                """
        )
    }

    static func makeUsedTickets(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE used_sign_in_ticket (nonce BLOB PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
                -- Earlier versions took an address of any scheme.
                DELETE FROM sign_in_address WHERE lower(url) NOT LIKE 'http://_%' AND lower(url) NOT LIKE 'https://_%';
                """
        )
    }
}
