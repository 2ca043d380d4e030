import Foundation
import MistModels
import MistTesting
import Testing

/// A copy of a zone's feeds that follows the service.
struct FeedCopy: Codable {
    var titles: [String: String] = [:]
    var token: ZoneChangeToken?

    mutating func follow(_ zone: ZoneID, in database: CloudKitDatabase) async throws {
        for try await page in database.changes(to: Feed.self, inZone: zone, since: token) {
            for feed in page.changedRecords {
                titles[feed.recordName] = feed.title
            }
            for record in page.deletedRecords {
                titles[record.recordName ?? ""] = nil
            }
            token = page.token
        }
    }
}

extension FeedCopy {
    mutating func followOrStartOver(_ zone: ZoneID, in database: CloudKitDatabase) async throws {
        do {
            try await follow(zone, in: database)
        } catch let error as CloudKitError where error.code == .changeTokenExpired {
            self = FeedCopy()
            try await follow(zone, in: database)
        }
    }
}

/// The Swift of "Following changes".
@Suite(.serialized)
struct ChangesTests {
    @Test func aCopyFollowsTheService() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Feeds").zoneID
            var feed = try await database.save(Feed.swift, named: "a", inZone: zone)
            try await database.save(Feed.swift, named: "b", inZone: zone)

            var copy = FeedCopy()
            try await copy.follow(zone, in: database)
            #expect(copy.titles == ["a": "Swift.org", "b": "Swift.org"])

            feed.title = "Swift"
            try await database.update(feed)
            try await database.forceDelete("b", inZone: zone)
            // Encoded and decoded, as between two runs of the program.
            copy = try JSONDecoder().decode(FeedCopy.self, from: JSONEncoder().encode(copy))
            try await copy.follow(zone, in: database)
            #expect(copy.titles == ["a": "Swift"])
        }
    }

    @Test func aTokenOfAnotherZoneMeansStartingOver() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Feeds").zoneID
            try await database.save(Feed.swift, named: "a", inZone: zone)

            var copy = FeedCopy(titles: ["gone": "Gone"], token: ZoneChangeToken("nonsense"))
            try await copy.followOrStartOver(zone, in: database)
            #expect(copy.titles == ["a": "Swift.org"])
        }
    }

    @Test func theDatabaseSaysWhichZonesChanged() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .user)
            let database = service.privateDatabase
            try await database.createZone("Feeds")
            var copies: [ZoneID: FeedCopy] = [:]
            var token: DatabaseChangeToken?

            for try await page in database.changes(since: token) {
                for zone in page.changedZones where zone.zoneID.zoneName != ZoneID.default.zoneName {
                    try await copies[zone.zoneID, default: FeedCopy()].follow(zone.zoneID, in: database)
                }
                for zone in page.deletedZones {
                    copies[zone] = nil
                }
                token = page.token
            }

            #expect(copies.keys.map(\.zoneName) == ["Feeds"])
            #expect(token != nil)
        }
    }
}
