import CloudKitModel
import Foundation
import SearchWords

/// A piece of SQL, and the values of its parameters in their order.
struct SQLFragment: Hashable {
    var sql: String
    var values: [ColumnValue] = []
}

/// A filter as SQL.
///
/// A record that lacks the field matches no filter, not even a negated one, because the SQL expression is null.
struct FilterSQL {
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
        let comparator = filter.comparator.known
        guard case .words(let makeTest)? = comparator?.operand, filter.fieldName == nil, filter.systemFieldName == nil
        else {
            let subject = try QueryColumn(
                fieldName: filter.fieldName,
                systemFieldName: filter.systemFieldName,
                in: table
            )
            do throws(Mismatch) {
                fragment = try Self.fragment(filter, subject)
            } catch {
                throw StoreError(.query, error.reason, recordType: table.recordType, fieldName: subject.name)
            }
            let isFoundByIndex = comparator?.isFoundByOrderedIndex == true
            isByName = isFoundByIndex && subject.sql == QueryColumn.recordName.sql
            usesIndex = isFoundByIndex && subject.isIndexed
            return
        }
        // The words of all texts together.
        let texts = table.fields.filter { $0.type == .string && !$0.isEncrypted }
        let text = texts.map { "coalesce(\(table.name).\($0.column), '')" }.joined(separator: " || ' ' || ")
        do throws(Mismatch) {
            let subject = QueryColumn(name: "", sql: texts.isEmpty ? "''" : text, type: .string)
            fragment = try Self.sql(of: makeTest(try Self.words(filter.fieldValue.plain)), subject, isNegated: false)
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

    private static func fragment(_ filter: QueryFilter, _ subject: QueryColumn) throws(Mismatch) -> SQLFragment {
        guard let comparator = filter.comparator.known else {
            throw Mismatch("The comparator \(filter.comparator.rawValue) is not known.")
        }
        guard !subject.isEncrypted else {
            throw Mismatch("The field is encrypted. The service cannot compare encrypted fields.")
        }
        guard comparator.fits(subject.type) else {
            throw Mismatch("A field of type \(subject.type.name) has no comparator \(comparator.rawValue).")
        }
        return try sql(of: try test(comparator, filter), subject, isNegated: comparator.isNegated)
    }

    /// The test of a filter. Whether its values have the type of the column is checked when they become SQL.
    private static func test(
        _ comparator: QueryFilter.Comparator.Known,
        _ filter: QueryFilter
    ) throws(Mismatch) -> FieldTest {
        let value = filter.fieldValue.plain
        switch comparator.operand {
        case .value(let makeTest): return makeTest(value)
        case .values(let makeTest): return makeTest(try list(filter.fieldValue))
        case .text(let makeTest): return makeTest(try text(value))
        case .words(let makeTest): return makeTest(try words(value))
        case .area(let makeTest):
            guard case .location(let center) = value, center.isOnEarth else {
                throw Mismatch("NEAR needs a location with a latitude and a longitude on Earth.")
            }
            guard let metres = filter.distance, metres >= 0 else {
                throw Mismatch("NEAR needs a distance of 0 metres or more.")
            }
            return makeTest(center, metres)
        }
    }
}

// MARK: - The value to compare with

extension FilterSQL {
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
    private static func list(_ value: FieldValue) throws(Mismatch) -> [FieldValue] {
        // The value must have the type of a list: the service accepts no other lists.
        guard value.type?.rawValue.hasSuffix("_LIST") == true, let elements = value.elements else {
            throw Mismatch("The comparator takes a list of values.")
        }
        guard elements.count <= valuesPerFilter else {
            throw Mismatch("A filter compares with at most \(valuesPerFilter) values, not \(elements.count).")
        }
        return elements
    }

    private static func scalars(_ values: [FieldValue], _ type: FieldType.Known) throws(Mismatch) -> [ColumnValue] {
        try values.map { (value) throws(Mismatch) -> ColumnValue in try scalar(value, type) }
    }

    private static func text(_ value: FieldValue) throws(Mismatch) -> String {
        guard let text = value.stringValue else { throw Mismatch("The comparator takes a text.") }
        return text
    }

    private static func words(_ value: FieldValue) throws(Mismatch) -> Set<String> {
        let words = searchWords(in: try text(value))
        guard !words.isEmpty else { throw Mismatch("The text to search for has no letter and no digit.") }
        return words
    }
}

// MARK: - SQL

extension FilterSQL {
    /// The SQL of a test, or of its negation.
    private static func sql(
        of test: FieldTest,
        _ subject: QueryColumn,
        isNegated: Bool
    ) throws(Mismatch) -> SQLFragment {
        let (sql, type) = (subject.sql, subject.type)
        let not = isNegated ? "NOT " : ""
        switch test {
        case .equals(let value):
            return SQLFragment(sql: "\(sql) \(isNegated ? "<>" : "=") ?", values: [try scalar(value, type)])
        case .isAny(let values): return one(of: try scalars(values, type), sql, isNegated: isNegated)
        case .isOrdered(let order, let value):
            let comparison = "\(sql) \(order.isBelow ? "<" : ">")\(order.isIncluded ? "=" : "") ?"
            return SQLFragment(
                sql: isNegated ? "NOT (\(comparison))" : comparison,
                values: [try scalar(value, type)]
            )
        case .beginsWith(let text): return prefix(text, sql, isNegated: isNegated)
        case .memberBeginsWith(let text):
            return SQLFragment(
                sql: "\(not)\(QueryFunctions.listHasPrefix)(\(sql), ?)",
                values: [.blob(Data(text.utf8))]
            )
        case .contains(let value): return try contains([value], subject, all: true, isNegated: isNegated)
        case .containsValues(let values, let all): return try contains(values, subject, all: all, isNegated: isNegated)
        case .hasWords(let words, let all):
            return SQLFragment(
                // The text is passed as bytes, because a function sees a text only up to its first NUL.
                sql: "\(not)\(QueryFunctions.hasWords)(CAST(\(sql) AS BLOB), ?, ?)",
                values: [.text(words.sorted().joined(separator: " ")), .integer(all ? 1 : 0)]
            )
        case .isNear(let center, let metres):
            return near(center, metres: metres, subject, isNegated: isNegated)
        }
    }

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
        guard let end = QuerySemantics.successor(of: prefix) else {
            return SQLFragment(sql: "\(sql) \(isNegated ? "<" : ">=") ?", values: [.text(prefix)])
        }
        return SQLFragment(
            sql: isNegated ? "(\(sql) < ? OR \(sql) >= ?)" : "\(sql) >= ? AND \(sql) < ?",
            values: [.text(prefix), .text(end)]
        )
    }

    private static func contains(
        _ wanted: [FieldValue],
        _ list: QueryColumn,
        all isAll: Bool,
        isNegated: Bool
    ) throws(Mismatch) -> SQLFragment {
        let element = list.type.element ?? list.type
        let wanted = try scalars(wanted, element)
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

    private static func near(
        _ center: Location,
        metres: Double,
        _ subject: QueryColumn,
        isNegated: Bool
    ) -> SQLFragment {
        let distance = "\(QueryFunctions.distance)(\(subject.sql), ?, ?)"
        var fragment = SQLFragment(
            sql: "\(distance) \(isNegated ? ">" : "<=") ?",
            values: [.real(center.latitude), .real(center.longitude), .real(metres)]
        )
        if subject.isIndexed, !isNegated {
            let latitude = QuerySemantics.box(around: center, metres: metres).latitude
            fragment.sql = "\(QueryIndexes.latitude(of: subject.sql)) BETWEEN ? AND ? AND " + fragment.sql
            fragment.values.insert(contentsOf: [.real(latitude.lowerBound), .real(latitude.upperBound)], at: 0)
        }
        return fragment
    }
}
