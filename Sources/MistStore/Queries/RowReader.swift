import CloudKitModel
import GRDB
import GRDBSQLite
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads rows of a record type's table as typed records: values go from the columns into the model, without a `Record`
/// in between.
///
/// The statement's columns are those of ``RecordTable/Statements/typedColumns``. A row whose values do not fit the model
/// is read again as a `Record`, which gives the reason with the name of the field.
struct RowReader<Model: CloudKitRecord> {
    private let table: RecordTable
    private let statement: Statement
    private let fields: RowFields
    /// The fields of the file that the model does not have.
    private let otherFields: [RowFields.Column]
    /// The zone of the last row. Most rows of a query are in one zone.
    private var lastZone: (number: ZoneRowID, zoneID: ZoneID?)?
    private let db: Database
    private let sealer: FieldSealer?

    /// Prepares to read the rows of a statement.
    ///
    /// - Parameters:
    ///   - statement: The statement, which selects ``RecordTable/Statements/typedColumns``.
    ///   - table: The table.
    ///   - sealer: Opens sealed values; `nil` in a file that is not sealed.
    ///   - db: The connection.
    /// - Throws: A ``StoreError`` for a field of a type that no model has.
    init(_ statement: Statement, of table: RecordTable, _ sealer: FieldSealer?, _ db: Database) throws {
        self.table = table
        self.statement = statement
        self.db = db
        self.sealer = sealer
        let names = Model.fieldTable.names
        var index = CInt(Self.systemColumns)
        var own: [RowFields.Column] = []
        var others: [RowFields.Column] = []
        for field in table.fields {
            let hasAction = field.actionColumn != nil
            let position = names.firstIndex(of: field.name)
            let column = RowFields.Column(
                index: index,
                field: field,
                type: try field.columnType(),
                action: hasAction ? index + 1 : nil,
                position: position ?? -1
            )
            if position == nil { others.append(column) } else { own.append(column) }
            index += hasAction ? 2 : 1
        }
        fields = RowFields(statement.sqliteStatement, own)
        otherFields = others
    }

    /// The number of columns before those of the fields.
    private static var systemColumns: Int { 6 }

    /// Reads the statement's current row, and adds it to the records, or to those that cannot be read as the type.
    ///
    /// - Throws: A `DatabaseError` when the file fails.
    mutating func read(
        into records: inout [StoredRecord<Model>],
        unreadable: inout [UnreadableRecord]
    ) throws {
        fields.zone = try zone(ZoneRowID(sqlite3_column_int64(statement.sqliteStatement, 4)))
        if sqlite3_column_type(statement.sqliteStatement, 5) == SQLITE_NULL, let record = typedRecord() {
            records.append(record)
        } else {
            readUntyped(into: &records, unreadable: &unreadable)
        }
    }

    /// The row as a typed record; `nil` where a value does not fit.
    private func typedRecord() -> StoredRecord<Model>? {
        var record = systemFields()
        for column in otherFields {
            guard let value = try? fields.value(of: column) else { return nil }
            record.fields[column.field.name] = value
        }
        fields.rewind()
        return StoredRecord(record, fields: fields)
    }

    private func systemFields() -> CloudKitModel.Record {
        let sqlite = statement.sqliteStatement
        func stamp(_ index: CInt) -> CloudKitModel.Record.Stamp? {
            guard sqlite3_column_type(sqlite, index) == SQLITE_INTEGER else { return nil }
            return CloudKitModel.Record.Stamp(timestamp: ColumnValue.date(sqlite3_column_int64(sqlite, index)))
        }
        return CloudKitModel.Record(
            recordType: table.recordType,
            recordName: text(0),
            recordChangeTag: text(3),
            created: stamp(1),
            modified: stamp(2),
            zoneID: fields.zone
        )
    }

    private func text(_ index: CInt) -> String? {
        ColumnValue(sqliteStatement: statement.sqliteStatement, index: index).text
    }

    private mutating func zone(_ number: ZoneRowID) throws -> ZoneID? {
        if let lastZone, lastZone.number == number { return lastZone.zoneID }
        let zoneID = try StoredZone.zoneID(number, db)
        lastZone = (number, zoneID)
        return zoneID
    }

    /// Reads the row as a `Record`, with the fields that have no column. A value that no field of the type can have is
    /// left out; where the model has the field, the row is unreadable.
    private func readUntyped(
        into records: inout [StoredRecord<Model>],
        unreadable: inout [UnreadableRecord]
    ) {
        var record = systemFields()
        var misfit: String?
        for column in fields.columns + otherFields {
            do throws(ColumnError) {
                record.fields[column.field.name] = try fields.value(of: column)
            } catch  where column.position >= 0 {
                misfit = misfit ?? "The field \"\(column.field.name)\" cannot be read. \(error)"
            } catch {
                continue
            }
        }
        do {
            if let other = text(5) {
                let fields = try sealer.opened(try OtherFields.read(other), for: .version(text(0) ?? ""))
                for (name, value) in fields where table[name] == nil {
                    record.fields[name] = value
                }
            }
            if let misfit { return unreadable.append(UnreadableRecord(record, reason: misfit)) }
            records.append(try StoredRecord(record))
        } catch {
            let reason = (error as? CloudKitError)?.message ?? "\(error)"
            unreadable.append(UnreadableRecord(record, reason: reason))
        }
    }
}

/// The columns of a statement's current row, as fields of a model.
private final class RowFields: FieldSource {
    struct Column {
        /// The column of the statement.
        let index: CInt
        let field: StoredField
        let type: FieldType.Known
        /// The column with the action of a reference.
        let action: CInt?
        /// The position of the field in the model's table.
        let position: Int
    }

    let columns: [Column]
    /// The indexes, types and positions of the columns. Unlike ``columns``, they are read without counting references.
    private let places: [(index: CInt, type: FieldType.Known, position: Int)]
    private let statement: SQLiteStatement
    private var current = -1
    /// The zone of the row.
    var zone: ZoneID?

    init(_ statement: SQLiteStatement, _ columns: [Column]) {
        self.statement = statement
        self.columns = columns
        places = columns.map { ($0.index, $0.type, $0.position) }
    }

    func rewind() {
        current = -1
    }

    func next() -> Int? {
        while current + 1 < places.count {
            current += 1
            let place = places[current]
            if sqlite3_column_type(statement, place.index) != SQLITE_NULL { return place.position }
        }
        return nil
    }

    /// The column of the current field, if the field has this type and the column's value this storage class.
    private func column(of type: FieldType.Known, _ storage: CInt) -> CInt? {
        let place = places[current]
        guard place.type == type, sqlite3_column_type(statement, place.index) == storage else { return nil }
        return place.index
    }

    func string() -> String? {
        column(of: .string, SQLITE_TEXT).flatMap { ColumnValue(sqliteStatement: statement, index: $0).text }
    }

    func int64() -> Int64? {
        column(of: .int64, SQLITE_INTEGER).map { sqlite3_column_int64(statement, $0) }
    }

    func double() -> Double? {
        column(of: .double, SQLITE_FLOAT).map { sqlite3_column_double(statement, $0) }.flatMap {
            $0.isFinite ? $0 : nil
        }
    }

    func date() -> Date? {
        column(of: .timestamp, SQLITE_INTEGER).flatMap {
            try? ColumnValue.checkedDate(sqlite3_column_int64(statement, $0))
        }
    }

    func fieldValue() throws(FieldError) -> FieldValue? {
        do throws(ColumnError) {
            return try value(of: columns[current])
        } catch {
            throw FieldError(error.description)
        }
    }

    /// The value of a column, of any type.
    func value(of column: Column) throws(ColumnError) -> FieldValue? {
        let action = column.action.map { ColumnValue(sqliteStatement: statement, index: $0) } ?? .null
        var value = ColumnValue(sqliteStatement: statement, index: column.index)
        if let sealing = column.field.sealing {
            // The first column is the name of the record.
            let name = ColumnValue(sqliteStatement: statement, index: 0).text ?? ""
            value = try sealing.opened(value, of: name)
        }
        return try value.fieldValue(as: column.type, action: action)?.linked(in: zone)
    }
}

extension FieldValue {
    /// The value with the zone of its record added to references, as in records of the service. A column has only the
    /// name.
    func linked(in zone: ZoneID?) -> FieldValue {
        func linked(_ reference: Reference) -> Reference {
            Reference(recordName: reference.recordName, action: reference.action, zoneID: reference.zoneID ?? zone)
        }
        return switch self {
        case .reference(let reference): .reference(linked(reference))
        case .referenceList(let references): .referenceList(references.map(linked))
        default: self
        }
    }
}
