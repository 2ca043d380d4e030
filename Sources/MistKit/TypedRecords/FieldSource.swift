package import CloudKitModel

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The fields of a record that come from elsewhere than JSON: the current row of a statement of a local database.
///
/// A ``FieldReader`` reads a typed record from it without a `Record` in between. The methods for one type return `nil`
/// for a value of another type; ``fieldValue()`` then returns the value with its type.
package protocol FieldSource: AnyObject {
    /// Moves to the next field that has a value.
    ///
    /// - Returns: The field's position in the table of the model that is read; `nil` after the last field.
    func next() -> Int?

    /// The `STRING` of the field.
    func string() -> String?

    /// The `INT64` of the field.
    func int64() -> Int64?

    /// The `DOUBLE` of the field.
    func double() -> Double?

    /// The `TIMESTAMP` of the field.
    func date() -> Date?

    /// The value of the field, of any type.
    ///
    /// - Returns: The value; `nil` for a null.
    /// - Throws: A ``FieldError`` where the stored value is not of the field's type.
    func fieldValue() throws(FieldError) -> FieldValue?
}

extension StoredRecord {
    /// Reads a record as the service has it; `nil` where a field is missing or is not of the type of its property.
    /// ``init(_:)`` then gives the error.
    ///
    /// - Parameters:
    ///   - record: The system fields, and the fields that the model does not have.
    ///   - source: The fields of the model.
    package init?(_ record: consuming Record, fields source: any FieldSource) {
        var reader = FieldReader(source, table: Model.fieldTable)
        guard let model = try? Model(fields: &reader) else { return nil }
        self.init(Content(record: record, model: model, isSaved: true))
    }
}
