import CloudKitModel
import StreamingJSON

/// The kind of values that a field of a record type holds: values of one type, encrypted or not.
struct FieldKind: Hashable {
    /// The type; `nil` for a `NUMBER`, which holds integers and floating-point numbers. Writes in development create
    /// such fields from numbers without a type. No value has the type `NUMBER` itself.
    var type: FieldType.Known?
    var isEncrypted = false

    static let number = FieldKind(nil)

    init(_ type: FieldType.Known?, isEncrypted: Bool = false) {
        self.type = type
        self.isEncrypted = isEncrypted
    }

    /// The kind of a value; `nil` for null, an empty list without a type, and a value of an unknown type.
    init?(of value: FieldValue) {
        switch value {
        case .encrypted(let inner):
            guard var kind = FieldKind(of: inner.plain) else { return nil }
            kind.isEncrypted = true
            self = kind
        case .verbatim(let verbatim):
            if let kind = FieldKind(encryptedTag: verbatim.type) {
                self = kind
            } else {
                self.init(of: verbatim.value)
            }
        case .unknown(let type, _): self.init(encryptedTag: type)
        default:
            guard let type = value.knownType else { return nil }
            self.init(type)
        }
    }

    /// The kind that a type such as `ENCRYPTED_BYTES` names; `nil` for all other types.
    init?(encryptedTag: FieldType?) {
        guard let encryptedTag, let kind = FieldKind(rawValue: encryptedTag.rawValue), kind.isEncrypted,
            kind.element?.features.contains(.encryption) == true
        else { return nil }
        self = kind
    }

    /// The kind that a field gets from its first value.
    ///
    /// A number that comes without a type, or with one of the types of a `NUMBER` field, makes the field a `NUMBER`:
    /// integers and floating-point numbers fit it afterwards. CloudKit JS needs that, as JavaScript writes `10.0` as
    /// `10`.
    ///
    /// - Parameters:
    ///   - request: The value as the request has it.
    ///   - stored: The value as it is stored.
    init?(inferredFrom request: FieldValue, stored: FieldValue) {
        self.init(of: stored)
        guard self == FieldKind(.int64) || self == FieldKind(.double), case .verbatim(let verbatim) = request else {
            return
        }
        if let type = verbatim.type {
            if type == "NUMBER_INT64" || type == "NUMBER_DOUBLE" { self = .number }
        } else if (try? verbatim.json.read([String: JSONRawValue].self))?["value"]?.kind == .number {
            // Not `true`, which makes an INT64 field.
            self = .number
        }
    }

    /// Whether values of `kind` fit a field of this kind.
    func holds(_ kind: FieldKind) -> Bool {
        self == kind || self == .number && (kind == FieldKind(.int64) || kind == FieldKind(.double))
    }

    /// The type of a value, or of the elements of a list; `nil` for a `NUMBER`.
    var element: FieldType.Known? { type?.element ?? type }

    var isList: Bool { type?.element != nil }

    /// Whether records can be sorted by fields of this kind.
    var isSortable: Bool { !isEncrypted && (type ?? .double).features.contains(.sort) }

    /// Whether queries can compare fields of this kind with the comparator.
    func has(_ comparator: QueryFilter.Comparator.Known) -> Bool { !isEncrypted && comparator.fits(type ?? .double) }

    /// An empty list of this kind; `nil` where this is not a kind of lists.
    var emptyList: FieldValue? { type?.element.flatMap { .list([], of: $0) } }
}

extension FieldKind: RawRepresentable {
    /// The spelling of the service: `STRING`, `STRING_LIST`, `ENCRYPTED_STRING`.
    var rawValue: String {
        (isEncrypted ? "ENCRYPTED_" : "") + (type?.name ?? "NUMBER")
    }

    init?(rawValue: String) {
        let isEncrypted = rawValue.hasPrefix("ENCRYPTED_")
        let name = isEncrypted ? String(rawValue.dropFirst("ENCRYPTED_".count)) : rawValue
        let type = FieldType.Known(name: name)
        guard type != nil || name == "NUMBER" else { return nil }
        self.init(type, isEncrypted: isEncrypted)
    }
}

extension FieldType {
    /// Whether the service knows this type tag.
    var isKnown: Bool {
        self == .unknownList || FieldType.names.contains { $0.name == rawValue } || FieldKind(encryptedTag: self) != nil
    }
}

extension FieldValue {
    /// The type tag of a value that was read in another form than its written form; `nil` for all others. Only these
    /// values can have an unknown type.
    var unusualType: FieldType? {
        switch self {
        case .unknown(let type, _): type
        case .verbatim(let verbatim): verbatim.type
        case .encrypted(let value): value.unusualType
        default: nil
        }
    }
}

extension FieldValue {
    /// The value with JSON strings for numbers. It is not known for which types the service does this. The emulator
    /// does it for all three types of numbers, and for lists of them.
    var numbersAsStrings: FieldValue {
        switch self {
        case .int64(let number): Self.quoted("\(number)", .int64) ?? self
        case .double(let number): Self.quoted("\(number)", .double) ?? self
        case .timestamp(let date): Self.quoted("\(date.milliseconds)", .timestamp) ?? self
        case .int64List(let list): Self.quoted(list.map { "\($0)" }, .int64List) ?? self
        case .doubleList(let list): Self.quoted(list.map { "\($0)" }, .doubleList) ?? self
        case .timestampList(let list): Self.quoted(list.map { "\($0.milliseconds)" }, .timestampList) ?? self
        case .string, .bytes, .reference, .asset, .location, .stringList, .bytesList, .referenceList, .assetList,
            .locationList, .null, .encrypted, .unknown, .verbatim:
            self
        }
    }

    private static func quoted(_ text: some JSONWritable, _ type: FieldType) -> FieldValue? {
        guard let json = try? JSONRawValue(text) else { return nil }
        return .unknown(type: type, value: json)
    }
}

extension FieldRules {
    /// The value of a field as it is stored. References get the zone of their target.
    ///
    /// - Throws: A `BAD_REQUEST` for a value that no field can hold.
    func checked(_ value: FieldValue) throws(EmulatorError) -> FieldValue {
        switch value {
        case .double(let number) where !number.isFinite:
            throw .badRequest("Invalid value, expected type DOUBLE.")
        case .doubleList(let numbers) where !numbers.allSatisfy(\.isFinite):
            throw .badRequest("Invalid value, expected type DOUBLE_LIST.")
        case .timestamp(let date):
            try checkWholeMilliseconds(date)
            return value
        case .timestampList(let dates):
            for date in dates { try checkWholeMilliseconds(date) }
            return value
        case .reference(let reference):
            return .reference(try placed(reference))
        case .referenceList(let references):
            var placed: [Reference] = []
            for reference in references { placed.append(try self.placed(reference)) }
            return .referenceList(placed)
        case .location(let location):
            try check(location)
            return value
        case .locationList(let locations):
            for location in locations { try check(location) }
            return value
        case .string, .int64, .double, .bytes, .asset, .stringList, .int64List, .doubleList, .bytesList, .assetList,
            .null,
            .encrypted, .unknown, .verbatim:
            return value
        }
    }
}
