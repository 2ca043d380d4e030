public import StreamingJSON

/// A Swift type for the records of one record type: records are read into it and saved from it.
///
/// Most programs import `MistModels` and let a macro write the conformance:
///
/// ```swift
/// @CloudKitRecord("User")
/// struct User {
///     var firstName: String
///     var age: Int?
///     var tags: [String] = []
/// }
/// ```
///
/// ## Saving and changing
///
/// A fetch returns a ``StoredRecord``: the user, and what the service keeps about the record. It remembers the values
/// that were fetched, so that an update sends only the fields that you changed. Changes of other fields by other
/// clients are kept.
///
/// ```swift
/// var user = try await database.save(User(firstName: "Mei", age: 34), named: "mei")
/// // POST /database/1/iCloud.com.example/development/public/records/modify
/// // {"operations":[{"operationType":"create","record":{"recordName":"mei","recordType":"User","fields":{
/// //   "firstName":{"value":"Mei","type":"STRING"},"age":{"value":34,"type":"INT64"},
/// //   "tags":{"value":[],"type":"STRING_LIST"}}}}],"atomic":false}
/// user.age = 35
/// user = try await database.update(user)
/// // {"operations":[{"operationType":"update","record":{"recordName":"mei","recordType":"User",
/// //   "fields":{"age":{"value":35,"type":"INT64"}},"recordChangeTag":"1"}}],"atomic":false}
/// ```
///
/// ## Finding
///
/// ```swift
/// let query = Query<User> {
///     Filter(\.age > 18)
///     Sort(\.firstName)
/// }
/// for try await user in database.records(matching: query) { print(user.firstName) }
/// // {"query":{"recordType":"User",
/// //   "filterBy":[{"fieldName":"age","comparator":"GREATER_THAN","fieldValue":{"value":18,"type":"INT64"}}],
/// //   "sortBy":[{"fieldName":"firstName","ascending":true}]}}
/// ```
///
/// ## Which fields may be absent
///
/// A record can lack fields of its type: the service leaves out fields that were never set. An optional property is
/// then `nil`, a property with a default value has that value, and a list is empty. For any other property the result
/// of that record is an error of code ``CloudKitError/Code-swift.struct/decoding``, which names the record and the
/// field; the other records of the page are read. The same holds for values of a wrong type and for numbers that do not
/// fit.
///
/// ## Writing the conformance by hand
///
/// The macro needs swift-syntax. A program that imports only `MistKit` does not build swift-syntax, and writes the code
/// of the macro by hand:
///
/// ```swift
/// struct Note {
///     var title: String
///     var count: Int?
/// }
///
/// extension Note: CloudKitRecord {
///     struct Fields: RecordFieldSet {
///         let title = RecordField<String>("title")
///         let count = RecordField<Int>("count")
///     }
///
///     static let recordType = "Note"
///     static let fields = Fields()
///     static let fieldTable = FieldTable(fields.title, fields.count)
///
///     init(fields reader: inout FieldReader) throws(FieldError) {
///         var title: String?
///         var count: Int?
///         while let field = try reader.next() {
///             switch field {
///             case 0: title = try reader.value()
///             case 1: count = try reader.value()
///             default: try reader.skip()
///             }
///         }
///         self.title = try reader.required(title, 0)
///         self.count = count
///     }
///
///     func write(fields writer: inout FieldWriter) {
///         writer.write(0, title)
///         writer.write(1, count)
///     }
/// }
/// ```
///
/// ## Topics
///
/// ### The type in the schema
/// - ``recordType``
/// - ``desiredKeys``
/// - ``schema``
///
/// ### Fields
/// - ``fields``
/// - ``fieldTable``
/// - ``FieldConvertible``
/// - ``JSONText``
///
/// ### Reading and writing
/// - ``init(fields:)``
/// - ``write(fields:)``
public protocol CloudKitRecord: Sendable {
    /// The type's fields, one property for each, named like the properties of the record.
    associatedtype Fields: RecordFieldSet

    /// The record type's name in the schema.
    static var recordType: String { get }

    /// The type's fields, for key paths in queries.
    static var fields: Fields { get }

    /// The type's fields in order. Keep it in a `static let`.
    static var fieldTable: FieldTable { get }

    /// Makes a value from a record's fields.
    ///
    /// - Parameter reader: Gives the fields in the order of the response.
    /// - Throws: A ``FieldError`` where a field is missing or of another type.
    init(fields reader: inout FieldReader) throws(FieldError)

    /// Writes all fields.
    ///
    /// - Parameter writer: Takes the fields.
    func write(fields writer: inout FieldWriter)

    /// Reads the records of a response. You do not need to implement it.
    ///
    /// It is a requirement so that the default implementation is compiled for your type, in your module: generic code
    /// would read each record through tables of functions.
    ///
    /// - Parameter reader: A reader in front of the list of records.
    /// - Returns: The records.
    /// - Throws: A `JSONError` where the response is not JSON.
    static func _readItems(from reader: inout JSONReader) throws(JSONError) -> _TypedItems<Self>
}

extension CloudKitRecord {
    /// The names of the type's fields, for a fetch of only these fields.
    ///
    /// ```swift
    /// let user = try await database.fetch(User.self, named: "mei", desiredKeys: User.desiredKeys)
    /// // {"records":[{"recordName":"mei"}],"desiredKeys":["firstName","age","tags"]}
    /// ```
    ///
    /// A record that was fetched like this can be updated as usual. A replacement of it would clear the fields that
    /// were not fetched.
    public static var desiredKeys: [String] { fieldTable.names }

    /// The record type in the schema of the service.
    public static var schema: RecordSchema { RecordSchema(recordType: recordType, fields: fieldTable.fields) }

    /// The fields to save.
    package func savedFields() throws(FieldError) -> Record.Fields {
        var writer = FieldWriter(Self.fieldTable)
        write(fields: &writer)
        if let failure = writer.failure { throw failure }
        return writer.fields
    }
}
