import Foundation
import MistModels
import MistTesting
import Testing

@CloudKitRecord
struct Profile {
    var name: String
    var photo: Asset?
}

/// The Swift of "Files".
@Suite(.serialized)
struct AssetTests {
    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "mistkit-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test func aFileIsUploadedAndDownloaded() async throws {
        try await withFolder { folder in
            try await withCloudKitEmulator { emulator in
                let database = emulator.service(as: .user).privateDatabase
                let picture = folder.appending(path: "picture.jpeg")
                let copy = folder.appending(path: "copy.jpeg")
                try Data("not really a picture".utf8).write(to: picture)

                var profile = StoredRecord(Profile(name: "Mei"), recordName: "mei")
                profile.photo = try await database.upload(.file(picture), for: \.photo, of: profile)
                profile = try await database.save(profile)

                profile = try await database.fetch(Profile.self, named: "mei")
                try await database.download(AssetField(\.photo, of: profile), to: copy)
                #expect(try Data(contentsOf: copy) == Data(contentsOf: picture))
            }
        }
    }

    @Test func bytesInMemoryAndTheSameElsewhere() async throws {
        try await withFolder { folder in
            try await withCloudKitEmulator { emulator in
                let database = emulator.service(as: .user).privateDatabase
                let bytes = [UInt8]("not really a picture".utf8)
                let copy = folder.appending(path: "copy.jpeg")

                let upload = try await database.upload(.bytes(bytes), for: "cover", of: "Album")
                let album = try await database.create(upload.record(fields: ["title": "Norway"]))
                do {
                    let bytes = try await database.download(AssetField("cover", of: album), upTo: 1_000_000)
                    #expect(bytes == Array("not really a picture".utf8))
                }
                var count = 0
                for try await piece in database.chunks(of: AssetField("cover", of: album)) {
                    count += piece.count
                }
                #expect(count == bytes.count)

                try await database.download(AssetField("cover", of: album), to: copy) { progress in
                    print(progress.completedBytes, "of", progress.totalBytes ?? 0)
                }

                let cover = try await database.rereference(AssetField("cover", of: album))
                try await database.create(
                    Record(recordType: "Album", fields: ["title": "Norway again", "cover": .asset(cover)])
                )
                #expect(try await database.records(matching: Query(recordType: "Album")).collect().count == 2)
            }
        }
    }
}
