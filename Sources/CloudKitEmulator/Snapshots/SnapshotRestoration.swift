import GRDB

extension CloudKitEmulator {
    /// Replaces the data by those of a snapshot's file, in one transaction.
    ///
    /// Containers and databases keep their row numbers, which tokens and devices name. Zones get new ones, and the
    /// counters of databases move on. So a client finds that every zone has changed, and that its token of a zone has
    /// expired, as after the deletion of the zone: it fetches everything again, and misses nothing. Users who are not in
    /// the snapshot stay, because credentials name them.
    func restoreData(from path: String) throws {
        try withStorage { database in
            try database.writeWithoutTransaction { db in
                try db.execute(sql: "ATTACH DATABASE ? AS earlier", arguments: [path])
                // The tables of row numbers are of this connection alone.
                defer { try? db.execute(sql: "DROP TABLE IF EXISTS temp.zone_numbers; DETACH DATABASE earlier") }
                try db.inTransaction {
                    try Self.restoreData(db)
                    return .commit
                }
            }
        }
        pushSignal.send()
    }

    /// The tables that are replaced as a whole.
    private static let replaced = [
        "record", "entry", "location_entry", "word", "link", "share", "share_member", "participation", "parent_link",
        "shared_zone", "record_type", "field", "identity", "asset_file", "asset_chunk", "asset_use", "asset_upload",
        "asset_receipt", "subscription", "user_role", "restricted_user",
    ]

    private static func restoreData(_ db: Database) throws {
        for table in replaced { try db.execute(sql: "DELETE FROM main.\(table)") }
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO main.user SELECT * FROM earlier.user;
                INSERT OR IGNORE INTO main.registered_container SELECT * FROM earlier.registered_container;
                INSERT OR IGNORE INTO main.visitor SELECT * FROM earlier.visitor;

                INSERT OR IGNORE INTO main.container (identifier, environment)
                    SELECT identifier, environment FROM earlier.container;
                -- Another revision, whichever numbers the types have: cached schemas are out of date.
                UPDATE main.container SET
                    schema = (SELECT schema FROM earlier.container AS other
                        WHERE other.identifier = container.identifier AND other.environment = container.environment),
                    schema_revision = 1 + max(schema_revision, coalesce((SELECT max(schema_revision) FROM earlier.container), 0));

                INSERT OR IGNORE INTO main.database (container, owner)
                    SELECT \(container("earlier.database.container")), owner FROM earlier.database;
                UPDATE main.database SET sequence = 1 + max(sequence, coalesce((SELECT max(sequence) FROM earlier.database), 0));

                -- Zones that the snapshot has get a new row; the others are deleted.
                DELETE FROM main.zone WHERE EXISTS (
                    SELECT 1 FROM earlier.zone AS other
                    WHERE \(database("other.database")) = zone.database AND other.name = zone.name);
                DELETE FROM main.zone WHERE name = '_defaultZone';
                UPDATE main.zone SET deleted = 1,
                    database_sequence = (SELECT sequence FROM main.database WHERE id = zone.database);
                CREATE TEMP TABLE zone_numbers (earlier INTEGER PRIMARY KEY, present INTEGER NOT NULL);
                INSERT INTO temp.zone_numbers
                    SELECT id, id + coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = 'zone'), 0) FROM earlier.zone;
                INSERT INTO main.zone (id, database, name, deleted, sequence, database_sequence)
                    SELECT \(zone("other.id")), \(database("other.database")), name, deleted, sequence,
                        row_number() OVER (PARTITION BY other.database ORDER BY other.id)
                            + (SELECT sequence FROM main.database WHERE id = \(database("other.database")))
                    FROM earlier.zone AS other;
                UPDATE main.database SET sequence = sequence + (SELECT count(*) FROM main.zone WHERE zone.database = database.id);

                INSERT INTO main.identity SELECT * FROM earlier.identity;
                INSERT INTO main.record_type (id, container, name)
                    SELECT id, \(container("other.container")), name FROM earlier.record_type AS other;
                INSERT INTO main.field SELECT * FROM earlier.field;
                INSERT INTO main.record
                    SELECT id, \(zone("zone")), name, type, sequence, deleted, created, creator, modified, modifier, body
                    FROM earlier.record;
                INSERT INTO main.entry SELECT field, \(zone("zone")), value, record FROM earlier.entry;
                INSERT INTO main.location_entry
                    SELECT field, \(zone("zone")), latitude, longitude, record FROM earlier.location_entry;
                INSERT INTO main.word SELECT field, \(zone("zone")), word, record FROM earlier.word;
                INSERT INTO main.link SELECT \(zone("zone")), name, action, source FROM earlier.link;
                INSERT INTO main.share (id, container, zone, name, root, short_guid)
                    SELECT id, \(container("other.container")), \(zone("other.zone")), name, root, short_guid
                    FROM earlier.share AS other;
                INSERT INTO main.share_member SELECT * FROM earlier.share_member;
                INSERT INTO main.participation (user, zone, share, permission, accepted, ended)
                    SELECT user, \(zone("zone")), share, permission, accepted, ended FROM earlier.participation;
                INSERT INTO main.parent_link (record, zone, name)
                    SELECT record, \(zone("zone")), name FROM earlier.parent_link;
                INSERT INTO main.shared_zone (database, zone, name, owner, database_sequence, deleted)
                    SELECT \(database("other.database")), \(zone("other.zone")), name, owner,
                        (SELECT sequence FROM main.database WHERE id = \(database("other.database"))), deleted
                    FROM earlier.shared_zone AS other;
                INSERT INTO main.asset_file SELECT * FROM earlier.asset_file;
                INSERT INTO main.asset_chunk SELECT * FROM earlier.asset_chunk;
                INSERT INTO main.asset_use SELECT * FROM earlier.asset_use;
                INSERT INTO main.subscription (id, database, owner, name, body)
                    SELECT id, \(database("other.database")), owner, name, body FROM earlier.subscription AS other;
                INSERT INTO main.user_role SELECT \(container("other.container")), user, role FROM earlier.user_role AS other;
                INSERT INTO main.restricted_user SELECT * FROM earlier.restricted_user;

                -- Databases that the snapshot does not have are empty.
                INSERT OR IGNORE INTO main.zone (database, name)
                    SELECT id, '_defaultZone' FROM main.database WHERE owner NOT LIKE 'shared with %';
                """
        )
    }

    /// The present row number of a container of the snapshot, as SQL.
    private static func container(_ number: String) -> String {
        """
        (SELECT present.id FROM earlier.container AS before JOIN main.container AS present
            ON present.identifier = before.identifier AND present.environment = before.environment
            WHERE before.id = \(number))
        """
    }

    /// The present row number of a database of the snapshot, as SQL.
    private static func database(_ number: String) -> String {
        """
        (SELECT present.id FROM earlier.database AS before JOIN main.database AS present
            ON present.owner = before.owner AND present.container = \(container("before.container"))
            WHERE before.id = \(number))
        """
    }

    /// The present row number of a zone of the snapshot, as SQL.
    private static func zone(_ number: String) -> String {
        "(SELECT present FROM temp.zone_numbers WHERE earlier = \(number))"
    }
}
