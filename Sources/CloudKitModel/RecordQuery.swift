public import StreamingJSON

/// Which records to find.
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
    /// What must hold of the records, `filterBy`.
    public var filters: [QueryFilter]
    /// The order of the records, `sortBy`: by the first, then by the second, and so on.
    public var sorts: [QuerySort]
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var form = WireNote(Form())

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
    private static let keys = JSONKeys("recordType", "filterBy", "sortBy")

    /// Reads a query. `filterBy` may be one dictionary in the place of a list, as Apple's own clients send it.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var recordType: String?
        self.init(recordType: "")
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: recordType = try otherKeys.read(key, from: &reader)
            case 1:
                if try reader.peekKind() == .object {
                    filters = [try reader.read()]
                    form.value.isSingleFilter = true
                } else if let read: [QueryFilter] = try otherKeys.read(key, from: &reader) {
                    filters = read
                    form.value.hasFilters = true
                }
            case 2:
                if let read: [QuerySort] = try otherKeys.read(key, from: &reader) {
                    sorts = read
                    form.value.hasSorts = true
                }
            default: try otherKeys.keep(from: &reader)
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
            otherKeys.write(1, "filterBy", filters.isEmpty && !form.value.hasFilters ? nil : filters, to: &writer)
        }
        otherKeys.write(2, "sortBy", sorts.isEmpty && !form.value.hasSorts ? nil : sorts, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// One condition of a query.
///
/// ```swift
/// QueryFilter("place", .near, .location(Location(latitude: 59.9, longitude: 10.7)), distance: 5000)
/// // {"fieldName":"place","comparator":"NEAR",
/// //  "fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"distance":5000.0}
/// ```
public struct QueryFilter: Hashable, Sendable {
    /// How a field is compared with a value. All 21 that CloudKit JS 2.6.4 knows; others are kept as they came.
    public struct Comparator: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the comparator spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `EQUALS`
        public static let equals = Comparator(.equals)
        /// `NOT_EQUALS`
        public static let notEquals = Comparator(.notEquals)
        /// `LESS_THAN`
        public static let lessThan = Comparator(.lessThan)
        /// `LESS_THAN_OR_EQUALS`
        public static let lessThanOrEquals = Comparator(.lessThanOrEquals)
        /// `GREATER_THAN`
        public static let greaterThan = Comparator(.greaterThan)
        /// `GREATER_THAN_OR_EQUALS`
        public static let greaterThanOrEquals = Comparator(.greaterThanOrEquals)
        /// `NEAR`: the place lies within ``QueryFilter/distance`` of the value.
        public static let near = Comparator(.near)
        /// `CONTAINS_ALL_TOKENS`: the text has all words of the value.
        public static let containsAllTokens = Comparator(.containsAllTokens)
        /// `CONTAINS_ANY_TOKENS`: the text has one of the words of the value.
        public static let containsAnyTokens = Comparator(.containsAnyTokens)
        /// `IN`: the field is one of the list.
        public static let `in` = Comparator(.in)
        /// `NOT_IN`: the field is none of the list.
        public static let notIn = Comparator(.notIn)
        /// `LIST_CONTAINS`: the list field has the value.
        public static let listContains = Comparator(.listContains)
        /// `NOT_LIST_CONTAINS`: the list field does not have the value.
        public static let notListContains = Comparator(.notListContains)
        /// `LIST_CONTAINS_ANY`: the list field has one of the values.
        public static let listContainsAny = Comparator(.listContainsAny)
        /// `NOT_LIST_CONTAINS_ANY`: the list field has none of the values.
        public static let notListContainsAny = Comparator(.notListContainsAny)
        /// `LIST_CONTAINS_ALL`: the list field has all the values.
        public static let listContainsAll = Comparator(.listContainsAll)
        /// `NOT_LIST_CONTAINS_ALL`: the list field lacks one of the values.
        public static let notListContainsAll = Comparator(.notListContainsAll)
        /// `BEGINS_WITH`: the string begins with the value.
        public static let beginsWith = Comparator(.beginsWith)
        /// `NOT_BEGINS_WITH`: the string does not begin with the value.
        public static let notBeginsWith = Comparator(.notBeginsWith)
        /// `LIST_MEMBER_BEGINS_WITH`: a string of the list begins with the value.
        public static let listMemberBeginsWith = Comparator(.listMemberBeginsWith)
        /// `NOT_LIST_MEMBER_BEGINS_WITH`: no string of the list begins with the value.
        public static let notListMemberBeginsWith = Comparator(.notListMemberBeginsWith)

        /// The 21 comparators of the protocol.
        public static let all = Known.allCases.map { Comparator($0) }

        /// The comparators of the protocol as an enumeration: a `switch` over them is complete.
        public enum Known: String, CaseIterable, Sendable {
            case equals = "EQUALS"
            case notEquals = "NOT_EQUALS"
            case lessThan = "LESS_THAN"
            case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
            case greaterThan = "GREATER_THAN"
            case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
            case near = "NEAR"
            case containsAllTokens = "CONTAINS_ALL_TOKENS"
            case containsAnyTokens = "CONTAINS_ANY_TOKENS"
            case `in` = "IN"
            case notIn = "NOT_IN"
            case listContains = "LIST_CONTAINS"
            case notListContains = "NOT_LIST_CONTAINS"
            case listContainsAny = "LIST_CONTAINS_ANY"
            case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
            case listContainsAll = "LIST_CONTAINS_ALL"
            case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
            case beginsWith = "BEGINS_WITH"
            case notBeginsWith = "NOT_BEGINS_WITH"
            case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
            case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"

            /// Whether the value is a list of the values to compare with.
            public var takesList: Bool {
                switch self {
                case .in, .notIn, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll: true
                case .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .near,
                    .containsAllTokens, .containsAnyTokens, .listContains, .notListContains, .beginsWith,
                    .notBeginsWith,
                    .listMemberBeginsWith, .notListMemberBeginsWith:
                    false
                }
            }
        }

        /// Which comparator of the protocol it is; `nil` for one that this version does not know.
        public var known: Known? { Known(rawValue: rawValue) }

        /// Makes a comparator of the protocol.
        public init(_ known: Known) {
            rawValue = known.rawValue
        }
    }

    /// How the field is compared.
    public var comparator: Comparator
    /// The field, for fields of the app's own.
    public var fieldName: String?
    /// The field, for fields that every record has.
    public var systemFieldName: SystemFieldName?
    /// What the field is compared with. `IN`, `NOT_IN` and the comparators of several values need a list.
    public var fieldValue: FieldValue
    /// Metres; for `NEAR` only.
    public var distance: Double?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a condition on a field of the app's own.
    public init(_ fieldName: String, _ comparator: Comparator, _ fieldValue: FieldValue, distance: Double? = nil) {
        self.comparator = comparator
        self.fieldName = fieldName
        self.fieldValue = fieldValue
        self.distance = distance
    }

    /// Makes a condition on a field that every record has.
    public init(system systemFieldName: SystemFieldName, _ comparator: Comparator, _ fieldValue: FieldValue) {
        self.comparator = comparator
        self.systemFieldName = systemFieldName
        self.fieldValue = fieldValue
    }
}

/// The fields that every record has, `systemFieldName` of filters and sorts.
public struct SystemFieldName: OpenString {
    /// The spelling on the wire.
    public var rawValue: String

    /// Makes the name spelled `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// `recordName`, compared with a reference
    public static let recordName: SystemFieldName = "recordName"
    /// `share`, compared with a reference
    public static let share: SystemFieldName = "share"
    /// `parent`, compared with a reference
    public static let parent: SystemFieldName = "parent"
    /// `createdUserRecordName`, compared with a reference
    public static let createdUserRecordName: SystemFieldName = "createdUserRecordName"
    /// `createdTimestamp`
    public static let createdTimestamp: SystemFieldName = "createdTimestamp"
    /// `modifiedTimestamp`
    public static let modifiedTimestamp: SystemFieldName = "modifiedTimestamp"
    /// `modifiedUserRecordName`, compared with a reference
    public static let modifiedUserRecordName: SystemFieldName = "modifiedUserRecordName"
}

extension QueryFilter: JSONBackedCodable {
    private static let keys = JSONKeys("fieldName", "systemFieldName", "comparator", "fieldValue", "distance")

    /// Reads a condition; `comparator` and `fieldValue` are needed.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var comparator: Comparator?
        var fieldValue: FieldValue?
        var fieldName: String?
        var systemFieldName: SystemFieldName?
        var distance: Double?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: fieldName = try otherKeys.read(key, from: &reader)
            case 1: systemFieldName = try otherKeys.read(key, from: &reader)
            case 2: comparator = try otherKeys.read(key, from: &reader)
            case 3: fieldValue = try otherKeys.read(key, from: &reader)
            case 4: distance = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
        guard let comparator, let fieldValue else {
            throw reader.error(.missingKey, "a filter needs \"comparator\" and \"fieldValue\"")
        }
        self.comparator = comparator
        self.fieldName = fieldName
        self.systemFieldName = systemFieldName
        self.fieldValue = fieldValue
        self.distance = distance
        self.otherKeys = otherKeys
    }

    /// Writes `{"fieldName":…,"comparator":…,"fieldValue":{…}}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "fieldName", fieldName, to: &writer)
        otherKeys.write(1, "systemFieldName", systemFieldName, to: &writer)
        writer.key("comparator")
        writer.write(comparator.rawValue)
        writer.key("fieldValue")
        fieldValue.write(json: &writer)
        otherKeys.write(4, "distance", distance, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// One key of the order of a query's records.
///
/// ```swift
/// QuerySort(system: .createdTimestamp, ascending: false)
/// // {"systemFieldName":"createdTimestamp","ascending":false}
/// ```
public struct QuerySort: Hashable, Sendable {
    /// The field, for fields of the app's own.
    public var fieldName: String?
    /// The field, for fields that every record has.
    public var systemFieldName: SystemFieldName?
    /// Whether small values come first; the service takes an absent `ascending` for `true`.
    public var ascending: Bool
    /// The place to sort by distance from, a field value that holds a location.
    public var relativeLocation: FieldValue?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var hadNoAscending = WireNote(false)

    /// Makes a sort key of a field of the app's own.
    public init(_ fieldName: String, ascending: Bool = true) {
        self.fieldName = fieldName
        self.ascending = ascending
    }

    /// Makes a sort key of a field that every record has.
    public init(system systemFieldName: SystemFieldName, ascending: Bool = true) {
        self.systemFieldName = systemFieldName
        self.ascending = ascending
    }

    /// Makes a sort key of the distance of a field from a place.
    public init(_ fieldName: String, distanceFrom location: Location, ascending: Bool = true) {
        self.fieldName = fieldName
        self.ascending = ascending
        self.relativeLocation = .location(location)
    }
}

extension QuerySort: JSONBackedCodable {
    private static let keys = JSONKeys("fieldName", "systemFieldName", "ascending", "relativeLocation")

    /// Reads a sort key.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var ascending: Bool?
        var fieldName: String?
        var systemFieldName: SystemFieldName?
        var relativeLocation: FieldValue?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: fieldName = try otherKeys.read(key, from: &reader)
            case 1: systemFieldName = try otherKeys.read(key, from: &reader)
            case 2: ascending = try otherKeys.read(key, from: &reader)
            case 3: relativeLocation = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
        self.fieldName = fieldName
        self.systemFieldName = systemFieldName
        self.ascending = ascending ?? true
        self.relativeLocation = relativeLocation
        self.otherKeys = otherKeys
        hadNoAscending.value = ascending == nil
    }

    /// Writes `{"fieldName":…,"ascending":…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "fieldName", fieldName, to: &writer)
        otherKeys.write(1, "systemFieldName", systemFieldName, to: &writer)
        otherKeys.write(2, "ascending", ascending && hadNoAscending.value ? nil : ascending, to: &writer)
        otherKeys.write(3, "relativeLocation", relativeLocation, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}
