import CloudKitEmulator
import CloudKitModel
import Foundation
import MistKit
import MistTesting
import Testing

/// Mei shares an album; Ben is invited, Tom is not.
@Suite(.serialized)
struct SharingTests {
    @Test(arguments: EmulatorConnection.allCases)
    func aZoneIsSharedAsAWhole(connection: EmulatorConnection) async throws {
        try await withFriends(over: connection) { friends in
            let mei = friends.albums
            await #expect(throws: CloudKitError.self) { try await mei.fetchShare(ofZone: friends.zone) }
            var share = try await mei.shareZone(
                friends.zone,
                title: "Everything",
                participants: [.invited(.emailAddress("ben@example.com"), permission: .readWrite)]
            )
            #expect(
                share.recordName == "cloudkit.zoneshare" && share.title == "Everything" && share.rootRecordName == nil
            )
            #expect(share.participants.map(\.permission) == [.readWrite, .readWrite])
            let accepted = try await friends.ben.accept(#require(share.link))
            #expect(accepted.rootRecordName == nil)
            let zone = try #require(accepted.zoneID)
            // Ben sees the zone's records from before the share, and those created after it.
            let database = friends.ben.sharedDatabase
            #expect(try await database.fetch("diary", inZone: zone).recordName == "diary")
            try await database.create(Record(recordType: "Photo", recordName: "photo 9"), inZone: zone)
            #expect(try await mei.fetch("photo 9", inZone: friends.zone).created?.userRecordName == friends.benName)

            let twice = await #expect(throws: CloudKitError.self) { try await mei.shareZone(friends.zone) }
            #expect(twice?.code == .exists)
            share = try await mei.fetchShare(ofZone: friends.zone)
            share[.emailAddress("ben@example.com")]?.permission = .readOnly
            share = try await mei.update(share)
            let refused = await #expect(throws: CloudKitError.self) {
                try await database.create(Record(recordType: "Photo", recordName: "photo 10"), inZone: zone)
            }
            #expect(refused?.code == .accessDenied)
            try await database.leave(try await database.fetchShare(ofZone: zone))
            #expect(try await database.fetchZones() == [])
            try await mei.stopSharing(share)
            await #expect(throws: CloudKitError.self) { try await mei.fetchShare(ofZone: friends.zone) }
        }
    }

    @Test func aZoneThatCannotBeSharedIsRefusedBeforeItIsSent() async throws {
        try await withFriends(over: .inProcess) { friends in
            let cases: [(CloudKitDatabase, ZoneID)] = [
                (friends.albums, .default), (friends.ben.sharedDatabase, friends.zone),
                (friends.ben.publicDatabase, friends.zone),
            ]
            for (database, zone) in cases {
                let error = await #expect(throws: CloudKitError.self) { try await database.shareZone(zone) }
                #expect(error?.code == .invalidArgument)
                #expect(error?.item == .zone(name: zone.zoneName))
            }
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func anAlbumIsSharedReadWrittenAndLeft(connection: EmulatorConnection) async throws {
        try await withFriends(over: connection) { friends in
            let share = try await friends.shareAlbum(title: "Holidays", permission: .readWrite)
            #expect(share.title == "Holidays")
            #expect(share.owner?.userIdentity?.userRecordName == friends.meiName)
            #expect(share.participants.map(\.type) == [.owner, .user])
            #expect(share[.emailAddress("ben@example.com")]?.acceptanceStatus == .invited)
            let link = try #require(share.link)
            #expect(share.url?.absoluteString == "https://www.icloud.com/share/\(link.shortGUID)")

            let invitation = try await friends.ben.resolve(link)
            #expect(invitation.databaseScope == .shared)
            #expect(invitation.participantStatus == .invited)
            #expect(invitation.participantPermission == .readWrite)
            #expect(invitation.ownerIdentity?.nameComponents?.familyName == "Chen")
            #expect(invitation.rootRecord?["title"]?.stringValue == "Norway")
            #expect(try await friends.ben.sharedDatabase.fetchZones() == [])

            let accepted = try await friends.ben.accept(link)
            #expect(accepted.participantStatus == .accepted)
            let zone = try #require(accepted.zoneID)
            #expect(zone.ownerRecordName == friends.meiName)
            #expect(try await friends.ben.accept(link) == accepted)

            // Ben sees the share, the album and its photos, and no other record of the zone.
            let database = friends.ben.sharedDatabase
            #expect(try await database.fetchZones().map(\.zoneID) == [zone])
            #expect(try await names(in: zone, of: database) == [share.recordName, "album", "photo 1", "photo 2"])
            let query = Query(recordType: "Photo", sorts: [Sort("number")])
            #expect(
                try await database.records(matching: query, inZone: zone).collect().map(\.recordName) == [
                    "photo 1", "photo 2",
                ]
            )
            let hidden = try await database.fetch(["photo 1", "diary"], inZone: zone)
            #expect(hidden.map { summary($0) } == ["ok", "NOT_FOUND diary"])

            // Mei sees Ben's writes, with Ben's name.
            var photo = try await database.fetch("photo 1", inZone: zone)
            photo["caption"] = "Fjord"
            try await database.update(photo)
            var third = Record(recordType: "Photo", recordName: "photo 3", fields: ["number": 3])
            third.parent = Reference(recordName: "album")
            try await database.create(third, inZone: zone)
            let seen = try await friends.albums.fetch(["photo 1", "photo 3"], inZone: friends.zone).map { try $0.get() }
            #expect(seen[0]["caption"]?.stringValue == "Fjord")
            #expect(seen.map { $0.created?.userRecordName } == [friends.meiName, friends.benName])
            #expect(seen.map { $0.modified?.userRecordName } == [friends.benName, friends.benName])

            // Ben sees Mei's changes.
            let token = try await lastToken(in: zone, of: database)
            try await friends.albums.forceDelete("photo 2", inZone: friends.zone)
            try await friends.save("Photo", "photo 4", parent: "photo 3")
            try await friends.save("Photo", "diary page", parent: "diary")
            #expect(try await changes(in: zone, of: database, since: token) == ["-photo 2", "photo 4"])

            var databaseToken: DatabaseChangeToken?
            for try await page in database.changes() { databaseToken = page.token }
            try await database.leave(try Share(accepted))
            #expect(try await database.fetchZones() == [])
            var gone: [ZoneID] = []
            for try await page in database.changes(since: databaseToken) { gone += page.deletedZones }
            #expect(gone == [zone])
            let error = try await failure {
                try await database.fetch("photo 1", inZone: zone)
            }
            #expect(error.code == .zoneNotFound)
            let present = try await friends.albums.fetchShare(of: friends.albums.fetch("album", inZone: friends.zone))
            #expect(present.participants.map(\.type) == [.owner])
        }
    }

    @Test func whoMayOnlyReadWritesNothing() async throws {
        try await withFriends { friends in
            let share = try await friends.shareAlbum(permission: .readOnly)
            let zone = try await friends.accept(share, as: friends.ben)
            let database = friends.ben.sharedDatabase
            var photo = try await database.fetch("photo 1", inZone: zone)
            photo["caption"] = "Mine"
            var new = Record(recordType: "Photo", recordName: "new")
            new.parent = Reference(recordName: "album")
            let refused = try await database.modify(
                [.update(photo), .create(new), .forceDelete("photo 2")],
                inZone: zone
            )
            #expect(
                refused.map { summary($0) } == ["ACCESS_DENIED photo 1", "ACCESS_DENIED new", "ACCESS_DENIED photo 2"]
            )

            // Now Mei allows Ben to write.
            var changed = try await friends.fetchShare()
            changed[.emailAddress("ben@example.com")]?.permission = .readWrite
            changed = try await friends.albums.update(changed)
            #expect(changed[.emailAddress("BEN@example.com")]?.acceptanceStatus == .accepted)
            let done = try await database.modify([.update(photo), .create(new), .forceDelete("photo 2")], inZone: zone)
            #expect(done.map { summary($0) } == ["ok", "ok", "ok"])

            // A share that changed after it was accepted can be left like any other.
            let present = try await friends.ben.resolve(try #require(share.link))
            try await database.leave(try Share(present))
            #expect(try await database.fetchZones() == [])
        }
    }

    @Test func whoMayWriteStaysBelowWhatIsShared() async throws {
        try await withFriends { friends in
            let share = try await friends.shareAlbum(permission: .readWrite)
            let zone = try await friends.accept(share, as: friends.ben)
            let database = friends.ben.sharedDatabase
            let loose = Record(recordType: "Photo", recordName: "loose")
            var elsewhere = Record(recordType: "Photo", recordName: "elsewhere")
            elsewhere.parent = Reference(recordName: "diary")
            let taken = Record(recordType: "Photo", recordName: "diary")
            var moved = try await database.fetch("photo 1", inZone: zone)
            moved.parent = Reference(recordName: "diary")
            var renamed = try await database.fetch(try #require(share.recordName), inZone: zone)
            renamed.fields = ["cloudkit.title": "Ben's"]
            let operations: [RecordOperation] = [
                .create(loose), .create(elsewhere), .create(taken), .update(moved), .forceDelete("album"),
                .update(renamed),
            ]
            let refused = try await database.modify(operations, inZone: zone)
            #expect(refused.map { summary($0).prefix(13) } == Array(repeating: "ACCESS_DENIED", count: 6))
            let denied = try await failure { try await database.share(loose) }
            #expect(denied.code == .invalidArgument)
        }
    }

    @Test func aStrangerSeesNothing() async throws {
        try await withFriends { friends in
            let share = try await friends.shareAlbum()
            let link = try #require(share.link)
            for results in [
                try await friends.tom.resolve([link, ShareLink(shortGUID: "0nothing")]),
                try await friends.tom.accept([link, ShareLink(shortGUID: "0nothing")]),
            ] {
                #expect(
                    results.map { summary($0) } == ["ACCESS_DENIED \(link.shortGUID)", "NOT_FOUND 0nothing"]
                )
            }
            let anonymous = friends.emulator.service(as: .apiToken)
            #expect(
                try await anonymous.resolve([link]).map { summary($0) } == ["AUTHENTICATION_REQUIRED \(link.shortGUID)"]
            )
            let error = try await failure { try await anonymous.accept(link) }
            #expect(error.code == .authenticationRequired)
            #expect(error.redirectURL != nil)
            let zone = ZoneID(zoneName: friends.zone.zoneName, ownerRecordName: friends.meiName)
            let unseen = try await failure {
                try await friends.tom.sharedDatabase.fetch("album", inZone: zone)
            }
            #expect(unseen.code == .zoneNotFound)
        }
    }

    @Test func aPublicLinkIsForAllUsers() async throws {
        try await withFriends { friends in
            var share = try await friends.shareAlbum(publicPermission: .readOnly)
            let link = try #require(share.link)
            let shown = try await friends.emulator.service(as: .apiToken).resolve(link, rootRecordDesiredKeys: [])
            #expect(shown.participantType == .publicUser)
            #expect(shown.rootRecord?.recordName == "album")
            #expect(shown.rootRecord?.fields.isEmpty == true)
            let bare = try await friends.emulator.service(as: .apiToken).resolve(link, fetchingRootRecord: false)
            #expect(bare.rootRecordName == "album" && bare.rootRecord == nil)

            let zone = try #require(try await friends.tom.accept(link).zoneID)
            #expect(try await friends.tom.sharedDatabase.fetch("photo 1", inZone: zone).recordName == "photo 1")
            share = try await friends.fetchShare()
            #expect(share[.userRecordName(friends.tomName)]?.type == .publicUser)

            share.publicPermission = .none
            share = try await friends.albums.update(share)
            #expect(share[.userRecordName(friends.tomName)] == nil)
            #expect(try await friends.tom.sharedDatabase.fetchZones() == [])
            let error = try await failure { try await friends.tom.accept(link) }
            #expect(error.code == .accessDenied)
        }
    }

    @Test func anOwnerStopsSharing() async throws {
        try await withFriends { friends in
            let share = try await friends.shareAlbum()
            let link = try #require(share.link)
            try await friends.ben.accept(link)
            let wrong = try await failure { try await friends.albums.leave(share) }
            #expect(wrong.code == .invalidArgument)
            let other = try await failure {
                try await friends.ben.sharedDatabase.stopSharing(share)
            }
            #expect(other.code == .invalidArgument)

            try await friends.albums.stopSharing(share)
            #expect(try await friends.ben.sharedDatabase.fetchZones() == [])
            #expect(try await friends.ben.resolve([link]).map { summary($0) } == ["NOT_FOUND \(link.shortGUID)"])
            var album = try await friends.albums.fetch("album", inZone: friends.zone)
            #expect(album.share == nil)

            // The link of a record stays the same when it is shared again.
            let again = try await friends.albums.share(album, inZone: friends.zone)
            #expect(again.link == link)
            album = try #require(again.rootRecord)
            album["title"] = "Sweden"
            #expect(try await friends.albums.update(album, inZone: friends.zone).share?.recordName == again.recordName)
        }
    }

    @Test func aRemovedParticipantSeesTheRestOfTheZone() async throws {
        try await withFriends { friends in
            let share = try await friends.shareAlbum()
            let zone = try await friends.accept(share, as: friends.ben)
            let diary = try await friends.albums.fetch("diary", inZone: friends.zone)
            let second = try await friends.albums.share(
                diary,
                participants: [.invited(.userRecordName(friends.benName))],
                inZone: friends.zone
            )
            let database = friends.ben.sharedDatabase
            let token = try await lastToken(in: zone, of: database)
            _ = try await friends.accept(second, as: friends.ben)
            let secondName = try #require(second.recordName)
            #expect(try await changes(in: zone, of: database, since: token) == ["diary", secondName].sorted())

            let next = try await lastToken(in: zone, of: database)
            var first = try await friends.fetchShare()
            first[.emailAddress("ben@example.com")] = nil
            try await friends.albums.update(first)
            let gone = ["album", "photo 1", "photo 2", share.recordName ?? ""].map { "-\($0)" }
            #expect(try await changes(in: zone, of: database, since: next) == gone.sorted())
            #expect(try await names(in: zone, of: database) == ["diary", secondName].sorted())
            #expect(try await database.fetchZones().map(\.zoneID) == [zone])
        }
    }

    @Test func recordsEnterAndLeaveWithTheirParents() async throws {
        try await withFriends { friends in
            let share = try await friends.shareAlbum()
            let zone = try await friends.accept(share, as: friends.ben)
            let database = friends.ben.sharedDatabase
            try await friends.save("Photo", "page 1", parent: "diary")
            try await friends.save("Photo", "page 2", parent: "page 1")
            var token = try await lastToken(in: zone, of: database)
            var page = try await friends.albums.fetch("page 1", inZone: friends.zone)
            page.parent = Reference(recordName: "album")
            page = try await friends.albums.update(page, inZone: friends.zone)
            #expect(try await changes(in: zone, of: database, since: token) == ["page 1", "page 2"])
            token = try await lastToken(in: zone, of: database)
            page.parent = Reference(recordName: "diary")
            try await friends.albums.update(page, inZone: friends.zone)
            #expect(try await changes(in: zone, of: database, since: token) == ["-page 1", "-page 2"])
        }
    }

    @Test func anInvitationFindsUsersWhoJoinLater() async throws {
        try await withFriends { friends in
            var share = try await friends.shareAlbum()
            share.invite(.phoneNumber("+4712345678"), permission: .readWrite)
            share = try await friends.albums.update(share)
            let link = try #require(share.link)
            // The service does not know yet whether the caller is the invited user.
            let guess = try await friends.tom.resolve(link)
            #expect(guess.share == nil)
            #expect(guess.potentialMatchList?.map(\.contactInformation) == [.phoneNumber("+4712345678")])
            #expect(throws: CloudKitError.self) { try Share(guess) }

            let ann = try friends.emulator.rules.createUser(phoneNumber: "+4712345678")
            let accepted = try await friends.emulator.service(asUser: ann).accept(link)
            #expect(accepted.participantPermission == .readWrite)
            #expect(try await friends.fetchShare()[.phoneNumber("+4712345678")]?.userIdentity?.userRecordName == ann)
        }
    }

    @Test func whatCannotBeSharedIsRefused() async throws {
        try await withFriends { friends in
            let album = try await friends.albums.fetch("album", inZone: friends.zone)
            for (database, record) in [
                (friends.albums, Record(recordType: "Note")), (friends.mei.publicDatabase, album),
                (friends.ben.sharedDatabase, album),
            ] {
                let error = try await failure { try await database.share(record) }
                #expect(error.code == .invalidArgument)
            }
            let share = try await friends.shareAlbum()
            let shared = try await friends.albums.fetch("album", inZone: friends.zone)
            let twice = try await failure { try await friends.albums.share(shared) }
            #expect(twice.code == .invalidArgument)
            // A caller with an old version of the record gets the service's error.
            let unaware = try await failure {
                try await friends.albums.share(album, inZone: friends.zone)
            }
            #expect(unaware.code == .conflict)
            let photo = try await friends.albums.fetch("photo 1", inZone: friends.zone)
            let nested = try await failure { try await friends.albums.share(photo) }
            #expect(nested.code == .badRequest)

            var crowd = share
            for number in 1...100 { crowd.invite(.emailAddress("guest\(number)@example.com")) }
            let full = crowd
            let tooMany = try await failure { try await friends.albums.update(full) }
            #expect(tooMany.reason == "a share has at most 100 participants, not 102")
        }
    }

    @Test func aZoneThatIsDeletedIsGoneForAll() async throws {
        try await withFriends { friends in
            _ = try await friends.accept(try await friends.shareAlbum(), as: friends.ben)
            var token: DatabaseChangeToken?
            for try await page in friends.ben.sharedDatabase.changes() { token = page.token }
            try await friends.albums.deleteZone(friends.zone)
            #expect(try await friends.ben.sharedDatabase.fetchZones() == [])
            var gone: [String] = []
            for try await page in friends.ben.sharedDatabase.changes(since: token) {
                gone += page.deletedZones.map(\.zoneName)
            }
            #expect(gone == ["Albums"])
        }
    }

    @Test func linksAreReadInTheFormsThatPeopleHaveThem() throws {
        let text = "02aPe3Jgy3COgyPaWfUJPyfFw"
        for link in [
            text, "https://www.icloud.com/share/\(text)", "https://www.icloud.com/share/\(text)/?a=b#My_Album",
        ] {
            #expect(try ShareLink(link).shortGUID == text)
        }
        for other in ["", "https://www.icloud.com/photos/\(text)", "https://www.icloud.com/", "a b c d"] {
            #expect(throws: CloudKitError.self) { try ShareLink(other) }
        }
    }
}

// MARK: - The users

/// Mei's zone Albums has an album of two photos, and a diary that does not belong to the album. Ben and Tom are other
/// users.
private struct Friends {
    let emulator: RunningEmulator
    let mei: CloudKitService
    let ben: CloudKitService
    let tom: CloudKitService
    let benName: String
    let tomName: String
    let zone = ZoneID(zoneName: "Albums")

    var meiName: String { emulator.userRecordName }
    var albums: CloudKitDatabase { mei.privateDatabase }

    init(_ emulator: RunningEmulator) async throws {
        self.emulator = emulator
        mei = emulator.service(as: .user)
        benName = try emulator.rules.createUser(NameComponents(givenName: "Ben"), emailAddress: "ben@example.com")
        tomName = try emulator.rules.createUser(NameComponents(givenName: "Tom"), emailAddress: "tom@example.com")
        ben = try emulator.service(asUser: benName)
        tom = try emulator.service(asUser: tomName)
        try await albums.createZone(zone.zoneName)
        try await albums.create(
            Record(recordType: "Album", recordName: "album", fields: ["title": "Norway"]),
            inZone: zone
        )
        try await albums.create(Record(recordType: "Diary", recordName: "diary"), inZone: zone)
        try await save("Photo", "photo 1", parent: "album", ["number": 1])
        try await save("Photo", "photo 2", parent: "album", ["number": 2])
    }

    func save(_ type: String, _ name: String, parent: String, _ fields: Record.Fields = [:]) async throws {
        var record = Record(recordType: type, recordName: name, fields: fields)
        record.parent = Reference(recordName: parent)
        try await albums.create(record, inZone: zone)
    }

    func shareAlbum(
        title: String? = nil,
        permission: SharePermission = .readOnly,
        publicPermission: SharePermission = .none
    ) async throws -> Share {
        try await albums.share(
            try await albums.fetch("album", inZone: zone),
            title: title,
            publicPermission: publicPermission,
            participants: [.invited(.emailAddress("ben@example.com"), permission: permission)]
        )
    }

    /// Accepts a share as a user, and returns the zone as that user sees it.
    func accept(_ share: Share, as person: CloudKitService) async throws -> ZoneID {
        let link = try #require(share.link)
        let metadata = try await person.accept(link)
        return try #require(metadata.zoneID)
    }

    func fetchShare() async throws -> Share {
        try await albums.fetchShare(of: try await albums.fetch("album", inZone: zone))
    }
}

private func withFriends(
    over connection: EmulatorConnection = .inProcess,
    _ body: (Friends) async throws -> Void
) async throws {
    try await withCloudKitEmulator(over: connection) { emulator in
        try await body(try await Friends(emulator))
    }
}

/// The names of all records in a zone's feed, from the start.
private func names(in zone: ZoneID, of database: CloudKitDatabase) async throws -> [String?] {
    try await changes(in: zone, of: database, since: nil)
}

/// The changes in a zone's feed since a token, fetched two records at a time: the names, with a minus for deleted
/// records.
private func changes(in zone: ZoneID, of database: CloudKitDatabase, since token: ZoneChangeToken?) async throws
    -> [String]
{
    var changes: [String] = []
    for try await page in database.changes(inZone: zone, since: token, pageSize: 2) {
        changes += page.changedRecords.map { $0.recordName ?? "" }
        changes += page.deletedRecords.map { "-\($0.recordName ?? "")" }
    }
    return changes.sorted()
}

private func lastToken(in zone: ZoneID, of database: CloudKitDatabase) async throws -> ZoneChangeToken? {
    var token: ZoneChangeToken?
    for try await page in database.changes(inZone: zone) { token = page.token }
    return token
}
