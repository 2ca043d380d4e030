public import StreamingJSON

/// A query: the type, the conditions and the order of the records to find.
///
/// ```swift
/// RecordQuery(
///     recordType: "Note",
///     filters: [QueryFilter("title", .beginsWith, "He")],
///     sorts: [QuerySort("title")]
/// )
/// // {"recordType":"Note",
/// //  "filterBy":[{"fieldName":"title","comparator":"BEGINS_WITH","fieldValue":{"value":"He","type":"STRING"}}],
/// //  "sortBy":[{"fieldName":"title","ascending":true}]}
/// ```
///
/// All filters must hold; the service has no "or". Queried fields need an index: QUERYABLE for filters, SORTABLE for
/// sorts, SEARCHABLE for tokens; a query without filters needs `recordName` QUERYABLE.
public struct RecordQuery: Hashable, Sendable {
    /// The type of the records.
    public var recordType: String
    /// The conditions, `filterBy`. A record has to meet all of them.
    public var filters: [QueryFilter]
    /// The order of the records, `sortBy`: by the first sort key, then by the second, and so on.
    public var sorts: [QuerySort]
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var form = ExcludedFromEquality(Form())

    private struct Form: Sendable {
        var isSingleFilter = false
        var hasFilters = false
        var hasSorts = false
    }

    /// Makes a query.
    public init(recordType: String, filters: [QueryFilter] = [], sorts: [QuerySort] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }
}

extension RecordQuery: JSONBackedCodable {
    private enum Key: String, NounKey { case recordType, filterBy, sortBy }
    private static let keys = NounKeys<Key>()

    /// Reads a query. `filterBy` may be one dictionary instead of a list, as Apple's own clients send it.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var recordType: String?
        self.init(recordType: "")
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .recordType: recordType = try otherKeys.read(key, from: &reader)
            case .filterBy:
                if try reader.peekKind() == .object {
                    filters = [try reader.read()]
                    form.value.isSingleFilter = true
                } else if let read: [QueryFilter] = try otherKeys.read(key, from: &reader) {
                    filters = read
                    form.value.hasFilters = true
                }
            case .sortBy:
                if let read: [QuerySort] = try otherKeys.read(key, from: &reader) {
                    sorts = read
                    form.value.hasSorts = true
                }
            }
        }
        guard let recordType else {
            throw reader.error(.missingKey, "a query needs \"recordType\"")
        }
        self.recordType = recordType
    }

    /// Writes `{"recordType":…,"filterBy":[…],"sortBy":[…]}`; empty lists are left out.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("recordType")
        writer.write(recordType)
        if form.value.isSingleFilter, filters.count == 1 {
            writer.key("filterBy")
            writer.write(filters[0])
        } else {
            otherKeys.write("filterBy", filters.isEmpty && !form.value.hasFilters ? nil : filters, to: &writer)
        }
        otherKeys.write("sortBy", sorts.isEmpty && !form.value.hasSorts ? nil : sorts, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}

extension QueryFilter {
    /// Makes a condition on a field of the app.
    ///
    /// ```swift
    /// QueryFilter("place", .near, .location(Location(latitude: 59.9, longitude: 10.7)), distance: 5000)
    /// // {"fieldName":"place","comparator":"NEAR",
    /// //  "fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"distance":5000.0}
    /// ```
    public init(_ fieldName: String, _ comparator: Comparator, _ fieldValue: FieldValue, distance: Double? = nil) {
        self.init(fieldName: fieldName, comparator: comparator, fieldValue: fieldValue, distance: distance)
    }

    /// Makes a condition on a system field, which every record has.
    public init(system systemFieldName: SystemFieldName, _ comparator: Comparator, _ fieldValue: FieldValue) {
        self.init(systemFieldName: systemFieldName, comparator: comparator, fieldValue: fieldValue)
    }
}

/// A sort key: one criterion for the order of a query's records.
///
/// ```swift
/// QuerySort(system: .createdTimestamp, ascending: false)
/// // {"systemFieldName":"createdTimestamp","ascending":false}
/// ```
public struct QuerySort: Hashable, Sendable {
    /// The name of a field of the app; `nil` for a system field.
    public var fieldName: String?
    /// The name of a system field; `nil` for a field of the app.
    public var systemFieldName: SystemFieldName?
    /// Whether small values come first. For the service, a missing `ascending` means `true`.
    public var ascending: Bool
    /// A `LOCATION`: records are sorted by the distance of the field from it.
    ///
    /// Apple's catalogue of samples sends the location alone, `{"latitude":…,"longitude":…}`. This form is read as well,
    /// and written as it was read.
    public var relativeLocation: FieldValue?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var hadNoAscending = ExcludedFromEquality(false)
    private var hadBareLocation = ExcludedFromEquality(false)

    /// Makes a sort key for a field of the app.
    public init(_ fieldName: String, ascending: Bool = true) {
        self.fieldName = fieldName
        self.ascending = ascending
    }

    /// Makes a sort key for a system field, which every record has.
    public init(system systemFieldName: SystemFieldName, ascending: Bool = true) {
        self.systemFieldName = systemFieldName
        self.ascending = ascending
    }

    /// Makes a sort key for the distance of a field from a location.
    public init(_ fieldName: String, distanceFrom location: Location, ascending: Bool = true) {
        self.fieldName = fieldName
        self.ascending = ascending
        self.relativeLocation = .location(location)
    }
}

extension QuerySort: JSONBackedCodable {
    private enum Key: String, NounKey { case fieldName, systemFieldName, ascending, relativeLocation }
    private static let keys = NounKeys<Key>()

    /// Reads a sort key.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var ascending: Bool?
        var fieldName: String?
        var systemFieldName: SystemFieldName?
        var relativeLocation: FieldValue?
        var isBareLocation = false
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .fieldName: fieldName = try otherKeys.read(key, from: &reader)
            case .systemFieldName: systemFieldName = try otherKeys.read(key, from: &reader)
            case .ascending: ascending = try otherKeys.read(key, from: &reader)
            case .relativeLocation:
                if try reader.isAtBareLocation() {
                    relativeLocation = .location(try reader.read())
                    isBareLocation = true
                } else {
                    relativeLocation = try otherKeys.read(key, from: &reader)
                }
            }
        }
        self.fieldName = fieldName
        self.systemFieldName = systemFieldName
        self.ascending = ascending ?? true
        self.relativeLocation = relativeLocation
        self.otherKeys = otherKeys
        hadNoAscending.value = ascending == nil
        hadBareLocation.value = isBareLocation
    }

    /// Writes `{"fieldName":…,"ascending":…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write("fieldName", fieldName, to: &writer)
        otherKeys.write("systemFieldName", systemFieldName, to: &writer)
        otherKeys.write("ascending", ascending && hadNoAscending.value ? nil : ascending, to: &writer)
        if hadBareLocation.value, case .location(let location)? = relativeLocation {
            otherKeys.write("relativeLocation", location, to: &writer)
        } else {
            otherKeys.write("relativeLocation", relativeLocation, to: &writer)
        }
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}

extension JSONReader {
    private static let locationKeys = JSONKeys("latitude", "value")

    /// Whether the reader is in front of a location, and not of a field with a location.
    ///
    /// The reader stays there.
    fileprivate mutating func isAtBareLocation() throws(JSONError) -> Bool {
        guard try peekKind() == .object else { return false }
        let start = position
        defer { rewind(to: start) }
        try beginObject()
        while let index = try nextKey(in: Self.locationKeys) {
            if index != JSONKeys.unknown { return index == 0 }
            try skipValue()
        }
        return false
    }
}
