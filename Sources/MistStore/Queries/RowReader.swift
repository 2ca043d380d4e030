import CloudKitModel
import GRDB
import GRDBSQLite
import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads rows of a record type's table as typed records: values go from the columns into the model, without a `Record`
/// in between.
///
/// The statement's columns are those of ``columns(of:)``. A row whose values do not fit the model is read again as a
/// `Record`, which gives the reason with the name of the field.
struct RowReader<Model: CloudKitRecord> {
    private let table: RecordTable
    private let statement: Statement
    private let fields: RowFields
    /// The fields of the file that the model does not have.
    private let otherFields: [RowFields.Column]
    /// The zones by their numbers.
    private var zones: [ZoneRowID: ZoneID] = [:]
    private let db: Database

    /// Prepares to read the rows of a statement.
    ///
    /// - Parameters:
    ///   - statement: The statement, which selects ``columns(of:)``.
    ///   - table: The table.
    ///   - db: The connection.
    /// - Throws: A ``StoreError`` for a field of a type that no model has.
    init(_ statement: Statement, of table: RecordTable, _ db: Database) throws {
        self.table = table
        self.statement = statement
        self.db = db
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

    /// The columns that a statement has to select: the name, the times, the change tag, the zone, the JSON of the
    /// fields that have no column, and the other fields.
    ///
    /// A small index of the records that have fields without a column makes that lookup cheap.
    static func columns(of table: RecordTable) -> String {
        """
        _recordName, _createdTimestamp, _modifiedTimestamp, _changeTag, _zone, \
        \(KnownVersions.other(of: table))\
        \(table.fieldColumns.map { ", \(table.name).\($0)" }.joined())
        """
    }

    /// A row that was read.
    enum Content {
        case record(StoredRecord<Model>)
        case unreadable(UnreadableRecord)
    }

    /// Reads the statement's current row.
    ///
    /// - Throws: A `DatabaseError` when the file fails.
    mutating func read() throws -> Content {
        let sqlite = statement.sqliteStatement
        func stamp(_ index: CInt) -> CloudKitModel.Record.Stamp? {
            guard sqlite3_column_type(sqlite, index) == SQLITE_INTEGER else { return nil }
            return CloudKitModel.Record.Stamp(timestamp: ColumnValue.date(sqlite3_column_int64(sqlite, index)))
        }
        var record = CloudKitModel.Record(
            recordType: table.recordType,
            recordName: text(0),
            recordChangeTag: text(3),
            created: stamp(1),
            modified: stamp(2),
            zoneID: try zone(ZoneRowID(sqlite3_column_int64(sqlite, 4)))
        )
        fields.zone = record.zoneID
        guard sqlite3_column_type(sqlite, 5) == SQLITE_NULL else { return untyped(record) }
        for column in otherFields {
            guard let value = try? fields.value(of: column) else { return untyped(record) }
            record.fields[column.field.name] = value
        }
        fields.rewind()
        return StoredRecord(record, fields: fields).map { .record($0) } ?? untyped(record)
    }

    private func text(_ index: CInt) -> String? {
        ColumnValue(sqliteStatement: statement.sqliteStatement, index: index).text
    }

    private mutating func zone(_ number: ZoneRowID) throws -> ZoneID? {
        if let zone = zones[number] { return zone }
        let zone = try StoredZone.fetch(number, db)?.zoneID
        zones[number] = zone
        return zone
    }

    /// Reads the row as a `Record`, with the fields that have no column. A value that no field of the type can have is
    /// left out; where the model has the field, the row is unreadable.
    private func untyped(_ system: CloudKitModel.Record) -> Content {
        var record = system
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
                for (name, value) in try OtherFields.read(other) where table[name] == nil {
                    record.fields[name] = value
                }
            }
            if let misfit { return .unreadable(UnreadableRecord(record, reason: misfit)) }
            return .record(try StoredRecord(record))
        } catch {
            return .unreadable(UnreadableRecord(record, reason: (error as? CloudKitError)?.message ?? "\(error)"))
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
    private let statement: SQLiteStatement
    private var current = -1
    /// The zone of the row.
    var zone: ZoneID?

    init(_ statement: SQLiteStatement, _ columns: [Column]) {
        self.statement = statement
        self.columns = columns
    }

    func rewind() {
        current = -1
    }

    func next() -> Int? {
        while current + 1 < columns.count {
            current += 1
            let column = columns[current]
            if sqlite3_column_type(statement, column.index) != SQLITE_NULL { return column.position }
        }
        return nil
    }

    /// The column of the current field, if the field has this type and the column's value this storage class.
    private func column(of type: FieldType.Known, _ storage: CInt) -> CInt? {
        let column = columns[current]
        guard column.type == type, sqlite3_column_type(statement, column.index) == storage else { return nil }
        return column.index
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
        return try ColumnValue(sqliteStatement: statement, index: column.index)
            .fieldValue(as: column.type, action: action)?.linked(in: zone)
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
