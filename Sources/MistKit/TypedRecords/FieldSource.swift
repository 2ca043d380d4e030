package import CloudKitModel

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The fields of a record that are kept elsewhere than in JSON: the row of a local database that a statement is at.
///
/// A ``FieldReader`` reads a typed record from it without a `Record` in between. A value that is asked for as what it is not is `nil`;
/// ``fieldValue()`` then tells what it is.
package protocol FieldSource: AnyObject {
    /// Goes on to the next field that has a value.
    ///
    /// - Returns: The field's position in the table of the model that is read; `nil` after the last one.
    func next() -> Int?

    /// The `STRING` of the field.
    func string() -> String?

    /// The `INT64` of the field.
    func int64() -> Int64?

    /// The `DOUBLE` of the field.
    func double() -> Double?

    /// The `TIMESTAMP` of the field.
    func date() -> Date?

    /// The value of the field, whatever it is.
    ///
    /// - Returns: The value; `nil` for a null.
    /// - Throws: A ``FieldError`` where it is not a value of the field's type.
    func fieldValue() throws(FieldError) -> FieldValue?
}

extension StoredRecord {
    /// Reads a record as the service has it; `nil` where a field is missing or of another type than the model says. ``init(_:)`` gives the
    /// error then.
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
