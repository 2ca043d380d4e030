import CloudKitModel
import Foundation
import GRDB
import SearchWords
import StreamingJSON

/// The functions that queries need and SQL does not have. Their results depend on the arguments only.
///
/// Every connection of a store registers them. Neither a table nor an index nor a trigger uses them, so other SQLite
/// tools can open and change the file.
enum QueryFunctions {
    /// The names in SQL.
    static let distance = "mist_distance"
    static let hasWords = "mist_has_words"
    static let listContains = "mist_list_contains"
    static let listHasPrefix = "mist_list_has_prefix"

    /// Makes the functions known to a connection.
    static func register(in db: Database) {
        for function in all { db.add(function: function) }
    }

    private static let all = [
        // (location as JSON, latitude, longitude): metres.
        DatabaseFunction(distance, argumentCount: 3, pure: true) { arguments in
            guard let location: Location = json(arguments[0]),
                let latitude = Double.fromDatabaseValue(arguments[1]),
                let longitude = Double.fromDatabaseValue(arguments[2])
            else { return nil }
            return QuerySemantics.distance(from: Location(latitude: latitude, longitude: longitude), to: location)
        },
        // (text as a BLOB, words of a search, whether all are wanted).
        DatabaseFunction(hasWords, argumentCount: 3, pure: true) { arguments in
            guard let text = Data.fromDatabaseValue(arguments[0]),
                let wanted = String.fromDatabaseValue(arguments[1]),
                let isAll = Bool.fromDatabaseValue(arguments[2])
            else { return nil }
            return QuerySemantics.has(
                wanted.split(separator: " ").lazy.map(String.init),
                all: isAll,
                among: searchWords(in: String(decoding: text, as: UTF8.self))
            )
        },
        // (list as JSON, wanted elements as JSON, type of the list, whether all are wanted).
        DatabaseFunction(listContains, argumentCount: 4, pure: true) { arguments in
            guard let type = String.fromDatabaseValue(arguments[2]).flatMap(FieldType.Known.init(name:)),
                let list = elements(arguments[0], of: type),
                let wanted = elements(arguments[1], of: type),
                let isAll = Bool.fromDatabaseValue(arguments[3])
            else { return nil }
            return isAll ? wanted.allSatisfy(list.contains) : wanted.contains(where: list.contains)
        },
        // (list of texts as JSON, prefix as a BLOB).
        DatabaseFunction(listHasPrefix, argumentCount: 2, pure: true) { arguments in
            guard let list: [String] = json(arguments[0]), let prefix = Data.fromDatabaseValue(arguments[1]) else {
                return nil
            }
            return list.contains { $0.utf8.starts(with: prefix) }
        },
    ]

    /// Reads the JSON of a column; `nil` where another program wrote something else into the column.
    private static func json<Value: JSONReadable>(_ value: DatabaseValue) -> Value? {
        String.fromDatabaseValue(value).flatMap { try? JSONReader.read(from: $0) }
    }

    /// The elements of a list, each in the form of a column of its type. Elements are compared in this form.
    private static func elements(_ list: DatabaseValue, of type: FieldType.Known) -> [ColumnValue]? {
        guard let text = String.fromDatabaseValue(list), let element = type.element else { return nil }
        let form = element.form
        return try? JSONReader.withReader(over: Array(text.utf8).span) { (reader) throws(JSONError) in
            var elements: [ColumnValue] = []
            try reader.beginArray()
            while try reader.nextElement() {
                switch form {
                case .text: elements.append(.text(try reader.readString()))
                case .wholeNumber: elements.append(.integer(try reader.readInt64()))
                case .number: elements.append(.real(try reader.readDouble()))
                case .base64: elements.append(.blob(Data(try reader.readBase64())))
                case .object where element == .reference:
                    elements.append(.text(try Reference(json: &reader).recordName))
                case .object, .list:
                    throw JSONError(code: .typeMismatch, message: "elements of this type cannot be compared")
                }
            }
            return elements
        }
    }
}
