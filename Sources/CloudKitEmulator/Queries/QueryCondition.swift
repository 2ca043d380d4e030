import CloudKitModel
import Foundation

/// A filter that was checked: a condition on records.
///
/// ``matches(_:)`` alone decides whether a record is in a query's result. The index only narrows down the records that
/// are looked at.
struct QueryCondition {
    typealias Comparator = QueryFilter.Comparator.Known

    private enum Test {
        case equals([FieldValue])
        case range(IndexValue, isBelow: Bool, isIncluded: Bool)
        case beginsWith(String)
        case near(Location, metres: Double)
        case containsTokens(Set<String>, all: Bool)
        /// The words of any of these fields together; `nil` means all fields, where no schema names the fields that can
        /// be searched.
        case anyFieldContainsTokens(Set<String>, all: Bool, fields: Set<String>?)
        case listContains([FieldValue], all: Bool)
        case listMemberBeginsWith(String)
    }

    /// The field; `nil` for the text search over all fields.
    let subject: QuerySubject?
    private let test: Test
    private let isNegated: Bool
    private let unsettled: EmulatorConfiguration.Unsettled

    /// Checks a filter against the rules for its comparator and its field's type.
    init(
        _ filter: QueryFilter,
        of type: Schema.RecordType,
        configuration: EmulatorConfiguration
    ) throws(EmulatorError) {
        unsettled = configuration.unsettled
        // Observed live for the type.
        guard let comparator = filter.comparator.known, filter.fieldValue.unusualType?.isKnown != false else {
            throw .badRequest("BadRequestException: Unexpected input")
        }
        isNegated = comparator.rawValue.hasPrefix("NOT_")
        let isTextSearch = comparator == .containsAllTokens || comparator == .containsAnyTokens
        if isTextSearch, filter.fieldName == nil, filter.systemFieldName == nil {
            subject = nil
            test = .anyFieldContainsTokens(
                try Self.tokens(filter.fieldValue),
                all: comparator == .containsAllTokens,
                fields: type.searchedFields
            )
            return
        }
        let subject = try QuerySubject(
            fieldName: filter.fieldName,
            systemFieldName: filter.systemFieldName,
            of: type
        )
        self.subject = subject
        guard subject.kind.has(comparator) else {
            // Observed live for encrypted fields.
            throw .badRequest(
                "Field '\(subject.name)' has a value type of \(subject.kind.rawValue) "
                    + "and cannot be queried using filter type \(comparator.rawValue)"
            )
        }
        try IndexRules.require(IndexRules.index(for: comparator, configuration.unsettled), of: subject, in: type)
        let value = Self.plain(filter.fieldValue)
        let limit = configuration.limits.valuesPerListFilter
        switch comparator {
        case .equals, .notEquals:
            test = .equals([try Self.scalar(value, subject.kind)])
        case .in, .notIn:
            // Observed live: without a list type the request is malformed, whatever the value.
            guard filter.fieldValue.type?.rawValue.hasSuffix("_LIST") == true else {
                throw .badRequest("BadRequestException: Unexpected input")
            }
            test = .equals(try Self.list(value, subject.kind, limit: limit))
        case .lessThan: test = try Self.range(value, subject.kind, isBelow: true, isIncluded: false)
        case .lessThanOrEquals: test = try Self.range(value, subject.kind, isBelow: true, isIncluded: true)
        case .greaterThan: test = try Self.range(value, subject.kind, isBelow: false, isIncluded: false)
        case .greaterThanOrEquals: test = try Self.range(value, subject.kind, isBelow: false, isIncluded: true)
        case .beginsWith, .notBeginsWith:
            test = .beginsWith(try Self.string(value))
        case .listMemberBeginsWith, .notListMemberBeginsWith:
            test = .listMemberBeginsWith(try Self.string(value))
        case .listContains, .notListContains:
            test = .listContains([try Self.scalar(value, FieldKind(subject.kind.element))], all: true)
        case .listContainsAny, .notListContainsAny:
            test = .listContains(try Self.list(value, FieldKind(subject.kind.element), limit: limit), all: false)
        case .listContainsAll, .notListContainsAll:
            test = .listContains(try Self.list(value, FieldKind(subject.kind.element), limit: limit), all: true)
        case .near:
            guard case .location(let location) = value, let metres = filter.distance, metres >= 0 else {
                throw .badRequest("NEAR needs a value of type LOCATION and a distance in metres")
            }
            guard location.isOnEarth else { throw .badRequest("Invalid value, expected type LOCATION.") }
            test = .near(location, metres: metres)
        case .containsAllTokens, .containsAnyTokens:
            test = .containsTokens(try Self.tokens(value), all: comparator == .containsAllTokens)
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

    private static func range(
        _ value: FieldValue,
        _ kind: FieldKind,
        isBelow: Bool,
        isIncluded: Bool
    ) throws(EmulatorError) -> Test {
        guard let bound = IndexValue.whole(try scalar(value, kind)) else {
            throw .badRequest("Invalid value, expected type \(kind.rawValue).")
        }
        return .range(bound, isBelow: isBelow, isIncluded: isIncluded)
    }

    private static func string(_ value: FieldValue) throws(EmulatorError) -> String {
        guard case .string(let text) = value else { throw .badRequest("Invalid value, expected type STRING.") }
        return text
    }

    private static func tokens(_ value: FieldValue) throws(EmulatorError) -> Set<String> {
        let tokens = textTokens(in: try string(plain(value)))
        guard !tokens.isEmpty else { throw .badRequest("BadRequestException: Unexpected input") }
        return tokens
    }
}

// MARK: - Matching

extension QueryCondition {
    /// Whether a record meets the condition.
    func matches(_ candidate: QueryCandidate) throws -> Bool {
        guard let subject else {
            guard case .anyFieldContainsTokens(let tokens, let all, let fields) = test else { return false }
            let words = try candidate.content().fields.reduce(into: Set<String>()) { words, field in
                guard fields?.contains(field.name) ?? true, case .string(let text) = field.value else { return }
                words.formUnion(textTokens(in: text))
            }
            return all ? words.isSuperset(of: tokens) : !words.isDisjoint(with: tokens)
        }
        guard let value = try subject.value(in: candidate) else {
            return isNegated && unsettled.negationsMatchMissingFields
        }
        return holds(of: value) != isNegated
    }

    private func holds(of value: FieldValue) -> Bool {
        switch test {
        case .equals(let values):
            return values.contains { Self.areEqual($0, value) }
        case .range(let bound, let isBelow, let isIncluded):
            guard let value = IndexValue.whole(value) else { return false }
            if isIncluded, value == bound { return true }
            return isBelow ? value < bound : bound < value
        case .beginsWith(let prefix):
            return value.stringValue.map { begins($0, with: prefix) } ?? false
        case .near(let center, let metres):
            return value.locationValue.map { distance(from: center, to: $0) <= metres } ?? false
        case .containsTokens(let tokens, let all):
            guard let words = value.stringValue.map(textTokens(in:)) else { return false }
            return all ? words.isSuperset(of: tokens) : !words.isDisjoint(with: tokens)
        case .anyFieldContainsTokens: return false
        case .listContains(let wanted, let all):
            let elements = value.elements ?? []
            func isMember(_ wanted: FieldValue) -> Bool { elements.contains { Self.areEqual($0, wanted) } }
            return all ? wanted.allSatisfy(isMember) : wanted.contains(where: isMember)
        case .listMemberBeginsWith(let prefix):
            let members = value.stringListValue ?? []
            switch unsettled.listMemberBeginsWith {
            case .anyMember: return members.contains { begins($0, with: prefix) }
            case .firstMember: return members.first.map { begins($0, with: prefix) } ?? false
            }
        }
    }

    private static func areEqual(_ left: FieldValue, _ right: FieldValue) -> Bool {
        if case .reference(let left) = left, case .reference(let right) = right {
            // The action is not compared, and the zones are compared only where both references name one.
            if let zone = left.zoneID?.zoneName, let other = right.zoneID?.zoneName, zone != other { return false }
            return left.recordName == right.recordName
        }
        guard let left = IndexValue.whole(left), let right = IndexValue.whole(right) else { return false }
        return left == right
    }

    private func begins(_ text: String, with prefix: String) -> Bool {
        if unsettled.beginsWithIgnoresCase {
            return text.lowercased().utf8.starts(with: prefix.lowercased().utf8)
        }
        return text.utf8.starts(with: prefix.utf8)
    }
}

// MARK: - Narrowing

extension QueryCondition {
    /// The rows of an index that can belong to matching records. Every match is among them.
    enum Narrowing {
        /// Records with one of these values in the field.
        case values(field: Int64, [IndexValue])
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
        let value: IndexValue
        let isIncluded: Bool

        /// Makes a bound. It always includes a cut value, because a cut value represents many longer values of records.
        init(_ value: IndexValue, isIncluded: Bool) {
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
        let (tokens, all, fields): (Set<String>, Bool, [Schema.Field])
        switch (test, subject) {
        case (.containsTokens(let wanted, let isAll), .field(_, let name, _)):
            (tokens, all, fields) = (wanted, isAll, type.fields[name].map { [$0] } ?? [])
        case (.anyFieldContainsTokens(let wanted, let isAll, let names), _):
            (tokens, all) = (wanted, isAll)
            fields = type.fields.values.filter { $0.hasWords && names?.contains($0.name) ?? true }
        default:
            return narrowing.map { [$0] } ?? []
        }
        let ids = fields.map(\.id).sorted()
        // Long words are rarer. The others are compared when the record is read, as are very many words.
        let words = Set(tokens.map(IndexValue.prefix)).sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
        if all { return words.prefix(8).map { .words(fields: ids, [$0]) } }
        return words.count <= 500 ? [.words(fields: ids, words)] : []
    }

    private var narrowing: Narrowing? {
        guard let subject else { return nil }
        switch (test, subject) {
        case (.equals(let values), .field(let id, _, _)):
            return .values(field: id, values.flatMap(IndexValue.values(of:)))
        case (.equals(let values), .recordName):
            return .names(Array(Set(values.compactMap(\.referenceValue?.recordName))))
        case (.range(let value, let isBelow, let isIncluded), _):
            let bound = Bound(value.cut, isIncluded: isIncluded)
            let (lower, upper) = isBelow ? (nil, bound) : (bound, nil)
            switch subject {
            case .field(let id, _, _): return .range(field: id, lower: lower, upper: upper)
            case .created: return .time(isCreation: true, lower: lower, upper: upper)
            case .modified: return .time(isCreation: false, lower: lower, upper: upper)
            default: return nil
            }
        case (.beginsWith(let prefix), .field(let id, _, _)) where !unsettled.beginsWithIgnoresCase:
            let text = IndexValue.prefix(prefix)
            return .range(
                field: id,
                lower: Bound(.text(text), isIncluded: true),
                upper: Self.successor(of: text).map { Bound(.text($0), isIncluded: false) }
            )
        case (.listContains(let values, let all), .field(let id, _, _)) where !values.isEmpty:
            return .values(field: id, (all ? [values[0]] : values).flatMap(IndexValue.values(of:)))
        case (.near(let center, let metres), .field(let id, _, _)):
            return box(of: id, around: center, metres: metres)
        default:
            return nil
        }
    }

    /// The first text after all texts that begin with `prefix`; `nil` where there is no such text.
    private static func successor(of prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            // The scalars skip the surrogates.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            if let scalar = Unicode.Scalar(next) {
                var text = String.UnicodeScalarView(scalars)
                text.append(scalar)
                return String(text)
            }
        }
        return nil
    }

    private func box(of field: Int64, around center: Location, metres: Double) -> Narrowing {
        // A little wider than needed, so that rounding leaves no record out.
        let angle = metres / earthRadius * 1.000_001 + 1e-9
        let degrees = angle * 180 / .pi
        let latitude = center.latitude - degrees...center.latitude + degrees
        var longitude: ClosedRange<Double>?
        let ratio = sin(min(angle, .pi / 2)) / cos(center.latitude * .pi / 180)
        if latitude.lowerBound > -90, latitude.upperBound < 90, ratio < 1 {
            let width = asin(ratio) * 180 / .pi
            if center.longitude - width > -180, center.longitude + width < 180 {
                longitude = center.longitude - width...center.longitude + width
            }
        }
        return .box(field: field, latitude: latitude, longitude: longitude)
    }
}

extension IndexValue {
    /// The whole value of a scalar, also where the index keeps only its beginning.
    static func whole(_ value: FieldValue) -> IndexValue? {
        switch value {
        case .string(let text): .text(text)
        case .bytes(let data): .bytes(Array(data))
        default: values(of: value).first
        }
    }

    /// The value as the index keeps it.
    var cut: IndexValue {
        switch self {
        case .text(let text): .text(Self.prefix(text))
        case .bytes(let bytes): .bytes(Array(bytes.prefix(Self.prefixLength)))
        default: self
        }
    }
}
