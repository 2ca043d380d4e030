import StreamingJSON

/// Why a field's value and a property's do not fit.
///
/// Types of your own throw it in ``FieldStorable/init(fieldValue:)``; which record and which field it was is added on the way,
/// and what comes out of a call is a ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/decoding`` or
/// ``CloudKitError/Code-swift.struct/encoding``.
public struct FieldError: Error, Sendable, CustomStringConvertible {
    // One reference wide, so that functions which do not fail pay next to nothing for being able to.
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

    /// What is wrong with the JSON itself.
    init(_ cause: JSONError) {
        self.init(cause.message)
    }

    /// A value of another type than the property's.
    static func expected(_ type: FieldType, found value: FieldValue) -> FieldError {
        if value.isNull { return FieldError("expected \(type), found no value") }
        return FieldError("expected \(type), found \(value.type?.rawValue ?? "a value without a type")")
    }

    /// The expected type and the type that was found.
    public var message: String { storage.message }

    /// The field, where the error came out of one.
    package var field: String? { storage.field }

    /// The message, after the field's name if that is known.
    public var description: String {
        if let field { "\(field): \(message)" } else { message }
    }
}
