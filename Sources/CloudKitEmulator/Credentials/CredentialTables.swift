import GRDB

/// The API tokens and server-to-server keys, each for a container's environment.
enum CredentialTables {
    /// Gives each credential its environment. Those that were registered before stay valid in both.
    static func separateEnvironments(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE api_token_of_environment (
                    token TEXT NOT NULL, container TEXT NOT NULL, environment TEXT NOT NULL,
                    PRIMARY KEY (token, container, environment)
                ) WITHOUT ROWID;
                INSERT INTO api_token_of_environment
                    SELECT token, container, column1 FROM api_token, (VALUES ('development'), ('production'));
                DROP TABLE api_token;
                ALTER TABLE api_token_of_environment RENAME TO api_token;

                CREATE TABLE server_key_of_environment (
                    id TEXT NOT NULL, container TEXT NOT NULL, environment TEXT NOT NULL, public_key BLOB NOT NULL,
                    PRIMARY KEY (id, environment)
                ) WITHOUT ROWID;
                INSERT INTO server_key_of_environment
                    SELECT id, container, column1, public_key
                    FROM server_key, (VALUES ('development'), ('production'));
                DROP TABLE server_key;
                ALTER TABLE server_key_of_environment RENAME TO server_key;
                """
        )
    }
}
