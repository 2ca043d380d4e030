import Foundation
import MistModels
import MistTesting
import Testing

/// What came of a run.
struct SweepReport {
    var deleted = 0
    var kept = 0
    var failures: [CloudKitError] = []
}

/// Deletes the articles that have expired. It may run at any time, twice, and on two machines at once.
func sweep(_ database: CloudKitDatabase, now: Date) async throws -> SweepReport {
    let expired = Query(
        recordType: Article.recordType,
        filters: [Filter("expiresAt", .lessThanOrEquals, .timestamp(now))]
    )
    // Names and change tags are enough to delete records.
    let articles = try await database.records(matching: expired, desiredKeys: []).collect()

    var report = SweepReport()
    for result in try await database.delete(articles) {
        switch result {
        case .success: report.deleted += 1
        case .failure(let error) where error.code == .notFound: report.deleted += 1
        case .failure(let error) where error.code == .conflict: report.kept += 1
        case .failure(let error): report.failures.append(error)
        }
    }
    return report
}

/// How far a job came, kept in a file.
struct Checkpoint<Value: Codable> {
    var file: URL

    func load() throws -> Value? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try JSONDecoder().decode(Value.self, from: Data(contentsOf: file))
    }

    func store(_ value: Value) throws {
        try JSONEncoder().encode(value).write(to: file, options: .atomic)
    }
}

/// The Swift of "In a scheduled job".
@Suite(.serialized)
struct JobTests {
    @Test func whatHasExpiredIsDeleted() async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(clock: clock) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let feed = try await database.save(Feed.swift)
            let articles = (1...5).map { day in
                Article(
                    "Day \(day)",
                    in: feed.reference(.deleteSelf),
                    published: clock.now,
                    expires: clock.now.addingTimeInterval(Double(day) * 86400)
                )
            }
            for result in try await database.save(articles) { _ = try result.get() }

            let report = try await sweep(database, now: clock.now.addingTimeInterval(3 * 86400))
            #expect(report.deleted == 3)
            #expect(report.failures.isEmpty)
            let again = try await sweep(database, now: clock.now.addingTimeInterval(3 * 86400))
            #expect(again.deleted == 0)
        }
    }

    @Test func aJobGoesOnWhereItWas() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "mistkit-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Feeds").zoneID
            try await database.save(Feed.swift, named: "a", inZone: zone)

            let checkpoint = Checkpoint<FeedCopy>(file: folder.appending(path: "feeds.json"))
            var copy = try checkpoint.load() ?? FeedCopy()
            try await copy.followOrStartOver(zone, in: database)
            try checkpoint.store(copy)

            #expect(try checkpoint.load()?.titles == ["a": "Swift.org"])
        }
    }
}
