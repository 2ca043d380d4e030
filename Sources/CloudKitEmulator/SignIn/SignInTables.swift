import GRDB

/// Where the tokens of people who signed in go, for API tokens that have an address for them.
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
}
