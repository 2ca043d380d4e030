import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A type that a property of a typed record may have: a ``FieldElement``, an array of them, or ``JSONText``.
///
/// Most types of fields are ``FieldConvertible``, which refines ``FieldElement``. A property that may be `nil` is
/// written `Value?`; the optional type needs no conformance.
public protocol FieldStorable: Sendable {
    /// The type of the field in the schema, such as `STRING`.
    static var fieldType: FieldType { get }

    /// The value as the service knows it.
    var fieldValue: FieldValue { get }

    /// Takes the service's value.
    ///
    /// - Parameter fieldValue: The value, which is not null.
    /// - Throws: A ``FieldError`` that says what was expected and what was found.
    init(fieldValue: FieldValue) throws(FieldError)

    /// The value to save.
    ///
    /// The default implementation returns ``fieldValue``. Implement this method for a type with values that cannot be
    /// saved.
    ///
    /// - Returns: The value.
    /// - Throws: A ``FieldError`` for a value that the service has no form for.
    func savedFieldValue() throws(FieldError) -> FieldValue

    /// Reads the value of the reader's current field.
    ///
    /// You do not need to implement it: the default uses ``init(fieldValue:)``. The types that come with MistKit read
    /// the JSON themselves.
    ///
    /// - Parameter reader: In front of a field's value.
    /// - Returns: The value.
    /// - Throws: A ``FieldError``.
    static func readField(from reader: inout FieldReader) throws(FieldError) -> Self?
}

/// A type for a single value of a field that queries can compare.
///
/// The types that come with MistKit are: `String`, `Int` and the integers of fixed width, `Double`, `Float`, `Bool`
/// (saved as 0 and 1), `Date`, `Data`, `URL`, `UUID`, `Reference` and ``RecordReference``. An enum with raw values only
/// needs to declare the conformance:
///
/// ```swift
/// enum Status: String, FieldConvertible { case active, suspended }
/// // {"value":"active","type":"STRING"}
/// ```
///
/// A raw value that the enum does not have is an error for its record. If later versions of the program may add values,
/// use a struct with a `rawValue` instead of the enum.
///
/// Another type needs three lines:
///
/// ```swift
/// extension Colour: FieldConvertible {
///     static var fieldType: FieldType { .int64 }
///     var fieldValue: FieldValue { .int64(Int64(rgb)) }
///     init(fieldValue: FieldValue) throws(FieldError) { self.init(rgb: try UInt32(fieldValue: fieldValue)) }
/// }
/// ```
public protocol FieldConvertible: FieldElement {}

/// A type that may be the element of a list: a ``FieldConvertible`` type, or `Location` or `Asset`, whose values
/// queries do not compare.
public protocol FieldElement: FieldStorable {
    /// A list of values as the service knows it. You do not need to implement it.
    ///
    /// - Parameter values: The elements.
    /// - Returns: The list.
    static func fieldValue(ofList values: [Self]) -> FieldValue

    /// The elements of a list as the service knows it. You do not need to implement it.
    ///
    /// - Parameter value: The list.
    /// - Returns: Its elements.
    /// - Throws: A ``FieldError`` where it is no list, or an element is not of this type.
    static func list(from value: FieldValue) throws(FieldError) -> [Self]

    /// Reads the list of the reader's current field.
    ///
    /// You do not need to implement it: the default uses ``list(from:)``.
    ///
    /// - Parameter reader: In front of a field's value.
    /// - Returns: The elements.
    /// - Throws: A ``FieldError``.
    static func readList(from reader: inout FieldReader) throws(FieldError) -> [Self]?
}

extension FieldStorable {
    /// The value as it is saved: ``fieldValue``.
    ///
    /// - Returns: The value.
    public func savedFieldValue() throws(FieldError) -> FieldValue { fieldValue }

    /// Reads the value of the reader's current field with ``init(fieldValue:)``.
    ///
    /// - Parameter reader: In front of a field's value.
    /// - Returns: The value; `nil` for a null.
    /// - Throws: A ``FieldError``.
    @inlinable
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Self? {
        try reader.anyValue()
    }
}

extension FieldElement {
    /// A list of the values as the service knows them.
    ///
    /// - Parameter values: The elements.
    /// - Returns: The list.
    public static func fieldValue(ofList values: [Self]) -> FieldValue {
        fieldType.known.flatMap { FieldValue.list(values.map(\.fieldValue), of: $0) } ?? .null
    }

    /// The elements of the service's list, each made by ``FieldStorable/init(fieldValue:)``.
    ///
    /// - Parameter value: The list.
    /// - Returns: Its elements.
    /// - Throws: A ``FieldError`` where it is no list, or an element is not of this type.
    public static func list(from value: FieldValue) throws(FieldError) -> [Self] {
        guard let elements = value.elements else { throw .expected([Self].fieldType, found: value) }
        var list: [Self] = []
        list.reserveCapacity(elements.count)
        for element in elements { list.append(try Self(fieldValue: element)) }
        return list
    }

    /// Reads the list of the reader's current field with ``list(from:)``.
    ///
    /// - Parameter reader: In front of a field's value.
    /// - Returns: The elements; `nil` for a null.
    /// - Throws: A ``FieldError``.
    @inlinable
    public static func readList(from reader: inout FieldReader) throws(FieldError) -> [Self]? {
        try reader.anyValue()
    }
}

extension Array: FieldStorable where Element: FieldElement {
    /// The list type of the elements' type, such as `STRING_LIST`.
    public static var fieldType: FieldType { FieldType(rawValue: "\(Element.fieldType.rawValue)_LIST") }

    /// The list.
    public var fieldValue: FieldValue { Element.fieldValue(ofList: self) }

    /// Takes the elements of a list.
    public init(fieldValue: FieldValue) throws(FieldError) {
        self = try Element.list(from: fieldValue)
    }

    /// Reads a list.
    @inlinable
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> [Element]? {
        try Element.readList(from: &reader)
    }

    /// The list to save. An error names the index of the element that cannot be saved.
    public func savedFieldValue() throws(FieldError) -> FieldValue {
        for (index, element) in enumerated() {
            do {
                _ = try element.savedFieldValue()
            } catch {
                throw FieldError("\(error.message) (the element at index \(index))")
            }
        }
        return fieldValue
    }
}

// MARK: Text

extension String: FieldConvertible {
    /// `STRING`
    public static var fieldType: FieldType { .string }
    /// The `STRING`.
    public var fieldValue: FieldValue { .string(self) }
    /// Takes a `STRING`.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let value = fieldValue.stringValue else { throw .expected(.string, found: fieldValue) }
        self = value
    }
    /// Reads a `STRING`.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> String? {
        try reader.value(FieldValue.fastString, orFrom: { $0.string() })
    }
    /// A `STRING_LIST`.
    public static func fieldValue(ofList values: [String]) -> FieldValue { .stringList(values) }
    /// The elements of a `STRING_LIST`.
    public static func list(from value: FieldValue) throws(FieldError) -> [String] {
        guard let list = value.stringListValue else { throw .expected(.stringList, found: value) }
        return list
    }
    /// Reads a `STRING_LIST`.
    public static func readList(from reader: inout FieldReader) throws(FieldError) -> [String]? {
        try reader.value(FieldValue.fastStrings)
    }
}

extension URL: FieldConvertible {
    /// `STRING`
    public static var fieldType: FieldType { .string }
    /// The URL's text, a `STRING`.
    public var fieldValue: FieldValue { .string(absoluteString) }
    /// Takes a `STRING` that is a URL.
    public init(fieldValue: FieldValue) throws(FieldError) {
        let text = try String(fieldValue: fieldValue)
        guard let url = URL(string: text) else { throw FieldError("the STRING is not a URL") }
        self = url
    }
}

extension UUID: FieldConvertible {
    /// `STRING`
    public static var fieldType: FieldType { .string }
    /// The UUID's text in upper case, a `STRING`.
    public var fieldValue: FieldValue { .string(uuidString) }
    /// Takes a `STRING` that is a UUID.
    public init(fieldValue: FieldValue) throws(FieldError) {
        let text = try String(fieldValue: fieldValue)
        guard let uuid = UUID(uuidString: text) else { throw FieldError("the STRING is not a UUID") }
        self = uuid
    }
}

extension FieldStorable where Self: RawRepresentable, RawValue: FieldStorable {
    /// The type of the raw value.
    public static var fieldType: FieldType { RawValue.fieldType }
    /// The raw value.
    public var fieldValue: FieldValue { rawValue.fieldValue }
    /// Takes a raw value.
    public init(fieldValue: FieldValue) throws(FieldError) {
        let raw = try RawValue(fieldValue: fieldValue)
        guard let value = Self(rawValue: raw) else { throw FieldError("\(Self.self) has no value \(raw)") }
        self = value
    }
    /// The raw value to save.
    public func savedFieldValue() throws(FieldError) -> FieldValue { try rawValue.savedFieldValue() }
    /// Reads a raw value.
    @inlinable
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Self? {
        guard let raw = try RawValue.readField(from: &reader) else { return nil }
        guard let value = Self(rawValue: raw) else { throw FieldError("\(Self.self) has no value \(raw)") }
        return value
    }
}

// MARK: Numbers

extension FieldStorable where Self: FixedWidthInteger {
    /// `INT64`
    public static var fieldType: FieldType { .int64 }
    /// The `INT64`.
    ///
    /// A number that does not fit `INT64` cannot be saved. A query sends it as it is, and the service refuses the
    /// query.
    public var fieldValue: FieldValue {
        if let number = Int64(exactly: self) { return .int64(number) }
        return .outOfRange("\(self)")
    }
    /// Takes an `INT64` that fits.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let number = fieldValue.int64Value else { throw .expected(.int64, found: fieldValue) }
        guard let value = Self(exactly: number) else {
            throw FieldError("the INT64 \(number) does not fit \(Self.self)")
        }
        self = value
    }
    /// The `INT64` to save.
    ///
    /// - Throws: A ``FieldError`` for a number that does not fit `INT64`.
    public func savedFieldValue() throws(FieldError) -> FieldValue {
        guard let number = Int64(exactly: self) else {
            throw FieldError("the \(Self.self) \(self) does not fit INT64, the only type of whole numbers there is")
        }
        return .int64(number)
    }
    /// Reads an `INT64` that fits.
    @inlinable
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Self? {
        if let number = reader.readPlainInt64(), let value = Self(exactly: number) { return value }
        return try reader.anyValue()
    }
}

extension FieldElement where Self: FixedWidthInteger {
    /// Reads an `INT64_LIST` of numbers that fit.
    @inlinable
    public static func readList(from reader: inout FieldReader) throws(FieldError) -> [Self]? {
        var list: [Self] = []
        let isRead = reader.readPlainInt64s { number in
            guard let value = Self(exactly: number) else { return false }
            if list.isEmpty { list.reserveCapacity(4) }
            list.append(value)
            return true
        }
        return isRead ? list : try reader.anyValue()
    }
}

extension FieldValue {
    fileprivate static func outOfRange(_ digits: String) -> FieldValue {
        guard let number = try? JSONRawValue(parsing: digits) else { return .null }
        return .unknown(type: .int64, value: number)
    }
}

extension Int: FieldConvertible {}
extension Int8: FieldConvertible {}
extension Int16: FieldConvertible {}
extension Int32: FieldConvertible {}
extension Int64: FieldConvertible {}
extension UInt: FieldConvertible {}
extension UInt8: FieldConvertible {}
extension UInt16: FieldConvertible {}
extension UInt32: FieldConvertible {}
extension UInt64: FieldConvertible {}

extension Bool: FieldConvertible {
    /// `INT64`: the service has no type for truth values.
    public static var fieldType: FieldType { .int64 }
    /// The `INT64` 0 or 1.
    public var fieldValue: FieldValue { .bool(self) }
    /// Takes an `INT64`; every value except 0 is true.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let value = fieldValue.boolValue else { throw .expected(.int64, found: fieldValue) }
        self = value
    }
    /// Reads an `INT64`; every value except 0 is true.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Bool? {
        if let number = reader.readPlainInt64() { return number != 0 }
        return try reader.anyValue()
    }
}

extension Double: FieldConvertible {
    /// `DOUBLE`
    public static var fieldType: FieldType { .double }
    /// The `DOUBLE`.
    public var fieldValue: FieldValue { .double(self) }
    /// Takes a `DOUBLE`, or an `INT64`, which some clients save instead.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let value = fieldValue.doubleValue else { throw .expected(.double, found: fieldValue) }
        self = value
    }
    /// The `DOUBLE`, unless it is infinite or not a number.
    public func savedFieldValue() throws(FieldError) -> FieldValue {
        guard isFinite else { throw FieldError("\(self) has no form in JSON") }
        return .double(self)
    }
    /// Reads a `DOUBLE`.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Double? {
        try reader.value(FieldValue.fastDouble, orFrom: { $0.double() })
    }
    /// Reads a `DOUBLE_LIST`.
    public static func readList(from reader: inout FieldReader) throws(FieldError) -> [Double]? {
        try reader.value(FieldValue.fastDoubles)
    }
}

extension Float: FieldConvertible {
    /// `DOUBLE`
    public static var fieldType: FieldType { .double }
    /// The `DOUBLE`.
    public var fieldValue: FieldValue { .double(Double(self)) }
    /// Takes the nearest number to a `DOUBLE`.
    public init(fieldValue: FieldValue) throws(FieldError) {
        self = Float(try Double(fieldValue: fieldValue))
    }
    /// The `DOUBLE`, unless it is infinite or not a number.
    public func savedFieldValue() throws(FieldError) -> FieldValue { try Double(self).savedFieldValue() }
    /// Reads the nearest number to a `DOUBLE`.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Float? {
        try Double.readField(from: &reader).map { Float($0) }
    }
}

// MARK: Points in time and bytes

extension Date: FieldConvertible {
    /// `TIMESTAMP`
    public static var fieldType: FieldType { .timestamp }
    /// The `TIMESTAMP`, in whole milliseconds; fractions of a millisecond are lost.
    public var fieldValue: FieldValue { .timestamp(self) }
    /// Takes a `TIMESTAMP`.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let value = fieldValue.timestampValue else { throw .expected(.timestamp, found: fieldValue) }
        self = value
    }
    /// Reads a `TIMESTAMP`.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Date? {
        try reader.value(FieldValue.fastDate, orFrom: { $0.date() })
    }
}

extension Data: FieldConvertible {
    /// `BYTES`
    public static var fieldType: FieldType { .bytes }
    /// The `BYTES`.
    public var fieldValue: FieldValue { .bytes(self) }
    /// Takes `BYTES`.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let value = fieldValue.bytesValue else { throw .expected(.bytes, found: fieldValue) }
        self = value
    }
    /// Reads `BYTES`.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Data? {
        try reader.value(FieldValue.fastBytes)
    }
}

// MARK: Locations, references and assets

extension Location: FieldElement {
    /// `LOCATION`
    public static var fieldType: FieldType { .location }
    /// The `LOCATION`.
    public var fieldValue: FieldValue { .location(self) }
    /// Takes a `LOCATION`.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let value = fieldValue.locationValue else { throw .expected(.location, found: fieldValue) }
        self = value
    }
    /// Reads a `LOCATION`.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Location? {
        try reader.value(FieldValue.fastLocation)
    }
}

extension Reference: FieldConvertible {
    /// `REFERENCE`
    public static var fieldType: FieldType { .reference }
    /// The `REFERENCE`.
    public var fieldValue: FieldValue { .reference(self) }
    /// Takes a `REFERENCE`.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let value = fieldValue.referenceValue else { throw .expected(.reference, found: fieldValue) }
        self = value
    }
    /// Reads a `REFERENCE`.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Reference? {
        try reader.value(FieldValue.fastReference)
    }
}

extension Asset: FieldElement {
    /// `ASSETID`
    public static var fieldType: FieldType { .asset }
    /// The `ASSETID`.
    public var fieldValue: FieldValue { .asset(self) }
    /// Takes an `ASSETID`.
    public init(fieldValue: FieldValue) throws(FieldError) {
        guard let value = fieldValue.assetValue else { throw .expected(.asset, found: fieldValue) }
        self = value
    }
    /// Reads an `ASSETID`.
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> Asset? {
        try reader.value(FieldValue.fastAsset)
    }
}
