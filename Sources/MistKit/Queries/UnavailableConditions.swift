// Mistakes that people make in queries. Each mistake has an unavailable overload, so that the compiler's error says
// what to write instead. Without a fitting overload, the error would be that the type of the key path cannot be
// inferred. `Scripts/check-diagnostics` compiles each mistake and compares the errors. Overloads that fit more than one
// mistake are disfavored. The operators take any value that is compared with a field. So each mistake has one
// declaration, at the filter, instead of one for each of the six operators.

/// The type of a key path with a name that is not a field's, so that the compiler's error is about the name.
public struct NoSuchField: Sendable {}

extension RecordFieldSet {
    /// There is no such field.
    public subscript(dynamicMember name: String) -> NoSuchField { NoSuchField() }
}

/// The result of an operator between a field and a value that queries cannot compare. No ``Filter`` takes this type;
/// each unavailable initialiser says why.
public struct ImpossibleCondition<Model: CloudKitRecord, Field, Value> {}

// MARK: Comparisons

/// A comparison that queries do not have.
public func == <Model: CloudKitRecord, Field, Value>(
    field: KeyPath<Model.Fields, Field>,
    value: Value
) -> ImpossibleCondition<Model, Field, Value> { .init() }

/// A comparison that queries do not have.
public func != <Model: CloudKitRecord, Field, Value>(
    field: KeyPath<Model.Fields, Field>,
    value: Value
) -> ImpossibleCondition<Model, Field, Value> { .init() }

/// A comparison that queries do not have.
public func < <Model: CloudKitRecord, Field, Value>(
    field: KeyPath<Model.Fields, Field>,
    value: Value
) -> ImpossibleCondition<Model, Field, Value> { .init() }

/// A comparison that queries do not have.
public func <= <Model: CloudKitRecord, Field, Value>(
    field: KeyPath<Model.Fields, Field>,
    value: Value
) -> ImpossibleCondition<Model, Field, Value> { .init() }

/// A comparison that queries do not have.
public func > <Model: CloudKitRecord, Field, Value>(
    field: KeyPath<Model.Fields, Field>,
    value: Value
) -> ImpossibleCondition<Model, Field, Value> { .init() }

/// A comparison that queries do not have.
public func >= <Model: CloudKitRecord, Field, Value>(
    field: KeyPath<Model.Fields, Field>,
    value: Value
) -> ImpossibleCondition<Model, Field, Value> { .init() }

/// A property of the model, or a part of one, cannot be compared.
@available(*, unavailable, message: "A condition compares a whole field, by its name alone: Filter(\\.title == \"a\").")
@_disfavoredOverload
public func == <Model: CloudKitRecord, Value>(
    field: KeyPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> { noCondition() }

/// A property of the model, or a part of one, cannot be compared.
@available(*, unavailable, message: "A condition compares a whole field, by its name alone: Filter(\\.title == \"a\").")
@_disfavoredOverload
public func != <Model: CloudKitRecord, Value>(
    field: KeyPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> { noCondition() }

/// A property of the model, or a part of one, cannot be compared.
@available(*, unavailable, message: "A condition compares a whole field, by its name alone: Filter(\\.title == \"a\").")
@_disfavoredOverload
public func < <Model: CloudKitRecord, Value>(
    field: KeyPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> { noCondition() }

/// A property of the model, or a part of one, cannot be compared.
@available(*, unavailable, message: "A condition compares a whole field, by its name alone: Filter(\\.title == \"a\").")
@_disfavoredOverload
public func <= <Model: CloudKitRecord, Value>(
    field: KeyPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> { noCondition() }

/// A property of the model, or a part of one, cannot be compared.
@available(*, unavailable, message: "A condition compares a whole field, by its name alone: Filter(\\.title == \"a\").")
@_disfavoredOverload
public func > <Model: CloudKitRecord, Value>(
    field: KeyPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> { noCondition() }

/// A property of the model, or a part of one, cannot be compared.
@available(*, unavailable, message: "A condition compares a whole field, by its name alone: Filter(\\.title == \"a\").")
@_disfavoredOverload
public func >= <Model: CloudKitRecord, Value>(
    field: KeyPath<Model, Value>,
    value: Value
) -> FieldCondition<Model> { noCondition() }

/// An absent value cannot be compared.
@available(*, unavailable, message: "CloudKit cannot ask whether a field has a value; keep that in a field of its own.")
public func == <Model: CloudKitRecord, Value: FieldStorable>(
    field: FieldPath<Model, Value>,
    value: _OptionalNilComparisonType
) -> FieldCondition<Model> { noCondition() }

/// An absent value cannot be compared.
@available(*, unavailable, message: "CloudKit cannot ask whether a field has a value; keep that in a field of its own.")
public func != <Model: CloudKitRecord, Value: FieldStorable>(
    field: FieldPath<Model, Value>,
    value: _OptionalNilComparisonType
) -> FieldCondition<Model> { noCondition() }

/// The result of operators that cannot be called.
private func noCondition<Model: CloudKitRecord>() -> FieldCondition<Model> {
    FieldCondition(RecordField<Int>(""), .equals, .null)
}

extension Filter where Model: CloudKitRecord {
    /// A name that is not a field's cannot be compared.
    @available(*, unavailable, message: "There is no field of this name. It may be misspelt, computed or ignored.")
    public init<Value>(_ condition: ImpossibleCondition<Model, NoSuchField, Value>) { self.init(noCondition()) }

    /// Encrypted fields cannot be compared.
    @available(*, unavailable, message: "CloudKit cannot look into encrypted fields, so queries cannot compare them.")
    public init<Field, Value>(_ condition: ImpossibleCondition<Model, EncryptedRecordField<Field>, Value>) {
        self.init(noCondition())
    }

    /// Locations cannot be compared: no two measurements are the same.
    @available(
        *,
        unavailable,
        message: "Places are found by distance: Filter(\\.place, within: .metres(500), of: here)."
    )
    public init<Value>(_ condition: ImpossibleCondition<Model, RecordField<Location>, Value>) {
        self.init(noCondition())
    }

    /// Files cannot be compared.
    @available(
        *,
        unavailable,
        message: "CloudKit does not compare files; store an identifier of the file in a field of its own."
    )
    public init<Value>(_ condition: ImpossibleCondition<Model, RecordField<Asset>, Value>) { self.init(noCondition()) }

    /// Lists cannot be compared.
    @available(
        *,
        unavailable,
        message: "CloudKit does not compare lists; ask what one holds: Filter(\\.tags, contains: \"a\")."
    )
    public init<Element, Value>(_ condition: ImpossibleCondition<Model, RecordField<[Element]>, Value>) {
        self.init(noCondition())
    }

    /// JSON text cannot be compared.
    @available(
        *,
        unavailable,
        message: "CloudKit cannot look into JSON text; keep what queries compare in a field of its own."
    )
    public init<Stored, Value>(_ condition: ImpossibleCondition<Model, RecordField<JSONText<Stored>>, Value>) {
        self.init(noCondition())
    }

    /// A value of another type cannot be compared.
    @available(*, unavailable, message: "The field and the value have types that cannot be compared.")
    @_disfavoredOverload
    public init<Field, Value>(_ condition: ImpossibleCondition<Model, RecordField<Field>, Value>) {
        self.init(noCondition())
    }
}

// MARK: Joined conditions

/// Conditions cannot be joined by "or".
@available(
    *,
    unavailable,
    message: "CloudKit has no \"or\". For one field list the values: Filter(\\.age, in: [1, 2]); else send two queries."
)
public func || <Model: CloudKitRecord>(
    first: FieldCondition<Model>,
    second: FieldCondition<Model>
) -> FieldCondition<Model> { first }

/// Conditions cannot be joined by an operator.
@available(*, unavailable, message: "All conditions of a query must hold: write a Filter for each of them.")
public func && <Model: CloudKitRecord>(
    first: FieldCondition<Model>,
    second: FieldCondition<Model>
) -> FieldCondition<Model> { first }

/// Conditions cannot be joined by "or".
@available(
    *,
    unavailable,
    message: "CloudKit has no \"or\". For one field list the values: Filter(\\.age, in: [1, 2]); else send two queries."
)
public func || <Model>(first: Filter<Model>, second: Filter<Model>) -> Filter<Model> { first }

/// Conditions cannot be joined by an operator.
@available(*, unavailable, message: "All conditions of a query must hold: write a Filter for each of them.")
public func && <Model>(first: Filter<Model>, second: Filter<Model>) -> Filter<Model> { first }

/// A condition cannot be negated; each comparison has an opposite.
@available(*, unavailable, message: "Write the opposite comparison, such as != instead of ==.")
public prefix func ! <Model: CloudKitRecord>(condition: FieldCondition<Model>) -> FieldCondition<Model> {
    condition
}

// MARK: Filters and sorts

extension Filter where Model: CloudKitRecord {
    /// A field alone is not a condition.
    @available(*, unavailable, message: "A field alone is not a condition; compare it: Filter(\\.isActive == true).")
    public init<Value: FieldStorable>(_ field: FieldPath<Model, Value>) { self.init(noCondition()) }

    /// A name that is not a field's is not a condition.
    @available(*, unavailable, message: "There is no field of this name. It may be misspelt, computed or ignored.")
    public init(_ field: KeyPath<Model.Fields, NoSuchField>) { self.init(noCondition()) }

    /// The values of a list have the type of the field.
    @available(*, unavailable, message: "The values in the list have another type than the field.")
    @_disfavoredOverload
    public init<Field: FieldStorable, Value>(_ field: FieldPath<Model, Field>, in values: [Value]) {
        self.init(noCondition())
    }

    /// The values of a list have the type of the field.
    @available(*, unavailable, message: "The values in the list have another type than the field.")
    @_disfavoredOverload
    public init<Field: FieldStorable, Value>(_ field: FieldPath<Model, Field>, notIn values: [Value]) {
        self.init(noCondition())
    }

    /// A single value is not a list.
    @available(*, unavailable, message: "Give an array of values: Filter(\\.age, in: [1, 2]).")
    @_disfavoredOverload
    public init<Field: FieldStorable, Value>(_ field: FieldPath<Model, Field>, in value: Value) {
        self.init(noCondition())
    }

    /// A single value is not a list.
    @available(*, unavailable, message: "Give an array of values: Filter(\\.age, notIn: [1, 2]).")
    @_disfavoredOverload
    public init<Field: FieldStorable, Value>(_ field: FieldPath<Model, Field>, notIn value: Value) {
        self.init(noCondition())
    }

    /// The service does not run closures.
    @available(*, unavailable, message: "CloudKit compares fields and runs no closures; write Filter(\\.age > 18).")
    @_disfavoredOverload
    public init(_ predicate: (Model) -> Bool) { self.init(noCondition()) }
}

extension QueryBuilder where Model: CloudKitRecord {
    /// A condition must be in a filter.
    @available(*, unavailable, message: "Write the condition in a Filter: Filter(\\.age > 18).")
    public static func buildExpression(_ condition: FieldCondition<Model>) -> Parts { Parts() }
}

extension Query where Model: CloudKitRecord {
    /// The service does not run closures.
    @available(*, unavailable, message: "CloudKit compares fields and runs no closures; write Filter(\\.age > 18).")
    @_disfavoredOverload
    public init(_ predicate: (Model) -> Bool) { self.init() }
}

/// A direction of a sort, for unavailable overloads: the order of a ``Sort`` is a `Bool`.
public enum SortDirection: Sendable {
    /// Small values first.
    case ascending, forward
    /// Large values first.
    case descending, reverse
}

extension Sort where Model: CloudKitRecord {
    /// A query cannot sort by a name that is not a field's.
    @available(*, unavailable, message: "There is no field of this name. It may be misspelt, computed or ignored.")
    public init(_ field: KeyPath<Model.Fields, NoSuchField>, ascending: Bool = true) { self.init(QuerySort("")) }

    /// A query cannot sort by lists, files or JSON text, and by locations only with a distance.
    @available(
        *,
        unavailable,
        message: "CloudKit does not sort by lists, files or JSON; by places, Sort(\\.place, distanceFrom: here)."
    )
    @_disfavoredOverload
    public init<Value: FieldStorable>(_ field: FieldPath<Model, Value>, ascending: Bool = true) {
        self.init(QuerySort(""))
    }

    /// The order is a `Bool`.
    @available(*, unavailable, message: "The order is a Bool: Sort(\\.title, ascending: false).")
    public init<Value: FieldStorable>(_ field: FieldPath<Model, Value>, _ direction: SortDirection) {
        self.init(QuerySort(""))
    }

    /// The order is a `Bool`.
    @available(*, unavailable, message: "The order is a Bool: Sort(\\.title, ascending: false).")
    public init<Value: FieldStorable>(_ field: FieldPath<Model, Value>, order direction: SortDirection) {
        self.init(QuerySort(""))
    }
}
