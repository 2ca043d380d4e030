import Foundation

/// A record as the commands print it in JSON.
package struct NamedRecord<Fields: Codable>: Codable {
    package var recordName: String
    package var fields: Fields

    package init(recordName: String, fields: Fields) {
        self.recordName = recordName
        self.fields = fields
    }
}

/// JSON for programs: keys in alphabetical order, times as in `2026-01-31T12:00:00Z`.
package func jsonText(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}

/// Prints a text, or writes it to a file as a whole or not at all.
///
/// - Throws: ``CommandFailure`` where the file cannot be written.
package func printOrWrite(_ text: String, to file: String?) throws {
    guard let file else { return print(text) }
    do {
        try Data((text + "\n").utf8).write(to: URL(filePath: file), options: .atomic)
    } catch {
        throw CommandFailure(.cannotWrite, "The file \(file) cannot be written: \(error.localizedDescription)")
    }
}
