import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation
import GRDB
import MistTesting
import StreamingJSON
import Testing

extension World {
    /// Uploads a file for a field of a record in Ann's zone Notes, and returns the asset to save.
    func upload(
        _ bytes: [UInt8],
        for field: String,
        of type: String = "Note",
        named name: String?,
        zoneID: ZoneID? = notes,
        in address: DatabaseAddress? = nil
    ) throws -> Asset {
        try receive(bytes, at: ticket(for: field, of: type, named: name, zoneID: zoneID, in: address))
    }

    func ticket(
        for field: String,
        of type: String = "Note",
        named name: String?,
        zoneID: ZoneID? = notes,
        in address: DatabaseAddress? = nil
    ) throws -> AssetUploadTicket {
        let request = AssetUploadRequest(recordName: name, recordType: type, fieldName: field)
        return try emulator.request(in: address ?? privateDatabase, as: .user(ann)).requestAssetUploads(
            [request],
            zoneID: address == nil ? zoneID : nil
        )[0]
    }

    func receive(_ bytes: [UInt8], at ticket: AssetUploadTicket) throws -> Asset {
        var upload = try emulator.beginAssetUpload(ticket.token)
        try upload.append(bytes[...])
        return try upload.finish()
    }

    func record(_ name: String) throws -> CloudKitModel.Record {
        try asAnn().lookupRecords([RecordLookup(recordName: name)], zoneID: Self.notes).records[0].get()
    }

    /// All bytes at an asset's download address.
    func download(_ asset: Asset?) throws -> [UInt8] {
        guard let url = asset?.downloadURL else { return [] }
        let file = try emulator.openAsset(String(url.dropFirst("http://assets.cloudkit.test".count)))
        var bytes: [UInt8] = []
        while Int64(bytes.count) < file.size { bytes += try file.read(at: Int64(bytes.count)) }
        return bytes
    }

    func hostError(_ body: () throws -> some Any) -> AssetHostError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? AssetHostError
        }
    }
}

extension RecordOperation {
    fileprivate static func photo(
        _ type: OperationType,
        _ name: String,
        tag: String? = nil,
        _ asset: Asset
    ) -> RecordOperation {
        .note(type, name, tag: tag, ["photo": .asset(asset)])
    }
}

/// Assets: their addresses, receipts and uses.
struct AssetTests {
    private let picture: [UInt8] = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    @Test func aFileGoesUpAndComesDownAsItWas() throws {
        let world = try World()
        let asset = try world.upload(picture, for: "photo", named: "A")
        #expect(asset.size == 100_000)
        #expect(Data(base64Encoded: asset.fileChecksum ?? "")?.count == 21)
        #expect(Data(base64Encoded: asset.wrappingKey ?? "")?.count == 16)
        #expect(Data(base64Encoded: asset.referenceChecksum ?? "")?.count == 21)
        #expect(asset.downloadURL == nil)

        try world.modify(.photo(.create, "A", asset))
        let stored = try #require(try world.record("A").fields["photo"]?.assetValue)
        #expect(stored.receipt == nil)
        #expect(stored.fileChecksum == asset.fileChecksum)
        #expect(stored.wrappingKey == asset.wrappingKey)
        #expect(stored.downloadURL?.contains("/${f}?") == true)
        #expect(try world.download(stored) == picture)
    }

    @Test func aPublicFileHasNoKeys() throws {
        let world = try World()
        let asset = try world.upload(picture, for: "photo", named: "A", in: world.publicDatabase)
        #expect(asset.wrappingKey == nil)
        #expect(asset.referenceChecksum == nil)
    }

    @Test func theSameBytesHaveTheSameChecksum() throws {
        let world = try World()
        let first = try world.upload(picture, for: "photo", named: "A")
        let second = try world.upload(picture, for: "photo", named: "B")
        #expect(first.fileChecksum == second.fileChecksum)
        #expect(first.receipt != second.receipt)
        #expect(try world.upload([], for: "photo", named: "C").size == 0)
    }

    @Test func filesOfAnyLengthAreReadFromAnyPlace() throws {
        let world = try World()
        let piece = 256 * 1024
        for length in [0, 1, piece - 1, piece, piece + 1, 3 * piece + 17] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 >> 8 ^ $0) }
            let name = "n\(length)"
            try world.modify(.photo(.create, name, try world.upload(bytes, for: "photo", named: name)))
            let asset = try #require(try world.record(name).fields["photo"]?.assetValue)
            #expect(try world.download(asset) == bytes)
            let url = try #require(asset.downloadURL).dropFirst("http://assets.cloudkit.test".count)
            let file = try world.emulator.openAsset(String(url))
            for offset in [0, 1, piece - 1, piece, 2 * piece + 5] where offset < length {
                let part = try file.read(at: Int64(offset), upTo: 10)
                #expect(Array(part) == Array(bytes[offset..<min(offset + part.count, length)]))
                #expect(!part.isEmpty && part.count <= 10)
            }
            #expect(try file.read(at: Int64(length)).isEmpty)
            #expect(try file.read(at: -1).isEmpty)
        }
    }

    @Test func anUploadAddressIsForOneFileAndFifteenMinutes() throws {
        let world = try World()
        let ticket = try world.ticket(for: "photo", named: "A")
        #expect(ticket.url == "http://assets.cloudkit.test/asset-upload/\(ticket.token)")
        // An upload that breaks off does not use up the address.
        var broken = try world.emulator.beginAssetUpload(ticket.token)
        try broken.append(picture[...])
        broken.discard()
        _ = try world.receive(picture, at: ticket)
        #expect(world.hostError { try world.receive(picture, at: ticket) } == .gone)
        #expect(world.hostError { try world.emulator.beginAssetUpload("nonsense") } == .notFound)

        let late = try world.ticket(for: "photo", named: "A")
        var slow = try world.emulator.beginAssetUpload(late.token)
        try slow.append(picture[...])
        world.clock.advance(by: 15 * 60)
        #expect(world.hostError { try slow.finish() } == .gone)
        #expect(world.hostError { try world.emulator.beginAssetUpload(late.token) } == .gone)
    }

    @Test func aFileThatIsTooLongIsRefusedAsSoonAsThatIsKnown() throws {
        let world = try World { $0.limits.assetSize = 1000 }
        let ticket = try world.ticket(for: "photo", named: "A")
        #expect(world.hostError { try world.emulator.beginAssetUpload(ticket.token, length: 1001) } == .tooLarge)
        var upload = try world.emulator.beginAssetUpload(ticket.token)
        try upload.append(picture[0..<1000])
        #expect(world.hostError { try upload.append(picture[0..<1]) } == .tooLarge)
        upload.discard()
    }

    @Test func aTokenIsForAFieldOfFiles() throws {
        let world = try World { $0.unsettled.anonymousWrite = .refusesRecord }
        try world.modify(.note(.create, "A", ["title": "x"]))
        #expect(
            refusal { try world.ticket(for: "title", named: "A") }
                == "BAD_REQUEST invalid attempt to set value type ASSETID for field 'title' for type 'Note', "
                + "defined to be: STRING"
        )
        #expect(
            refusal { try world.ticket(for: "photo", of: "Other", named: "A") }
                == "BAD_REQUEST record 'A' is of type 'Note', not 'Other'"
        )
        #expect(refusal { try world.ticket(for: "1", named: "A") }.hasPrefix("BAD_REQUEST"))
        #expect(refusal { try world.ticket(for: "photo", named: "_A") }.hasPrefix("BAD_REQUEST"))
        let made = try world.ticket(for: "photo", named: nil)
        #expect(UUID(uuidString: made.recordName) != nil)
        #expect(
            refusal {
                try world.emulator.request(in: world.publicDatabase, as: .anonymous).requestAssetUploads([
                    AssetUploadRequest(recordType: "Note", fieldName: "photo")
                ])
            } == "ACCESS_DENIED CREATE operation not permitted"
        )
    }

    @Test func aReceiptIsGoodOnceAndForItsRecordAndField() throws {
        let world = try World()
        let asset = try world.upload(picture, for: "photo", named: "A")
        let invalid = "BAD_REQUEST the receipt of the asset for field 'photo' is not valid"
        #expect(try world.modify(.photo(.create, "B", asset)) == ["B! \(invalid)"])
        #expect(
            try world.modify(.note(.create, "A", ["cover": .asset(asset)]))
                == ["A! BAD_REQUEST the receipt of the asset for field 'cover' is not valid"]
        )
        #expect(try world.modify([.photo(.create, "A", asset)], zoneID: nil) == ["A! \(invalid)"])
        var claimed = asset
        claimed.size = 5
        #expect(
            try world.modify(.photo(.create, "A", claimed))
                == ["A! BAD_REQUEST the asset for field 'photo' is not what its receipt is for"]
        )
        var keyless = asset
        keyless.wrappingKey = nil
        #expect(
            try world.modify(.photo(.create, "A", keyless))
                == [
                    "A! BAD_REQUEST the asset for field 'photo' needs the wrappingKey and referenceChecksum of its upload"
                ]
        )
        let read = Asset(fileChecksum: asset.fileChecksum, size: asset.size)
        #expect(
            try world.modify(.photo(.create, "A", read)) == [
                "A! BAD_REQUEST the asset for field 'photo' has no receipt"
            ]
        )
        // The refused uses have not used up the receipt.
        #expect(try world.modify(.photo(.create, "A", asset))[0].hasPrefix("A@1 "))
        #expect(try world.modify(.photo(.forceReplace, "A", asset)) == ["A! \(invalid)"])

        let forged = Asset(fileChecksum: asset.fileChecksum, size: asset.size, receipt: "1")
        #expect(try world.modify(.photo(.create, "C", forged)) == ["C! \(invalid)"])

        let late = try world.upload(picture, for: "photo", named: "D")
        world.clock.advance(by: 24 * 60 * 60)
        #expect(try world.modify(.photo(.create, "D", late)) == ["D! \(invalid)"])
    }

    /// As CloudKit JS does: it uploads a file for a record without a name, and saves the record still without a name.
    @Test func aRecordWithoutANameTakesTheNameOfItsUpload() throws {
        let world = try World()
        let ticket = try world.ticket(for: "photo", named: nil)
        let asset = try world.receive(picture, at: ticket)
        #expect(
            try world.modify(.photo(.create, "other", asset))
                == ["other! BAD_REQUEST the receipt of the asset for field 'photo' is not valid"]
        )
        #expect(try world.modify(.note(.create, nil, ["photo": .asset(asset)]))[0].hasPrefix("\(ticket.recordName)@1 "))
        #expect(try world.download(try world.record(ticket.recordName).fields["photo"]?.assetValue) == picture)

        let named = try world.ticket(for: "photo", named: "A")
        let second = try world.receive(picture, at: named)
        #expect(try world.modify(.note(.forceUpdate, nil, ["photo": .asset(second)]))[0].hasPrefix("A@"))
    }

    @Test func theFilesOfARecordWithoutANameMeetInOneRecord() throws {
        let world = try World()
        let tickets = try ["photo", "album", "album"].map { try world.ticket(for: $0, named: nil) }
        let assets = try tickets.enumerated().map { try world.receive([UInt8($0)], at: $1) }
        let fields: CloudKitModel.Record.Fields = [
            "photo": .asset(assets[0]), "album": .assetList([assets[1], assets[2]]),
        ]
        #expect(try world.modify(.note(.create, nil, fields))[0].hasPrefix("\(tickets[0].recordName)@1 "))
        let record = try world.record(tickets[0].recordName)
        #expect(try world.download(record.fields["photo"]?.assetValue) == [0])
        #expect(try record.fields["album"]?.assets.map { try world.download($0) } == [[1], [2]])
        // Uploads for two named records stay apart.
        let one = try world.upload(picture, for: "photo", named: "A")
        let two = try world.upload(picture, for: "album", named: "B")
        #expect(
            try world.modify(.note(.create, nil, ["photo": .asset(one), "album": .assetList([two])]))
                == ["?! BAD_REQUEST the receipt of the asset for field 'album' is not valid"]
        )
    }

    @Test func whatWasReadCanBeWrittenBackToItsFieldAndNowhereElse() throws {
        let world = try World()
        try world.modify(.photo(.create, "A", try world.upload(picture, for: "photo", named: "A")))
        let read = try #require(try world.record("A").fields["photo"]?.assetValue)
        #expect(try world.modify(.photo(.update, "A", tag: "1", read))[0].hasPrefix("A@2 "))
        #expect(try world.download(try world.record("A").fields["photo"]?.assetValue) == picture)
        #expect(
            try world.modify(.note(.update, "A", tag: "2", ["cover": .asset(read)]))
                == ["A! BAD_REQUEST the asset for field 'cover' has no receipt"]
        )
    }

    @Test func everyReplyThatShowsTheRecordShowsTheAddress() throws {
        let world = try World()
        let asset = try world.upload(picture, for: "photo", named: "A")
        let other = try world.upload([7], for: "album", named: "A")
        let caller = Caller.user(world.ann)
        let saved = try world.emulator.request(in: world.privateDatabase, as: caller).modifyRecords(
            [.note(.create, "A", ["photo": .asset(asset), "album": .assetList([other])])],
            zoneID: World.notes
        ).records
        let found = try world.emulator.request(in: world.privateDatabase, as: caller).queryRecords(
            RecordQuery(recordType: "Note"),
            zoneID: World.notes
        ).records
        let changed = try world.emulator.request(in: world.privateDatabase, as: caller).fetchRecordChanges(
            ZoneChangesRequest(zoneID: World.notes)
        ).records
        for results in [saved, found, changed] {
            let record = try results[0].get()
            #expect(try world.download(record.fields["photo"]?.assetValue) == picture)
            #expect(try world.download(record.fields["album"]?.assets.first) == [7])
            #expect(record.fields["album"]?.assets.first?.receipt == nil)
        }
    }

    @Test func aDownloadAddressIsGoodForAnHourAndAsItIs() throws {
        let world = try World()
        try world.modify(.photo(.create, "A", try world.upload(picture, for: "photo", named: "A")))
        let url = try #require(try world.record("A").fields["photo"]?.assetValue?.downloadURL)
        let target = String(url.dropFirst("http://assets.cloudkit.test".count))
        _ = try world.emulator.openAsset(target.replacing("${f}", with: "photo.jpg"))
        #expect(
            world.hostError { try world.emulator.openAsset(target.replacing("?o=1&", with: "?o=2&")) } == .forbidden
        )
        #expect(world.hostError { try world.emulator.openAsset(target.replacing("&e=", with: "&e=9")) } == .forbidden)
        #expect(world.hostError { try world.emulator.openAsset("/B/x/y") } == .notFound)
        world.clock.advance(by: 59 * 60)
        #expect(try world.download(Asset(downloadURL: url)) == picture)
        world.clock.advance(by: 60)
        #expect(world.hostError { try world.emulator.openAsset(target) } == .gone)
        // The record has a new address.
        #expect(try world.download(try world.record("A").fields["photo"]?.assetValue) == picture)
    }

    @Test func aReReferencedFileLivesInBothRecords() throws {
        let world = try World()
        try world.modify(.photo(.create, "A", try world.upload(picture, for: "photo", named: "A")), .note(.create, "B"))
        func rereference(_ name: String, _ field: String) throws -> Result<Asset, EmulatorError> {
            try world.asAnn().rereferenceAssets(
                [AssetFieldID(recordName: name, fieldName: field)],
                zoneID: World.notes
            )[0]
        }
        let asset = try rereference("A", "photo").get()
        #expect(asset.receipt != nil)
        #expect(asset.downloadURL == nil)
        try world.modify(.note(.update, "B", tag: "2", ["cover": .asset(asset)]))
        try world.modify(.note(.forceDelete, "A"))
        #expect(try world.download(try world.record("B").fields["cover"]?.assetValue) == picture)
        #expect(throws: EmulatorError(.notFound, "Record not found")) { try rereference("A", "photo").get() }
        #expect(throws: EmulatorError(.notFound, "Asset not found")) { try rereference("B", "photo").get() }
    }

    @Test func bytesThatNothingRefersToAreRemoved() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "assets-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "emulator.sqlite").path
        let world = try World(storage: .file(path: path))
        let database = try DatabaseQueue(path: path)
        func files() throws -> [Int] {
            try database.read { db in
                try ["asset_file", "asset_chunk"].map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? 0 }
            }
        }
        func save(_ name: String, _ type: RecordOperation.OperationType = .forceUpdate) throws {
            let asset = try world.upload(Array("\(name)\(type)".utf8), for: "photo", named: name)
            #expect(try world.modify(.photo(type, name, asset))[0].hasPrefix("\(name)@"))
        }
        try save("A")
        try save("B")
        try save("C")
        #expect(try files() == [3, 3])
        // Files are released when their fields are replaced or cleared, and when their records or zones are deleted.
        try save("A", .forceReplace)
        #expect(try files() == [3, 3])
        try world.modify(.note(.forceUpdate, "A", ["photo": .null]))
        #expect(try files() == [2, 2])
        try world.modify(.note(.forceDelete, "B"))
        #expect(try files() == [1, 1])
        _ = try world.upload([1, 2, 3], for: "photo", named: "D")
        _ = try world.asAnn().modifyZones([ZoneOperation(.delete, zone: Zone(zoneID: World.notes))])
        #expect(try files() == [0, 0])

        // A file that was never attached and an upload that was abandoned are removed after some time.
        let other = try world.ticket(for: "photo", named: "E", zoneID: nil)
        var upload = try world.emulator.beginAssetUpload(other.token)
        try upload.append([UInt8](repeating: 1, count: 300_000)[...])
        _ = try world.upload([1], for: "photo", named: "F", zoneID: nil)
        #expect(try files() == [2, 2])
        world.clock.advance(by: 24 * 60 * 60)
        _ = try world.ticket(for: "photo", named: "G", zoneID: nil)
        #expect(try files() == [0, 0])
    }

    @Test func aFailedAtomicBatchSpendsNoReceipt() throws {
        let world = try World()
        let asset = try world.upload(picture, for: "photo", named: "A")
        try world.modify(.photo(.create, "A", asset), .note(.update, "missing", tag: "1"), atomic: true)
        #expect(try world.modify(.photo(.create, "A", asset))[0].hasPrefix("A@"))
    }
}

extension FieldValue {
    fileprivate var assets: [Asset] {
        if case .assetList(let assets) = self { assets } else { [] }
    }
}
