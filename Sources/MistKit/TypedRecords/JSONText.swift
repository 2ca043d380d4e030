import StreamingJSON

/// A `Codable` value that a field holds as JSON text, `STRING`.
///
/// With the macro, an option of `@CloudKitField` chooses it, and the property keeps its own type:
///
/// ```swift
/// @CloudKitField(.json) var settings: Settings
/// // "settings":{"value":"{\"theme\":\"dark\"}","type":"STRING"}
/// ```
///
/// The keys of the text are sorted, so that equal values have equal texts. The service sees only text: queries cannot
/// compare the members of the value.
public struct JSONText<Value: Codable & Sendable>: FieldStorable {
    /// The value.
    public var value: Value

    /// Wraps a value.
    public init(_ value: Value) {
        self.value = value
    }

    /// `STRING`
    public static var fieldType: FieldType { .string }

    /// The JSON text; null for a value that cannot be encoded.
    public var fieldValue: FieldValue { (try? savedFieldValue()) ?? .null }

    /// Takes a `STRING` of JSON.
    public init(fieldValue: FieldValue) throws(FieldError) {
        let text = try String(fieldValue: fieldValue)
        do {
            value = try JSONReader.withReader(over: Array(text.utf8).span) { (reader) throws(JSONError) in
                try reader.readDecodable(Value.self)
            }
        } catch {
            throw FieldError("the STRING is not the JSON of \(Value.self): \(error.message)")
        }
    }

    /// The value as JSON text.
    ///
    /// - Throws: A `FieldError` for a value that JSON cannot express.
    public func savedFieldValue() throws(FieldError) -> FieldValue {
        var writer = JSONWriter()
        writer.writeEncodable(value)
        do {
            // A dictionary is encoded in an order that differs from run to run; the keys are sorted here.
            let value = try JSONReader.read(JSONValue.self, from: writer.finish())
            return .string(String(decoding: try JSONWriter.bytes(of: value, options: .sortedKeys), as: UTF8.self))
        } catch {
            throw FieldError("the \(Value.self) has no JSON: \(error.message)")
        }
    }
}

// MARK: What the macro calls

// The macro cannot know whether a type is `Codable`. For a type that is not, the compiler chooses the unavailable
// declarations, whose error says what to write.

extension RecordField {
    /// Makes a field of JSON text, as the macro `@CloudKitRecord` does for the option `.json`.
    ///
    /// - Parameters:
    ///   - name: The field's name in the schema.
    ///   - type: The type of the values in the text.
    ///   - indexes: The field's indexes in the schema.
    ///   - merge: Which of two values a local store keeps when both sides changed the field.
    ///   - formerNames: The names that the field had in earlier versions of the program, for a local store.
    public init<Content: Codable & Sendable>(
        _ name: StaticString,
        json type: Content.Type,
        indexes: FieldIndexes = [],
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = []
    ) where Value == JSONText<Content> {
        self.init(name, indexes: indexes, merge: merge, formerly: formerNames)
    }
}

extension RecordField where Value == String {
    /// A type that is not `Codable` cannot be JSON text.
    @available(
        *,
        unavailable,
        message: "A field with .json needs a type that is Codable and Sendable. Write struct Settings: Codable."
    )
    public init<Content>(
        _ name: StaticString,
        json type: Content.Type,
        indexes: FieldIndexes = [],
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = []
    ) {
        self.init(name)
    }
}

extension EncryptedRecordField {
    /// Makes an encrypted field of JSON text, as the macro `@CloudKitRecord` does for the options `.json` and
    /// `.encrypted`.
    ///
    /// - Parameters:
    ///   - name: The field's name in the schema.
    ///   - type: The type of the values in the text.
    ///   - merge: Which of two values a local store keeps when both sides changed the field.
    ///   - formerNames: The names that the field had in earlier versions of the program, for a local store.
    public init<Content: Codable & Sendable>(
        _ name: StaticString,
        json type: Content.Type,
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = []
    ) where Value == JSONText<Content> {
        self.init(name, merge: merge, formerly: formerNames)
    }
}

extension EncryptedRecordField where Value == String {
    /// A type that is not `Codable` cannot be JSON text.
    @available(
        *,
        unavailable,
        message: "A field with .json needs a type that is Codable and Sendable. Write struct Settings: Codable."
    )
    public init<Content>(
        _ name: StaticString,
        json type: Content.Type,
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = []
    ) {
        self.init(name)
    }
}

extension FieldReader {
    /// The value in the JSON text of the field that ``next()`` went to.
    ///
    /// - Parameter type: The type of the value.
    /// - Returns: The value; `nil` when the field is null.
    /// - Throws: A ``FieldError`` where the field is not a `STRING` of such JSON.
    public mutating func value<Content: Codable & Sendable>(json type: Content.Type) throws(FieldError) -> Content? {
        try value(JSONText<Content>.self)?.value
    }

    /// A type that is not `Codable` cannot be JSON text.
    @available(
        *,
        unavailable,
        message: "A field with .json needs a type that is Codable and Sendable. Write struct Settings: Codable."
    )
    public mutating func value<Content>(json type: Content.Type) throws(FieldError) -> Content? { nil }
}

extension FieldWriter {
    /// Writes a value as JSON text.
    ///
    /// - Parameters:
    ///   - field: The field's place in the type's ``CloudKitRecord/fieldTable``.
    ///   - value: The value. If JSON cannot express it, the whole record is not saved.
    public mutating func write<Content: Codable & Sendable>(_ field: Int, json value: Content) {
        write(field, JSONText(value))
    }

    /// Writes a value as JSON text; `nil` clears the field.
    ///
    /// - Parameters:
    ///   - field: The field's place in the type's ``CloudKitRecord/fieldTable``.
    ///   - value: The value.
    public mutating func write<Content: Codable & Sendable>(_ field: Int, json value: Content?) {
        write(field, value.map { JSONText($0) })
    }

    /// A type that is not `Codable` cannot be JSON text.
    @available(
        *,
        unavailable,
        message: "A field with .json needs a type that is Codable and Sendable. Write struct Settings: Codable."
    )
    @_disfavoredOverload
    public mutating func write<Content>(_ field: Int, json value: Content) {}
}
