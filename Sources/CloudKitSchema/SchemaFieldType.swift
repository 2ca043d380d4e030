/// The type of a field in the schema language, such as `STRING`, `LIST<REFERENCE>` or `ENCRYPTED INT64`.
public struct SchemaFieldType: Hashable, Sendable {
    /// The type of one value.
    public enum Element: String, CaseIterable, Sendable {
        /// A file.
        case asset = "ASSET"
        /// Bytes.
        case bytes = "BYTES"
        /// A floating-point number.
        case double = "DOUBLE"
        /// A whole number.
        case int64 = "INT64"
        /// A location on Earth.
        case location = "LOCATION"
        /// A reference to another record.
        case reference = "REFERENCE"
        /// A string.
        case string = "STRING"
        /// A point in time.
        case timestamp = "TIMESTAMP"
        /// Bytes that the service encrypts.
        case encryptedBytes = "ENCRYPTED BYTES"
        /// A floating-point number that the service encrypts.
        case encryptedDouble = "ENCRYPTED DOUBLE"
        /// A whole number that the service encrypts.
        case encryptedInt64 = "ENCRYPTED INT64"
        /// A location that the service encrypts.
        case encryptedLocation = "ENCRYPTED LOCATION"
        /// A string that the service encrypts.
        case encryptedString = "ENCRYPTED STRING"
        /// A point in time that the service encrypts.
        case encryptedTimestamp = "ENCRYPTED TIMESTAMP"
        /// An integer or a floating-point number. The development environment creates such fields from numbers that are
        /// saved without a type.
        case number = "NUMBER"
        /// A number that is read as a whole number.
        case numberPreferredAsInt64 = "NUMBER PREFERRED AS INT64"
        /// A number that is read as a floating-point number.
        case numberPreferredAsDouble = "NUMBER PREFERRED AS DOUBLE"

        /// Whether the service encrypts the values.
        public var isEncrypted: Bool { rawValue.hasPrefix("ENCRYPTED ") }

        /// Whether the type is `NUMBER`, with or without a preference.
        public var isNumber: Bool { rawValue.hasPrefix("NUMBER") }
    }

    /// The type of a value, or of the elements of a list.
    public var element: Element
    /// Whether the field holds a list.
    public var isList: Bool

    /// Makes a type.
    ///
    /// - Parameters:
    ///   - element: The type of a value, or of the elements of a list.
    ///   - isList: Whether the field holds a list.
    public init(_ element: Element, isList: Bool = false) {
        self.element = element
        self.isList = isList
    }

    /// A list of values.
    ///
    /// - Parameter element: The type of the elements.
    /// - Returns: The type.
    public static func list(of element: Element) -> SchemaFieldType { SchemaFieldType(element, isList: true) }

    /// `ASSET`
    public static let asset = SchemaFieldType(.asset)
    /// `BYTES`
    public static let bytes = SchemaFieldType(.bytes)
    /// `DOUBLE`
    public static let double = SchemaFieldType(.double)
    /// `INT64`
    public static let int64 = SchemaFieldType(.int64)
    /// `LOCATION`
    public static let location = SchemaFieldType(.location)
    /// `REFERENCE`
    public static let reference = SchemaFieldType(.reference)
    /// `STRING`
    public static let string = SchemaFieldType(.string)
    /// `TIMESTAMP`
    public static let timestamp = SchemaFieldType(.timestamp)
    /// `NUMBER`
    public static let number = SchemaFieldType(.number)

    /// Whether the service encrypts the values.
    public var isEncrypted: Bool { element.isEncrypted }
}

extension SchemaFieldType: CustomStringConvertible {
    /// The spelling of the schema language, such as `LIST<STRING>`.
    public var description: String { isList ? "LIST<\(element.rawValue)>" : element.rawValue }
}
