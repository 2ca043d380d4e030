public import CloudKitModel

/// The type of a field in the schema language, such as `STRING`, `LIST<REFERENCE>` or `ENCRYPTED INT64`.
public struct SchemaFieldType: Hashable, Sendable {
    /// The type of one value.
    public struct Element: RawRepresentable, CaseIterable, Hashable, Sendable {
        private enum Kind: Hashable {
            case values(FieldType.Known, isEncrypted: Bool)
            case number(preferredAs: FieldType.Known?)
        }

        private let kind: Kind

        private init(_ kind: Kind) {
            self.kind = kind
        }

        /// Makes the type of the values of a field, or of the elements of a list.
        package init(of type: FieldType.Known, isEncrypted: Bool = false) {
            kind = .values(type.element ?? type, isEncrypted: isEncrypted)
        }

        /// Makes the type with a spelling of the schema language; `nil` for another text.
        public init?(rawValue: String) {
            guard let element = Self.bySpelling[rawValue] else { return nil }
            self = element
        }

        /// The spelling of the schema language, such as `ENCRYPTED STRING`.
        public var rawValue: String {
            switch kind {
            case .values(let type, let isEncrypted): (isEncrypted ? "ENCRYPTED " : "") + type.schemaName
            case .number(let type): "NUMBER" + (type.map { " PREFERRED AS \($0.schemaName)" } ?? "")
            }
        }

        /// Every type: those of fields, those that the service encrypts, and the numbers.
        public static let allCases: [Element] = {
            let types = FieldType.Known.allCases.filter { $0.element == nil }
            let encrypted = types.filter { $0.features.contains(.encryption) }
            return types.map { Element(of: $0) } + encrypted.map { Element(of: $0, isEncrypted: true) }
                + [.number, .numberPreferredAsInt64, .numberPreferredAsDouble]
        }()

        private static let bySpelling = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

        /// A file.
        public static let asset = Element(of: .asset)
        /// Bytes.
        public static let bytes = Element(of: .bytes)
        /// A floating-point number.
        public static let double = Element(of: .double)
        /// A whole number.
        public static let int64 = Element(of: .int64)
        /// A location on Earth.
        public static let location = Element(of: .location)
        /// A reference to another record.
        public static let reference = Element(of: .reference)
        /// A string.
        public static let string = Element(of: .string)
        /// A point in time.
        public static let timestamp = Element(of: .timestamp)
        /// Bytes that the service encrypts.
        public static let encryptedBytes = Element(of: .bytes, isEncrypted: true)
        /// A floating-point number that the service encrypts.
        public static let encryptedDouble = Element(of: .double, isEncrypted: true)
        /// A whole number that the service encrypts.
        public static let encryptedInt64 = Element(of: .int64, isEncrypted: true)
        /// A location that the service encrypts.
        public static let encryptedLocation = Element(of: .location, isEncrypted: true)
        /// A string that the service encrypts.
        public static let encryptedString = Element(of: .string, isEncrypted: true)
        /// A point in time that the service encrypts.
        public static let encryptedTimestamp = Element(of: .timestamp, isEncrypted: true)
        /// An integer or a floating-point number. The development environment creates such fields from numbers that are
        /// saved without a type.
        public static let number = Element(.number(preferredAs: nil))
        /// A number that is read as a whole number.
        public static let numberPreferredAsInt64 = Element(.number(preferredAs: .int64))
        /// A number that is read as a floating-point number.
        public static let numberPreferredAsDouble = Element(.number(preferredAs: .double))

        /// Whether the service encrypts the values.
        public var isEncrypted: Bool { if case .values(_, true) = kind { true } else { false } }

        /// Whether the type is `NUMBER`, with or without a preference.
        public var isNumber: Bool { if case .number = kind { true } else { false } }

        /// The type of a value without its encryption; `nil` for a `NUMBER` without a preference.
        package var valueType: FieldType.Known? {
            switch kind {
            case .values(let type, _): type
            case .number(let type): type
            }
        }
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

extension SchemaFieldType {
    /// Makes the type of the schema language for a type of the web services.
    ///
    /// - Parameters:
    ///   - type: The type of values, or of lists of values.
    ///   - isEncrypted: Whether the service encrypts the values. It does that for types with the feature `encryption`.
    package init(of type: FieldType.Known, isEncrypted: Bool = false) {
        self.init(Element(of: type, isEncrypted: isEncrypted), isList: type.element != nil)
    }

    /// Makes the type of the schema language for a type of the web services; `nil` for a name that is not a type of
    /// fields, and for types that cannot be encrypted.
    ///
    /// - Parameters:
    ///   - type: A type such as `STRING_LIST`.
    ///   - isEncrypted: Whether the service encrypts the values.
    public init?(fieldType type: FieldType, isEncrypted: Bool = false) {
        guard let known = FieldType.names.first(where: { $0.name == type.rawValue })?.type,
            !isEncrypted || (known.element ?? known).features.contains(.encryption)
        else { return nil }
        self.init(of: known, isEncrypted: isEncrypted)
    }

    /// The type in records of the web services, such as `STRING_LIST`; `nil` for `NUMBER` without a preference, whose
    /// values have the type `INT64` or `DOUBLE`.
    public var fieldType: FieldType? {
        guard let type = element.valueType else { return nil }
        return isList ? type.list?.type : type.type
    }
}
