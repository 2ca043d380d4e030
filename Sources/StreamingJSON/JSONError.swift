/// Why a piece of JSON could not be read or written.
///
/// An error of a ``JSONReader`` has the ``offset`` of the byte at which reading stopped, and the ``path`` of the value
/// that was being read:
///
/// ```swift
/// try JSONReader.read([Int].self, from: #"[1, 2, "three"]"#)
/// // typeMismatch at $[2] (byte 7): expected a number, found a string
/// ```
///
/// An error has the size of one reference, so a function that can throw it costs almost nothing if it does not throw.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure; new kinds may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind {
            case malformed
            case unexpectedEnd
            case invalidUTF8
            case typeMismatch
            case numberOutOfRange
            case depthLimitExceeded
            case trailingData
            case missingKey
            case invalidValue
            case notRepresentable
        }

        private let kind: Kind

        /// The bytes break the grammar of JSON (RFC 8259). If they only end too early, the code is ``unexpectedEnd``.
        public static let malformed = Code(kind: .malformed)
        /// The bytes are the beginning of JSON, but they end before the value does.
        public static let unexpectedEnd = Code(kind: .unexpectedEnd)
        /// A string is not Unicode: ill-formed UTF-8, or a `\u` escape of half a surrogate pair.
        public static let invalidUTF8 = Code(kind: .invalidUTF8)
        /// The JSON is valid, but of another kind than expected, such as a string instead of a number.
        public static let typeMismatch = Code(kind: .typeMismatch)
        /// A number does not fit the requested type.
        public static let numberOutOfRange = Code(kind: .numberOutOfRange)
        /// Arrays and objects are nested deeper than ``JSONReader/Options/maximumDepth`` allows.
        public static let depthLimitExceeded = Code(kind: .depthLimitExceeded)
        /// Something other than white space follows the value.
        public static let trailingData = Code(kind: .trailingData)
        /// An object does not have all of its required keys.
        public static let missingKey = Code(kind: .missingKey)
        /// The kind is as expected, but the value is not, such as a string that is not a date.
        public static let invalidValue = Code(kind: .invalidValue)
        /// A Swift value has no form in JSON, such as a `Double` that is not a number.
        public static let notRepresentable = Code(kind: .notRepresentable)

        /// The code's name.
        public var description: String { "\(kind)" }
    }

    private final class Storage: Sendable {
        let code: Code
        let message: String
        let offset: Int?
        let path: String?

        init(code: Code, message: String, offset: Int?, path: String?) {
            self.code = code
            self.message = message
            self.offset = offset
            self.path = path
        }
    }

    private var storage: Storage

    /// Creates an error. Types that read themselves use ``JSONReader/error(_:_:)`` instead, which adds the offset.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: A description for people.
    ///   - offset: The offset of the mistake in the input, in bytes.
    ///   - path: The path of the wrong value, such as `$.records[3].fields`.
    public init(code: Code, message: String, offset: Int? = nil, path: String? = nil) {
        storage = Storage(code: code, message: message, offset: offset, path: path)
    }

    /// The kind of failure.
    public var code: Code {
        get { storage.code }
        set { self = JSONError(code: newValue, message: message, offset: offset, path: path) }
    }

    /// A description for people.
    public var message: String {
        get { storage.message }
        set { self = JSONError(code: code, message: newValue, offset: offset, path: path) }
    }

    /// The offset of the mistake in the input, in bytes, or `nil` for an error of writing.
    public var offset: Int? {
        get { storage.offset }
        set { self = JSONError(code: code, message: message, offset: newValue, path: path) }
    }

    /// The path of the wrong value, such as `$.records[3].fields.title`, where `$` is the whole input.
    ///
    /// It is computed when an error leaves the function that was given the input, so it costs nothing without an error.
    public var path: String? {
        get { storage.path }
        set { self = JSONError(code: code, message: message, offset: offset, path: newValue) }
    }

    /// The whole error in one line.
    public var description: String {
        var text = code.description
        if let path {
            text += " at \(path)"
        }
        if let offset {
            text += path == nil ? " at byte \(offset)" : " (byte \(offset))"
        }
        return text + ": " + message
    }

    /// Whether two errors are equal in code, message, offset and path.
    public static func == (left: JSONError, right: JSONError) -> Bool {
        left.storage === right.storage
            || (left.code == right.code && left.message == right.message && left.offset == right.offset
                && left.path == right.path)
    }

    /// Feeds code, message, offset and path to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(offset)
        hasher.combine(path)
    }
}
