import Foundation
@_spi(Benchmarks) import MistKit
import MistModels

/// The record type of the synthetic page.
@CloudKitRecord("Note")
struct TypedNote {
    var title: String
    var body: String
    var author: String
    var count: Int
    var rating: Double
    var createdOn: Date
    var digest: Data
    var parentNote: RecordReference<TypedNote>
    var place: Location
    var tags: [String]
    var scores: [Int]
    var isPinned: Bool
}

extension Contender {
    /// Reads a page into typed records. Every record must fit the type.
    static func typed<Model: CloudKitRecord>(_ model: Model.Type, _ bytes: [UInt8]) -> Contender {
        Contender(name: "typed records") {
            var count = 0
            for result in try readTypedRecords(model, from: bytes) {
                _ = try result.get()
                count += 1
            }
            return count
        }
    }
}
