package import CloudKitModel
package import CloudKitSchema
import GRDB

/// What differs between two states of an emulator.
package struct SnapshotComparison: Sendable {
    /// How a record differs.
    package enum Kind: Sendable {
        case added
        case changed
        case removed
    }

    /// A record that differs.
    package struct RecordDifference: Sendable {
        package var kind: Kind
        package var container: String
        package var environment: ContainerEnvironment
        /// The user whose private database it is; `nil` for the public database.
        package var owner: String?
        package var zoneName: String
        package var recordName: String
        package var recordType: String
        /// The record as it is stored, in JSON; `nil` where the state lacks it.
        package var before: String?
        package var after: String?
    }

    /// The changes of a schema.
    package struct SchemaDifference: Sendable {
        package var container: String
        package var environment: ContainerEnvironment
        package var comparison: CloudKitSchema.SchemaComparison
    }

    /// The number of records above which the others are only counted.
    package static let maximumRecords = 1000

    /// The numbers of records that differ.
    package var added = 0
    package var changed = 0
    package var removed = 0
    package var records: [RecordDifference] = []
    package var schemas: [SchemaDifference] = []

    /// Compares two files.
    init(from earlier: String, to later: String, _ emulator: CloudKitEmulator) throws {
        let queue = try DatabaseQueue()
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH DATABASE ? AS earlier", arguments: [earlier])
            try db.execute(sql: "ATTACH DATABASE ? AS later", arguments: [later])
            for state in ["earlier", "later"] {
                try db.execute(
                    sql: """
                        CREATE TEMP TABLE \(state)_record (
                            container TEXT, environment TEXT, owner TEXT, zone TEXT, name TEXT, type TEXT, body BLOB,
                            PRIMARY KEY (container, environment, owner, zone, name)
                        ) WITHOUT ROWID;
                        INSERT INTO temp.\(state)_record
                            SELECT container.identifier, container.environment, database.owner, zone.name, record.name,
                                record_type.name, record.body
                            FROM \(state).record JOIN \(state).record_type ON record_type.id = record.type
                            JOIN \(state).zone ON zone.id = record.zone
                            JOIN \(state).database ON database.id = zone.database
                            JOIN \(state).container ON container.id = database.container
                            WHERE record.deleted = 0 AND zone.deleted = 0;
                        """
                )
            }
            try compareRecords(db)
        }
        try compareSchemas(earlier, later)
    }

    private mutating func compareRecords(_ db: Database) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT 0, container, environment, owner, zone, name, type, NULL, body FROM later_record AS later
                WHERE NOT EXISTS (SELECT 1 FROM earlier_record AS earlier WHERE \(Self.isSame))
                UNION ALL
                SELECT 1, later.container, later.environment, later.owner, later.zone, later.name, later.type,
                    earlier.body, later.body
                FROM later_record AS later JOIN earlier_record AS earlier ON \(Self.isSame)
                WHERE later.body IS NOT earlier.body OR later.type IS NOT earlier.type
                UNION ALL
                SELECT 2, container, environment, owner, zone, name, type, body, NULL FROM earlier_record AS earlier
                WHERE NOT EXISTS (SELECT 1 FROM later_record AS later WHERE \(Self.isSame))
                ORDER BY 2, 3, 4, 5, 6
                """
        )
        while let row = try rows.next() {
            let kind: Kind
            switch row[0] as Int {
            case 0:
                kind = .added
                added += 1
            case 1:
                kind = .changed
                changed += 1
            default:
                kind = .removed
                removed += 1
            }
            guard records.count < Self.maximumRecords else { continue }
            let owner: String = row[3]
            func text(_ column: Int) throws -> String? {
                // The column is NULL where the state lacks the record.
                try row.withUnsafeData(atIndex: column) { $0.map { String(decoding: $0, as: UTF8.self) } }
            }
            records.append(
                RecordDifference(
                    kind: kind,
                    container: row[1],
                    environment: ContainerEnvironment(rawValue: row[2]) ?? .development,
                    owner: owner.isEmpty ? nil : owner,
                    zoneName: row[4],
                    recordName: row[5],
                    recordType: row[6],
                    before: try text(7),
                    after: try text(8)
                )
            )
        }
    }

    private static let isSame = ["container", "environment", "owner", "zone", "name"].map {
        "earlier.\($0) = later.\($0)"
    }.joined(separator: " AND ")

    private mutating func compareSchemas(_ earlier: String, _ later: String) throws {
        let (before, after) = (try Self.schemas(earlier), try Self.schemas(later))
        for address in Set(before.keys).union(after.keys).sorted(by: {
            ($0.container, $0.environment) < ($1.container, $1.environment)
        }) {
            let comparison = CloudKitSchema.SchemaComparison(
                from: before[address] ?? ContainerSchema(),
                to: after[address] ?? ContainerSchema()
            )
            guard !comparison.changes.isEmpty else { continue }
            schemas.append(
                SchemaDifference(
                    container: address.container,
                    environment: ContainerEnvironment(rawValue: address.environment) ?? .development,
                    comparison: comparison
                )
            )
        }
    }

    private struct SchemaAddress: Hashable {
        var container: String
        var environment: String
    }

    private static func schemas(_ path: String) throws -> [SchemaAddress: ContainerSchema] {
        try EmulatorSnapshots.reading(path) { db in
            try db.rows("SELECT id, identifier, environment FROM container").reduce(into: [:]) { result, row in
                let address = SchemaAddress(container: row[1], environment: row[2])
                result[address] = try Schema.load(container: row[0], from: db).exported
            }
        }
    }
}
