import CloudKitModel
package import GRDB
import GRDBSQLite
import StreamingJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A value in a column of SQLite.
///
///
/// | field | column |
/// | --- | --- |
/// | `STRING` | the text |
/// | `INT64` | the integer |
/// | `DOUBLE` | the real number; `-0.0` becomes `0.0` |
/// | `TIMESTAMP` | milliseconds since 1970; fractions are cut off |
/// | `BYTES` | the bytes |
/// | `REFERENCE` | the record name; the action has a column of its own |
/// | `LOCATION`, `ASSETID` | the JSON object of the protocol |
/// | lists | a JSON array of texts, numbers, milliseconds, base64, or objects |
///
/// A `DatabaseValue` of GRDB cannot be used instead: it ends a text at its first NUL, when the text is bound and when
/// it is read.
package enum ColumnValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob(Data)
}

extension ColumnValue {
    /// Whether two values are the same to SQLite: texts are compared by their bytes, not by Unicode equivalence.
    package static func == (left: ColumnValue, right: ColumnValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.blob(let left), .blob(let right)): left == right
        case (.null, _), (.integer, _), (.real, _), (.text, _), (.blob, _): false
        }
    }
}

/// The reason why the value of a field does not fit its column, or the value of a column does not fit its field.
enum ColumnError: Error, Hashable {
    /// The value is of another type than the field; `nil` for a value without a type.
    case otherType(FieldType?, expected: FieldType.Known)
    /// The number is infinite, or not a number.
    case notFinite
    /// The date has more milliseconds since 1970 than fit 64 bits.
    case dateOutOfRange
    /// The reference leads to a record of another zone.
    case otherZone(ZoneID, own: ZoneID)
    /// The reference has an action that is not in the protocol.
    case unknownAction(Reference.Action)
    /// A field of this type cannot have the column's value. Another program wrote it.
    case malformed(FieldType.Known)
    /// The column holds no value that the key of the file opens for this field of this record.
    case sealed
}

extension ColumnError: CustomStringConvertible {
    /// What does not fit, as a sentence.
    var description: String {
        switch self {
        case .otherType(let found, let expected):
            "The field has the type \(expected.name), and the value has \(found.map { "the type \($0)" } ?? "none")."
        case .notFinite: "The service has no form for a number that is infinite, or not a number."
        case .dateOutOfRange: "The date is too far from 1970 for 64 bits of milliseconds."
        case .otherZone(let zone, let own):
            "The reference leads to the zone \(zone), and the record is in the zone \(own)."
        case .unknownAction(let action): "The action of the reference, \(action), is not known."
        case .sealed:
            """
            The column holds no value that was sealed with the store's key for this field and this record. Another program \
            wrote it, or gave the record another name.
            """
        case .malformed(let type): "The column holds a value that no field of type \(type.name) has."
        }
    }
}

// MARK: - From fields

extension ColumnValue {
    /// Makes the value of a column.
    ///
    /// An absent value and a null are the same. An encrypted value is stored as its plain value. A whole number fits a
    /// `DOUBLE` if a double represents it exactly; typed records follow the same rule.
    ///
    /// - Parameters:
    ///   - value: The field's value.
    ///   - type: The field's type.
    ///   - zone: The zone of the record. References to other zones do not fit.
    /// - Throws: Why the value does not fit the column.
    init(_ value: FieldValue?, as type: FieldType.Known, in zone: ZoneID) throws(ColumnError) {
        guard let plain = value?.plain, plain != .null else {
            self = .null
            return
        }
        switch (type, plain) {
        case (.string, .string(let text)): self = .text(text)
        case (.int64, .int64(let number)): self = .integer(number)
        case (.double, .double(let number)):
            guard number.isFinite else { throw .notFinite }
            // The file has no negative zero.
            self = .real(number + 0)
        case (.double, .int64(let number)):
            guard let exact = Double(exactly: number) else { throw .otherType(.int64, expected: type) }
            self = .real(exact)
        case (.timestamp, .timestamp(let date)): self = .integer(try Self.milliseconds(of: date))
        case (.bytes, .bytes(let data)): self = .blob(data)
        case (.reference, .reference(let reference)): self = .text(try Self.link(reference, in: zone).recordName)
        case (.asset, .asset(let asset)): self = try .json(asset)
        case (.location, .location(let location)): self = try .json(location)
        default: self = try Self.list(plain, as: type, in: zone)
        }
    }

    /// Makes the value of the second column of a reference: its action, or null for `NONE`.
    ///
    /// - Parameter value: The field's value.
    /// - Throws: ``ColumnError/unknownAction(_:)``.
    init(actionOf value: FieldValue?) throws(ColumnError) {
        guard let action = value?.referenceValue?.action, action != .none else {
            self = .null
            return
        }
        guard let number = Self.actions.firstIndex(of: action) else { throw .unknownAction(action) }
        self = .integer(Int64(number))
    }

    /// The actions by their numbers in the column.
    private static let actions: [Reference.Action] = [.none, .deleteSelf, .validate]

    /// Whole milliseconds since 1970, without the fraction.
    ///
    /// A `Date` cannot represent most milliseconds exactly. So a date that is less than its rounding errors below a
    /// millisecond counts as that millisecond.
    static func milliseconds(of date: Date) throws(ColumnError) -> Int64 {
        let exact = date.timeIntervalSince1970 * 1000
        let nearest = exact.rounded()
        // A date counts from 2001, which is this far from 1970.
        let tolerance = 2 * max(exact.magnitude, 978_307_200_000).ulp
        guard let whole = Int64(exactly: abs(exact - nearest) <= tolerance ? nearest : exact.rounded(.down)) else {
            throw .dateOutOfRange
        }
        return whole
    }

    /// The reference without its zone, which is the record's own zone.
    private static func link(_ reference: Reference, in zone: ZoneID) throws(ColumnError) -> Reference {
        if let target = reference.zoneID {
            guard target.zoneName == zone.zoneName,
                target.owner == nil || zone.owner == nil || target.owner == zone.owner
            else { throw .otherZone(target, own: zone) }
        }
        guard actions.contains(reference.action) else { throw .unknownAction(reference.action) }
        return Reference(recordName: reference.recordName, action: reference.action)
    }

    private static func list(
        _ value: FieldValue,
        as type: FieldType.Known,
        in zone: ZoneID
    ) throws(ColumnError) -> ColumnValue {
        let json: ColumnValue?
        switch type {
        case .stringList: json = try value.stringListValue.map(Self.json)
        case .int64List: json = try value.int64ListValue.map(Self.json)
        case .doubleList: json = try value.doubleListValue.map(Self.json)
        case .timestampList:
            json = try value.timestampListValue.map { (dates) throws(ColumnError) in
                try .json(dates.map(milliseconds))
            }
        case .bytesList:
            json = try value.bytesListValue.map { (list) throws(ColumnError) in try .json(list.map(Base64Text.init)) }
        case .referenceList:
            json = try value.referenceListValue.map { (references) throws(ColumnError) in
                try .json(
                    references.map { (reference) throws(ColumnError) -> Reference in try link(reference, in: zone) }
                )
            }
        case .assetList: json = try value.assetListValue.map(Self.json)
        case .locationList: json = try value.locationListValue.map(Self.json)
        case .string, .int64, .double, .timestamp, .bytes, .reference, .asset, .location: json = nil
        }
        guard let json else { throw .otherType(value.type, expected: type) }
        return json
    }

    private static func json(_ value: some JSONWritable) throws(ColumnError) -> ColumnValue {
        do {
            return .text(String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self))
        } catch {
            // Of these values, only numbers can have no form in JSON.
            throw .notFinite
        }
    }
}

/// Bytes, which are base64 in JSON.
private struct Base64Text: JSONReadable, JSONWritable {
    let data: Data

    init(_ data: Data) {
        self.data = data
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        data = Data(try reader.readBase64())
    }

    func write(json writer: inout JSONWriter) {
        writer.writeBase64(data)
    }
}

// MARK: - To fields

extension ColumnValue {
    /// The value of a field.
    ///
    /// - Parameters:
    ///   - type: The field's type.
    ///   - action: The value of the second column of a reference.
    /// - Returns: The value; `nil` for null.
    /// - Throws: Why no field of the type can have the column's value: ``ColumnError/malformed(_:)``,
    ///   ``ColumnError/notFinite`` or ``ColumnError/dateOutOfRange``. Another program wrote it.
    func fieldValue(as type: FieldType.Known, action: ColumnValue = .null) throws(ColumnError) -> FieldValue? {
        switch (type, self) {
        case (_, .null): return nil
        case (.string, .text(let text)): return .string(text)
        case (.int64, .integer(let number)): return .int64(number)
        case (.double, .real(let number)):
            guard number.isFinite else { throw .notFinite }
            return .double(number)
        // An index on the column may give a whole number in its short form.
        case (.double, .integer(let number)): return .double(Double(number))
        case (.timestamp, .integer(let number)): return .timestamp(try Self.checkedDate(number))
        case (.bytes, .blob(let data)): return .bytes(data)
        case (.reference, .text(let name)):
            return .reference(Reference(recordName: name, action: try action.referenceAction()))
        case (.timestampList, .text(let json)):
            guard let numbers = try? JSONReader.read([Int64].self, from: json) else { throw .malformed(type) }
            return .timestampList(
                try numbers.map { (number) throws(ColumnError) -> Date in try Self.checkedDate(number) }
            )
        case (_, .text(let json)):
            do {
                return try Self.read(json, as: type)
            } catch {
                throw .malformed(type)
            }
        default: throw .malformed(type)
        }
    }

    private static func read(_ json: String, as type: FieldType.Known) throws(JSONError) -> FieldValue? {
        switch type {
        case .asset: return .asset(try JSONReader.read(from: json))
        case .location: return .location(try JSONReader.read(from: json))
        case .stringList: return .stringList(try JSONReader.read(from: json))
        case .int64List: return .int64List(try JSONReader.read(from: json))
        case .doubleList: return .doubleList(try JSONReader.read(from: json))
        case .bytesList: return .bytesList(try JSONReader.read([Base64Text].self, from: json).map(\.data))
        case .referenceList: return .referenceList(try JSONReader.read(from: json))
        case .assetList: return .assetList(try JSONReader.read(from: json))
        case .locationList: return .locationList(try JSONReader.read(from: json))
        case .string, .int64, .double, .timestamp, .bytes, .reference, .timestampList:
            throw JSONError(code: .typeMismatch, message: "a column of this type does not hold JSON")
        }
    }

    private func referenceAction() throws(ColumnError) -> Reference.Action {
        switch self {
        case .null: return .none
        case .integer(let number) where Self.actions.indices.contains(Int(truncatingIfNeeded: number)):
            return Self.actions[Int(number)]
        default: throw .malformed(.reference)
        }
    }

    static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// A date that has whole milliseconds, so that it can be sent.
    static func checkedDate(_ milliseconds: Int64) throws(ColumnError) -> Date {
        let date = date(milliseconds)
        _ = try Self.milliseconds(of: date)
        return date
    }

    /// The value as text, for a receipt of a value that no field of the type can have.
    var receipt: String {
        switch self {
        case .null: "null"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): text
        case .blob(let data): String(decoding: data, as: UTF8.self)
        }
    }
}

// MARK: - In statements

extension ColumnValue: StatementBinding {
    /// Binds the value to a parameter. A text keeps its NULs.
    package func bind(to sqliteStatement: SQLiteStatement, at index: CInt) -> CInt {
        switch self {
        case .null: return sqlite3_bind_null(sqliteStatement, index)
        case .integer(let number): return sqlite3_bind_int64(sqliteStatement, index, number)
        case .real(let number): return sqlite3_bind_double(sqliteStatement, index, number)
        case .text(var text):
            return text.withUTF8 { Self.bind(utf8: UnsafeRawBufferPointer($0), to: sqliteStatement, at: index) }
        case .blob(let data):
            return data.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress, !bytes.isEmpty else {
                    return sqlite3_bind_zeroblob(sqliteStatement, index, 0)
                }
                return sqlite3_bind_blob64(sqliteStatement, index, start, UInt64(bytes.count), Self.copied)
            }
        }
    }

    fileprivate static func bind(
        utf8 bytes: UnsafeRawBufferPointer,
        to sqliteStatement: SQLiteStatement,
        at index: CInt,
        copied isCopied: Bool = true
    ) -> CInt {
        // Without an address, SQLite would bind a null.
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
            return sqlite3_bind_text(sqliteStatement, index, "", 0, nil)
        }
        let text = start.assumingMemoryBound(to: CChar.self)
        let owner = isCopied ? copied : nil
        return sqlite3_bind_text64(sqliteStatement, index, text, UInt64(bytes.count), owner, UInt8(SQLITE_UTF8))
    }

    /// `SQLITE_TRANSIENT`: SQLite copies the bound bytes.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// Reads a column of a statement's current row. A text keeps its NULs. A text that is not valid UTF-8 becomes its
    /// bytes.
    ///
    /// - Parameters:
    ///   - sqliteStatement: The statement.
    ///   - index: The column, from 0.
    package init(sqliteStatement: SQLiteStatement, index: CInt) {
        switch sqlite3_column_type(sqliteStatement, index) {
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(sqliteStatement, index))
        case SQLITE_FLOAT: self = .real(sqlite3_column_double(sqliteStatement, index))
        case SQLITE_TEXT:
            let start = sqlite3_column_text(sqliteStatement, index)
            let count = Int(sqlite3_column_bytes(sqliteStatement, index))
            let bytes = UnsafeBufferPointer(start: start, count: count)
            // Another program may store bytes that are not UTF-8 as a text. They are not a text to this library.
            self = Self.text(validating: bytes).map { .text($0) } ?? .blob(Data(bytes))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(sqliteStatement, index)
            let count = Int(sqlite3_column_bytes(sqliteStatement, index))
            self = .blob(start.map { Data(bytes: $0, count: count) } ?? Data())
        default: self = .null
        }
    }

    /// The text of bytes; `nil` where they are not UTF-8. `String.init(validating:as:)` gives the same, in a generic
    /// function of the standard library that took a sixth of the time of reading rows.
    private static func text(validating bytes: UnsafeBufferPointer<UInt8>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        let isASCII = bytes.reduce(0, |) < 0x80
        // Bytes that are not UTF-8 were replaced by others.
        return isASCII || text.utf8.elementsEqual(bytes) ? text : nil
    }
}

extension Statement {
    /// Sets the statement's parameters, in their order. Parameters without a value are null.
    ///
    /// ```swift
    /// let statement = try db.cachedStatement(sql: "INSERT INTO \"Todo\" (_recordName, \"title\") VALUES (?, ?)")
    /// try statement.bind([.text("milk"), .text("Milk")])
    /// try statement.execute()
    /// ```
    ///
    /// - Parameter values: The values.
    /// - Throws: A `DatabaseError` for a value that is longer than SQLite allows, or for too many values.
    func bind(_ values: some Sequence<ColumnValue>) throws {
        clear()
        for (index, value) in zip(CInt(1)..., values) { try bind(value, at: index) }
    }

    /// Sets the statement's parameters to the values of an array, in a loop that is compiled for arrays only, and is
    /// faster.
    ///
    /// - Parameter values: The values.
    /// - Throws: A `DatabaseError`, as for any other sequence.
    package func bind(_ values: [ColumnValue]) throws {
        clear()
        for index in values.indices { try bind(values[index], at: CInt(index + 1)) }
    }

    /// Sets the statement's parameters and executes it. SQLite makes no copies of texts. Use this for statements that
    /// are executed again and again.
    ///
    /// - Parameters:
    ///   - values: The values of the first parameters.
    ///   - last: One more text, in UTF-8, for the parameter after them; `nil` for none.
    ///   - texts: Memory for the texts of the values. Pass the same array to each call, so that it is allocated once;
    ///     its content is overwritten.
    /// - Throws: A `DatabaseError`, as of binding and executing.
    package func execute(_ values: [ColumnValue], _ last: [UInt8]? = nil, texts: inout [UInt8]) throws {
        texts.removeAll(keepingCapacity: true)
        for value in values {
            if case .text(let text) = value { texts.append(contentsOf: text.utf8) }
        }
        clear()
        // The parameters must not outlive the memory.
        defer { clear() }
        try texts.withUnsafeBytes { texts in
            var start = 0
            for index in values.indices {
                if case .text(let text) = values[index] {
                    let end = start + text.utf8.count
                    try bind(inPlace: UnsafeRawBufferPointer(rebasing: texts[start..<end]), at: CInt(index + 1))
                    start = end
                } else {
                    try bind(values[index], at: CInt(index + 1))
                }
            }
            guard let last else { return try execute() }
            try last.withUnsafeBytes { bytes in
                try bind(inPlace: bytes, at: CInt(values.count + 1))
                try execute()
            }
        }
    }

    private func bind(inPlace utf8: UnsafeRawBufferPointer, at index: CInt) throws {
        let code = ColumnValue.bind(utf8: utf8, to: sqliteStatement, at: index, copied: false)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code), sql: sql) }
    }

    /// Makes all parameters null, so that a statement that was executed can be used again.
    ///
    /// GRDB checks the parameters that it knows, unless the check is switched off. Switching it off costs more than
    /// setting all parameters, so this is done once: it leaves a null in `arguments`, by which a later call sees that
    /// the check is off.
    private func clear() {
        guard !arguments.isEmpty else { return setUncheckedArguments(Self.unchecked) }
        // The result code is that of the last execution, whose error has been thrown already.
        sqlite3_reset(sqliteStatement)
        sqlite3_clear_bindings(sqliteStatement)
    }

    private static let unchecked: StatementArguments = [DatabaseValue.null]

    private func bind(_ value: ColumnValue, at index: CInt) throws {
        let code = value.bind(to: sqliteStatement, at: index)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code), sql: sql) }
    }
}
