/// A condition on a field of a typed record, which ``Filter`` takes.
///
/// It is the result of `==`, `!=`, `<`, `<=`, `>` and `>=` between a key path and a value.
public struct FieldCondition<Model: CloudKitRecord>: Hashable, Sendable {
    var queryFilter: QueryFilter

    init<Value>(_ field: RecordField<Value>, _ comparator: QueryFilter.Comparator, _ value: FieldValue) {
        switch field.name.kind {
        case .own(let name): queryFilter = QueryFilter(name, comparator, value)
        case .system(let name): queryFilter = QueryFilter(system: name, comparator, value)
        }
    }
}

/// A key path to a field of a typed record, as queries take it: `\.age`.
public typealias FieldPath<Model: CloudKitRecord, Value: FieldStorable> = KeyPath<Model.Fields, RecordField<Value>>

extension Filter where Model: CloudKitRecord {
    /// Compares a field with a value.
    ///
    /// ```swift
    /// Filter(\.age > 18)
    /// // {"fieldName":"age","comparator":"GREATER_THAN","fieldValue":{"value":18,"type":"INT64"}}
    /// Filter(\.createdTimestamp >= yesterday)
    /// // {"systemFieldName":"createdTimestamp","comparator":"GREATER_THAN_OR_EQUALS",
    /// //  "fieldValue":{"value":1767225600000,"type":"TIMESTAMP"}}
    /// ```
    ///
    /// The field needs the index QUERYABLE in the schema, or the query fails with
    /// ``CloudKitError/Code-swift.struct/badRequest``. An optional field is compared with a value. A query cannot ask
    /// for records where a field has no value.
    ///
    /// - Parameter condition: A key path to a field, an operator (`==`, `!=`, `<`, `<=`, `>`, `>=`), and a value of its type.
    public init(_ condition: FieldCondition<Model>) {
        self.init(condition.queryFilter)
    }

    /// The field is one of the values, `IN`.
    ///
    /// - Parameters:
    ///   - field: A key path to a field.
    ///   - values: The values.
    public init<Value: FieldConvertible>(_ field: FieldPath<Model, Value>, in values: [Value]) {
        self.init(FieldCondition(Model.fields[keyPath: field], .in, values.fieldValue))
    }

    /// The field is not one of the values, `NOT_IN`.
    ///
    /// - Parameters:
    ///   - field: A key path to a field.
    ///   - values: The values.
    public init<Value: FieldConvertible>(_ field: FieldPath<Model, Value>, notIn values: [Value]) {
        self.init(FieldCondition(Model.fields[keyPath: field], .notIn, values.fieldValue))
    }

    /// The field refers to one of the records with these names, `IN`.
    ///
    /// ```swift
    /// Filter(\.recordName, in: ["a", "b"])
    /// // {"systemFieldName":"recordName","comparator":"IN",
    /// //  "fieldValue":{"value":[{"recordName":"a"},{"recordName":"b"}],"type":"REFERENCE_LIST"}}
    /// ```
    ///
    /// - Parameters:
    ///   - field: A key path to a reference, or to the name of the record or of a user.
    ///   - recordNames: The names.
    public init(_ field: FieldPath<Model, Reference>, in recordNames: [String]) {
        self.init(field, in: recordNames.map { Reference(recordName: $0) })
    }

    /// The field refers to none of the records with these names, `NOT_IN`.
    ///
    /// - Parameters:
    ///   - field: A key path to a reference, or to the name of the record or of a user.
    ///   - recordNames: The names.
    public init(_ field: FieldPath<Model, Reference>, notIn recordNames: [String]) {
        self.init(field, notIn: recordNames.map { Reference(recordName: $0) })
    }

    /// The text begins with the prefix, `BEGINS_WITH`.
    ///
    /// - Parameters:
    ///   - field: A key path to a string.
    ///   - prefix: The prefix.
    public init(_ field: FieldPath<Model, String>, beginsWith prefix: String) {
        self.init(FieldCondition(Model.fields[keyPath: field], .beginsWith, .string(prefix)))
    }

    /// The text does not begin with the prefix, `NOT_BEGINS_WITH`.
    ///
    /// - Parameters:
    ///   - field: A key path to a string.
    ///   - prefix: The prefix.
    public init(_ field: FieldPath<Model, String>, doesNotBeginWith prefix: String) {
        self.init(FieldCondition(Model.fields[keyPath: field], .notBeginsWith, .string(prefix)))
    }

    /// The text has all the words, in any order, `CONTAINS_ALL_TOKENS`.
    ///
    /// - Parameters:
    ///   - field: A key path to a string whose field has the index SEARCHABLE.
    ///   - words: Words with white space between.
    public init(_ field: FieldPath<Model, String>, containsAllTokens words: String) {
        self.init(FieldCondition(Model.fields[keyPath: field], .containsAllTokens, .string(words)))
    }

    /// The text has at least one of the words, `CONTAINS_ANY_TOKENS`.
    ///
    /// - Parameters:
    ///   - field: A key path to a string whose field has the index SEARCHABLE.
    ///   - words: Words with white space between.
    public init(_ field: FieldPath<Model, String>, containsAnyToken words: String) {
        self.init(FieldCondition(Model.fields[keyPath: field], .containsAnyTokens, .string(words)))
    }

    /// The list has the value, `LIST_CONTAINS`.
    ///
    /// - Parameters:
    ///   - field: A key path to a list.
    ///   - value: One value.
    public init<Element: FieldConvertible>(_ field: FieldPath<Model, [Element]>, contains value: Element) {
        self.init(FieldCondition(Model.fields[keyPath: field], .listContains, value.fieldValue))
    }

    /// The list does not have the value, `NOT_LIST_CONTAINS`.
    ///
    /// - Parameters:
    ///   - field: A key path to a list.
    ///   - value: One value.
    public init<Element: FieldConvertible>(_ field: FieldPath<Model, [Element]>, doesNotContain value: Element) {
        self.init(FieldCondition(Model.fields[keyPath: field], .notListContains, value.fieldValue))
    }

    /// The list has at least one of the values, `LIST_CONTAINS_ANY`.
    ///
    /// - Parameters:
    ///   - field: A key path to a list.
    ///   - values: The values.
    public init<Element: FieldConvertible>(_ field: FieldPath<Model, [Element]>, containsAny values: [Element]) {
        self.init(FieldCondition(Model.fields[keyPath: field], .listContainsAny, values.fieldValue))
    }

    /// The list has none of the values, `NOT_LIST_CONTAINS_ANY`.
    ///
    /// - Parameters:
    ///   - field: A key path to a list.
    ///   - values: The values.
    public init<Element: FieldConvertible>(_ field: FieldPath<Model, [Element]>, doesNotContainAny values: [Element]) {
        self.init(FieldCondition(Model.fields[keyPath: field], .notListContainsAny, values.fieldValue))
    }

    /// The list has all the values, `LIST_CONTAINS_ALL`.
    ///
    /// - Parameters:
    ///   - field: A key path to a list.
    ///   - values: The values.
    public init<Element: FieldConvertible>(_ field: FieldPath<Model, [Element]>, containsAll values: [Element]) {
        self.init(FieldCondition(Model.fields[keyPath: field], .listContainsAll, values.fieldValue))
    }

    /// The list lacks at least one of the values, `NOT_LIST_CONTAINS_ALL`.
    ///
    /// - Parameters:
    ///   - field: A key path to a list.
    ///   - values: The values.
    public init<Element: FieldConvertible>(_ field: FieldPath<Model, [Element]>, doesNotContainAll values: [Element]) {
        self.init(FieldCondition(Model.fields[keyPath: field], .notListContainsAll, values.fieldValue))
    }

    /// A text of the list begins with the prefix, `LIST_MEMBER_BEGINS_WITH`.
    ///
    /// Apple's page names only the first text of the list.
    ///
    /// - Parameters:
    ///   - field: A key path to a list of strings.
    ///   - prefix: The prefix.
    public init(_ field: FieldPath<Model, [String]>, memberBeginsWith prefix: String) {
        self.init(FieldCondition(Model.fields[keyPath: field], .listMemberBeginsWith, .string(prefix)))
    }

    /// No text of the list begins with the prefix, `NOT_LIST_MEMBER_BEGINS_WITH`.
    ///
    /// Apple's page names only the first text of the list.
    ///
    /// - Parameters:
    ///   - field: A key path to a list of strings.
    ///   - prefix: The prefix.
    public init(_ field: FieldPath<Model, [String]>, noMemberBeginsWith prefix: String) {
        self.init(FieldCondition(Model.fields[keyPath: field], .notListMemberBeginsWith, .string(prefix)))
    }

    /// The location is at most a distance away from another location, `NEAR`.
    ///
    /// ```swift
    /// Filter(\.place, within: .metres(500), of: here)
    /// // {"fieldName":"place","comparator":"NEAR",
    /// //  "fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"distance":500.0}
    /// ```
    ///
    /// - Parameters:
    ///   - field: A key path to a location.
    ///   - distance: The largest distance.
    ///   - location: The other location.
    public init(_ field: FieldPath<Model, Location>, within distance: QueryDistance, of location: Location) {
        var condition = FieldCondition<Model>(Model.fields[keyPath: field], .near, .location(location))
        condition.queryFilter.distance = distance.metres
        self.init(condition)
    }
}

/// The largest distance of a filter by location.
public struct QueryDistance: Hashable, Sendable {
    /// The distance in metres.
    public var metres: Double

    /// A distance in metres.
    ///
    /// - Parameter metres: The number of metres.
    /// - Returns: The distance.
    public static func metres(_ metres: Double) -> QueryDistance { QueryDistance(metres: metres) }

    /// A distance in kilometres.
    ///
    /// - Parameter kilometres: The number of kilometres.
    /// - Returns: The distance.
    public static func kilometres(_ kilometres: Double) -> QueryDistance { QueryDistance(metres: kilometres * 1000) }
}

// MARK: Operators

/// The field is the value, `EQUALS`.
public func == <Model: CloudKitRecord, Value: FieldConvertible>(
    field: FieldPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> {
    FieldCondition(Model.fields[keyPath: field], .equals, value.fieldValue)
}

/// The field is not the value, `NOT_EQUALS`.
public func != <Model: CloudKitRecord, Value: FieldConvertible>(
    field: FieldPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> {
    FieldCondition(Model.fields[keyPath: field], .notEquals, value.fieldValue)
}

/// The field is less than the value, `LESS_THAN`.
public func < <Model: CloudKitRecord, Value: FieldConvertible & Comparable>(
    field: FieldPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> {
    FieldCondition(Model.fields[keyPath: field], .lessThan, value.fieldValue)
}

/// The field is less than or equal to the value, `LESS_THAN_OR_EQUALS`.
public func <= <Model: CloudKitRecord, Value: FieldConvertible & Comparable>(
    field: FieldPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> {
    FieldCondition(Model.fields[keyPath: field], .lessThanOrEquals, value.fieldValue)
}

/// The field is greater than the value, `GREATER_THAN`.
public func > <Model: CloudKitRecord, Value: FieldConvertible & Comparable>(
    field: FieldPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> {
    FieldCondition(Model.fields[keyPath: field], .greaterThan, value.fieldValue)
}

/// The field is greater than or equal to the value, `GREATER_THAN_OR_EQUALS`.
public func >= <Model: CloudKitRecord, Value: FieldConvertible & Comparable>(
    field: FieldPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> {
    FieldCondition(Model.fields[keyPath: field], .greaterThanOrEquals, value.fieldValue)
}

/// The field refers to the record of this name, `EQUALS`.
public func == <Model: CloudKitRecord>(field: FieldPath<Model, Reference>, recordName: String) -> FieldCondition<Model>
{
    FieldCondition(Model.fields[keyPath: field], .equals, .reference(Reference(recordName: recordName)))
}

/// The field does not refer to the record of this name, `NOT_EQUALS`.
public func != <Model: CloudKitRecord>(field: FieldPath<Model, Reference>, recordName: String) -> FieldCondition<Model>
{
    FieldCondition(Model.fields[keyPath: field], .notEquals, .reference(Reference(recordName: recordName)))
}

// MARK: Order

extension Sort where Model: CloudKitRecord {
    /// Sorts by a field.
    ///
    /// ```swift
    /// Sort(\.lastName)
    /// // {"fieldName":"lastName","ascending":true}
    /// ```
    ///
    /// - Parameters:
    ///   - field: A key path to a field; it needs the index SORTABLE in the schema.
    ///   - ascending: Whether small values come first.
    public init<Value: FieldConvertible>(_ field: FieldPath<Model, Value>, ascending: Bool = true) {
        switch Model.fields[keyPath: field].name.kind {
        case .own(let name): self.init(QuerySort(name, ascending: ascending))
        case .system(let name): self.init(QuerySort(system: name, ascending: ascending))
        }
    }

    /// Sorts by the distance of a field from a location.
    ///
    /// ```swift
    /// Sort(\.place, distanceFrom: here)
    /// // {"fieldName":"place","ascending":true,
    /// //  "relativeLocation":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"}}
    /// ```
    ///
    /// - Parameters:
    ///   - field: A key path to a location.
    ///   - location: The location to measure from.
    ///   - ascending: Whether the nearest records come first.
    public init(_ field: FieldPath<Model, Location>, distanceFrom location: Location, ascending: Bool = true) {
        self.init(QuerySort("\(Model.fields[keyPath: field].key)", distanceFrom: location, ascending: ascending))
    }
}
