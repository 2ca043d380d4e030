import CloudKitModel
import Foundation
import MistKit
import StreamingJSON

/// A record as a plain JSON object, whose members are fields: `{"title":"Hello","rating":4}`.
///
/// `recordName` and `recordType` are the record's name and type. A key may have a type, as the header of a CSV file has:
/// `"due:TIMESTAMP"`. Without it, a text is a `STRING`, a whole number or a Boolean an `INT64`, another number a `DOUBLE`,
/// and an array a list of these.
enum PlainRecord {
    /// Reads an object.
    ///
    /// - Throws: ``CommandError`` that names the member.
    static func record(inJSON bytes: [UInt8]) throws -> Record {
        let members: [String: JSONRawValue]
        do {
            members = try JSONReader.read([String: JSONRawValue].self, from: bytes)
        } catch {
            throw CommandError(
                code: .data,
                message: "\(error)",
                remedy: #"Give one object for each record: {"title":"Hello","rating":4}."#
            )
        }
        var record = Record(recordName: nil)
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            switch key {
            case "recordName": record.recordName = try text(value, of: key)
            case "recordType": record.recordType = try text(value, of: key)
            default:
                let (name, type) = FieldText.typedName(key[...])
                if let field = try field(value, type: type, of: name) { record[name] = field }
            }
        }
        return record
    }

    private static func text(_ value: JSONRawValue, of key: String) throws -> String {
        guard value.kind == .string else {
            throw CommandError(code: .data, message: "\(key) is not a text.", remedy: "Write it in quotation marks.")
        }
        return try value.read(String.self)
    }

    /// The value of a field; `nil` for a member without a value.
    private static func field(_ value: JSONRawValue, type: String?, of name: String) throws -> FieldValue? {
        switch value.kind {
        case .null: return nil
        case .object:
            throw CommandError(
                code: .data,
                message: "The field \(name) is an object, which no field of CloudKit is.",
                remedy: "Make its members fields, or leave --plain out if this is the JSON of CloudKit Web Services."
            )
        case .array: return try list(value.read([JSONRawValue].self), type: type, of: name)
        case .string:
            let text = try value.read(String.self)
            return try type.map { type throws(CommandError) in try FieldText.value(text, type: type, of: name) }
                ?? .string(text)
        case .bool: return try scalar(try value.read(Bool.self) ? "1" : "0", type: type, of: name)
        case .number: return try scalar(value.description, type: type, of: name)
        }
    }

    private static func scalar(_ text: String, type: String?, of name: String) throws(CommandError) -> FieldValue {
        let isWhole = !text.contains(where: ".eE".contains)
        return try FieldText.value(text, type: type ?? (isWhole ? "INT64" : "DOUBLE"), of: name)
    }

    private static func list(_ elements: [JSONRawValue], type: String?, of name: String) throws -> FieldValue? {
        guard let first = elements.first else { return nil }
        let kinds = Set(elements.map(\.kind))
        guard kinds.count == 1, [.string, .number, .bool].contains(first.kind) else {
            throw CommandError(
                code: .data,
                message: "The list \(name) has values of several kinds, or values that are no text or number.",
                remedy: "Give texts only, or numbers only."
            )
        }
        let texts = try elements.map { element in
            switch element.kind {
            case .string: try element.read(String.self)
            case .bool: try element.read(Bool.self) ? "1" : "0"
            default: element.description
            }
        }
        if let type {
            let element = type.hasSuffix("_LIST") ? String(type.dropLast("_LIST".count)) : type
            let values = try texts.map { text in try FieldText.value(text, type: element, of: name) }
            guard let known = values.first?.plain.type?.known, let list = FieldValue.list(values, of: known) else {
                throw CommandError(
                    code: .data,
                    message: "There are no lists of the type \(type), which the field \(name) has.",
                    remedy: "Write the type as STRING_LIST, INT64_LIST or another type of lists."
                )
            }
            return list
        }
        guard first.kind != .string else { return .stringList(texts) }
        let isWhole = !texts.contains { $0.contains(where: ".eE".contains) }
        return try FieldText.value(texts.joined(separator: ","), type: isWhole ? "INT64_LIST" : "DOUBLE_LIST", of: name)
    }
}
