import CloudKitModel

/// The order of a query's result: the sorts of the request, and finally the creation order, so that no two records have
/// the same position.
///
/// A record that lacks the value of a sort comes before all records that have it, or after them when the sort descends.
/// A record without a location counts as infinitely far.
struct QueryOrder {
    enum Key {
        case subject(QuerySubject)
        case distance(QuerySubject, from: Location)
        /// An encrypted field. Sorting by it is accepted and has no effect (observed live).
        case nothing
    }

    struct Sort {
        let key: Key
        let ascending: Bool
    }

    private(set) var sorts: [Sort]

    init(_ sorts: [Sort] = []) {
        self.sorts = sorts
    }

    /// Checks the sorts of a request against their fields' types.
    init(_ sorts: [QuerySort], of type: Schema.RecordType) throws(EmulatorError) {
        self.sorts = []
        for sort in sorts {
            let subject = try QuerySubject(
                fieldName: sort.fieldName,
                systemFieldName: sort.systemFieldName,
                of: type
            )
            let key = try Self.key(sort, subject)
            if case .nothing = key {} else { try IndexRules.require(.sortable, of: subject, in: type) }
            self.sorts.append(Sort(key: key, ascending: sort.ascending))
        }
    }

    private static func key(_ sort: QuerySort, _ subject: QuerySubject) throws(EmulatorError) -> Key {
        if let relativeLocation = sort.relativeLocation {
            guard let location = relativeLocation.locationValue, subject.kind == FieldKind(.location) else {
                throw .badRequest("relativeLocation needs a value and a field of type LOCATION")
            }
            guard location.isOnEarth else { throw .badRequest("Invalid value, expected type LOCATION.") }
            return .distance(subject, from: location)
        }
        if subject.kind.isEncrypted { return .nothing }
        guard subject.kind.isSortable else { throw .badRequest("Field '\(subject.name)' is not marked sortable") }
        return .subject(subject)
    }

    /// The position of a record in this order.
    func position(of candidate: QueryCandidate) throws -> QueryPosition {
        QueryPosition(
            keys: try sorts.map { sort in
                switch sort.key {
                case .subject(let subject):
                    try subject.value(in: candidate).flatMap { OrderedValue.values(of: $0).first }
                case .distance(let subject, let from):
                    .real(
                        try subject.value(in: candidate)?.locationValue.map {
                            QuerySemantics.distance(from: from, to: $0)
                        }
                            ?? .infinity
                    )
                case .nothing: nil
                }
            },
            record: candidate.row.id
        )
    }

    /// Whether one position comes before another.
    func precedes(_ left: QueryPosition, _ right: QueryPosition) -> Bool {
        for (index, sort) in sorts.enumerated() {
            switch (left.keys[index], right.keys[index]) {
            case (nil, nil): continue
            case (nil, _): return sort.ascending
            case (_, nil): return !sort.ascending
            case (let left?, let right?):
                if left == right { continue }
                return (left < right) == sort.ascending
            }
        }
        return isAscending ? left.record < right.record : left.record > right.record
    }

    /// Whether records that are equal by all sorts come in creation order; otherwise they come in reverse.
    var isAscending: Bool { sorts.first?.ascending ?? true }
}

/// A position in a query's result: between the record with these values and the next.
struct QueryPosition: Hashable {
    var keys: [OrderedValue?]
    var record: Int64
}
