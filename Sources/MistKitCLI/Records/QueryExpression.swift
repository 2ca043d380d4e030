import Foundation
import MistKit
import Spelling

/// Filters and sorts as people type them: `rating > 3`, `title begins_with He`, `tags list_contains swift`, `-rating`.
///
/// A filter is one condition. A value in quotation marks is a text, whatever is in it.
enum QueryExpression {
    /// The comparators that have a sign; the others are written by their names in the protocol.
    private static let signs: [(sign: String, comparator: QueryFilter.Comparator)] = [
        ("==", .equals), ("!=", .notEquals), ("<=", .lessThanOrEquals), (">=", .greaterThanOrEquals), ("<", .lessThan),
        (">", .greaterThan), ("=", .equals),
    ]

    /// The names of system fields in filters and sorts. The `@` distinguishes them from the app's own fields.
    private static let systemFields: [String: SystemFieldName] = [
        "@recordName": .recordName, "@created": .createdTimestamp, "@modified": .modifiedTimestamp,
        "@createdBy": .createdUserRecordName, "@modifiedBy": .modifiedUserRecordName, "@parent": .parent,
        "@share": .share,
    ]

    /// Reads several conditions.
    static func filters(_ texts: [String]) throws(CommandError) -> [Filter<Record>] {
        var filters: [Filter<Record>] = []
        for text in texts { filters.append(Filter(try filter(text))) }
        return filters
    }

    /// The names of the system fields.
    static var systemFieldNames: [String] { systemFields.keys.sorted() }

    /// The signs and the names of all comparators.
    static var comparatorTexts: [String] { signs.map(\.sign) + QueryFilter.Comparator.allCases.map(\.rawValue) }

    /// Reads `field comparator value`, where the field may have a type as in `when:TIMESTAMP`.
    ///
    /// - Throws: ``CommandError`` that quotes the expression and says which form is expected.
    static func filter(_ text: String) throws(CommandError) -> QueryFilter {
        let (fieldText, comparator, rawValue) = try parts(text)
        let quotedText = quoted(rawValue)
        if quotedText == nil { try refuseSecondCondition(in: rawValue, of: text) }
        let valueText = quotedText ?? rawValue
        let (name, givenType) = FieldText.typedName(Substring(fieldText))
        if comparator == .near { return try near(name, valueText, in: text) }
        if name.hasPrefix("@") {
            let system = try systemField(name, in: text)
            let type =
                givenType ?? (system == .createdTimestamp || system == .modifiedTimestamp ? "TIMESTAMP" : "REFERENCE")
            return QueryFilter(system: system, comparator, try FieldText.value(valueText, type: type, of: name))
        }
        let ownType = givenType ?? (quotedText == nil ? nil : "STRING")
        let takesList = comparator.known?.takesList == true
        let type = ownType.map { takesList && !$0.hasSuffix("_LIST") ? $0 + "_LIST" : $0 }
        if takesList, type == nil {
            return QueryFilter(name, comparator, try inferredList(valueText, of: name))
        }
        return QueryFilter(name, comparator, try FieldText.value(valueText, type: type, of: name))
    }

    /// Reads `field`, or `-field` for descending order; `@created` and similar names are system fields.
    static func sort(_ text: String) throws(CommandError) -> QuerySort {
        let ascending = !text.hasPrefix("-")
        let name = ascending ? text : String(text.dropFirst())
        guard !name.isEmpty else {
            throw CommandError(
                code: .usage,
                message: "The sort \"\(text)\" names no field.",
                remedy: "Write it as field or -field."
            )
        }
        if name.hasPrefix("@") {
            return QuerySort(system: try systemField(name, in: text), ascending: ascending)
        }
        return QuerySort(name, ascending: ascending)
    }

    private static func parts(_ text: String) throws(CommandError) -> (String, QueryFilter.Comparator, String) {
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        let words = trimmed.split(separator: " ", maxSplits: 2)
        if words.count >= 2 {
            let name = words[1].uppercased()
            let value = words.count == 3 ? words[2].trimmingCharacters(in: .whitespaces) : ""
            if let known = QueryFilter.Comparator.allCases.first(where: { $0.rawValue == name }) {
                return (String(words[0]), known, value)
            }
            if let sign = signs.first(where: { $0.sign == words[1] }) {
                return (String(words[0]), sign.comparator, value)
            }
            // The first word is a field, so that the second one has to be a comparator: `title begin_with He`.
            if !words[0].contains(where: "=!<>".contains), words[1].allSatisfy({ $0.isLetter || $0 == "_" }) {
                let names = QueryFilter.Comparator.allCases.map(\.rawValue)
                throw CommandError(
                    code: .usage,
                    message: "The filter \"\(text)\" has the comparator \(words[1]), which does not exist.",
                    remedy: NearestName.hint(for: String(words[1]), among: names) + comparatorList(names)
                )
            }
        }
        // Without spaces, the first sign splits the text. Of the signs that fit there, the longest counts.
        if let start = trimmed.firstIndex(where: { "=!<>".contains($0) }),
            let sign = signs.first(where: { trimmed[start...].hasPrefix($0.sign) }), start > trimmed.startIndex
        {
            let value = trimmed[trimmed.index(start, offsetBy: sign.sign.count)...]
            return (
                trimmed[..<start].trimmingCharacters(in: .whitespaces), sign.comparator,
                value.trimmingCharacters(in: .whitespaces)
            )
        }
        throw CommandError(
            code: .usage,
            message: "The filter \"\(text)\" has no comparator.",
            remedy: comparatorList(QueryFilter.Comparator.allCases.map(\.rawValue))
        )
    }

    private static func comparatorList(_ names: [String]) -> String {
        "Write it as: field == value (also != < <= > >=), or with one of " + names.joined(separator: ", ") + "."
    }

    /// The text between the quotation marks of a value; `nil` if the value has no quotation marks.
    private static func quoted(_ text: String) -> String? {
        guard text.count >= 2, let first = text.first, first == text.last, first == "\"" || first == "'" else {
            return nil
        }
        return String(text.dropFirst().dropLast())
    }

    /// Refuses `rating > 3 AND title == x` and `a == b == c`: the rest would silently become part of the value.
    private static func refuseSecondCondition(in value: String, of text: String) throws(CommandError) {
        let words = value.split(separator: " ").map(String.init)
        // "Salt and pepper" is a text; "3 and title == x" is not, and neither is a value with a conjunction in
        // capitals.
        let isJoined = words.indices.dropFirst().contains { index in
            switch words[index] {
            case "AND", "OR", "&&", "||": true
            case "and", "or": (try? parts(words[(index + 1)...].joined(separator: " "))) != nil
            default: false
            }
        }
        guard isJoined || ["==", "!=", "<=", ">="].contains(where: value.contains) else { return }
        throw CommandError(
            code: .usage,
            message: "The filter \"\(text)\" has more than one condition.",
            remedy: """
                Give --filter once for each condition; all have to hold, and CloudKit has no "or". \
                Put quotation marks around a value that is a text: 'title == "this and that"'.
                """
        )
    }

    private static func inferredList(_ text: String, of name: String) throws(CommandError) -> FieldValue {
        let items = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        let isInteger = !items.isEmpty && items.allSatisfy { Int64($0) != nil }
        return try FieldText.value(text, type: isInteger ? "INT64_LIST" : "STRING_LIST", of: name)
    }

    private static func near(_ name: String, _ text: String, in whole: String) throws(CommandError) -> QueryFilter {
        let parts = text.replacingOccurrences(of: " within ", with: " within ", options: .caseInsensitive)
            .components(separatedBy: " within ")
        guard parts.count == 2, let metres = Double(parts[1].trimmingCharacters(in: .whitespaces)), metres > 0 else {
            throw CommandError(
                code: .usage,
                message: "The filter \"\(whole)\" does not say how near.",
                remedy: "Write it as: field NEAR latitude,longitude within metres."
            )
        }
        return QueryFilter(name, .near, try FieldText.value(parts[0], type: "LOCATION", of: name), distance: metres)
    }

    private static func systemField(_ name: String, in text: String) throws(CommandError) -> SystemFieldName {
        guard let system = systemFields[name] else {
            throw CommandError(
                code: .usage,
                message: "There is no system field \(name), which \"\(text)\" asks for.",
                remedy: "The system fields are \(systemFields.keys.sorted().joined(separator: ", "))."
            )
        }
        return system
    }
}
