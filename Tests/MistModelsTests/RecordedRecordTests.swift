import Foundation
import MistModels
import TestSupport
import Testing

/// One of Apple's own record types, as in the recorded exchanges.
@CloudKitRecord("CPLMaster")
struct Master: Hashable {
    @CloudKitField("itemType") var type: String
    @CloudKitField("originalOrientation") var orientation: Int?
    @CloudKitField("resOriginalFileType") var fileType: String?
    @CloudKitField("resOriginalRes") var file: Asset?
    @CloudKitField("resOriginalWidth") var width: Int?
    @CloudKitField("filenameEnc") var filename: Data?
    @CloudKitField("importedBy") var importedBy: Int?
}

/// Typed records read from a recorded page of Apple's service.
struct RecordedRecordTests {
    @Test(.enabled(if: SharedFolder.hasRecordedExchanges, "no recorded exchanges beside the package"))
    func aRecordedPageIsReadIntoAType() async throws {
        let bytes = try SharedFolder.recorded("query-200-records.response")
        let service = CloudKitService(
            containerIdentifier: "com.apple.photos.cloud",
            apiToken: String(repeating: "0", count: 64),
            configuration: .init(transport: FixedReply(body: bytes))
        )
        let pages = service.privateDatabase.records(matching: Query<Master>()).pages
        let typed = try #require(try await first(of: pages))
        let untyped = try #require(
            try await first(of: service.privateDatabase.records(matching: Query(recordType: "CPLMaster")).pages)
        )
        #expect(typed.results.count == 200)
        var masters = 0
        for (result, raw) in zip(typed.results, untyped.results) {
            let record = try raw.get()
            switch result {
            case .success(let master):
                masters += 1
                #expect(record.recordType == "CPLMaster")
                #expect(master.recordName == record.recordName)
                #expect(master.recordChangeTag == record.recordChangeTag)
                #expect(master.created == record.created)
                #expect(master.type == record["itemType"]?.stringValue)
                #expect(master.file == record["resOriginalRes"]?.assetValue)
                #expect(master.filename == record["filenameEnc"]?.bytesValue)
                #expect(master.width == record["resOriginalWidth"]?.int64Value.map { Int($0) })
                #expect(master.zoneID == record.zoneID)
                // Every field belongs to the type or is kept as another field.
                #expect(Set(master.otherFields.names).union(Master.desiredKeys).isSuperset(of: record.fields.names))
            case .failure(let error):
                #expect(record.recordType != "CPLMaster")
                #expect(error.code == .decoding)
                #expect(error.item == record.recordName.map { .record(name: $0) })
            }
        }
        #expect(masters > 0)
    }

    private func first<Model>(of pages: RecordSequence<Model>.Pages) async throws -> RecordPage<Model>? {
        var iterator = pages.makeAsyncIterator()
        return try await iterator.next()
    }
}
