import Foundation
import MistModels
import MistTesting
import Testing

/// The Swift of "Typed records".
@Suite(.serialized)
struct TypedRecordTests {
    @Test func savingFetchingChanging() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let url = Feed.swift.feedURL

            var feed = try await database.save(
                Feed(feedURL: url, title: "Swift", category: "programming"),
                named: "feed-swift"
            )
            feed.title = "Swift.org"
            try await database.update(&feed)

            let again = try await database.fetch(Feed.self, named: "feed-swift")
            print(again.title, again.recordName, again.modified?.timestamp ?? .distantPast)

            #expect(again.title == "Swift.org")
            #expect(again.recordName == "feed-swift")
            #expect(again == feed)

            feed.qualityScore = 80
            print(feed.hasChanges)  // true
            print(feed.changedFields)  // qualityScore alone
            print(feed.original?.qualityScore ?? 0)  // 0
            #expect(feed.hasChanges)
            #expect(Array(feed.changedFields.names) == ["qualityScore"])

            let article = try await database.save(
                Article(
                    feed: feed.reference(.deleteSelf),
                    guid: "1",
                    title: "Swift 6.3",
                    publishedDate: .now,
                    expiresAt: .distantFuture
                )
            )
            // "feed":{"value":{"recordName":"feed-swift","action":"DELETE_SELF"},"type":"REFERENCE"}
            let itsFeed = try await database.fetch(article.feed)
            #expect(itsFeed.title == "Swift.org")

            let part = try await database.fetch(Feed.self, named: "feed-swift", desiredKeys: Feed.desiredKeys)
            #expect(part.model == itsFeed.model)
        }
    }

    @Test func aCachedRecordIsUpdated() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let feed = try await database.save(Feed.swift)

            let data = try JSONEncoder().encode(feed)
            var cached = try JSONDecoder().decode(StoredRecord<Feed>.self, from: data)
            cached.title = "Swift.org"
            try await database.update(&cached)
            #expect(try await database.fetch(Feed.self, named: feed.recordName).title == "Swift.org")
        }
    }

    @Test func aTypeHasASchema() {
        print(Feed.schema)
        // Feed
        //   feedURL      STRING QUERYABLE
        //   title        STRING
        //   category     STRING QUERYABLE
        //   qualityScore INT64 QUERYABLE SORTABLE
        //   isActive     INT64
        //   tags         STRING_LIST
        //   summary      STRING
        #expect(
            "\(Feed.schema)" == """
                Feed
                  feedURL      STRING QUERYABLE
                  title        STRING
                  category     STRING QUERYABLE
                  qualityScore INT64 QUERYABLE SORTABLE
                  isActive     INT64
                  tags         STRING_LIST
                  summary      STRING
                """
        )
    }

    @Test func recordsWithoutTypes() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase

            var note = try await database.save(
                Record(recordType: "Note", recordName: "note-1", fields: ["title": "Hello", "rating": 4])
            )
            note["rating"] = 5
            note["written"] = .timestamp(.now)
            note["tags"] = .list(["swift", "cloud"])
            note["draft"] = .null
            try await database.update(&note)
            print(note["title"]?.stringValue ?? "", note["rating"]?.int64Value ?? 0)

            #expect(note["rating"] == 5)
            #expect(note["tags"]?.stringListValue == ["swift", "cloud"])
        }
    }

    @Test func aRecordIsGivenItsType() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await database.save(Feed.swift, named: "feed-swift")
            let record = try await database.fetch("feed-swift")

            let feed = try StoredRecord<Feed>(record)
            #expect(feed.model == Feed.swift)

            let made = StoredRecord(stored: Feed.swift, recordName: "feed-1", recordChangeTag: "1")
            #expect(!made.hasChanges)
        }
    }
}

/// A type of the program's own as a field.
struct Rating: FieldConvertible, Hashable, Comparable {
    var stars: Int

    static var fieldType: FieldType { .int64 }
    var fieldValue: FieldValue { .int64(Int64(stars)) }

    init(fieldValue: FieldValue) throws(FieldError) {
        stars = try Int(fieldValue: fieldValue)
    }

    init(stars: Int) {
        self.stars = stars
    }

    static func < (left: Rating, right: Rating) -> Bool { left.stars < right.stars }
}

@CloudKitRecord
struct Review: Hashable {
    var text: String
    var rating: Rating
}

extension TypedRecordTests {
    @Test func aCustomTypeIsAField() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await database.save(Review(text: "Good", rating: Rating(stars: 4)))
            let query = Query<Review> { Filter(\.rating >= Rating(stars: 4)) }
            let reviews = try await database.records(matching: query).collect()
            #expect(reviews.map(\.rating.stars) == [4])
        }
    }
}
