public import CloudKitModel

extension SchemaFieldType {
    /// Makes the type of the schema language for a type of the web services; `nil` for a name that is not a type of
    /// fields, and for types that cannot be encrypted.
    ///
    /// - Parameters:
    ///   - type: A type such as `STRING_LIST`.
    ///   - isEncrypted: Whether the service encrypts the values.
    public init?(fieldType type: FieldType, isEncrypted: Bool = false) {
        guard let known = FieldType.names.first(where: { $0.name == type.rawValue })?.type,
            let element = Element.allCases.first(where: {
                $0.isEncrypted == isEncrypted && $0.valueType == known.element ?? known
            })
        else { return nil }
        self.init(element, isList: known.element != nil)
    }

    /// The type in records of the web services, such as `STRING_LIST`; `nil` for `NUMBER` without a preference, whose
    /// values have the type `INT64` or `DOUBLE`.
    public var fieldType: FieldType? {
        guard let type = element.valueType else { return nil }
        return isList ? type.list?.type : type.type
    }
}

extension SchemaFieldType.Element {
    /// The type of a value without its encryption; `nil` for a `NUMBER` without a preference.
    package var valueType: FieldType.Known? {
        switch self {
        case .asset: .asset
        case .bytes, .encryptedBytes: .bytes
        case .double, .encryptedDouble, .numberPreferredAsDouble: .double
        case .int64, .encryptedInt64, .numberPreferredAsInt64: .int64
        case .location, .encryptedLocation: .location
        case .reference: .reference
        case .string, .encryptedString: .string
        case .timestamp, .encryptedTimestamp: .timestamp
        case .number: nil
        }
    }
}
