import CloudKitEmulator
import CloudKitModel
import MistKit
import MistTesting
import Testing

/// Pushes about shared records: Mei owns an album, and Ben may write in it.
@Suite(.serialized)
struct SharedNotificationTests {
    @Test func participantsGetPushesForSharedRecords() async throws {
        try await withCloudKitEmulator { emulator in
            let albums = ZoneID(zoneName: "Albums")
            let benName = try emulator.rules.createUser(emailAddress: "ben@example.com")
            let mei = emulator.service(as: .user)
            let ben = try emulator.service(asUser: benName)
            try await mei.privateDatabase.createZone("Albums")
            for (type, name, parent) in [
                ("Album", "album", nil), ("Photo", "photo 1", "album"), ("Photo", "photo 2", "album"),
                ("Diary", "diary", nil),
            ] {
                var record = Record(recordType: type, recordName: name)
                record.parent = parent.map { Reference(recordName: $0) }
                try await mei.privateDatabase.create(record, inZone: albums)
            }
            let share = try await mei.privateDatabase.share(
                try await mei.privateDatabase.fetch("album", inZone: albums),
                participants: [.invited(.emailAddress("ben@example.com"), permission: .readWrite)]
            )
            let link = try #require(share.link)
            let metadata = try await ben.accept(link)
            let zone = try #require(metadata.zoneID)

            let photos = Query(recordType: "Photo")
            try await mei.privateDatabase.save(Subscription("mine", to: photos, firesOn: [.update], inZone: albums))
            _ = try await ben.sharedDatabase.save([
                Subscription("photos", to: photos, firesOn: [.create, .update, .delete], inZone: zone),
                Subscription("zone", toZone: zone),
                .toDatabase("all"),
            ])
            let (meis, bens) = (try await mei.createDeviceToken(), try await ben.createDeviceToken())

            // The first record is not shared with Ben, the second one is.
            for (name, parent) in [("page", "diary"), ("photo 3", "album")] {
                var record = Record(recordType: "Photo", recordName: name)
                record.parent = Reference(recordName: parent)
                try await mei.privateDatabase.create(record, inZone: albums)
            }
            try await mei.privateDatabase.forceDelete("photo 2", inZone: albums)
            var photo = try await ben.sharedDatabase.fetch("photo 1", inZone: zone)
            photo["caption"] = "Fjord"
            try await ben.sharedDatabase.update(photo, inZone: zone)

            #expect(try await pushes(1, of: meis, mei) == ["mine updated photo 1 of the caller in private"])
            let owner = "of \(emulator.userRecordName) in shared"
            #expect(
                try await pushes(9, of: bens, ben) == [
                    "photos created photo 3 \(owner)", "zone zone \(owner)", "all database \(owner)",
                    "photos deleted photo 2 \(owner)", "zone zone \(owner)", "all database \(owner)",
                    "photos updated photo 1 \(owner)", "zone zone \(owner)", "all database \(owner)",
                ]
            )

            // Mei deletes the zone, and Ben gets a push.
            try await mei.privateDatabase.deleteZone(albums)
            #expect(
                try await pushes(2, of: bens, ben) == ["zone zone \(owner)", "all database \(owner)"]
            )
        }
    }

    private func pushes(_ count: Int, of token: DeviceToken, _ service: CloudKitService) async throws -> [String] {
        var lines: [String] = []
        for try await notification in service.notifications(of: token) {
            let (change, zone): (String, ZoneID?) =
                switch notification.change {
                case .record(let change): ("\(change.reason) \(change.recordName)", change.zoneID)
                case .zone(let zone): ("zone", zone)
                case .database(let zone): ("database", zone)
                case .other: ("other", nil)
                }
            let owner = zone?.ownerRecordName ?? "the caller"
            let scope = notification.databaseScope?.rawValue ?? "?"
            lines.append("\(notification.subscriptionID ?? "?") \(change) of \(owner) in \(scope)")
            if lines.count == count { break }
        }
        return lines
    }
}
