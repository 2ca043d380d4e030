import CloudKitModel
import MistKit

/// The indexes that the queries of a record type use: one for each field that the schema makes `QUERYABLE` or
/// `SORTABLE`.
///
/// An index has the record name after the field's value, since records with equal values are in the order of their
/// names:
///
/// ```sql
/// CREATE INDEX IF NOT EXISTS "mist_index_Todo.title" ON "Todo" ("title", _recordName)
/// ```
///
/// The zone is not part of an index. Most records of a file are in one zone, and without the zone the index also has
/// the order for a query of several zones.
enum QueryIndexes {
    /// The statements that create the indexes of a table.
    static func statements(for table: RecordTable) -> [String] {
        table.fields.compactMap { field in
            guard let expression = expression(of: field) else { return nil }
            let name = quoted("mist_index_\(table.recordType).\(field.name)")
            return "CREATE INDEX IF NOT EXISTS \(name) ON \(table.name) (\(expression), _recordName)"
        }
    }

    /// The SQL expression that the index of a field sorts by; `nil` for a field without an index.
    static func expression(of field: StoredField) -> String? {
        guard !field.isEncrypted, !field.schema.indexes.isDisjoint(with: [.queryable, .sortable]) else {
            return nil
        }
        if field.type == .location { return latitude(of: field.column) }
        return field.knownType?.features.contains(.equality) == true ? field.column : nil
    }

    /// The latitude of a location in SQL.
    static func latitude(of column: String) -> String {
        "json_extract(\(column), '$.latitude')"
    }
}
