import CloudKitModel
import Foundation
import GRDB
import MistKit
import SQLiteTables

@testable import MistStore

/// The table of one record type in memory, with its indexes, as a store creates it.
struct QueryTable {
    /// The record type Item, with a field of each type.
    static let item = RecordTable(
        id: 1,
        recordType: "Item",
        fields: fields.enumerated().map { StoredField(id: FieldID(Int64($0 + 1)), schema: $1) }
    )

    private static let fields: [RecordSchema.Field] = [
        .init(name: "text", type: .string, indexes: [.queryable, .sortable, .searchable]),
        .init(name: "note", type: .string, indexes: .searchable),
        .init(name: "number", type: .int64, indexes: [.queryable, .sortable]),
        .init(name: "order", type: .int64),
        .init(name: "ratio", type: .double, indexes: .sortable),
        .init(name: "date", type: .timestamp, indexes: .queryable),
        .init(name: "data", type: .bytes, indexes: .queryable),
        .init(name: "link", type: .reference, indexes: [.queryable, .sortable]),
        .init(name: "place", type: .location, indexes: .queryable),
        .init(name: "spot", type: .location),
        .init(name: "file", type: .asset),
        .init(name: "texts", type: .stringList, indexes: .queryable),
        .init(name: "numbers", type: .int64List),
        .init(name: "ratios", type: .doubleList),
        .init(name: "dates", type: .timestampList),
        .init(name: "datas", type: .bytesList),
        .init(name: "links", type: .referenceList),
        .init(name: "places", type: .locationList),
        .init(name: "files", type: .assetList),
        .init(name: "secret", type: .string, isEncrypted: true, indexes: .queryable),
    ]

    let database: DatabaseQueue
    private let zone: ZoneID

    /// Creates the table, with the zone as number 1 of the private scope.
    init(zone: ZoneID = .default) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in QueryFunctions.register(in: db) }
        database = try DatabaseQueue(configuration: configuration)
        self.zone = zone
        try database.write { db in
            try SystemTables.create(in: db, device: 1)
            try db.execute(sql: "INSERT INTO mist_zone (id, scope, name) VALUES (1, 1, ?)", arguments: [zone.zoneName])
            try db.execute(sql: Self.item.definition(defaultZone: 1))
            for statement in QueryIndexes.statements(for: Self.item) { try db.execute(sql: statement) }
        }
    }

    /// Inserts records as they come from the service.
    func insert(_ records: [CloudKitModel.Record], in zoneNumber: ZoneRowID = 1) throws {
        try database.write { db in
            func user(_ name: String?) throws -> Int64? {
                guard let name else { return nil }
                try db.execute(sql: "INSERT OR IGNORE INTO mist_user (name) VALUES (?)", arguments: [name])
                return try Int64.fetchOne(db, sql: "SELECT id FROM mist_user WHERE name = ?", arguments: [name])
            }
            func time(_ stamp: CloudKitModel.Record.Stamp?) throws -> Int64? {
                try (stamp?.timestamp).map { try ColumnValue.milliseconds(of: $0) }
            }
            for record in records {
                let name = record.recordName ?? ""
                let values = Dictionary(record.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
                let pairs = try Self.item.columnPairs(of: values, named: name, in: zone)
                let row = try Self.item.insert(pairs, named: name, in: zoneNumber, at: 0, db)
                try db.execute(
                    sql: """
                        UPDATE "Item" SET _createdTimestamp = ?, _createdUser = ?, _modifiedTimestamp = ?, _modifiedUser = ?
                        WHERE _id = ?
                        """,
                    arguments: [
                        try time(record.created), try user(record.created?.userRecordName),
                        try time(record.modified), try user(record.modified?.userRecordName), row,
                    ]
                )
                try db.execute(
                    sql: """
                        INSERT INTO mist_record (type, zone, name, row, tag, parent, share) VALUES (1, ?, ?, ?, ?, ?, ?)
                        """,
                    arguments: [
                        zoneNumber, name, row, record.recordChangeTag, record.parent?.recordName,
                        record.share?.recordName,
                    ]
                )
            }
        }
    }

    static func query(
        _ filters: [QueryFilter] = [],
        sorts: [QuerySort] = [],
        limit: Int? = nil,
        in table: RecordTable = item,
        zones: LocalQuery.SearchedZones = .zone(1)
    ) throws -> LocalQuery {
        let query = RecordQuery(recordType: table.recordType, filters: filters, sorts: sorts)
        return try LocalQuery(query, limit: limit, in: table, zones: zones)
    }

    /// The names of the records that a query finds, in order.
    func find(_ query: LocalQuery) throws -> [String] {
        try database.read { db in try Self.item.rows(query.condition, query.values, db).map(\.name) }
    }

    /// The steps that SQLite takes for a query.
    func plan(_ query: LocalQuery) throws -> [String] {
        try database.read { db in
            let statement = try db.makeStatement(
                sql: "EXPLAIN QUERY PLAN SELECT * FROM \"Item\" WHERE \(query.condition)"
            )
            try statement.bind(query.values)
            return try Row.fetchAll(statement).map { $0["detail"] }
        }
    }
}
