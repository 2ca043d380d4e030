import CloudKitModel
import Foundation
import Spelling
import StreamingJSON

/// Fields from the arguments of a command.
///
/// An argument is `name=value` or `name:TYPE=value`. Without a type, whole numbers are `INT64`, other numbers `DOUBLE`,
/// everything else `STRING`; a whole number beyond 64 bits is an error. Lists are separated by commas; `TIMESTAMP`
/// takes ISO 8601 or milliseconds; `BYTES` base64; `LOCATION` `latitude,longitude`; `REFERENCE` a record name;
/// `name:NULL=` clears the field; a type ending in `!` is encrypted.
extension FieldText {
    /// Reads `name=value` or `name:TYPE=value`.
    ///
    /// - Throws: ``CommandError`` that quotes the argument and says which form is expected.
    static func assignment(_ argument: String) throws(CommandError) -> (name: String, value: FieldValue) {
        guard let equals = argument.firstIndex(of: "=") else {
            throw CommandError(
                code: .usage,
                message: "The field \"\(argument)\" has no value.",
                remedy: "Write it as name=value, or as name:TYPE=value to say the type."
            )
        }
        let (name, type) = typedName(argument[..<equals])
        guard !name.isEmpty else {
            throw CommandError(
                code: .usage,
                message: "The field \"\(argument)\" has no name.",
                remedy: "Write it as name=value."
            )
        }
        return (name, try value(String(argument[argument.index(after: equals)...]), type: type, of: name))
    }

    /// Splits `name:TYPE`.
    static func typedName(_ text: Substring) -> (name: String, type: String?) {
        guard let colon = text.lastIndex(of: ":") else { return (String(text), nil) }
        return (String(text[..<colon]), text[text.index(after: colon)...].uppercased())
    }

    /// Reads a value of a type; without a type, the text decides.
    static func value(_ text: String, type: String?, of name: String) throws(CommandError) -> FieldValue {
        guard let type else { return try inferred(text, of: name) }
        if type.hasSuffix("!") {
            return .encrypted(try value(text, type: String(type.dropLast()), of: name))
        }
        func needed<Value>(_ value: Value?, _ form: String) throws(CommandError) -> Value {
            guard let value else {
                throw CommandError(
                    code: .usage,
                    message: "\"\(text)\" is not a valid \(type), the type of the field \(name).",
                    remedy: "Write a \(type) as \(form)."
                )
            }
            return value
        }
        func items<Value>(_ form: String, _ read: (String) -> Value?) throws(CommandError) -> [Value] {
            guard !text.isEmpty else { return [] }
            var values: [Value] = []
            for item in text.split(separator: ",", omittingEmptySubsequences: false) {
                values.append(try needed(read(item.trimmingCharacters(in: .whitespaces)), form))
            }
            return values
        }
        switch type {
        case "NULL": return .null
        case "STRING": return .string(text)
        case "INT64": return .int64(try needed(Int64(text), "a whole number"))
        case "DOUBLE": return .double(try needed(finite(text), "a number"))
        case "TIMESTAMP":
            return .timestamp(try needed(date(text), "2026-01-31T12:00:00Z or as milliseconds since 1970"))
        case "BYTES": return .bytes(try needed(Data(base64Encoded: text), "base64"))
        case "REFERENCE": return .reference(Reference(recordName: text))
        case "LOCATION": return .location(try needed(location(text), "latitude,longitude"))
        case "STRING_LIST": return .stringList(try items("texts between commas") { $0 })
        case "INT64_LIST": return .int64List(try items("whole numbers between commas") { Int64($0) })
        case "DOUBLE_LIST": return .doubleList(try items("numbers between commas", finite))
        case "TIMESTAMP_LIST": return .timestampList(try items("points in time between commas", date))
        case "BYTES_LIST": return .bytesList(try items("base64 between commas") { Data(base64Encoded: $0) })
        case "REFERENCE_LIST":
            return .referenceList(try items("record names between commas") { Reference(recordName: $0) })
        default: throw unknownType(type, of: name)
        }
    }

    /// Checks that a type exists, whether or not there are values of it.
    ///
    /// - Throws: ``CommandError`` that names the nearest type.
    static func checkType(_ type: String, of name: String) throws(CommandError) {
        let plain = type.hasSuffix("!") ? String(type.dropLast()) : type
        guard plain == "NULL" || FieldType.names.contains(where: { $0.name == plain }) else {
            throw unknownType(type, of: name)
        }
    }

    private static func unknownType(_ type: String, of name: String) -> CommandError {
        CommandError(
            code: .usage,
            message: "The field \(name) has the type \(type), which does not exist.",
            remedy: NearestName.hint(for: type, among: FieldType.names.map(\.name))
                + "The types are STRING, INT64, DOUBLE, TIMESTAMP, BYTES, REFERENCE, LOCATION, their _LIST forms, and NULL."
        )
    }

    /// A hint for a value that was read as a text although it looks like a date; `nil` for other values.
    static func dateHint(for value: FieldValue?, of name: String) -> String? {
        guard case .string(let text)? = value, text.count >= 10, Int64(text) == nil, date(text) != nil else {
            return nil
        }
        return """
            The value "\(text)" of \(name) is sent as a STRING. For a point in time, write \(name):TIMESTAMP.
            """
    }

    private static func inferred(_ text: String, of name: String) throws(CommandError) -> FieldValue {
        // A text is a number only if the number prints as the same text: 007 and 1_000 stay texts.
        if let number = Int64(text), String(number) == text { return .int64(number) }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        if digits.first != "0", !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), Int64(text) == nil {
            throw CommandError(
                code: .usage,
                message: "The number \(text) of the field \(name) does not fit into 64 bits.",
                remedy: "Write \(name):STRING for a text, or \(name):DOUBLE for an approximate number."
            )
        }
        if text.contains("."), let number = finite(text),
            text.allSatisfy({ $0.isASCII && ($0.isNumber || ".-".contains($0)) })
        {
            return .double(number)
        }
        return .string(text)
    }

    private static func finite(_ text: String) -> Double? {
        Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    private static func date(_ text: String) -> Date? {
        if let milliseconds = Int64(text) { return Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
        // The formats below also accept a text of which only the beginning is a date.
        guard text.allSatisfy("0123456789-+:.TZ".contains), hasDayAndTime(text) else { return nil }
        return (try? Date(text, strategy: Date.ISO8601FormatStyle()))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (text.count == 10 ? try? Date(text, strategy: Date.ISO8601FormatStyle().year().month().day()) : nil)
    }

    /// Whether the numbers of a date are those of a day and a time that exist. The formats accept 30 February as 2 March.
    private static func hasDayAndTime(_ text: String) -> Bool {
        let numbers = text.prefix(10).split(separator: "-").compactMap { Int($0) }
        let time = text.dropFirst(10).split(whereSeparator: "TZ+-.:".contains)
        guard numbers.count == 3, (1...12).contains(numbers[1]) else { return false }
        let isLeapYear = numbers[0] % 4 == 0 && numbers[0] % 100 != 0 || numbers[0] % 400 == 0
        let days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][numbers[1] - 1]
        let isTime = zip(time, [23, 59, 59]).allSatisfy { part, limit in (Int(part) ?? .max) <= limit }
        return (1...days).contains(numbers[2]) && isTime
    }

    private static func location(_ text: String) -> Location? {
        let parts = text.split(separator: ",").compactMap { finite($0.trimmingCharacters(in: .whitespaces)) }
        guard parts.count == 2, abs(parts[0]) <= 90, abs(parts[1]) <= 180 else { return nil }
        return Location(latitude: parts[0], longitude: parts[1])
    }
}
