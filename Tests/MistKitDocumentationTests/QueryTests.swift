import Foundation
import MistModels
import MistTesting
import Testing

/// The Swift of "Queries".
@Suite(.serialized)
struct QueryTests {
    /// A database with three feeds.
    private func withFeeds(_ body: (CloudKitDatabase) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            var other = Feed.swift
            other.title = "Other"
            other.qualityScore = 10
            other.tags = ["swift", "other"]
            var cooking = Feed.swift
            cooking.title = "Soup"
            cooking.category = "cooking"
            for result in try await database.save([Feed.swift, other, cooking]) { _ = try result.get() }
            try await body(database)
        }
    }

    @Test func conditionsAndAnOrder() async throws {
        try await withFeeds { database in
            let query = Query<Feed> {
                Filter(\.category == "programming")
                Filter(\.isActive == true)
                Sort(\.qualityScore, ascending: false)
            }
            for try await feed in database.records(matching: query) {
                print(feed.qualityScore, feed.title)
            }
            let found = try await database.records(matching: query).collect()
            #expect(found.map(\.title) == ["Swift.org", "Other"])
        }
    }

    @Test func conditionsMayBeBuilt() async throws {
        let category: String? = "programming"
        let tags = ["swift", "other"]
        let query = Query<Feed> {
            if let category { Filter(\.category == category) }
            for tag in tags { Filter(\.tags, contains: tag) }
            Sort(\.createdTimestamp, ascending: false)
        }
        try await withFeeds { database in
            let found = try await database.records(matching: query).collect()
            #expect(found.map(\.title) == ["Other"])
        }
    }

    @Test func namesInPlaceOfKeyPaths() async throws {
        let query = Query(
            recordType: "Feed",
            filters: [Filter("category", .equals, "programming"), Filter("isActive", .equals, 1)],
            sorts: [Sort("qualityScore", ascending: false)]
        )
        print(query)
        // {"recordType":"Feed","filterBy":[
        //   {"fieldName":"category","comparator":"EQUALS","fieldValue":{"value":"programming","type":"STRING"}},
        //   {"fieldName":"isActive","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}],
        //  "sortBy":[{"fieldName":"qualityScore","ascending":false}]}
        let printed = """
            {"recordType":"Feed","filterBy":[\
            {"fieldName":"category","comparator":"EQUALS","fieldValue":{"value":"programming","type":"STRING"}},\
            {"fieldName":"isActive","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}],\
            "sortBy":[{"fieldName":"qualityScore","ascending":false}]}
            """
        #expect("\(query)" == printed)
        let typed = Query<Feed> {
            Filter(\.category == "programming")
            Filter(\.isActive == true)
            Sort(\.qualityScore, ascending: false)
        }
        #expect("\(typed)" == printed)
    }

    @Test func referencesAndPlaces() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let feed = try await database.save(Feed.swift)
            let here = Location(latitude: 59.91, longitude: 10.75)
            var article = Article("Near", in: feed.reference(), published: .now)
            article.place = Location(latitude: 59.92, longitude: 10.75)
            try await database.save(article)

            let ofTheFeed: Query<Article>
            do {
                let query = Query<Article> {
                    Filter(\.feed == feed.reference())
                    Filter(\.expiresAt > .now)
                    Sort(\.publishedDate, ascending: false)
                }
                ofTheFeed = query
            }
            let nearby: Query<Article>
            do {
                let query = Query<Article> {
                    Filter(\.place, within: .kilometres(5), of: here)
                    Sort(\.place, distanceFrom: here)
                }
                nearby = query
            }
            #expect(try await database.records(matching: ofTheFeed).collect().map(\.title) == ["Near"])
            #expect(try await database.records(matching: nearby).collect().map(\.title) == ["Near"])
        }
    }

    @Test func aQueryHasALimit() async throws {
        try await withFeeds { database in
            let query = Query<Feed>(limit: 10) {
                Sort(\.qualityScore, ascending: false)
            }
            for try await feed in database.records(matching: query) { print(feed.title) }
            // {"query":{"recordType":"Feed","sortBy":[…]},"resultsLimit":10}
            var short = query
            short.limit = 1
            #expect(try await database.records(matching: short).collect().count == 1)
        }
    }

    @Test func resultsArePagesOrALimit() async throws {
        try await withFeeds { database in
            let query = Query<Feed> { Sort(\.title) }
            let best = try await database.records(matching: query).collect(limit: 10)
            let first = try await database.records(matching: query).first()
            let count = try await database.count(matching: query)
            #expect(first == best.first)
            #expect(count == best.count)
            var known: [String] = []
            var marker: String?
            for try await page in database.records(matching: query, pageSize: 100).pages {
                for result in page.results {
                    switch result {
                    case .success(let feed): known.append(feed.title)
                    case .failure(let error): print("left out:", error)
                    }
                }
                marker = page.marker
            }
            #expect(known == best.map(\.title))
            #expect(marker == nil)
        }
    }
}
