import MistKit
import MistTesting

@main
enum Quickstart {
    static func main() async throws {
        for line in try await notes() { print(line) }
    }

    /// Saves a note, changes it, finds it again, on an emulator in this process.
    static func notes() async throws -> [String] {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase

            var note = Record(recordType: "Note", fields: ["title": "Hello", "rating": 4])
            note = try await database.save(note)
            note["rating"] = 5
            try await database.update(note)

            var lines: [String] = []
            let query = Query(recordType: "Note", filters: [.greaterThan("rating", 3)])
            for try await found in database.records(matching: query) {
                lines.append("\(found["title"]?.stringValue ?? ""), rated \(found["rating"]?.int64Value ?? 0)")
            }
            return lines
        }
    }
}
