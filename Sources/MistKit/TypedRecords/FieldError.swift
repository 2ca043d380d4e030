import StreamingJSON

/// The reason why a field's value does not fit its property, or a property's value cannot be saved.
///
/// Your own types throw it in ``FieldStorable/init(fieldValue:)``. MistKit adds the record and the field to it, and a
/// call then throws or returns a ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/decoding`` or
/// ``CloudKitError/Code-swift.struct/encoding``.
public struct FieldError: Error, Sendable, CustomStringConvertible {
    // As large as one reference, so that a function that may throw costs almost nothing when it does not.
    private final class Storage: Sendable {
        let message: String
        package let field: String?

        init(_ message: String, field: String?) {
            self.message = message
            self.field = field
        }
    }

    private let storage: Storage

    /// Makes an error.
    ///
    /// - Parameter message: What was expected and what was found, such as `expected INT64, found STRING`.
    public init(_ message: String) {
        storage = Storage(message, field: nil)
    }

    init(_ message: String, field: String) {
        storage = Storage(message, field: field)
    }

    /// An error of the JSON itself.
    init(_ cause: JSONError) {
        self.init(cause.message)
    }

    /// A value of another type than the property's.
    static func expected(_ type: FieldType, found value: FieldValue) -> FieldError {
        if value.isNull { return FieldError("expected \(type), found no value") }
        return FieldError("expected \(type), found \(value.type?.rawValue ?? "a value without a type")")
    }

    /// What was expected and what was found, such as `expected INT64, found STRING`.
    ///
    /// Where a type of your own threw the error, this is the text that it gave to ``init(_:)``.
    public var message: String { storage.message }

    /// The field, if the error is about a field that is known.
    package var field: String? { storage.field }

    /// The field's name, if it is known, and the message.
    public var description: String {
        if let field { "\(field): \(message)" } else { message }
    }
}
