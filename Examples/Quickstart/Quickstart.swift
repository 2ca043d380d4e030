import MistKit
import MistTesting

@main
enum Quickstart {
    static func main() async throws {
        for line in try await notes() { print(line) }
    }

    /// Saves a note, changes it, finds it again, on an emulator in this process.
    static func notes() async throws -> [String] {
        var lines: [String] = []
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase

            var note = try await database.save(Record(recordType: "Note", fields: ["title": "Hello", "rating": 4]))
            note["rating"] = 5
            try await database.update(note)

            let query = Query(recordType: "Note", filters: [.greaterThan("rating", 3)])
            for try await found in database.records(matching: query) {
                lines.append("\(found["title"]?.stringValue ?? "") \(found["rating"]?.int64Value ?? 0)")
            }
        }
        return lines
    }
}
