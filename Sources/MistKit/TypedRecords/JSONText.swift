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
