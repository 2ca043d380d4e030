import CloudKitModel
import Foundation

/// A piece of SQL, and the values of its parameters in their order.
struct SQLFragment: Hashable {
    var sql: String
    var values: [ColumnValue] = []
}

/// A filter as SQL.
///
/// A record that lacks the field matches no filter, not even a negated one, because the SQL expression is null.
struct QueryCondition {
    /// An expression that is true for the records that match.
    let fragment: SQLFragment
    /// Whether an index of ``QueryIndexes`` finds these records.
    let usesIndex: Bool
    /// Whether these are the records of some names.
    let isByName: Bool

    /// The most values that one filter compares with: the same limit as in Apple's framework.
    private static let valuesPerFilter = 250

    /// Translates a filter, and checks it against the rules for its comparator and the type of its field.
    ///
    /// - Parameters:
    ///   - filter: The filter.
    ///   - table: The table of the record type.
    /// - Throws: A ``StoreError`` with ``StoreError/Code-swift.struct/query``: the field and the reason. A filter that
    ///   the service refuses with any indexes is refused here, too.
    init(_ filter: QueryFilter, in table: RecordTable) throws(StoreError) {
        let isTextSearch =
            filter.comparator.known == .containsAllTokens || filter.comparator.known == .containsAnyTokens
        guard isTextSearch, filter.fieldName == nil, filter.systemFieldName == nil else {
            let subject = try QuerySubject(
                fieldName: filter.fieldName,
                systemFieldName: filter.systemFieldName,
                in: table
            )
            do throws(Mismatch) {
                fragment = try Self.fragment(filter, subject)
            } catch {
                throw StoreError(.query, error.reason, recordType: table.recordType, fieldName: subject.name)
            }
            let isFoundByIndex = Self.isFoundByIndex(filter.comparator.known)
            isByName = isFoundByIndex && subject.sql == QuerySubject.recordName.sql
            usesIndex = isFoundByIndex && subject.isIndexed
            return
        }
        // The words of all texts together.
        let texts = table.fields.filter { $0.type == .string && !$0.schema.isEncrypted }
        let text = texts.map { "coalesce(\(table.name).\($0.column), '')" }.joined(separator: " || ' ' || ")
        do throws(Mismatch) {
            fragment = try Self.words(
                filter.fieldValue.plain,
                in: texts.isEmpty ? "''" : text,
                all: filter.comparator.known == .containsAllTokens
            )
        } catch {
            throw StoreError(.query, error.reason, recordType: table.recordType)
        }
        (isByName, usesIndex) = (false, false)
    }

    /// Why a filter does not fit its field.
    private struct Mismatch: Error {
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    private static func fragment(_ filter: QueryFilter, _ subject: QuerySubject) throws(Mismatch) -> SQLFragment {
        guard let comparator = filter.comparator.known else {
            throw Mismatch("The comparator \(filter.comparator.rawValue) is not known.")
        }
        guard !subject.isEncrypted else {
            throw Mismatch("The field is encrypted. The service cannot compare encrypted fields.")
        }
        guard comparator.fits(subject.type) else {
            throw Mismatch("A field of type \(subject.type.name) has no comparator \(comparator.rawValue).")
        }
        let (sql, type, value) = (subject.sql, subject.type, filter.fieldValue.plain)
        switch comparator {
        case .equals: return SQLFragment(sql: "\(sql) = ?", values: [try scalar(value, type)])
        case .notEquals: return SQLFragment(sql: "\(sql) <> ?", values: [try scalar(value, type)])
        case .in, .notIn: return one(of: try list(filter.fieldValue, type), sql, isNegated: comparator == .notIn)
        case .lessThan: return SQLFragment(sql: "\(sql) < ?", values: [try scalar(value, type)])
        case .lessThanOrEquals: return SQLFragment(sql: "\(sql) <= ?", values: [try scalar(value, type)])
        case .greaterThan: return SQLFragment(sql: "\(sql) > ?", values: [try scalar(value, type)])
        case .greaterThanOrEquals: return SQLFragment(sql: "\(sql) >= ?", values: [try scalar(value, type)])
        case .beginsWith, .notBeginsWith:
            return prefix(try text(value), sql, isNegated: comparator == .notBeginsWith)
        case .listMemberBeginsWith, .notListMemberBeginsWith:
            let isNegated = comparator == .notListMemberBeginsWith
            return SQLFragment(
                sql: "\(isNegated ? "NOT " : "")\(QueryFunctions.listHasPrefix)(\(sql), ?)",
                values: [.blob(Data(try text(value).utf8))]
            )
        case .listContains, .notListContains:
            let element = type.element ?? type
            return try contains([scalar(value, element)], subject, all: true, isNegated: comparator == .notListContains)
        case .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll:
            let wanted = try list(filter.fieldValue, type.element ?? type)
            let isAll = comparator == .listContainsAll || comparator == .notListContainsAll
            let isNegated = comparator == .notListContainsAny || comparator == .notListContainsAll
            return try contains(wanted, subject, all: isAll, isNegated: isNegated)
        case .near:
            guard case .location(let center) = value, isOnEarth(center) else {
                throw Mismatch("NEAR needs a location with a latitude and a longitude on Earth.")
            }
            guard let metres = filter.distance, metres >= 0 else {
                throw Mismatch("NEAR needs a distance of 0 metres or more.")
            }
            return near(center, metres: metres, subject)
        case .containsAllTokens, .containsAnyTokens:
            return try words(value, in: sql, all: comparator == .containsAllTokens)
        }
    }

    /// Whether an index of the field finds the records of a comparator.
    private static func isFoundByIndex(_ comparator: QueryFilter.Comparator.Known?) -> Bool {
        switch comparator {
        case .equals, .in, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .beginsWith, .near: true
        case .notEquals, .notIn, .notBeginsWith, .listMemberBeginsWith, .notListMemberBeginsWith, .listContains,
            .notListContains, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll,
            .containsAllTokens, .containsAnyTokens, nil:
            false
        }
    }
}

// MARK: - The value to compare with

extension QueryCondition {
    /// The value of a filter in the form of the field's column. Of a reference, only the record name counts.
    private static func scalar(_ value: FieldValue, _ type: FieldType.Known) throws(Mismatch) -> ColumnValue {
        if type == .reference, let reference = value.referenceValue { return .text(reference.recordName) }
        guard value.type == type.type else {
            throw Mismatch(
                "The filter compares a field of type \(type.name) with a value of "
                    + (value.type.map { "type \($0)." } ?? "no type.")
            )
        }
        do {
            return try ColumnValue(value, as: type, in: .default)
        } catch {
            throw Mismatch(error.description)
        }
    }

    /// The elements of a filter's list.
    private static func list(_ value: FieldValue, _ element: FieldType.Known) throws(Mismatch) -> [ColumnValue] {
        // The value must have the type of a list: the service accepts no other lists.
        guard value.type?.rawValue.hasSuffix("_LIST") == true, let elements = value.elements else {
            throw Mismatch("The comparator takes a list of values.")
        }
        guard elements.count <= valuesPerFilter else {
            throw Mismatch("A filter compares with at most \(valuesPerFilter) values, not \(elements.count).")
        }
        return try elements.map { (value) throws(Mismatch) -> ColumnValue in try scalar(value, element) }
    }

    private static func text(_ value: FieldValue) throws(Mismatch) -> String {
        guard let text = value.stringValue else { throw Mismatch("The comparator takes a text.") }
        return text
    }

    static func isOnEarth(_ location: Location) -> Bool {
        abs(location.latitude) <= 90 && abs(location.longitude) <= 180
    }
}

// MARK: - SQL

extension QueryCondition {
    /// The number of parameters is a power of two, so that few statements serve lists of all lengths.
    private static func one(of values: [ColumnValue], _ sql: String, isNegated: Bool) -> SQLFragment {
        guard let last = values.last else { return SQLFragment(sql: isNegated ? "\(sql) IS NOT NULL" : "0") }
        var count = 1
        while count < values.count { count *= 2 }
        let parameters = repeatElement("?", count: count).joined(separator: ", ")
        return SQLFragment(
            sql: "\(sql) \(isNegated ? "NOT " : "")IN (\(parameters))",
            values: values + repeatElement(last, count: count - values.count)
        )
    }

    /// A range, which an index can find: from the prefix to the first text after all that begin with it. SQLite
    /// compares texts by their bytes, and bytes of UTF-8 have the order of the Unicode scalars.
    private static func prefix(_ prefix: String, _ sql: String, isNegated: Bool) -> SQLFragment {
        guard let end = successor(of: prefix) else {
            return SQLFragment(sql: "\(sql) \(isNegated ? "<" : ">=") ?", values: [.text(prefix)])
        }
        return SQLFragment(
            sql: isNegated ? "(\(sql) < ? OR \(sql) >= ?)" : "\(sql) >= ? AND \(sql) < ?",
            values: [.text(prefix), .text(end)]
        )
    }

    /// The first text after all that begin with `prefix`; `nil` where there is none.
    static func successor(of prefix: String) -> String? {
        var scalars = prefix.unicodeScalars
        while let last = scalars.popLast() {
            guard last.value < 0x10FFFF else { continue }
            // There are no scalars between these two.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            scalars.append(contentsOf: Unicode.Scalar(next).map { [$0] } ?? [])
            return String(scalars)
        }
        return nil
    }

    private static func contains(
        _ wanted: [ColumnValue],
        _ list: QuerySubject,
        all isAll: Bool,
        isNegated: Bool
    ) throws(Mismatch) -> SQLFragment {
        let element = list.type.element ?? list.type
        do throws(ColumnError) {
            var values: [FieldValue] = []
            for value in wanted {
                if let value = try value.fieldValue(as: element) { values.append(value) }
            }
            let json = try ColumnValue(.list(values, of: element), as: list.type, in: .default)
            return SQLFragment(
                sql: "\(isNegated ? "NOT " : "")\(QueryFunctions.listContains)(\(list.sql), ?, ?, ?)",
                values: [json, .text(list.type.name), .integer(isAll ? 1 : 0)]
            )
        } catch {
            throw Mismatch(error.description)
        }
    }

    private static func near(_ center: Location, metres: Double, _ subject: QuerySubject) -> SQLFragment {
        var fragment = SQLFragment(
            sql: "\(QueryFunctions.distance)(\(subject.sql), ?, ?) <= ?",
            values: [.real(center.latitude), .real(center.longitude), .real(metres)]
        )
        if subject.isIndexed {
            // A little wider than needed, so that rounding leaves no record out.
            let degrees = (metres / QueryFunctions.earthRadius * 1.000_001 + 1e-9) * 180 / .pi
            fragment.sql = "\(QueryIndexes.latitude(of: subject.sql)) BETWEEN ? AND ? AND " + fragment.sql
            fragment.values.insert(
                contentsOf: [.real(center.latitude - degrees), .real(center.latitude + degrees)],
                at: 0
            )
        }
        return fragment
    }

    private static func words(_ value: FieldValue, in sql: String, all isAll: Bool) throws(Mismatch) -> SQLFragment {
        let words = QueryFunctions.words(of: try text(value))
        guard !words.isEmpty else { throw Mismatch("The text to search for has no letter and no digit.") }
        return SQLFragment(
            // The text is passed as bytes, because a function sees a text only up to its first NUL.
            sql: "\(QueryFunctions.hasWords)(CAST(\(sql) AS BLOB), ?, ?)",
            values: [.text(words.sorted().joined(separator: " ")), .integer(isAll ? 1 : 0)]
        )
    }
}
