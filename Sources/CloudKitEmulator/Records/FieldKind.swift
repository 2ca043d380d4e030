import CloudKitModel
import StreamingJSON

/// What a field of a record type holds: a type, or a list of it, or an encrypted one.
struct FieldKind: Hashable {
    enum Base: String {
        case string = "STRING"
        case int64 = "INT64"
        case double = "DOUBLE"
        /// Whole and other numbers side by side. Development makes such fields of untagged numbers; no value has this type itself.
        case number = "NUMBER"
        case timestamp = "TIMESTAMP"
        case bytes = "BYTES"
        case reference = "REFERENCE"
        case asset = "ASSETID"
        case location = "LOCATION"
    }

    var base: Base
    var isList = false
    var isEncrypted = false

    init(_ base: Base, isList: Bool = false, isEncrypted: Bool = false) {
        self.base = base
        self.isList = isList
        self.isEncrypted = isEncrypted
    }

    /// The kind of a value; `nil` for null, an empty list of no type, and what has no kind.
    init?(of value: FieldValue) {
        switch value {
        case .string: self.init(.string)
        case .int64: self.init(.int64)
        case .double: self.init(.double)
        case .timestamp: self.init(.timestamp)
        case .bytes: self.init(.bytes)
        case .reference: self.init(.reference)
        case .asset: self.init(.asset)
        case .location: self.init(.location)
        case .stringList: self.init(.string, isList: true)
        case .int64List: self.init(.int64, isList: true)
        case .doubleList: self.init(.double, isList: true)
        case .timestampList: self.init(.timestamp, isList: true)
        case .bytesList: self.init(.bytes, isList: true)
        case .referenceList: self.init(.reference, isList: true)
        case .assetList: self.init(.asset, isList: true)
        case .locationList: self.init(.location, isList: true)
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
        case .null: return nil
        }
    }

    /// The kind that a type such as `ENCRYPTED_BYTES` names; `nil` for all other types.
    init?(encryptedTag: FieldType?) {
        guard let encryptedTag, let kind = FieldKind(rawValue: encryptedTag.rawValue), kind.isEncrypted else {
            return nil
        }
        // What can be encrypted, by the grammar of the schema language.
        switch kind.base {
        case .string, .int64, .double, .timestamp, .bytes, .location: self = kind
        case .number, .reference, .asset: return nil
        }
    }

    /// The kind that a field gets from its first value.
    ///
    /// A number that comes without a type, or with one of the types of a `NUMBER` field, makes the field a `NUMBER`: whole and other
    /// numbers fit it afterwards. CloudKit JS needs that, as JavaScript writes `10.0` as `10`.
    ///
    /// - Parameters:
    ///   - request: The value as it came.
    ///   - stored: The value as it is stored.
    init?(inferredFrom request: FieldValue, stored: FieldValue) {
        self.init(of: stored)
        guard self == FieldKind(.int64) || self == FieldKind(.double), case .verbatim(let verbatim) = request else {
            return
        }
        if let type = verbatim.type {
            if type == "NUMBER_INT64" || type == "NUMBER_DOUBLE" { self = FieldKind(.number) }
        } else if (try? verbatim.json.read([String: JSONRawValue].self))?["value"]?.kind == .number {
            // Not `true`, which makes an INT64 field.
            self = FieldKind(.number)
        }
    }

    /// Whether values of a kind fit a field of this one.
    func holds(_ kind: FieldKind) -> Bool {
        self == kind || self == FieldKind(.number) && (kind == FieldKind(.int64) || kind == FieldKind(.double))
    }

    /// Whether records can be sorted by fields of this kind.
    var isSortable: Bool {
        switch base {
        case .string, .int64, .double, .number, .timestamp, .reference: !isList && !isEncrypted
        case .bytes, .asset, .location: false
        }
    }

    /// An empty list of this kind.
    var emptyList: FieldValue {
        switch base {
        case .string: .stringList([])
        case .int64: .int64List([])
        case .double, .number: .doubleList([])
        case .timestamp: .timestampList([])
        case .bytes: .bytesList([])
        case .reference: .referenceList([])
        case .asset: .assetList([])
        case .location: .locationList([])
        }
    }
}

extension FieldKind: RawRepresentable {
    /// The spelling of the service: `STRING`, `STRING_LIST`, `ENCRYPTED_STRING`.
    var rawValue: String {
        (isEncrypted ? "ENCRYPTED_" : "") + base.rawValue + (isList ? "_LIST" : "")
    }

    init?(rawValue: String) {
        var text = rawValue[...]
        if text.hasPrefix("ENCRYPTED_") {
            isEncrypted = true
            text.removeFirst("ENCRYPTED_".count)
        }
        if text.hasSuffix("_LIST") {
            isList = true
            text.removeLast("_LIST".count)
        }
        guard let base = Base(rawValue: String(text)) else { return nil }
        self.base = base
    }
}

extension FieldType {
    /// Whether the service knows the type as one of a field's value.
    var isKnown: Bool {
        if FieldKind(encryptedTag: self) != nil { return true }
        if let kind = FieldKind(rawValue: rawValue) { return !kind.isEncrypted && kind.base != .number }
        return ["ASSET", "ASSET_LIST", "EMAIL", "NUMBER_INT64", "NUMBER_DOUBLE", "UNKNOWN_LIST"].contains(rawValue)
    }
}

extension FieldValue {
    /// The type of a value that came in another form than it would be written in: the only values whose type may be unknown.
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
    /// What the value counts towards the limit of 1 MB: values, not their spelling in JSON.
    var sizeWithoutAssets: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .bytes(let data): data.count
        case .int64, .double, .timestamp: 8
        case .location: 64
        case .reference(let reference): reference.recordName.utf8.count
        case .stringList, .bytesList, .referenceList, .int64List, .doubleList, .timestampList, .locationList:
            (elements ?? []).reduce(0) { $0 + $1.sizeWithoutAssets }
        case .unknown(_, let json): json.bytes.count
        case .asset, .assetList, .null, .encrypted, .verbatim: 0
        }
    }
}

extension IndexValue {
    /// The index values of a field's value: one for a scalar, one for each different element of a list, none for what has
    /// no order (assets, locations, encrypted values).
    static func values(of value: FieldValue) -> [IndexValue] {
        switch value {
        case .string(let text): [.text(prefix(text))]
        case .int64(let number): [.integer(number)]
        case .double(let number): [.real(number)]
        case .timestamp(let date): [milliseconds(date)]
        case .bytes(let data): [.bytes(Array(data.prefix(prefixLength)))]
        case .reference(let reference): [.text(prefix(reference.recordName))]
        case .stringList, .int64List, .doubleList, .timestampList, .bytesList, .referenceList:
            unique((value.elements ?? []).flatMap(values(of:)))
        case .asset, .location, .assetList, .locationList, .null, .encrypted, .unknown, .verbatim: []
        }
    }
}
