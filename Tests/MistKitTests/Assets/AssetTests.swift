import CloudKitEmulator
import Foundation
import HTTPTypes
import MistKit
import MistTesting
import OpenAPISwiftRuntime
import Synchronization
import TestSupport
import Testing

/// Uploads and downloads of assets, against the emulator.
@Suite(.serialized)
struct AssetTests {
    private let picture: [UInt8] = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

    // MARK: Uploads and downloads

    @Test(arguments: EmulatorConnection.allCases)
    func aFileGoesUpAndComesDownAsItWas(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await withFolder { folder in
                let original = folder.appending(path: "original.bin")
                try Data(picture).write(to: original)
                let (stream, continuation) = AsyncStream<Data>.makeStream()
                for start in stride(from: 0, to: picture.count, by: 300_000) {
                    continuation.yield(Data(picture[start..<min(start + 300_000, picture.count)]))
                }
                continuation.finish()
                let (sized, other) = AsyncStream<[UInt8]>.makeStream()
                other.yield(picture)
                other.finish()
                for (index, source) in [
                    AssetSource.bytes(picture), .data(Data(picture)), .file(original), .chunks(stream),
                    .chunks(sized, length: Int64(picture.count)), .body(HTTPBody(picture)),
                ].enumerated() {
                    let upload = try await database.upload(source, for: "photo", of: "User")
                    #expect(upload.asset.size == 1_000_000)
                    let record = try await database.create(upload.record(fields: ["name": "Mei"]))
                    #expect(record.recordName == upload.recordName)
                    let asset = try #require(record["photo"]?.assetValue)

                    #expect(try await database.download(asset) == picture, "\(index)")
                    #expect(try await database.download(AssetField("photo", of: upload.recordName)) == picture)
                    let copy = folder.appending(path: "copy \(index) ü.bin")
                    try await database.download(asset, to: copy)
                    #expect(try Data(contentsOf: copy) == Data(picture))
                    var bytes: [UInt8] = []
                    for try await chunk in database.chunks(of: asset) { bytes += chunk }
                    #expect(bytes == picture)
                }
                #expect(try names(in: folder).filter { $0.hasPrefix(".") } == [])
            }
        }
    }

    @Test(arguments: [0, 1, 262_144, 262_145])
    func filesOfAnyLengthWillDo(length: Int) async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            let bytes = Array(picture.prefix(length))
            let upload = try await database.upload(.bytes(bytes), for: "photo", of: "User", named: "a")
            #expect(upload.asset.wrappingKey == nil)
            let asset = try #require(try await database.create(upload.record())["photo"]?.assetValue)
            #expect(try await database.download(asset) == bytes)
        }
    }

    @Test func aTypedRecordTakesTheAsset() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let people = ZoneID(zoneName: "People")
            try await database.createZone("People")
            var user = StoredRecord(Person(name: "Mei"), recordName: "mei", zoneID: people)
            user.photo = try await database.upload(.bytes(picture), for: \.photo, of: user)
            user.album = [
                try await database.upload(.bytes([1]), for: \.album, of: user),
                try await database.upload(.bytes([2, 2]), for: \.album, of: user),
            ]
            user = try await database.save(user)
            #expect(user.photo?.receipt == nil)
            #expect(try await database.download(AssetField(\.photo, of: user)) == picture)
            #expect(try await database.download(AssetField(\.album, of: user, at: 1)) == [2, 2])

            // Unchanged fields are not sent, so their assets need no receipt.
            var fetched = try await database.fetch(Person.self, named: "mei", inZone: people)
            fetched.name = "Mei Chen"
            fetched = try await database.update(fetched)
            fetched.photo = try await database.upload(.bytes([9]), for: \.photo, of: fetched)
            fetched = try await database.update(fetched)
            #expect(try await database.download(AssetField(\.photo, of: fetched)) == [9])
            #expect(try await database.download(AssetField(\.album, of: fetched)) == [1])
        }
    }

    @Test func aReReferencedFileIsNotSentAgain() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            try await database.createZone("Albums")
            let albums = ZoneID(zoneName: "Albums")
            let upload = try await database.upload(.bytes(picture), for: "photo", of: "User", named: "mei")
            try await database.create(upload.record())
            let cover = try await database.rereference(AssetField("photo", of: "mei"), forZone: albums)
            try await database.create(
                Record(recordType: "Album", recordName: "a", fields: ["cover": .asset(cover)]),
                inZone: albums
            )
            try await database.forceDelete("mei")
            #expect(try await database.download(AssetField("cover", of: "a", inZone: albums)) == picture)
            #expect(transport.requests.filter { $0.hasPrefix("POST") }.count == 1)

            let results = try await database.rereference([AssetField("photo", of: "mei"), AssetField("x", of: "mei")])
            #expect(results.map { summary($0) } == ["NOT_FOUND mei", "NOT_FOUND mei"])
        }
    }

    @Test func noCredentialGoesToTheAssetHost() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let log = RecordedLog()
            let database = assetService(emulator, transport, log: log).privateDatabase
            let upload = try await database.upload(.bytes(picture), for: "photo", of: "User")
            let record = try await database.create(upload.record())
            _ = try await database.download(AssetField("photo", of: record))
            #expect(transport.requests.count == 2)
            for request in transport.sent {
                let text = "\(request)" + (request.path ?? "")
                for name in ["ckAPIToken", "ckWebAuthToken", "X-Apple"] { #expect(!text.contains(name), "\(text)") }
                #expect(!text.contains(emulator.apiToken))
                #expect(!text.contains(emulator.webAuthToken))
                // Addresses are secrets, so no log has them.
                #expect(!log.lines.contains { $0.contains((request.path ?? "").prefix(40)) })
            }
        }
    }

    // MARK: Progress

    @Test func progressIsToldPieceByPiece() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let (up, down) = (ProgressLog(), ProgressLog())
            let upload = try await database.upload(.bytes(picture), for: "photo", of: "User") { up.append($0) }
            let record = try await database.create(upload.record())
            _ = try await database.download(AssetField("photo", of: record)) { down.append($0) }
            for log in [up.all, down.all] {
                #expect(log.map(\.completedBytes) == [262_144, 524_288, 786_432, 1_000_000])
                #expect(log.allSatisfy { $0.totalBytes == 1_000_000 })
                #expect(log.last?.fraction == 1)
            }
        }
    }

    @Test func manyGoSideBySideAFewAtATime() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            try await withFolder { folder in
                var uploads = (0..<30).map { number in
                    AssetUpload(.bytes([UInt8](repeating: UInt8(number), count: 1000)), for: "photo", of: "User")
                }
                uploads[7].source = .file(folder.appending(path: "missing"))
                uploads[9].fieldName = "9"
                let log = ProgressLog()
                let results = await database.upload(uploads, maximumConcurrency: 3) { log.append($0) }
                #expect(transport.mostAtATime <= 3)
                #expect(results.count == 30)
                var fields: [AssetField] = []
                for (number, result) in results.enumerated() {
                    if number == 7 || number == 9 {
                        #expect(summary(result).hasPrefix(number == 7 ? "localData" : "BAD_REQUEST"))
                        continue
                    }
                    let record = try await database.create(
                        try result.get().record(fields: ["n": .int64(Int64(number))])
                    )
                    fields.append(AssetField("photo", of: record))
                }
                #expect(log.all.last?.completedBytes == 28_000)

                uploads = [
                    AssetUpload(.bytes([1]), for: "photo", of: "User", named: "x"),
                    AssetUpload(.file(folder.appending(path: "missing")), for: "photo", of: "User", named: "y"),
                ]
                #expect(await database.upload(uploads).map { summary($0) } == ["ok", "localData y"])

                let copies = fields.indices.map { folder.appending(path: "\($0)") }
                var downloads = zip(fields, copies).map { AssetDownload($0, to: $1) }
                downloads.append(AssetDownload(AssetField("photo", of: "absent"), to: folder.appending(path: "none")))
                let outcomes = await database.download(downloads, maximumConcurrency: 3)
                #expect(outcomes.map { summary($0) } == Array(repeating: "ok", count: 28) + ["NOT_FOUND absent"])
                #expect(try names(in: folder) == copies.map(\.lastPathComponent).sorted())
                #expect(try Data(contentsOf: copies[0]) == Data(repeating: 0, count: 1000))
            }
        }
    }

    // MARK: Lost connections

    @Test func aDownloadGoesOnWhereItWas() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let clock = TestClock(skippingWaits: true)
            let database = assetService(emulator, transport, clock: clock.timer).privateDatabase
            let field = try await savedField(picture, in: database)
            transport.faults = [.cutAfter(300_000), .cutAfter(0), .network, .status(503), .cutAfter(400_000)]
            let log = ProgressLog()
            #expect(try await database.download(field) { log.append($0) } == picture)
            #expect(
                transport.ranges == [
                    nil, "bytes=300000-", "bytes=300000-", "bytes=300000-", "bytes=300000-", "bytes=700000-",
                ]
            )
            #expect(transport.sent.suffix(5).allSatisfy { $0.headerFields[.ifRange] != nil })
            #expect(log.all.map(\.completedBytes) == log.all.map(\.completedBytes).sorted())
            #expect(clock.waits.count == 5)
        }
    }

    @Test func aHostThatIgnoresRangesIsReadPastWhatIsThere() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            let field = try await savedField(picture, in: database)
            transport.ignoresRanges = true
            transport.faults = [.cutAfter(300_001)]
            #expect(try await database.download(field) == picture)
        }
    }

    @Test func aDownloadThatNeverGetsOnGivesUpAndLeavesNoFile() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            let field = try await savedField(picture, in: database)
            try await withFolder { folder in
                let file = folder.appending(path: "photo.bin")
                try Data("before".utf8).write(to: file)
                transport.faults = [.cutAfter(300_000)] + Array(repeating: .network, count: 20)
                let error = try await failure {
                    try await database.download(field, to: file)
                }
                #expect(error.code == .network)
                // The first attempt, and four attempts that received nothing new.
                #expect(transport.ranges.count == 5)
                #expect(try String(contentsOf: file, encoding: .utf8) == "before")
                #expect(try names(in: folder) == ["photo.bin"])
            }
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func anUploadWhoseReplyIsLostIsSentAgainToAnotherAddress(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            transport.faults = [.lostReply, .network, .status(500)]
            let upload = try await database.upload(.bytes(picture), for: "photo", of: "User")
            #expect(Set(transport.requests).count == 4)
            let record = try await database.create(upload.record())
            #expect(try await database.download(AssetField("photo", of: record)) == picture)
        }
    }

    @Test func bytesThatCanBeHadOnceAreSentOnce() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            transport.faults = [.lostReply]
            let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
            continuation.yield(picture)
            continuation.finish()
            let error = try await failure {
                try await database.upload(.chunks(stream), for: "photo", of: "User", named: "a")
            }
            #expect(error.code == .network)
            #expect(error.item == .record(name: "a"))
            #expect(transport.requests.count == 1)
        }
    }

    @Test func aSourceThatFailsSaysSo() async throws {
        struct Jammed: Error {}
        try await withCloudKitEmulator { emulator in
            let database = assetService(emulator, AssetTransport(emulator.transport)).privateDatabase
            let (stream, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
            continuation.yield([1, 2, 3])
            continuation.finish(throwing: Jammed())
            let error = try await failure {
                try await database.upload(.chunks(stream, length: 10), for: "photo", of: "User")
            }
            #expect(error.code == .localData)
            #expect(error.cause is Jammed)
        }
    }

    // MARK: Wrong answers

    @Test func anAddressThatIsOutOfDateIsReplaced() async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(clock: clock) { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            let upload = try await database.upload(.bytes(picture), for: "photo", of: "User", named: "a")
            let record = try await database.create(upload.record())
            let asset = try #require(record["photo"]?.assetValue)
            clock.advance(by: 60 * 60)
            let error = try await failure { try await database.download(asset) }
            #expect(error.code == .assetAddressExpired)
            #expect(error.httpStatus == .gone)
            #expect(error.message.contains("Fetch the record again"))
            #expect(try await database.download(AssetField("photo", of: record)) == picture)

            // The record has another asset by now.
            let other = try await database.upload(.bytes([1]), for: "photo", of: "User", named: "a")
            _ = try await database.forceUpdate(other.record())
            let conflict = try await failure {
                try await database.download(AssetField("photo", of: record))
            }
            #expect(conflict.code == .conflict)
            #expect(try await database.download(AssetField("photo", of: "a")) == [1])
        }
    }

    @Test func anAddressThatIsRefusedAgainAndAgainIsAnError() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            let field = try await savedField(picture, in: database)
            transport.faults = [.status(410), .status(403), .status(404)]
            let error = try await failure { try await database.download(field) }
            #expect(error.code == .assetAddressExpired)
            transport.faults = [.status(410)]
            _ = try await database.upload(.bytes([1]), for: "photo", of: "User")
            transport.faults = [.status(410), .status(404)]
            let upload = try await failure {
                try await database.upload(.bytes([1]), for: "photo", of: "User")
            }
            #expect(upload.code == .assetAddressExpired)
        }
    }

    @Test func status421DoesNotAskForASignIn() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            transport.faults = [.status(421)]
            let upload = try await database.upload(.bytes(picture), for: "photo", of: "User")
            let record = try await database.create(upload.record())
            transport.faults = [.status(421)]
            #expect(try await database.download(AssetField("photo", of: record)) == picture)

            let once = assetService(emulator, transport, retryPolicy: .never).privateDatabase
            transport.faults = [.status(421)]
            let error = try await failure {
                try await once.download(AssetField("photo", of: record))
            }
            #expect(error.code == .misdirectedRequest)
            #expect(error.redirectURL == nil)
        }
    }

    @Test(arguments: [(413, "LIMIT_EXCEEDED"), (418, "unexpectedResponse"), (302, "unexpectedResponse")])
    func refusalsOfTheHostHaveCodes(status: Int, code: String) async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            transport.faults = [.status(status)]
            let error = try await failure {
                try await database.upload(.bytes([1]), for: "photo", of: "User")
            }
            #expect(error.code.description == code)
            #expect(error.operation == "uploadAsset")
            #expect(transport.requests.count == 1)
        }
    }

    @Test func aFileOfAnotherLengthIsNotTheFile() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            let field = try await savedField(picture, in: database)
            var asset = try #require(try await database.fetch(field.recordName)["photo"]?.assetValue)
            asset.size = 999_999
            let shorter = asset
            let long = try await failure { try await database.download(shorter) }
            #expect(long.code == .unexpectedResponse)
            asset.size = 1_000_001
            let longer = asset
            let short = try await failure { try await database.download(longer) }
            #expect(short.code == .unexpectedResponse)

            // The body ends early each time, its length is not known, and no attempt gets further.
            transport.hidesLength = true
            transport.faults = Array(repeating: .endAfter(10), count: 3)
            #expect(try await database.download(field) == picture)

            transport.faults = [.answer(#"{"singleFile":{"fileChecksum":"c","receipt":"r","size":5}}"#)]
            let wrong = try await failure {
                try await database.upload(.bytes([1]), for: "photo", of: "User")
            }
            #expect(wrong.code == .unexpectedResponse)
            #expect(wrong.message.hasPrefix("1 bytes were sent, and the asset host stored 5."))
            transport.faults = [.answer(#"{"singleFile":{"fileChecksum":"c","size":1}}"#), .answer("<html>")]
            for code in [CloudKitError.Code.unexpectedResponse, .decoding] {
                let error = try await failure {
                    try await database.upload(.bytes([1]), for: "photo", of: "User")
                }
                #expect(error.code == code)
            }
        }
    }

    @Test func whatCannotBeIsRefusedBeforeAnythingIsSent() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            let upload = try await database.upload(.bytes(picture), for: "photo", of: "User")
            let record = try await database.create(upload.record())
            let asset = try #require(record["photo"]?.assetValue)
            let sent = transport.requests.count
            try await withFolder { folder in
                let noAddress = try await failure {
                    try await database.download(upload.asset)
                }
                #expect(noAddress.code == .invalidArgument)
                let tooLong = try await failure {
                    try await database.download(asset, upTo: 999_999)
                }
                #expect(tooLong.code == .invalidArgument)
                for url in [folder.appending(path: "no/such/folder/x"), URL(string: "https://example.com/x")!] {
                    let unwritable = try await failure {
                        try await database.download(asset, to: url)
                    }
                    #expect(unwritable.code == (url.isFileURL ? .localData : .invalidArgument))
                }
                let folderAsSource = try await failure {
                    try await database.upload(.file(folder), for: "photo", of: "User")
                }
                #expect(folderAsSource.code == .localData)
                #expect(transport.requests.count == sent)

                // A folder at the target path is detected only at the end.
                let inTheWay = folder.appending(path: "photo")
                try FileManager.default.createDirectory(at: inTheWay, withIntermediateDirectories: true)
                let blocked = try await failure {
                    try await database.download(asset, to: URL(filePath: inTheWay.path, directoryHint: .notDirectory))
                }
                #expect(blocked.code == .localData)
                #expect(try names(in: folder) == ["photo"])
            }
        }
    }

    // MARK: Cancelling

    @Test(arguments: [AssetTransport.Fault.hang, .hangAfter(400_000)])
    func aCancelledDownloadLeavesNothing(fault: AssetTransport.Fault) async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            let field = try await savedField(picture, in: database)
            try await withFolder { folder in
                transport.faults = [fault]
                let file = folder.appending(path: "photo.bin")
                let task = Task {
                    await errorOf { try await database.download(field, to: file) }
                }
                await transport.hung()
                task.cancel()
                let error = await task.value
                #expect(error?.code == .cancelled)
                let left = try names(in: folder)
                #expect(left == [])
                #expect(transport.underWay == 0)
            }
        }
    }

    @Test func aCancelledUploadEnds() async throws {
        try await withCloudKitEmulator { emulator in
            let transport = AssetTransport(emulator.transport)
            let database = assetService(emulator, transport).privateDatabase
            transport.faults = Array(repeating: .hang, count: 8)
            let uploads = (0..<8).map { _ in AssetUpload(.bytes([1]), for: "photo", of: "User") }
            let task = Task { await database.upload(uploads, maximumConcurrency: 2) }
            await transport.hung()
            task.cancel()
            #expect(await task.value.map { summary($0).prefix(9) } == Array(repeating: "cancelled", count: 8))
            #expect(transport.underWay == 0)

            // A source that never ends.
            let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
            continuation.yield([1, 2, 3])
            let endless = Task {
                await errorOf {
                    _ = try await database.upload(.chunks(stream), for: "photo", of: "User")
                }
            }
            endless.cancel()
            #expect(await endless.value?.code == .cancelled)
        }
    }

    // MARK: Memory

    /// A reader gets each chunk before the next one is requested: the client does not collect chunks.
    @Test func noMoreIsFetchedThanIsAskedFor() async throws {
        let total = 256 << 20
        let made = Mutex(0)
        let transport = FakeTransport { _, _ in
            let body = HTTPBody(
                GeneratedChunks(total: total) { count in made.withLock { $0 += count } },
                length: .known(Int64(total)),
                iterationBehavior: .single
            )
            return (HTTPResponse(status: .ok), body)
        }
        var configuration = CloudKitService.Configuration(transport: transport)
        configuration.assetTransport = transport
        configuration.retryPolicy = .never
        let database = CloudKitService(
            containerIdentifier: "iCloud.com.example.app",
            apiToken: String(repeating: "a0", count: 32),
            configuration: configuration
        ).publicDatabase
        var taken = 0
        var mostAhead = 0
        let asset = Asset(size: Int64(total), downloadURL: "https://assets.example.com/B/x/${f}")
        for try await chunk in database.chunks(of: asset) {
            taken += chunk.count
            mostAhead = max(mostAhead, made.withLock { $0 } - taken)
        }
        #expect(taken == total)
        #expect(mostAhead <= GeneratedChunks.size)
        #expect(transport.sent.map { $0.request.path } == ["/B/x/$%7Bf%7D"])
    }

    // MARK: Support

    private func savedField(_ bytes: [UInt8], in database: CloudKitDatabase) async throws -> AssetField {
        let upload = try await database.upload(.bytes(bytes), for: "photo", of: "User")
        return AssetField("photo", of: try await database.create(upload.record()))
    }

    private func assetService(
        _ emulator: RunningEmulator,
        _ assets: AssetTransport,
        retryPolicy: RetryPolicy = RetryPolicy(),
        clock: TestClock.Timer = TestClock(skippingWaits: true).timer,
        log: RecordedLog = RecordedLog()
    ) -> CloudKitService {
        var configuration = emulator.serviceConfiguration
        configuration.assetTransport = assets
        configuration.retryPolicy = retryPolicy
        configuration.logger = log.logger()
        configuration.clock = clock
        return CloudKitService(
            containerIdentifier: emulator.containerIdentifier,
            environment: emulator.environment,
            tokenManager: AdaptiveTokenManager(apiToken: emulator.apiToken, webAuthToken: emulator.webAuthToken),
            configuration: configuration
        )
    }

    private func errorOf(_ body: () async throws -> Void) async -> CloudKitError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? CloudKitError
        }
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "assets-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }
}

/// A typed record with assets, whose conformance is written by hand.
private struct Person: CloudKitRecord {
    var name: String
    var photo: Asset?
    var album: [Asset] = []

    init(name: String) { self.name = name }

    struct Fields: RecordFieldSet {
        let name = RecordField<String>("name")
        let photo = RecordField<Asset>("photo")
        let album = RecordField<[Asset]>("album")
    }

    static let recordType = "Person"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.name, fields.photo, fields.album)

    init(fields reader: inout FieldReader) throws(FieldError) {
        var name: String?
        var album: [Asset]?
        while let field = try reader.next() {
            switch field {
            case 0: name = try reader.value()
            case 1: photo = try reader.value()
            case 2: album = try reader.value()
            default: try reader.skip()
            }
        }
        self.name = try reader.required(name, 0)
        self.album = album ?? []
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, name)
        writer.write(1, photo)
        writer.write(2, album)
    }
}

/// Records the progress that the client reports.
private final class ProgressLog: Sendable {
    private let values = Mutex<[TransferProgress]>([])

    var all: [TransferProgress] { values.withLock { $0 } }

    func append(_ progress: TransferProgress) {
        values.withLock { $0.append(progress) }
    }
}

/// `total` bytes. Each chunk is generated when the client asks for it.
private struct GeneratedChunks: AsyncSequence, Sendable {
    static let size = 64 * 1024
    let total: Int
    let note: @Sendable (Int) -> Void

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: Int
        let note: @Sendable (Int) -> Void

        mutating func next() async throws -> ArraySlice<UInt8>? {
            let count = Swift.min(rest, GeneratedChunks.size)
            guard count > 0 else { return nil }
            rest -= count
            note(count)
            return [UInt8](repeating: 1, count: count)[...]
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: total, note: note) }
}
