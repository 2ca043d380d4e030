import CloudKitEmulator
import Foundation
import MistModels
import MistTesting
import Testing

/// The Swift of "People and sharing".
@Suite(.serialized)
struct SharingTests {
    @Test func anAlbumIsShared() async throws {
        try await withCloudKitEmulator { emulator in
            let mei = emulator.service(as: .user)
            let benName = try emulator.rules.createUser(
                NameComponents(givenName: "Ben"),
                emailAddress: "ben@example.com"
            )
            let ben = try emulator.service(asUser: benName)
            let zone = try await mei.privateDatabase.createZone("Albums").zoneID
            let album = try await mei.privateDatabase.create(
                Record(recordType: "Album", recordName: "album", fields: ["title": "Norway"]),
                inZone: zone
            )

            let share = try await mei.privateDatabase.share(
                album,
                title: "Holidays",
                participants: [.invited(.emailAddress("ben@example.com"), permission: .readWrite)],
                inZone: zone
            )
            print(share.url?.absoluteString ?? "")  // https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw
            var photo = Record(recordType: "Photo", recordName: "photo-1", fields: ["caption": "Fjord"])
            photo.parent = Reference(recordName: "album")
            try await mei.privateDatabase.create(photo, inZone: zone)

            let link = try #require(share.link)
            let invitation = try await ben.resolve(link)
            print(invitation.ownerIdentity?.nameComponents?.givenName ?? "", invitation.participantPermission ?? "")

            let accepted = try await ben.accept(link)
            let photos = ben.sharedDatabase.records(matching: Query(recordType: "Photo"), inZone: accepted.zoneID)
            #expect(try await photos.collect().map(\.recordName) == ["photo-1"])

            var changed = try await mei.privateDatabase.fetchShare(of: share.rootRecord ?? album)
            changed[.emailAddress("ben@example.com")]?.permission = .readOnly
            changed.invite(.emailAddress("tom@example.com"))
            changed = try await mei.privateDatabase.update(changed)
            #expect(changed.participants.count == 3)
        }
    }

    @Test func peopleAreFound() async throws {
        try await withCloudKitEmulator { emulator in
            let benName = try emulator.rules.createUser(
                NameComponents(givenName: "Ben"),
                emailAddress: "ben@example.com"
            )
            let ben = try emulator.service(asUser: benName)
            let found = try await ben.discoverUsers([
                .emailAddress("mei@example.com"), .emailAddress("unknown@example.com"),
            ])
            for person in found {
                switch person {
                case .success(let identity):
                    print(identity.nameComponents?.givenName ?? "", identity.userRecordName ?? "")
                case .failure(let error): print(error.code)  // NOT_FOUND
                }
            }
            #expect(try found[0].get().userRecordName == emulator.userRecordName)
            #expect((try? found[1].get()) == nil)
        }
    }
}
