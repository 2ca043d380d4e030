/// One condition of a ``Query``. All conditions of a query must hold; the service has no "or".
///
/// ```swift
/// Filter("age", .greaterThan, 18)
/// // {"fieldName":"age","comparator":"GREATER_THAN","fieldValue":{"value":18,"type":"INT64"}}
/// ```
///
/// For typed records, key paths name the fields:
///
/// ```swift
/// Query<User> { Filter(\.status == .active) }
/// ```
///
/// The value must have the type of the field: the service does not compare a `DOUBLE` field with `18`, only with
/// `18.0`. The field needs an index in the schema, or the query fails with
/// ``CloudKitError/Code-swift.struct/badRequest``.
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
/// - ``init(_:within:of:)-(FieldPath<Model,Location>,_,_)``
///
/// ### By name
/// - ``init(_:_:_:)-(FieldName,_,_)``
/// - ``init(_:within:of:)-(FieldName,_,_)``
/// - ``init(_:)-(QueryFilter)``
public struct Filter<Model>: Hashable, Sendable {
    /// The condition as it is sent to the service.
    public var queryFilter: QueryFilter

    /// Makes a condition from the form that is sent to the service.
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
    ///   - value: The value to compare it with; a list for the comparators that take several values.
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
    ///   - value: The value to compare it with; a list for the comparators that take several values.
    @_disfavoredOverload
    public init(_ field: String, _ comparator: QueryFilter.Comparator, _ value: FieldValue) {
        self.init(FieldName(field), comparator, value)
    }

    /// Finds records whose location is at most a distance away from another location.
    ///
    /// ```swift
    /// Filter("place", within: .metres(5000), of: Location(latitude: 59.9, longitude: 10.7))
    /// // {"fieldName":"place","comparator":"NEAR",
    /// //  "fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"distance":5000.0}
    /// ```
    ///
    /// - Parameters:
    ///   - field: The name of a field that holds a location.
    ///   - distance: The largest distance.
    ///   - location: The other location.
    public init(_ field: FieldName, within distance: QueryDistance, of location: Location) {
        self.init(field, .near, .location(location))
        queryFilter.distance = distance.metres
    }
}
