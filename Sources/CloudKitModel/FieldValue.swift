public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The value of a record's field.
///
/// ```swift
/// var note = Record(recordType: "Note")
/// note["title"] = "Hello"            // {"value":"Hello","type":"STRING"}
/// note["count"] = 3                  // {"value":3,"type":"INT64"}
/// note["rating"] = 4.0               // {"value":4.0,"type":"DOUBLE"}
/// note["tags"] = .list(["a", "b"])   // {"value":["a","b"],"type":"STRING_LIST"}
/// note["secret"] = .encrypted("x")   // {"value":"x","type":"STRING","isEncrypted":true}
/// note["old"] = .null                // {"value":null}, which clears the field
/// ```
///
/// Every value is written with its type tag, because the service infers only strings and whole numbers. A value that is
/// read in another form (without a type tag, with a type of Apple's own containers, with numbers as strings, with an
/// unknown key) becomes ``verbatim(_:)``: it has a type if one can be found, and is written as it was read. So reading
/// a field never fails.
///
/// ## Topics
/// ### Looking at a value
/// - ``stringValue``
/// - ``int64Value``
/// - ``doubleValue``
/// - ``timestampValue``
/// - ``plain``
/// - ``type``
public enum FieldValue: Hashable, Sendable {
    /// A string, `STRING`.
    case string(String)
    /// A whole number, `INT64`.
    case int64(Int64)
    /// A floating-point number, `DOUBLE`.
    case double(Double)
    /// A point in time, `TIMESTAMP`: whole milliseconds since 1970 on the wire.
    case timestamp(Date)
    /// Bytes, `BYTES`: base64 on the wire.
    case bytes(Data)
    /// A reference to another record, `REFERENCE`.
    indirect case reference(Reference)
    /// A file, `ASSETID`.
    indirect case asset(Asset)
    /// A location on Earth, `LOCATION`.
    indirect case location(Location)
    /// Strings, `STRING_LIST`.
    case stringList([String])
    /// Whole numbers, `INT64_LIST`.
    case int64List([Int64])
    /// Floating-point numbers, `DOUBLE_LIST`.
    case doubleList([Double])
    /// Points in time, `TIMESTAMP_LIST`.
    case timestampList([Date])
    /// Byte strings, `BYTES_LIST`.
    case bytesList([Data])
    /// References to other records, `REFERENCE_LIST`.
    case referenceList([Reference])
    /// Files, `ASSETID_LIST`.
    case assetList([Asset])
    /// Locations, `LOCATION_LIST`.
    case locationList([Location])
    /// No value, which clears the field when it is written: `{"value":null}`.
    case null
    /// A value that the service encrypts, `"isEncrypted":true`. Not for public databases; queries cannot compare it.
    indirect case encrypted(FieldValue)
    /// A value of a type that has no case here, or a value that does not fit its type tag.
    indirect case unknown(type: FieldType?, value: JSONRawValue)
    /// A value that was read in another form than the one in which it would be written, with that form.
    indirect case verbatim(Verbatim)

    /// A field's value with the form in which it was read.
    public struct Verbatim: Hashable, Sendable {
        /// The meaning of the value; never ``FieldValue/verbatim(_:)``.
        public let value: FieldValue
        /// The type tag of the value; `nil` when it had none.
        public let type: FieldType?
        /// The whole field dictionary, `{"value":…,"type":…}`.
        public let json: JSONRawValue
    }
}

// MARK: Types

extension FieldType {
    /// The types that have a case of ``FieldValue``, with their properties in the protocol. A `switch` over them is
    /// complete.
    ///
    /// The raw value is the position of the name in ``names``.
    package enum Known: Int, CaseIterable, Sendable {
        case string, int64, double, timestamp, bytes, reference, asset, location
        case stringList, int64List, doubleList, timestampList, bytesList, referenceList, assetList, locationList

        /// The sources: the archived pages "Types and Dictionaries" and "Filter comparators", and the grammar of the
        /// schema language.
        private var row: Row {
            switch self {
            case .string: Row("STRING", .text, "String", [.equality, .order, .sort, .encryption])
            case .int64: Row("INT64", .wholeNumber, "Int", [.equality, .order, .sort, .encryption])
            case .double: Row("DOUBLE", .number, "Double", [.equality, .order, .sort, .encryption])
            case .timestamp: Row("TIMESTAMP", .wholeNumber, "Date", [.equality, .order, .sort, .encryption])
            case .bytes: Row("BYTES", .base64, "Data", [.equality, .encryption])
            case .reference: Row("REFERENCE", .object, "Reference", [.equality, .sort])
            case .asset: Row("ASSETID", .object, "Asset", [], schemaName: "ASSET")
            case .location: Row("LOCATION", .object, "Location", [.encryption])
            case .stringList: Row("STRING_LIST", listOf: .string)
            case .int64List: Row("INT64_LIST", listOf: .int64)
            case .doubleList: Row("DOUBLE_LIST", listOf: .double)
            case .timestampList: Row("TIMESTAMP_LIST", listOf: .timestamp)
            case .bytesList: Row("BYTES_LIST", listOf: .bytes)
            case .referenceList: Row("REFERENCE_LIST", listOf: .reference)
            case .assetList: Row("ASSETID_LIST", listOf: .asset)
            case .locationList: Row("LOCATION_LIST", listOf: .location)
            }
        }

        private struct Row {
            let name: String
            let schemaName: String
            let form: JSONForm
            let swiftName: String
            let features: Features
            let element: Known?

            init(
                _ name: String,
                _ form: JSONForm,
                _ swiftName: String,
                _ features: Features,
                schemaName: String? = nil
            ) {
                (self.name, self.form, self.swiftName, self.features) = (name, form, swiftName, features)
                (self.schemaName, element) = (schemaName ?? name, nil)
            }

            init(_ name: String, listOf element: Known) {
                (self.name, form, features, self.element) = (name, .list, [], element)
                (schemaName, swiftName) = ("LIST<\(element.schemaName)>", "[\(element.swiftName)]")
            }
        }

        /// The name on the wire, such as `STRING_LIST`.
        package var name: String { row.name }
        /// The name in the schema language, such as `LIST<STRING>`.
        package var schemaName: String { row.schemaName }
        /// The Swift type of properties that hold the values, as it is written in a program.
        package var swiftName: String { row.swiftName }
        /// The form of a value in JSON.
        package var form: JSONForm { row.form }
        /// What the service can do with fields of the type.
        package var features: Features { row.features }
        /// The type of a list's elements; `nil` for types that are not lists.
        package var element: Known? { row.element }
        /// The list of values of this type; `nil` for lists.
        package var list: Known? { Self.allCases.first { $0.element == self } }
        /// The type on the wire.
        package var type: FieldType { FieldType(rawValue: name) }

        /// Makes the type with a name on the wire, such as `STRING_LIST`; `nil` for other names.
        package init?(name: String) {
            guard let type = Self.byName[name] else { return nil }
            self = type
        }

        private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
    }

    /// The form of a type's values in JSON.
    package enum JSONForm: Sendable {
        case text, wholeNumber, number, base64, object, list
    }

    /// What the service can do with fields of some types, but not of all.
    package struct Features: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Queries can compare a value, or an element of a list, for equality.
        package static let equality = Features(rawValue: 1)
        /// Queries can ask whether a value is less than another one.
        package static let order = Features(rawValue: 2)
        /// Queries can sort by fields of the type.
        package static let sort = Features(rawValue: 4)
        /// Fields of the type can be encrypted.
        package static let encryption = Features(rawValue: 8)
    }

    /// The type as one of the types with a case; `nil` for other names of these types, and for unknown types.
    package var known: Known? { Known(name: rawValue) }

    /// Other names of these types. Their values are written as they were read.
    private static let otherNames: [(name: String, type: Known)] = [
        ("ENCRYPTED_BYTES", .bytes), ("ASSET", .asset), ("ASSET_LIST", .assetList), ("EMAIL", .string),
        ("NUMBER_INT64", .int64), ("NUMBER_DOUBLE", .double),
    ]

    /// All names that are read into a case of ``FieldValue``.
    package static let names: [(name: String, type: Known)] = Known.allCases.map { ($0.name, $0) } + otherNames

    /// The names for a reader.
    static let nameKeys = JSONKeys(names.map(\.name))
}

// MARK: Making values

extension FieldValue {
    /// A Boolean value. The service has no type for Booleans; they are stored as `INT64` 0 and 1.
    ///
    /// ```swift
    /// note["isDone"] = .bool(true)  // {"value":1,"type":"INT64"}
    /// ```
    public static func bool(_ value: Bool) -> FieldValue { .int64(value ? 1 : 0) }

    /// A list of strings, `STRING_LIST`.
    public static func list(_ values: [String]) -> FieldValue { .stringList(values) }
    /// A list of whole numbers, `INT64_LIST`.
    public static func list(_ values: [Int]) -> FieldValue { .int64List(values.map(Int64.init)) }
    /// A list of whole numbers, `INT64_LIST`.
    public static func list(_ values: [Int64]) -> FieldValue { .int64List(values) }
    /// A list of floating-point numbers, `DOUBLE_LIST`.
    public static func list(_ values: [Double]) -> FieldValue { .doubleList(values) }
    /// A list of points in time, `TIMESTAMP_LIST`.
    public static func list(_ values: [Date]) -> FieldValue { .timestampList(values) }
    /// A list of byte strings, `BYTES_LIST`.
    public static func list(_ values: [Data]) -> FieldValue { .bytesList(values) }
    /// A list of references to records, `REFERENCE_LIST`.
    public static func list(_ values: [Reference]) -> FieldValue { .referenceList(values) }
    /// A list of files, `ASSETID_LIST`.
    public static func list(_ values: [Asset]) -> FieldValue { .assetList(values) }
    /// A list of locations, `LOCATION_LIST`.
    public static func list(_ values: [Location]) -> FieldValue { .locationList(values) }
}

extension FieldValue: ExpressibleByStringInterpolation {
    /// Makes a ``string(_:)``.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension FieldValue: ExpressibleByIntegerLiteral {
    /// Makes an ``int64(_:)``.
    public init(integerLiteral value: Int64) { self = .int64(value) }
}

extension FieldValue: ExpressibleByFloatLiteral {
    /// Makes a ``double(_:)``.
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension FieldValue: ExpressibleByBooleanLiteral {
    /// Makes an ``int64(_:)`` of 0 or 1.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

// MARK: Looking at values

extension FieldValue {
    /// The value without the wrappings ``encrypted(_:)`` and ``verbatim(_:)``.
    public var plain: FieldValue {
        switch self {
        case .encrypted(let value): return value.plain
        case .verbatim(let verbatim): return verbatim.value.plain
        default: return self
        }
    }

    /// Whether the value is to be encrypted, or was read as encrypted (`isEncrypted`).
    public var isEncrypted: Bool {
        switch self {
        case .encrypted: return true
        case .verbatim(let verbatim): return verbatim.value.isEncrypted
        default: return false
        }
    }

    /// Whether the value is null.
    public var isNull: Bool { plain == .null }

    /// The type of a value in its usual form; `nil` for nulls, encrypted values and values in other forms.
    package var knownType: FieldType.Known? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .reference: .reference
        case .asset: .asset
        case .location: .location
        case .stringList: .stringList
        case .int64List: .int64List
        case .doubleList: .doubleList
        case .timestampList: .timestampList
        case .bytesList: .bytesList
        case .referenceList: .referenceList
        case .assetList: .assetList
        case .locationList: .locationList
        case .null, .encrypted, .unknown, .verbatim: nil
        }
    }

    /// The type tag of the value; `nil` for nulls and for values that were read without a type tag.
    public var type: FieldType? {
        switch self {
        case .encrypted(let value): value.type
        case .unknown(let type, _): type
        case .verbatim(let verbatim): verbatim.type
        default: knownType?.type
        }
    }

    /// The string of a `STRING`, encrypted or not.
    public var stringValue: String? {
        if case .string(let value) = plain { value } else { nil }
    }

    /// The number of an `INT64`, encrypted or not.
    public var int64Value: Int64? {
        if case .int64(let value) = plain { value } else { nil }
    }

    /// Whether the number of an `INT64` is not 0.
    public var boolValue: Bool? {
        if case .int64(let value) = plain { value != 0 } else { nil }
    }

    /// The number of a `DOUBLE`, encrypted or not. Whole numbers (`INT64`) are converted.
    public var doubleValue: Double? {
        switch plain {
        case .double(let value): return value
        case .int64(let value): return Double(value)
        default: return nil
        }
    }

    /// The point in time of a `TIMESTAMP`, encrypted or not.
    public var timestampValue: Date? {
        if case .timestamp(let value) = plain { value } else { nil }
    }

    /// The bytes of `BYTES` or `ENCRYPTED_BYTES`.
    public var bytesValue: Data? {
        if case .bytes(let value) = plain { value } else { nil }
    }

    /// The reference of a `REFERENCE`.
    public var referenceValue: Reference? {
        if case .reference(let value) = plain { value } else { nil }
    }

    /// The file of an `ASSETID` or `ASSET`.
    public var assetValue: Asset? {
        if case .asset(let value) = plain { value } else { nil }
    }

    /// The location of a `LOCATION`.
    public var locationValue: Location? {
        if case .location(let value) = plain { value } else { nil }
    }

    /// The strings of a `STRING_LIST`.
    public var stringListValue: [String]? {
        if case .stringList(let values) = plain { values } else { emptyList() }
    }

    /// The numbers of an `INT64_LIST`.
    public var int64ListValue: [Int64]? {
        if case .int64List(let values) = plain { values } else { emptyList() }
    }

    /// The numbers of a `DOUBLE_LIST`.
    public var doubleListValue: [Double]? {
        if case .doubleList(let values) = plain { values } else { emptyList() }
    }

    /// The points in time of a `TIMESTAMP_LIST`.
    public var timestampListValue: [Date]? {
        if case .timestampList(let values) = plain { values } else { emptyList() }
    }

    /// The byte strings of a `BYTES_LIST`.
    public var bytesListValue: [Data]? {
        if case .bytesList(let values) = plain { values } else { emptyList() }
    }

    /// The references of a `REFERENCE_LIST`.
    public var referenceListValue: [Reference]? {
        if case .referenceList(let values) = plain { values } else { emptyList() }
    }

    /// The files of an `ASSETID_LIST` or `ASSET_LIST`.
    public var assetListValue: [Asset]? {
        if case .assetList(let values) = plain { values } else { emptyList() }
    }

    /// The locations of a `LOCATION_LIST`.
    public var locationListValue: [Location]? {
        if case .locationList(let values) = plain { values } else { emptyList() }
    }

    /// An empty list without a known type (`UNKNOWN_LIST`, or `[]` without a type tag) is an empty list of any type.
    private func emptyList<Element>() -> [Element]? {
        if case .unknown(_, let value) = plain, (try? value.read([JSONValue].self))?.isEmpty == true { [] } else { nil }
    }
}

// MARK: Lists and their elements

extension FieldValue {
    /// A list of values of one type.
    ///
    /// - Parameters:
    ///   - values: The elements.
    ///   - type: Their type; elements of other types are left out.
    /// - Returns: The list; `nil` for types that are lists themselves.
    package static func list(_ values: [FieldValue], of type: FieldType.Known) -> FieldValue? {
        switch type {
        case .string: .stringList(values.compactMap(\.stringValue))
        case .int64: .int64List(values.compactMap(\.int64Value))
        case .double: .doubleList(values.compactMap(\.doubleValue))
        case .timestamp: .timestampList(values.compactMap(\.timestampValue))
        case .bytes: .bytesList(values.compactMap(\.bytesValue))
        case .reference: .referenceList(values.compactMap(\.referenceValue))
        case .asset: .assetList(values.compactMap(\.assetValue))
        case .location: .locationList(values.compactMap(\.locationValue))
        case .stringList, .int64List, .doubleList, .timestampList, .bytesList, .referenceList, .assetList,
            .locationList:
            nil
        }
    }

    /// The elements of a list; `nil` when this value is not a list.
    package var elements: [FieldValue]? {
        switch plain {
        case .stringList(let values): values.map(FieldValue.string)
        case .int64List(let values): values.map(FieldValue.int64)
        case .doubleList(let values): values.map(FieldValue.double)
        case .timestampList(let values): values.map(FieldValue.timestamp)
        case .bytesList(let values): values.map(FieldValue.bytes)
        case .referenceList(let values): values.map(FieldValue.reference)
        case .assetList(let values): values.map(FieldValue.asset)
        case .locationList(let values): values.map(FieldValue.location)
        // An empty list without a known type.
        case .unknown: emptyList()
        case .string, .int64, .double, .timestamp, .bytes, .reference, .asset, .location, .null, .encrypted, .verbatim:
            nil
        }
    }
}

// MARK: Order and size

extension OrderedValue {
    /// Makes the value of a field that holds one value; `nil` for lists, and for values without an order.
    package init?(_ value: FieldValue) {
        switch value {
        case .string(let text): self = .text(text)
        case .int64(let number): self = .integer(number)
        case .double(let number): self = .real(number)
        case .timestamp(let date): self = .integer(date.wireMilliseconds ?? 0)
        case .bytes(let data): self = .bytes(Array(data))
        case .reference(let reference): self = .text(reference.recordName)
        case .asset, .location, .stringList, .int64List, .doubleList, .timestampList, .bytesList, .referenceList,
            .assetList, .locationList, .null, .encrypted, .unknown, .verbatim:
            return nil
        }
    }
}

extension FieldValue {
    /// The number of bytes that the value counts towards the limit of 1 MB. The spelling in JSON does not matter.
    package var sizeWithoutAssets: Int {
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

// MARK: JSON

extension FieldValue {
    /// Writes the value alone, without its wrappings.
    func writeValue(to writer: inout JSONWriter) {
        switch self {
        case .string(let value): writer.write(value)
        case .int64(let value): writer.write(value)
        case .double(let value): writer.write(value)
        case .timestamp(let value): writer.write(milliseconds: value)
        case .bytes(let value): writer.writeBase64(value)
        case .reference(let value): writer.write(value)
        case .asset(let value): writer.write(value)
        case .location(let value): writer.write(value)
        case .stringList(let values): writer.write(values)
        case .int64List(let values): writer.write(values)
        case .doubleList(let values): writer.write(values)
        case .timestampList(let values):
            writer.beginArray()
            for value in values {
                writer.write(milliseconds: value)
            }
            writer.endArray()
        case .bytesList(let values):
            writer.beginArray()
            for value in values {
                writer.writeBase64(value)
            }
            writer.endArray()
        case .referenceList(let values): writer.write(values)
        case .assetList(let values): writer.write(values)
        case .locationList(let values): writer.write(values)
        case .null: writer.writeNull()
        case .unknown(_, let value): writer.writeRaw(value)
        case .encrypted, .verbatim: plain.writeValue(to: &writer)
        }
    }

    /// The text after the value in compact JSON.
    var compactEnd: StaticString? {
        switch self {
        case .string: #","type":"STRING"}"#
        case .int64: #","type":"INT64"}"#
        case .double: #","type":"DOUBLE"}"#
        case .timestamp: #","type":"TIMESTAMP"}"#
        case .bytes: #","type":"BYTES"}"#
        case .reference: #","type":"REFERENCE"}"#
        case .asset: #","type":"ASSETID"}"#
        case .location: #","type":"LOCATION"}"#
        case .stringList: #","type":"STRING_LIST"}"#
        case .int64List: #","type":"INT64_LIST"}"#
        case .doubleList: #","type":"DOUBLE_LIST"}"#
        case .timestampList: #","type":"TIMESTAMP_LIST"}"#
        case .bytesList: #","type":"BYTES_LIST"}"#
        case .referenceList: #","type":"REFERENCE_LIST"}"#
        case .assetList: #","type":"ASSETID_LIST"}"#
        case .locationList: #","type":"LOCATION_LIST"}"#
        case .null: "}"
        case .unknown, .encrypted, .verbatim: nil
        }
    }

    /// Reads the value at `position`, which the reader has already skipped; `nil` when the value is not of the type.
    ///
    /// `isExact` becomes `false` when the value would be written in another form than it was read.
    static func value(
        of token: JSONReader.Token,
        at position: JSONReader.Position,
        _ type: FieldType.Known,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) -> FieldValue? {
        reader.rewind(to: position)
        do throws(JSONError) {
            switch type {
            case .string:
                guard case .string(let text) = token else { break }
                return .string(reader.string(of: text))
            case .int64:
                return try int64(of: token, at: position, from: &reader, isExact: &isExact).map(FieldValue.int64)
            case .double:
                return try double(of: token, at: position, from: &reader, isExact: &isExact).map(FieldValue.double)
            case .timestamp:
                return try date(of: token, at: position, from: &reader, isExact: &isExact).map(FieldValue.timestamp)
            case .bytes:
                return bytes(of: token, from: reader, isExact: &isExact).map(FieldValue.bytes)
            case .reference: return .reference(try Reference(json: &reader))
            case .asset: return .asset(try Asset(json: &reader))
            case .location: return .location(try Location(json: &reader))
            case .stringList: return .stringList(try reader.read())
            case .int64List:
                return try elements(from: &reader, isExact: &isExact, int64).map(FieldValue.int64List)
            case .doubleList:
                return try elements(from: &reader, isExact: &isExact, double).map(FieldValue.doubleList)
            case .timestampList:
                return try elements(from: &reader, isExact: &isExact, date).map(FieldValue.timestampList)
            case .bytesList:
                return try elements(from: &reader, isExact: &isExact) { token, _, reader, isExact in
                    bytes(of: token, from: reader, isExact: &isExact)
                }
                .map(FieldValue.bytesList)
            case .referenceList: return .referenceList(try reader.read())
            case .assetList: return .assetList(try reader.read())
            case .locationList: return .locationList(try reader.read())
            }
        } catch {
            // The value is of another type, or null.
        }
        // Any type may have a null.
        guard case .other(.null) = token else { return nil }
        isExact = false
        return .null
    }
}
