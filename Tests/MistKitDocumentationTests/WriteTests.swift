import Foundation
import MistModels
import MistTesting
import Testing

@CloudKitRecord
struct Tally: Hashable {
    var count: Int
    var recentWrites: [String] = []
}

/// The Swift of "Writes and conflicts".
@Suite(.serialized)
struct WriteTests {
    @Test func aConflictIsAnError() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await database.save(Feed.swift, named: "feed-swift")
            let mine = try await database.fetch(Feed.self, named: "feed-swift")
            var theirs = mine
            theirs.qualityScore = 95
            try await database.update(theirs)

            try await comesSecond(mine, in: database)
        }
    }

    private func comesSecond(_ feed: StoredRecord<Feed>, in database: CloudKitDatabase) async throws {
        var mine = feed
        mine.title = "Swift"
        do {
            try await database.update(&mine)
            Issue.record("The second writer was not refused.")
        } catch let error as CloudKitError where error.code == .conflict {
            guard let theirs = error.serverRecord(as: Feed.self) else { throw error }
            print("Another client wrote", theirs.title, "with a score of", theirs.qualityScore)
            #expect(theirs.qualityScore == 95)
        }
    }

    @Test func aConflictIsMerged() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await database.save(Feed.swift, named: "feed-swift")
            var mine = try await database.fetch(Feed.self, named: "feed-swift")
            var theirs = mine
            theirs.tags.append("language")
            theirs.qualityScore = 95
            try await database.update(theirs)
            mine.title = "Swift"
            mine.tags.append("open source")

            try await database.update(&mine) { conflict in
                var merged = conflict.server
                if conflict.client.title != conflict.ancestor.title { merged.title = conflict.client.title }
                merged.tags = Set(conflict.server.tags).union(conflict.client.tags).sorted()
                return merged
            }

            #expect(mine.title == "Swift")
            #expect(mine.qualityScore == 95)
            #expect(mine.tags == ["language", "open source", "swift"])
        }
    }

    @Test func aCounterRecognisesItsWrites() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            var tally = try await database.save(Tally(count: 5))
            var theirs = tally
            theirs.count += 10
            try await database.update(&theirs)

            let write = UUID().uuidString
            tally.count += 1
            tally.recentWrites = (tally.recentWrites + [write]).suffix(50)
            try await database.update(&tally) { conflict in
                var merged = conflict.server
                if merged.recentWrites.contains(write) { return merged }  // it was done before
                merged.count += 1
                merged.recentWrites = (merged.recentWrites + [write]).suffix(50)
                return merged
            }

            #expect(tally.count == 16)
            #expect(tally.recentWrites == [write])
        }
    }

    @Test func aBatchHasAResultForEach() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let feed = try await database.save(Feed.swift)
            let articles = (1...250).map { Article("Number \($0)", in: feed.reference(), published: .now) }
            try await database.save(articles[6], named: "Number 7")

            let results = try await database.save(articles, named: \.guid) { progress in
                print("\(progress.completed) of \(progress.total)")  // 200 of 250, 250 of 250
            }
            for (article, result) in zip(articles, results) {
                if case .failure(let error) = result { print(article.title, error) }
            }

            #expect(results.count == 250)
            #expect(results.indices.filter { (try? results[$0].get()) == nil } == [6])
        }
    }

    @Test func aRecordIsMadeOrChanged() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            var feed = Feed.swift
            try await database.save(feed, named: "feed-swift")
            feed.title = "Swift"

            do {
                try await database.save(feed, named: "feed-swift")
            } catch let error as CloudKitError where error.code == .exists || error.code == .conflict {
                guard var existing = error.serverRecord(as: Feed.self) else { throw error }
                existing.title = feed.title
                try await database.update(&existing)
            }
            #expect(try await database.fetch(Feed.self, named: "feed-swift").title == "Swift")

            feed.qualityScore = 1
            try await database.upsert(feed, named: "feed-swift")
            // {"operations":[{"operationType":"forceUpdate","record":{"recordName":"feed-swift","recordType":"Feed","fields":{…}}}],…}
            #expect(try await database.fetch(Feed.self, named: "feed-swift").model == feed)
        }
    }

    @Test func theResultsOfABatchAreTakenTogether() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let feeds = [Feed.swift, Feed.swift]
            let names = ["first", "nowhere"]
            try await database.save(Feed.swift, named: "first")

            let saved = try await database.save(feeds).allOrThrow()
            let (read, failures) = try await database.fetch(Feed.self, named: names).partitioned()

            #expect(read.map(\.model) == [Feed.swift])
            #expect(failures.map(\.code) == [.notFound])
            let articles = ["1", "2", "1"].map { Article($0, in: saved[0].reference(), published: .now) }
            let results = try await database.save(articles, named: \.guid, duplicates: .keepLast)
            #expect(try results.allOrThrow().map(\.recordName) == ["1", "2", "1"])
        }
    }

    @Test func aBatchIsAllOrNothing() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Feeds").zoneID
            let old = try await database.save(Record(recordType: "Note", recordName: "old"), inZone: zone)
            let new = Record(recordType: "Note", recordName: "new", fields: ["title": "Moved"])

            let results = try await database.modify([.create(new), .delete(old)], inZone: zone, atomic: true)
            for result in results { _ = try result.get() }

            let names = try await database.records(matching: Query(recordType: "Note"), inZone: zone).collect()
            #expect(names.map(\.recordName) == ["new"])
        }
    }

    @Test func deletingByName() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let feed = try await database.save(Feed.swift)
            try await database.delete(feed)
            let another = try await database.save(Feed.swift, named: "another")
            try await database.forceDelete(another.recordName)
            let error = await #expect(throws: CloudKitError.self) {
                try await database.fetch(Feed.self, named: "another")
            }
            #expect(error?.code == .notFound)
        }
    }
}
