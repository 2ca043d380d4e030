import CloudKitModel
import Foundation
import SearchWords

/// A filter that was checked: a condition on records.
///
/// ``matches(_:)`` alone decides whether a record is in a query's result. The index only narrows down the records that
/// are looked at.
struct QueryCondition {
    /// The field; `nil` for the search for words in many fields.
    let subject: QuerySubject?
    /// The fields that a search without a subject looks in; `nil` means all fields, where no schema names the fields that
    /// can be searched.
    private let searchedFields: Set<String>?
    private let test: FieldTest
    private let isNegated: Bool
    private let unsettled: EmulatorConfiguration.Unsettled
    private let semantics: QuerySemantics

    /// Checks a filter against the rules for its comparator and its field's type.
    init(
        _ filter: QueryFilter,
        of type: Schema.RecordType,
        configuration: EmulatorConfiguration
    ) throws(EmulatorError) {
        unsettled = configuration.unsettled
        semantics = QuerySemantics(
            ignoresCaseOfPrefixes: unsettled.beginsWithIgnoresCase,
            members: unsettled.listMemberBeginsWith == .anyMember ? .any : .first,
            words: searchWords(in:)
        )
        // Observed live for the type.
        guard let comparator = filter.comparator.known, filter.fieldValue.unusualType?.isKnown != false else {
            throw .badRequest("BadRequestException: Unexpected input")
        }
        isNegated = comparator.isNegated
        if case .words(let makeTest) = comparator.operand, filter.fieldName == nil, filter.systemFieldName == nil {
            subject = nil
            searchedFields = type.searchedFields
            test = makeTest(try Self.words(Self.plain(filter.fieldValue)))
            return
        }
        let subject = try QuerySubject(
            fieldName: filter.fieldName,
            systemFieldName: filter.systemFieldName,
            of: type
        )
        self.subject = subject
        searchedFields = nil
        guard subject.kind.has(comparator) else {
            // Observed live for encrypted fields.
            throw .badRequest(
                "Field '\(subject.name)' has a value type of \(subject.kind.rawValue) "
                    + "and cannot be queried using filter type \(comparator.rawValue)"
            )
        }
        try IndexRules.require(IndexRules.index(for: comparator, configuration.unsettled), of: subject, in: type)
        let value = Self.plain(filter.fieldValue)
        // Values are compared with the elements of a list.
        let kind = subject.kind.isList ? FieldKind(subject.kind.element) : subject.kind
        switch comparator.operand {
        case .value(let makeTest): test = makeTest(try Self.scalar(value, kind))
        case .values(let makeTest):
            // Observed live for IN: without a list type the request is malformed, whatever the value.
            guard subject.kind.isList || filter.fieldValue.type?.rawValue.hasSuffix("_LIST") == true else {
                throw .badRequest("BadRequestException: Unexpected input")
            }
            test = makeTest(try Self.list(value, kind, limit: configuration.limits.valuesPerListFilter))
        case .text(let makeTest): test = makeTest(try Self.string(value))
        case .words(let makeTest): test = makeTest(try Self.words(value))
        case .area(let makeTest):
            guard case .location(let location) = value, let metres = filter.distance, metres >= 0 else {
                throw .badRequest("NEAR needs a value of type LOCATION and a distance in metres")
            }
            guard location.isOnEarth else { throw .badRequest("Invalid value, expected type LOCATION.") }
            test = makeTest(location, metres)
        }
    }
}

// MARK: - The value to compare with

extension QueryCondition {
    private static func plain(_ value: FieldValue) -> FieldValue {
        if case .verbatim(let verbatim) = value { verbatim.value.plain } else { value.plain }
    }

    /// A value that fits the field. An untagged whole number is an `INT64` and nothing else, as in records.
    private static func scalar(_ value: FieldValue, _ kind: FieldKind) throws(EmulatorError) -> FieldValue {
        if case .timestamp(let date) = value, Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) == nil {
            throw .badRequest("Invalid value, expected type TIMESTAMP.")
        }
        if FieldKind(of: value).map(kind.holds) == true { return value }
        throw .badRequest(
            kind.type == .reference
                ? "could not decode reference object" : "Invalid value, expected type \(kind.rawValue)."
        )
    }

    /// The elements, at most `limit`, of a list of a scalar type.
    private static func list(
        _ value: FieldValue,
        _ kind: FieldKind,
        limit: Int
    ) throws(EmulatorError) -> [FieldValue] {
        guard let elements = value.elements else { throw .badRequest("BadRequestException: Unexpected input") }
        guard elements.count <= limit else {
            throw .badRequest("a filter compares with at most \(limit) values, not \(elements.count)")
        }
        var converted: [FieldValue] = []
        for element in elements { converted.append(try scalar(element, kind)) }
        return converted
    }

    private static func string(_ value: FieldValue) throws(EmulatorError) -> String {
        guard case .string(let text) = value else { throw .badRequest("Invalid value, expected type STRING.") }
        return text
    }

    private static func words(_ value: FieldValue) throws(EmulatorError) -> Set<String> {
        let words = searchWords(in: try string(value))
        guard !words.isEmpty else { throw .badRequest("BadRequestException: Unexpected input") }
        return words
    }
}

// MARK: - Matching

extension QueryCondition {
    /// Whether a record meets the condition.
    func matches(_ candidate: QueryCandidate) throws -> Bool {
        guard let subject else {
            // The words of all searched fields together.
            guard case .hasWords(let wanted, let all) = test else { return false }
            let words = try candidate.content().fields.reduce(into: Set<String>()) { words, field in
                guard searchedFields?.contains(field.name) ?? true, case .string(let text) = field.value else { return }
                words.formUnion(searchWords(in: text))
            }
            return QuerySemantics.has(wanted, all: all, among: words)
        }
        guard let value = try subject.value(in: candidate) else {
            return isNegated && unsettled.negationsMatchMissingFields
        }
        return semantics.holds(test, of: value) != isNegated
    }
}

// MARK: - Narrowing

extension QueryCondition {
    /// The rows of an index that can belong to matching records. Every match is among them.
    enum Narrowing {
        /// Records with one of these values in the field.
        case values(field: Int64, [OrderedValue])
        /// Records with a value of the field between two bounds, or beyond one.
        case range(field: Int64, lower: Bound?, upper: Bound?)
        /// Records with one of these names.
        case names([String])
        /// Records with a location in the field between two latitudes, and maybe two longitudes.
        case box(field: Int64, latitude: ClosedRange<Double>, longitude: ClosedRange<Double>?)
        /// Records with any of these words in one of the fields. A long word is cut.
        case words(fields: [Int64], [String])
        /// Records created, or modified, between two times.
        case time(isCreation: Bool, lower: Bound?, upper: Bound?)
    }

    /// The end of a range of values.
    struct Bound {
        let value: OrderedValue
        let isIncluded: Bool

        /// Makes a bound. It always includes a cut value, because a cut value represents many longer values of records.
        init(_ value: OrderedValue, isIncluded: Bool) {
            self.value = value
            self.isIncluded = isIncluded || value.isCut
        }
    }

    /// How the indexes narrow down the records: a match is among the rows of each. Without any, all records must be
    /// looked at.
    ///
    /// - Parameter type: The type of the records.
    /// - Returns: The rows of each index.
    func narrowings(of type: Schema.RecordType) -> [Narrowing] {
        guard !isNegated else { return [] }
        guard case .hasWords(let words, let all) = test else { return narrowing.map { [$0] } ?? [] }
        let fields: [Schema.Field]
        if case .field(_, let name, _) = subject {
            fields = type.fields[name].map { [$0] } ?? []
        } else if subject == nil {
            fields = type.fields.values.filter { $0.hasWords && searchedFields?.contains($0.name) ?? true }
        } else {
            return []
        }
        let ids = fields.map(\.id).sorted()
        // Long words are rarer. The others are compared when the record is read, as are very many words.
        let prefixes = Set(words.map(OrderedValue.prefix)).sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
        if all { return prefixes.prefix(8).map { .words(fields: ids, [$0]) } }
        return prefixes.count <= 500 ? [.words(fields: ids, prefixes)] : []
    }

    private var narrowing: Narrowing? {
        guard let subject else { return nil }
        switch (test, subject) {
        case (.equals(let value), _): return Self.narrowing(to: [value], of: subject)
        case (.isAny(let values), _): return Self.narrowing(to: values, of: subject)
        case (.isOrdered(let order, let value), _):
            guard let value = OrderedValue(value) else { return nil }
            let bound = Bound(value.cut, isIncluded: order.isIncluded)
            let (lower, upper) = order.isBelow ? (nil, bound) : (bound, nil)
            switch subject {
            case .field(let id, _, _): return .range(field: id, lower: lower, upper: upper)
            case .system(.createTime): return .time(isCreation: true, lower: lower, upper: upper)
            case .system(.modTime): return .time(isCreation: false, lower: lower, upper: upper)
            default: return nil
            }
        case (.beginsWith(let prefix), .field(let id, _, _)) where !unsettled.beginsWithIgnoresCase:
            let text = OrderedValue.prefix(prefix)
            return .range(
                field: id,
                lower: Bound(.text(text), isIncluded: true),
                upper: QuerySemantics.successor(of: text).map { Bound(.text($0), isIncluded: false) }
            )
        case (.contains(let value), .field(let id, _, _)):
            return .values(field: id, OrderedValue.values(of: value))
        case (.containsValues(let values, let all), .field(let id, _, _)) where !values.isEmpty:
            return .values(field: id, (all ? [values[0]] : values).flatMap(OrderedValue.values(of:)))
        case (.isNear(let center, let metres), .field(let id, _, _)):
            let box = QuerySemantics.box(around: center, metres: metres)
            return .box(field: id, latitude: box.latitude, longitude: box.longitude)
        default:
            return nil
        }
    }

    private static func narrowing(to values: [FieldValue], of subject: QuerySubject) -> Narrowing? {
        switch subject {
        case .field(let id, _, _): .values(field: id, values.flatMap(OrderedValue.values(of:)))
        case .system(.recordID): .names(Array(Set(values.compactMap(\.referenceValue?.recordName))))
        default: nil
        }
    }
}

extension OrderedValue {
    /// The value as the index keeps it.
    var cut: OrderedValue {
        switch self {
        case .text(let text): .text(Self.prefix(text))
        case .bytes(let bytes): .bytes(Array(bytes.prefix(Self.prefixLength)))
        default: self
        }
    }
}
