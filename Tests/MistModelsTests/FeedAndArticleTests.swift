import Foundation
import MistModels
import MistTesting
import Testing

/// The records of an RSS service, from creation to deletion.
@Suite(.serialized)
struct FeedAndArticleTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    private static func feed(_ title: String, category: String, score: Int) -> Feed {
        Feed(
            feedURL: URL(string: "https://example.com/\(title)")!,
            title: title,
            category: category,
            qualityScore: score
        )
    }

    private static func article(_ number: Int, of feed: StoredRecord<Feed>, expiresIn seconds: Double) -> Article {
        Article(
            feedRecordName: feed.recordName,
            feed: feed.reference(.deleteSelf),
            guid: "guid-\(number)",
            title: "Article \(number)",
            url: URL(string: "https://example.com/\(number)")!,
            contentHash: String(number, radix: 16),
            publishedDate: now.addingTimeInterval(Double(number % 50) * 60),
            fetchedAt: now,
            expiresAt: now.addingTimeInterval(seconds),
            tags: number.isMultiple(of: 2) ? ["even"] : []
        )
    }

    @Test(arguments: EmulatorConnection.allCases)
    func feedsAndTheirArticlesAreKept(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase

            // Feeds are saved and fetched.
            let feeds = try await database.save(
                [
                    Self.feed("a", category: "news", score: 3), Self.feed("b", category: "science", score: 5),
                    Self.feed("c", category: "news", score: 9), Self.feed("d", category: "news", score: 6),
                ],
                named: \.title
            ).map { try $0.get() }
            #expect(feeds.map(\.recordName) == ["a", "b", "c", "d"])
            #expect(try await database.fetch(Feed.self, named: "c").model == feeds[2].model)

            // Feeds of a category, the best first.
            let news = try await database.records(
                matching: Query<Feed> {
                    Filter(\.category == "news")
                    Filter(\.isActive == true)
                    Sort(\.qualityScore, ascending: false)
                }
            ).collect()
            #expect(news.map(\.title) == ["c", "d", "a"])
            #expect(news.map(\.qualityScore) == [9, 6, 3])

            // 500 articles in one call.
            let articles = (0..<500).map { number in
                Self.article(number, of: feeds[number % 2], expiresIn: number % 10 < 5 ? -60 : 3600)
            }
            let saved = try await database.save(articles, named: \.guid).map { try $0.get() }
            #expect(saved.map(\.guid) == articles.map(\.guid))
            #expect(Set(saved.map(\.recordName)) == Set(articles.map(\.guid)))

            // The articles of a feed that are not expired, the newest first.
            let fresh = try await database.records(
                matching: Query<Article> {
                    Filter(\.feed == feeds[0].reference())
                    Filter(\.expiresAt > Self.now)
                    Sort(\.publishedDate, ascending: false)
                }
            ).collect()
            let expected = articles.filter { $0.feedRecordName == "a" && $0.expiresAt > Self.now }
            #expect(Set(fresh.map(\.guid)) == Set(expected.map(\.guid)))
            #expect(fresh.map(\.publishedDate) == fresh.map(\.publishedDate).sorted(by: >))
            #expect(fresh.count == 100)

            // A deleted feed takes its articles with it.
            try await database.delete(feeds[0])
            #expect(try await database.fetch(Article.self, named: ["guid-0"]).map { (try? $0.get()) == nil } == [true])
            let rest = try await database.records(matching: Query<Article> { Sort(\.guid) }).collect()
            #expect(rest.count == 250)
            let gone = try await database.delete(Array(rest.prefix(3)))
            #expect(gone.map { (try? $0.get().guid) } == rest.prefix(3).map(\.guid))
            #expect(try await database.records(matching: Query<Article> { Sort(\.guid) }).collect().count == 247)
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func twoWritersOfOneFeedAreMerged(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            var start = Self.feed("a", category: "news", score: 3)
            start.tags = ["old"]
            var mine = try await database.save(start, named: "a")

            var theirs = try await database.fetch(Feed.self, named: "a")
            theirs.title = "Theirs"
            theirs.tags.append("theirs")
            theirs = try await database.update(theirs)

            mine.qualityScore = 7
            mine.tags.append("mine")
            var rounds = 0
            let merged = try await database.update(mine) { conflict in
                let (client, server, ancestor) = (conflict.client, conflict.server, conflict.ancestor)
                #expect(!conflict.serverMayHoldOwnWrite)
                rounds += 1
                #expect(ancestor.tags == (rounds == 1 ? ["old"] : ["old", "theirs"]))
                if rounds == 1 {
                    #expect(server == theirs)
                    // Another client saves first again.
                    var quick = server
                    quick.category = "sport"
                    try await database.update(quick)
                }
                var merged = server
                if client.qualityScore != ancestor.qualityScore { merged.qualityScore = client.qualityScore }
                merged.tags += client.tags.filter { !merged.tags.contains($0) }
                return merged
            }
            #expect(rounds == 2)
            let fetched = try await database.fetch(Feed.self, named: "a")
            #expect(fetched.model == merged.model)
            #expect(fetched.title == "Theirs")
            #expect(fetched.category == "sport")
            #expect(fetched.qualityScore == 7)
            #expect(fetched.tags == ["old", "theirs", "mine"])

            // If the closure returns the service's record, nothing is sent. With one attempt, there is no further
            // attempt after a conflict.
            mine.title = "Mine"
            let yielded = try await database.update(mine) { $0.server }
            #expect(yielded.recordChangeTag == fetched.recordChangeTag)
            await #expect(throws: CloudKitError.self) {
                try await database.update(mine, attempts: 1) { $0.client }
            }
        }
    }
}
