/// One condition of a ``Query``. All conditions of a query must hold; the service has no "or".
///
/// ```swift
/// Filter("age", .greaterThan, 18)
/// // {"fieldName":"age","comparator":"GREATER_THAN","fieldValue":{"value":18,"type":"INT64"}}
/// ```
///
/// In a query there are shorter forms:
///
/// ```swift
/// Query(recordType: "User", filters: [.equals("status", "active"), .greaterThan(.createdTimestamp, .timestamp(yesterday))])
/// ```
///
/// Of typed records, key paths name the fields:
///
/// ```swift
/// Query<User> { Filter(\.status == .active) }
/// ```
///
/// The value must have the type of the field: the service does not compare a `DOUBLE` field with `18`, only with `18.0`.
/// The field needs an index in the schema, or the service answers ``CloudKitError/Code-swift.struct/badRequest``.
///
/// ## Topics
///
/// ### By key path, of typed records
/// - ``init(_:)-(FieldCondition<Model>)``
/// - ``init(_:in:)-(_,[Value])``
/// - ``init(_:in:)-(_,[String])``
/// - ``init(_:notIn:)-(_,[Value])``
/// - ``init(_:notIn:)-(_,[String])``
/// - ``init(_:beginsWith:)``
/// - ``init(_:doesNotBeginWith:)``
/// - ``init(_:containsAllTokens:)``
/// - ``init(_:containsAnyToken:)``
/// - ``init(_:contains:)``
/// - ``init(_:doesNotContain:)``
/// - ``init(_:containsAny:)``
/// - ``init(_:doesNotContainAny:)``
/// - ``init(_:containsAll:)``
/// - ``init(_:doesNotContainAll:)``
/// - ``init(_:memberBeginsWith:)``
/// - ``init(_:noMemberBeginsWith:)``
/// - ``init(_:within:of:)``
///
/// ### Any comparator
/// - ``init(_:_:_:)-(FieldName,_,_)``
/// - ``init(_:)-(QueryFilter)``
///
/// ### Equality and order
/// - ``equals(_:_:)``
/// - ``notEquals(_:_:)``
/// - ``lessThan(_:_:)``
/// - ``lessThanOrEquals(_:_:)``
/// - ``greaterThan(_:_:)``
/// - ``greaterThanOrEquals(_:_:)``
///
/// ### One of several
/// - ``in(_:_:)``
/// - ``notIn(_:_:)``
///
/// ### Text
/// - ``beginsWith(_:_:)``
/// - ``notBeginsWith(_:_:)``
/// - ``containsAllTokens(_:_:)``
/// - ``containsAnyTokens(_:_:)``
///
/// ### Lists
/// - ``listContains(_:_:)``
/// - ``notListContains(_:_:)``
/// - ``listContainsAny(_:_:)``
/// - ``notListContainsAny(_:_:)``
/// - ``listContainsAll(_:_:)``
/// - ``notListContainsAll(_:_:)``
/// - ``listMemberBeginsWith(_:_:)``
/// - ``notListMemberBeginsWith(_:_:)``
///
/// ### Places
/// - ``near(_:_:within:)``
public struct Filter<Model>: Hashable, Sendable {
    /// The condition as it goes on the wire.
    public var queryFilter: QueryFilter

    /// Makes a condition of one in the form of the wire.
    ///
    /// - Parameter queryFilter: The condition.
    public init(_ queryFilter: QueryFilter) {
        self.queryFilter = queryFilter
    }
}

extension Filter: CustomStringConvertible {
    /// The JSON that the condition becomes.
    public var description: String { printedJSON(queryFilter) }
}

extension Filter where Model == Record {
    /// Makes a condition with any comparator.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - comparator: How the field is compared.
    ///   - value: What it is compared with; a list for the comparators that take several values.
    public init(_ field: FieldName, _ comparator: QueryFilter.Comparator, _ value: FieldValue) {
        switch field.kind {
        case .own(let name): queryFilter = QueryFilter(name, comparator, value)
        case .system(let name): queryFilter = QueryFilter(system: name, comparator, value)
        }
    }

    /// Makes a condition with any comparator on a field whose name is in a variable.
    ///
    /// - Parameters:
    ///   - field: The field's name in the schema.
    ///   - comparator: How the field is compared.
    ///   - value: What it is compared with; a list for the comparators that take several values.
    @_disfavoredOverload
    public init(_ field: String, _ comparator: QueryFilter.Comparator, _ value: FieldValue) {
        self.init(FieldName(field), comparator, value)
    }

    /// The field is the value. Records without the field do not match.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - value: The value.
    /// - Returns: The condition.
    public static func equals(_ field: FieldName, _ value: FieldValue) -> Self { Self(field, .equals, value) }

    /// The field is not the value.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - value: The value.
    /// - Returns: The condition.
    public static func notEquals(_ field: FieldName, _ value: FieldValue) -> Self { Self(field, .notEquals, value) }

    /// The field is less than the value.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - value: The value.
    /// - Returns: The condition.
    public static func lessThan(_ field: FieldName, _ value: FieldValue) -> Self { Self(field, .lessThan, value) }

    /// The field is the value or less.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - value: The value.
    /// - Returns: The condition.
    public static func lessThanOrEquals(_ field: FieldName, _ value: FieldValue) -> Self {
        Self(field, .lessThanOrEquals, value)
    }

    /// The field is more than the value.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - value: The value.
    /// - Returns: The condition.
    public static func greaterThan(_ field: FieldName, _ value: FieldValue) -> Self { Self(field, .greaterThan, value) }

    /// The field is the value or more.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - value: The value.
    /// - Returns: The condition.
    public static func greaterThanOrEquals(_ field: FieldName, _ value: FieldValue) -> Self {
        Self(field, .greaterThanOrEquals, value)
    }

    /// The field is one of the values.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - values: A list, such as `.list(["draft", "done"])`.
    /// - Returns: The condition.
    public static func `in`(_ field: FieldName, _ values: FieldValue) -> Self { Self(field, .in, values) }

    /// The field is none of the values.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - values: A list, such as `.list(["draft", "done"])`.
    /// - Returns: The condition.
    public static func notIn(_ field: FieldName, _ values: FieldValue) -> Self { Self(field, .notIn, values) }

    /// The text begins with the prefix.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - prefix: The prefix.
    /// - Returns: The condition.
    public static func beginsWith(_ field: FieldName, _ prefix: String) -> Self {
        Self(field, .beginsWith, .string(prefix))
    }

    /// The text does not begin with the prefix.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - prefix: The prefix.
    /// - Returns: The condition.
    public static func notBeginsWith(_ field: FieldName, _ prefix: String) -> Self {
        Self(field, .notBeginsWith, .string(prefix))
    }

    /// The text has all the words, in any order.
    ///
    /// - Parameters:
    ///   - field: The field's name; it needs the index SEARCHABLE.
    ///   - words: Words with white space between.
    /// - Returns: The condition.
    public static func containsAllTokens(_ field: FieldName, _ words: String) -> Self {
        Self(field, .containsAllTokens, .string(words))
    }

    /// The text has at least one of the words.
    ///
    /// - Parameters:
    ///   - field: The field's name; it needs the index SEARCHABLE.
    ///   - words: Words with white space between.
    /// - Returns: The condition.
    public static func containsAnyTokens(_ field: FieldName, _ words: String) -> Self {
        Self(field, .containsAnyTokens, .string(words))
    }

    /// The list has the value.
    ///
    /// - Parameters:
    ///   - field: The name of a list field.
    ///   - value: One value.
    /// - Returns: The condition.
    public static func listContains(_ field: FieldName, _ value: FieldValue) -> Self {
        Self(field, .listContains, value)
    }

    /// The list does not have the value.
    ///
    /// - Parameters:
    ///   - field: The name of a list field.
    ///   - value: One value.
    /// - Returns: The condition.
    public static func notListContains(_ field: FieldName, _ value: FieldValue) -> Self {
        Self(field, .notListContains, value)
    }

    /// The list has at least one of the values.
    ///
    /// - Parameters:
    ///   - field: The name of a list field.
    ///   - values: A list, such as `.list(["red", "blue"])`.
    /// - Returns: The condition.
    public static func listContainsAny(_ field: FieldName, _ values: FieldValue) -> Self {
        Self(field, .listContainsAny, values)
    }

    /// The list has none of the values.
    ///
    /// - Parameters:
    ///   - field: The name of a list field.
    ///   - values: A list, such as `.list(["red", "blue"])`.
    /// - Returns: The condition.
    public static func notListContainsAny(_ field: FieldName, _ values: FieldValue) -> Self {
        Self(field, .notListContainsAny, values)
    }

    /// The list has all the values.
    ///
    /// - Parameters:
    ///   - field: The name of a list field.
    ///   - values: A list, such as `.list(["red", "blue"])`.
    /// - Returns: The condition.
    public static func listContainsAll(_ field: FieldName, _ values: FieldValue) -> Self {
        Self(field, .listContainsAll, values)
    }

    /// The list lacks at least one of the values.
    ///
    /// - Parameters:
    ///   - field: The name of a list field.
    ///   - values: A list, such as `.list(["red", "blue"])`.
    /// - Returns: The condition.
    public static func notListContainsAll(_ field: FieldName, _ values: FieldValue) -> Self {
        Self(field, .notListContainsAll, values)
    }

    /// A text of the list begins with the prefix. Apple's page speaks of the first text only.
    ///
    /// - Parameters:
    ///   - field: The name of a list field of strings.
    ///   - prefix: The prefix.
    /// - Returns: The condition.
    public static func listMemberBeginsWith(_ field: FieldName, _ prefix: String) -> Self {
        Self(field, .listMemberBeginsWith, .string(prefix))
    }

    /// No text of the list begins with the prefix. Apple's page speaks of the first text only.
    ///
    /// - Parameters:
    ///   - field: The name of a list field of strings.
    ///   - prefix: The prefix.
    /// - Returns: The condition.
    public static func notListMemberBeginsWith(_ field: FieldName, _ prefix: String) -> Self {
        Self(field, .notListMemberBeginsWith, .string(prefix))
    }

    /// The place is not farther from another than the distance.
    ///
    /// ```swift
    /// .near("place", Location(latitude: 59.9, longitude: 10.7), within: 5000)
    /// // {"fieldName":"place","comparator":"NEAR",
    /// //  "fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"distance":5000.0}
    /// ```
    ///
    /// - Parameters:
    ///   - field: The name of a field that holds a location.
    ///   - location: The other place.
    ///   - distance: Metres.
    /// - Returns: The condition.
    public static func near(_ field: FieldName, _ location: Location, within distance: Double) -> Self {
        var filter = Self(field, .near, .location(location))
        filter.queryFilter.distance = distance
        return filter
    }
}
