/// A sort key: one part of the order of a ``Query``'s records.
///
/// ```swift
/// Sort("lastName")
/// // {"fieldName":"lastName","ascending":true}
/// Sort(.createdTimestamp, ascending: false)
/// // {"systemFieldName":"createdTimestamp","ascending":false}
/// ```
///
/// The field needs the index SORTABLE in the schema.
public struct Sort<Model>: Hashable, Sendable {
    /// The key as it is sent to the service.
    public var querySort: QuerySort

    /// Makes a key from the form that is sent to the service.
    ///
    /// - Parameter querySort: The key.
    public init(_ querySort: QuerySort) {
        self.querySort = querySort
    }
}

extension Sort: CustomStringConvertible {
    /// The JSON that the key becomes.
    public var description: String { printedJSON(querySort) }
}

extension Sort where Model == Record {
    /// Sorts by a field.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - ascending: Whether small values come first.
    public init(_ field: FieldName, ascending: Bool = true) {
        switch field.kind {
        case .own(let name): querySort = QuerySort(name, ascending: ascending)
        case .system(let name): querySort = QuerySort(system: name, ascending: ascending)
        }
    }

    /// Sorts by a field whose name is in a variable.
    ///
    /// - Parameters:
    ///   - field: The field's name in the schema.
    ///   - ascending: Whether small values come first.
    @_disfavoredOverload
    public init(_ field: String, ascending: Bool = true) {
        self.init(FieldName(field), ascending: ascending)
    }

    /// Sorts by the distance of a field from a location.
    ///
    /// - Parameters:
    ///   - field: The name of a field that holds a location.
    ///   - location: The location to measure from.
    ///   - ascending: Whether the nearest records come first.
    public init(_ field: String, distanceFrom location: Location, ascending: Bool = true) {
        querySort = QuerySort(field, distanceFrom: location, ascending: ascending)
    }
}
