/// What a comparator asks of the value of a field, with the values that it compares with.
///
/// ``QuerySemantics/holds(_:of:)`` says when a test holds. A comparator that begins with `NOT_` has the test of the comparator that it
/// negates.
package enum FieldTest: Sendable {
    /// The value is this one.
    case equals(FieldValue)
    /// The value is one of these.
    case isAny(of: [FieldValue])
    /// The value is on one side of another.
    case isOrdered(Order, FieldValue)
    /// The text begins with this one.
    case beginsWith(String)
    /// A text of the list begins with this one.
    case memberBeginsWith(String)
    /// The list has the value.
    case contains(FieldValue)
    /// The list has all of the values, or any of them.
    case containsValues([FieldValue], all: Bool)
    /// The text has all of the words, or any of them.
    case hasWords(Set<String>, all: Bool)
    /// The location is not farther away than a number of metres.
    case isNear(Location, metres: Double)

    /// The side of a value on which smaller or greater values are.
    package enum Order: Sendable {
        case less, lessOrEqual, greater, greaterOrEqual

        /// Whether the values are smaller than the other value, or equal to it.
        package var isBelow: Bool { self == .less || self == .lessOrEqual }
        /// Whether a value that is equal to the other value is among them.
        package var isIncluded: Bool { self == .lessOrEqual || self == .greaterOrEqual }
    }
}

extension QuerySemantics {
    /// Whether a test holds.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - value: The value of a field. A record without one matches no test.
    /// - Returns: Whether the value has what the test asks for. The caller negates it for a `NOT_` comparator.
    package func holds(_ test: FieldTest, of value: FieldValue) -> Bool {
        switch test {
        case .equals(let other):
            return Self.areEqual(other, value)
        case .isAny(let others):
            return others.contains { Self.areEqual($0, value) }
        case .isOrdered(let order, let bound):
            guard let value = OrderedValue(value), let bound = OrderedValue(bound) else { return false }
            if order.isIncluded, value == bound { return true }
            return order.isBelow ? value < bound : bound < value
        case .beginsWith(let prefix):
            return value.stringValue.map { begins($0, with: prefix) } ?? false
        case .memberBeginsWith(let prefix):
            let texts = value.stringListValue ?? []
            switch members {
            case .any: return texts.contains { begins($0, with: prefix) }
            case .first: return texts.first.map { begins($0, with: prefix) } ?? false
            }
        case .contains(let wanted):
            return (value.elements ?? []).contains { Self.areEqual($0, wanted) }
        case .containsValues(let wanted, let all):
            let elements = value.elements ?? []
            func isMember(_ wanted: FieldValue) -> Bool { elements.contains { Self.areEqual($0, wanted) } }
            return all ? wanted.allSatisfy(isMember) : wanted.contains(where: isMember)
        case .hasWords(let wanted, let all):
            return value.stringValue.map { Self.has(wanted, all: all, among: words($0)) } ?? false
        case .isNear(let center, let metres):
            return value.locationValue.map { Self.distance(from: center, to: $0) <= metres } ?? false
        }
    }
}

extension QueryFilter.Comparator.Known {
    /// What is to be known of each comparator, one row each.
    ///
    /// The names come from `OpenAPI/cloudkit.yaml`. The source for the types and the indexes is Apple's table "Filter
    /// comparators".
    private var row: Row {
        switch self {
        case .equals: Row(.value { .equals($0) }, of: .values(.equality), isOrdered: true)
        case .notEquals: Self.equals.row.negated
        case .in: Row(.values { .isAny(of: $0) }, of: .values(.equality), isOrdered: true)
        case .notIn: Self.in.row.negated
        case .lessThan: .order(.less)
        case .lessThanOrEquals: .order(.lessOrEqual)
        case .greaterThan: .order(.greater)
        case .greaterThanOrEquals: .order(.greaterOrEqual)
        case .beginsWith: Row(.text { .beginsWith($0) }, of: .type(.string), isOrdered: true)
        case .notBeginsWith: Self.beginsWith.row.negated
        case .near: Row(.area { .isNear($0, metres: $1) }, of: .type(.location), isOrdered: true)
        case .containsAllTokens: .words(all: true)
        case .containsAnyTokens: .words(all: false)
        case .listContains: Row(.value { .contains($0) }, of: .elements(.equality))
        case .notListContains: Self.listContains.row.negated
        case .listContainsAny: Row(.values { .containsValues($0, all: false) }, of: .elements(.equality))
        case .notListContainsAny: Self.listContainsAny.row.negated
        case .listContainsAll: Row(.values { .containsValues($0, all: true) }, of: .elements(.equality))
        case .notListContainsAll: Self.listContainsAll.row.negated
        case .listMemberBeginsWith: Row(.text { .memberBeginsWith($0) }, of: .type(.stringList))
        case .notListMemberBeginsWith: Self.listMemberBeginsWith.row.negated
        }
    }

    /// What a comparator compares with, and the test that results.
    package enum Operand {
        /// A value of the field's type, or of its elements.
        case value((FieldValue) -> FieldTest)
        /// A list of such values.
        case values(([FieldValue]) -> FieldTest)
        /// A text.
        case text((String) -> FieldTest)
        /// The words of a text: at least one.
        case words((Set<String>) -> FieldTest)
        /// A location on Earth, and a distance of 0 metres or more.
        case area((Location, Double) -> FieldTest)
    }

    /// The types of the fields that a comparator can compare.
    private enum Subjects {
        case values(FieldType.Features)
        case elements(FieldType.Features)
        case type(FieldType.Known)
    }

    private struct Row {
        let operand: Operand
        let subjects: Subjects
        let index: FieldIndexes
        var isOrdered: Bool
        var isNegated = false

        init(_ operand: Operand, of subjects: Subjects, needs index: FieldIndexes = .queryable, isOrdered: Bool = false)
        {
            self.operand = operand
            self.subjects = subjects
            self.index = index
            self.isOrdered = isOrdered
        }

        static func order(_ order: FieldTest.Order) -> Row {
            Row(.value { .isOrdered(order, $0) }, of: .values(.order), needs: .sortable, isOrdered: true)
        }

        static func words(all: Bool) -> Row {
            Row(.words { .hasWords($0, all: all) }, of: .type(.string), needs: .searchable)
        }

        /// The row of the comparator that holds where this one does not.
        var negated: Row {
            var row = self
            (row.isNegated, row.isOrdered) = (true, false)
            return row
        }
    }

    /// What the comparator compares with.
    package var operand: Operand { row.operand }

    /// Whether the comparator holds where its test does not.
    package var isNegated: Bool { row.isNegated }

    /// The index that the service asks of the field. Sources disagree about `SORTABLE`, for which `QUERYABLE` may be
    /// enough.
    package var index: FieldIndexes { row.index }

    /// Whether the matches are in one place, or a few, of an index of the field that is in the order of the values, or of
    /// the latitudes of locations.
    package var isFoundByOrderedIndex: Bool { row.isOrdered }

    /// Whether the comparator searches for words. Only such a filter may name no field, and then searches in all texts.
    package var findsWords: Bool { if case .words = row.operand { true } else { false } }

    /// Whether the comparator compares with a list of values.
    public var takesList: Bool { if case .values = row.operand { true } else { false } }

    /// Whether fields of a type have the comparator. Encrypted fields have none.
    package func fits(_ type: FieldType.Known) -> Bool {
        switch row.subjects {
        case .values(let features): type.features.isSuperset(of: features)
        case .elements(let features): type.element?.features.isSuperset(of: features) == true
        case .type(let subject): type == subject
        }
    }
}

extension QueryFilter.Comparator {
    /// The comparator of the protocol; `nil` for a comparator that this version does not know.
    public var known: Known? { Known(rawValue: rawValue) }

    /// Makes a comparator of the protocol.
    public init(_ known: Known) {
        rawValue = known.rawValue
    }
}
