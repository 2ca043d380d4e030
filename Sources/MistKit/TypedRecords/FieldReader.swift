public import StreamingJSON

/// Gives a typed record its fields, one by one and in any order.
///
/// ```swift
/// init(fields reader: inout FieldReader) throws(FieldError) {
///     var title: String?
///     var count: Int?
///     while let field = try reader.next() {
///         switch field {
///         case 0: title = try reader.value()
///         case 1: count = try reader.value()
///         default: try reader.skip()
///         }
///     }
///     self.title = try reader.required(title, 0)
///     self.count = count
/// }
/// ```
///
/// It reads the JSON of a response without a copy, the fields of a `Record`, or a row of a local store. Fields that the
/// type does not have are kept in ``StoredRecord/otherFields``, so that saving the record does not lose them.
public struct FieldReader: ~Copyable {
    /// The reader of the response, in front of a field's value. The pointer stays valid, because a `FieldReader` exists
    /// only as an argument.
    private let json: UnsafeMutablePointer<JSONReader>?
    /// The fields of a record, when they do not come from JSON.
    private let record: Record.Fields?
    /// The fields of a record that is kept in a local store.
    private let source: (any FieldSource)?
    private var position = -1
    private let table: FieldTable
    private let keys: JSONKeys
    /// The index in the table of the field that ``next()`` went to, for the fields of a `Record`.
    private(set) var current = JSONKeys.unknown
    @usableFromInline private(set) var unknown = Record.Fields()

    /// Reads an object of fields, which the reader has entered.
    @usableFromInline
    init(json: UnsafeMutablePointer<JSONReader>, table: FieldTable) {
        self.json = json
        self.table = table
        keys = table.keys
        record = nil
        source = nil
    }

    /// Reads an object of fields into a model.
    ///
    /// - Parameters:
    ///   - model: The type of the model.
    ///   - json: In front of the object.
    ///   - otherFields: Receives the fields that the type does not have.
    /// - Returns: The model; `nil` where the fields do not fit the type, or the input is not valid JSON.
    @inlinable
    static func readModel<Model: CloudKitRecord>(
        _ model: Model.Type,
        json: inout JSONReader,
        otherFields: inout Record.Fields
    ) -> Model? {
        guard (try? json.beginObject()) != nil else { return nil }
        return withUnsafeMutablePointer(to: &json) { json in
            var reader = FieldReader(json: json, table: Model.fieldTable)
            guard let model = try? Model(fields: &reader) else { return nil }
            otherFields = reader.unknown
            return model
        }
    }

    /// Takes fields that have been read.
    init(_ fields: Record.Fields, table: FieldTable) {
        json = nil
        self.table = table
        keys = table.keys
        record = fields
        source = nil
    }

    /// Takes the fields of a local store.
    init(_ source: any FieldSource, table: FieldTable) {
        json = nil
        self.table = table
        keys = table.keys
        record = nil
        self.source = source
    }

    /// Goes on to the next field that the type has.
    ///
    /// - Returns: The field's index in the type's ``CloudKitRecord/fieldTable``; `nil` after the last field.
    /// - Throws: A ``FieldError`` where the response is not JSON.
    public mutating func next() throws(FieldError) -> Int? {
        guard let json else { return nextOutsideOfJSON() }
        do throws(JSONError) {
            while let key = try json.pointee.nextKey(in: keys) {
                if key >= 0 { return key }
                let name = try json.pointee.lastKey()
                unknown[name] = try FieldValue(json: &json.pointee)
            }
        } catch {
            throw FieldError(error)
        }
        return nil
    }

    private mutating func nextOutsideOfJSON() -> Int? {
        if let source { return source.next() }
        guard let record else { return nil }
        while position + 1 < record.count {
            position += 1
            let field = record[position]
            if let index = table.names.firstIndex(of: field.name) {
                current = index
                return index
            }
            unknown[field.name] = field.value
        }
        current = JSONKeys.unknown
        return nil
    }

    /// The value of the field that ``next()`` went to.
    ///
    /// - Parameter type: The type of the property, without the optional.
    /// - Returns: The value; `nil` when it is null.
    /// - Throws: A ``FieldError`` where the value is of another type.
    @inlinable
    public mutating func value<Value: FieldStorable>(_ type: Value.Type = Value.self) throws(FieldError) -> Value? {
        try Value.readField(from: &self)
    }

    /// A type without the conformance cannot be a field's.
    @available(
        *,
        unavailable,
        message:
            "A field cannot have this type. Write enum Status: String, FieldConvertible, or @CloudKitField(.json) var status: Status."
    )
    public mutating func value<Value>(_ type: Value.Type) throws(FieldError) -> Value? { nil }

    /// Skips the field that ``next()`` went to.
    ///
    /// - Throws: A ``FieldError`` where the response is not JSON.
    public mutating func skip() throws(FieldError) {
        guard let json else { return }
        do {
            try json.pointee.skipValue()
        } catch {
            throw FieldError(error)
        }
    }

    /// The value of the field, of any type; `nil` for a null.
    ///
    /// - Returns: The value.
    /// - Throws: A ``FieldError`` where the response is not JSON.
    public mutating func readFieldValue() throws(FieldError) -> FieldValue? {
        if let source { return try source.fieldValue() }
        var value = record?[position].value
        if let json {
            do {
                value = try FieldValue(json: &json.pointee)
            } catch {
                throw FieldError(error)
            }
        }
        return value.flatMap { $0.isNull ? nil : $0 }
    }

    /// The value of the field, in any form of JSON; `nil` for a null.
    @usableFromInline
    mutating func anyValue<Value: FieldStorable>() throws(FieldError) -> Value? {
        guard let value = try readFieldValue() else { return nil }
        return try Value(fieldValue: value)
    }

    /// The value of the field; `nil` for a null.
    ///
    /// If the field has its usual form, `read` or `find` reads it. If not, they return `nil` and have read nothing.
    @inline(__always)
    mutating func value<Value: FieldStorable>(
        _ read: (inout JSONReader) -> Value?,
        orFrom find: (any FieldSource) -> Value? = { _ in nil }
    ) throws(FieldError) -> Value? {
        if let json {
            if let value = read(&json.pointee) { return value }
        } else if let source, let value = find(source) {
            return value
        }
        return try anyValue()
    }

    /// The whole number of the field if it has its usual form. If not, `nil`, and nothing has been read.
    @usableFromInline
    mutating func readPlainInt64() -> Int64? {
        guard let json else { return source?.int64() }
        return FieldValue.fastInt64(from: &json.pointee)
    }

    /// Passes the elements of a list of whole numbers to a closure, until the closure returns `false`.
    ///
    /// - Returns: Whether the list has its usual form, and the closure took all elements. If not, nothing has been
    ///   read.
    @usableFromInline
    mutating func readPlainInt64s(_ append: (Int64) -> Bool) -> Bool {
        guard let json else { return false }
        return FieldValue.fastInt64s(from: &json.pointee, append)
    }

    /// Unwraps the value of a field that the record must have.
    ///
    /// - Parameters:
    ///   - value: The value that was read; `nil` where the record lacks the field.
    ///   - field: The field's index in the type's table.
    /// - Returns: The value.
    /// - Throws: A ``FieldError`` when the value is `nil`.
    @inlinable
    public func required<Value>(_ value: Value?, _ field: Int) throws(FieldError) -> Value {
        guard let value else { throw missing(field) }
        return value
    }

    /// The error of a field that the record lacks, or that has no value.
    ///
    /// - Parameter field: The field's index in the type's table.
    /// - Returns: The error.
    public func missing(_ field: Int) -> FieldError {
        FieldError(
            "the record has no value for it, and the property has neither an optional type nor a default value",
            field: table.names[field]
        )
    }
}
