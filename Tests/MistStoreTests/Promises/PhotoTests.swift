import Foundation
import MistKit
import MistModels
import MistStore

@CloudKitRecord
struct Album: Hashable {
    var name: String
}

@CloudKitRecord
struct Photo: Hashable {
    var album: RecordReference<Album>?
    @CloudKitField(.queryable) var title: String
    var image: Asset?
}

/// Tests of stores whose records have files.
protocol PhotoTests {
    var picture: [UInt8] { get }
    var other: [UInt8] { get }
}

extension PhotoTests {
    var picture: [UInt8] { (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) } }
    var other: [UInt8] { (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 17 ^ $0 >> 7) } }

    /// Adds a photo whose name is its title, too.
    func add(_ name: String, _ bytes: [UInt8], to store: MistStore) async throws {
        let database = store.privateDatabase
        try await database.add(Photo(title: name, image: try await database.addFile(bytes)), named: name)
    }

    /// The bytes of a record's file on a device; `nil` where the record has none or the file is not here.
    func image(of name: String, on store: MistStore) async throws -> [UInt8]? {
        let photo = try await store.privateDatabase.fetch(Photo.self, named: name)
        guard let image = photo.image, let url = store.privateDatabase.file(of: image) else { return nil }
        return [UInt8](try Data(contentsOf: url))
    }
}
