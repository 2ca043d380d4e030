/// Takes the fields of a typed record when it is saved.
///
/// ```swift
/// func write(fields writer: inout FieldWriter) {
///     writer.write(0, title)
///     writer.write(1, count)
/// }
/// ```
public struct FieldWriter: ~Copyable {
    private let table: FieldTable
    private(set) var fields = Record.Fields()
    private(set) var failure: FieldError?

    init(_ table: FieldTable) {
        self.table = table
    }

    /// Writes a field.
    ///
    /// - Parameters:
    ///   - field: The field's place in the type's ``CloudKitRecord/fieldTable``.
    ///   - value: The value. If it cannot be saved, such as an infinite `Double`, the whole record is not saved.
    public mutating func write<Value: FieldStorable>(_ field: Int, _ value: Value) {
        let name = table.names[field]
        do {
            let saved = try value.savedFieldValue()
            fields[name] = table.fields[field].isEncrypted ? .encrypted(saved) : saved
        } catch {
            failure = failure ?? FieldError(error.message, field: name)
        }
    }

    /// A type without the conformance cannot be a field's.
    @available(
        *,
        unavailable,
        message:
            "A field cannot have this type. Write enum Status: String, FieldConvertible, or @CloudKitField(.json) var status: Status."
    )
    @_disfavoredOverload
    public mutating func write<Value>(_ field: Int, _ value: Value) {}

    /// Writes a field that may have no value; `nil` clears the field.
    ///
    /// - Parameters:
    ///   - field: The field's place in the type's ``CloudKitRecord/fieldTable``.
    ///   - value: The value.
    public mutating func write<Value: FieldStorable>(_ field: Int, _ value: Value?) {
        if let value {
            write(field, value)
        } else {
            fields[table.names[field]] = .null
        }
    }
}
