import CelestraUpdates
import Foundation
import Testing

struct FeedAttemptTests {
    private let start = Date(timeIntervalSince1970: 1_767_261_600)
    private let address = "http://a.example/feed"

    private var feed: FeedRecord { FeedRecord(feedURL: address, title: "A", addedAt: start) }

    private func attempt(_ outcome: FeedAttempt.Outcome, at seconds: Double, newAddress: String? = nil) -> FeedAttempt {
        FeedAttempt(
            feedURL: address,
            date: start.addingTimeInterval(seconds),
            outcome: outcome,
            newAddress: newAddress
        )
    }

    @Test func aSuccessCountsAndForgetsFailures() {
        var feed = feed
        attempt(.failed(reason: "status 500", isGone: false), at: 1).apply(to: &feed)
        attempt(.failed(reason: "status 502", isGone: false), at: 2).apply(to: &feed)
        #expect(feed.failureCount == 2)
        #expect(feed.lastFailureReason == "status 502")
        #expect(feed.qualityScore == 7)
        attempt(.notModified, at: 3).apply(to: &feed)

        var expected = self.feed
        expected.totalAttempts = 3
        expected.successfulAttempts = 1
        expected.isVerified = true
        expected.lastAttempted = start.addingTimeInterval(3)
        expected.lastVerified = start.addingTimeInterval(3)
        expected.qualityScore = 28
        #expect(feed == expected)
    }

    @Test func goneEndsTheUpdates() {
        var feed = feed
        attempt(.failed(reason: "status 410", isGone: true), at: 1).apply(to: &feed)
        #expect(!feed.isActive)
    }

    @Test func aNewAddressReplacesTheOneThatWasFetched() {
        var feed = feed
        attempt(.notModified, at: 1, newAddress: "http://b.example/").apply(to: &feed)
        #expect(feed.feedURL == "http://b.example/")
        // This attempt fetched the old address, so its redirect is ignored.
        attempt(.notModified, at: 2, newAddress: "http://c.example/").apply(to: &feed)
        #expect(feed.feedURL == "http://b.example/")
    }

    /// The counts are the same in every order; all other fields are those of the newest attempt.
    @Test func attemptsMayArriveInAnyOrder() {
        let attempts = [
            attempt(.failed(reason: "first", isGone: false), at: 1), attempt(.notModified, at: 2),
            attempt(.failed(reason: "third", isGone: false), at: 3),
        ]
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            var feed = feed
            for index in order { attempts[index].apply(to: &feed) }
            #expect(feed.totalAttempts == 3)
            #expect(feed.successfulAttempts == 1)
            #expect(feed.lastAttempted == start.addingTimeInterval(3))
            #expect(feed.lastFailureReason == "third")
            #expect((1...2).contains(feed.failureCount), "\(order)")
        }
    }

    @Test func theScoreStaysWithinItsBounds() {
        var feed = feed
        #expect(feed.computedQualityScore == 35)
        feed.totalAttempts = 1000
        feed.successfulAttempts = 1000
        feed.description = "d"
        feed.siteURL = "s"
        feed.imageURL = "i"
        feed.language = "en"
        feed.updateFrequency = 3600
        #expect(feed.computedQualityScore == 99)
        feed.failureCount = 100
        #expect(feed.computedQualityScore == 69)
        feed.successfulAttempts = 0
        #expect(feed.computedQualityScore == 0)
    }

    @Test func aFeedIsDueAfterItsInterval() {
        var feed = feed
        feed.minUpdateInterval = 3600
        #expect(feed.isDue(at: start))
        feed.lastAttempted = start
        #expect(!feed.isDue(at: start.addingTimeInterval(3599)))
        #expect(feed.isDue(at: start.addingTimeInterval(3600)))
        feed.minUpdateInterval = 1e9
        #expect(feed.isDue(at: start.addingTimeInterval(86_400)))
    }
}
