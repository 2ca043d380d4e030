import Foundation
import HTTPTypes
import MistKit
import MistTesting
import OpenAPISwiftRuntime
import Testing

/// Change feeds, against the emulator.
@Suite(.serialized)
struct FeedTests {
    private static let notes = ZoneID(zoneName: "Notes")

    private enum Entry: Sendable {
        case memo(StoredRecord<Memo>)
        case folder(StoredRecord<Folder>)

        var line: String {
            switch self {
            case .memo(let memo): "memo \(memo.title)"
            case .folder(let folder): "folder \(folder.name)"
            }
        }
    }

    private func withDatabase(
        over connection: EmulatorConnection = .inProcess,
        _ body: (CloudKitDatabase, RunningEmulator) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await database.createZone("Notes")
            try await body(database, emulator)
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func aTypedFeedTellsWhatTwoWritersDid(connection: EmulatorConnection) async throws {
        try await withDatabase(over: connection) { database, emulator in
            let other = emulator.service(as: .user).privateDatabase
            var token: ZoneChangeToken?
            var memos: [String: Memo] = [:]
            func follow() async throws {
                for try await page in database.changes(to: Memo.self, inZone: Self.notes, since: token, pageSize: 2) {
                    #expect(page.failures.isEmpty)
                    for memo in page.changedRecords { memos[memo.recordName] = memo.model }
                    for memo in page.deletedRecords { memos[memo.recordName ?? ""] = nil }
                    token = page.token
                }
            }
            for number in 0..<3 {
                try await database.save(Memo(title: "mine \(number)"), named: "m\(number)", inZone: Self.notes)
                try await other.save(Memo(title: "theirs \(number)"), named: "t\(number)", inZone: Self.notes)
            }
            try await follow()
            #expect(memos.count == 6)

            var memo = try await other.fetch(Memo.self, named: "m1", inZone: Self.notes)
            memo.title = "changed"
            try await other.update(memo, inZone: Self.notes)
            try await database.forceDelete("t2", inZone: Self.notes)
            try await database.save(Folder(name: "f"), named: "f", inZone: Self.notes)
            try await follow()
            #expect(memos["m1"] == Memo(title: "changed"))
            #expect(memos.keys.sorted() == ["m0", "m1", "m2", "t0", "t1"])
            let last = token
            try await follow()
            #expect(token == last)
        }
    }

    @Test func severalTypesComeInOneFeed() async throws {
        try await withDatabase { database, _ in
            try await database.save(Memo(title: "m"), named: "m", inZone: Self.notes)
            try await database.save(Folder(name: "f"), named: "f", inZone: Self.notes)
            try await database.create(Record(recordType: "Other", recordName: "o"), inZone: Self.notes)
            try await database.create(Record(recordType: "Memo", recordName: "odd"), inZone: Self.notes)
            let types: [RecordReading<Entry>] = [
                .records(of: Memo.self, as: Entry.memo), .records(of: Folder.self, as: Entry.folder),
            ]
            var pages: [TypedZoneChanges<Entry>] = []
            for try await page in database.changes(to: types, inZone: Self.notes) { pages.append(page) }
            #expect(pages.flatMap(\.changedRecords).map(\.line) == ["memo m", "folder f"])
            let failures = pages.flatMap(\.failures)
            #expect(failures.map(\.code) == [.decoding])
            #expect(failures.map(\.item) == [.record(name: "odd")])
        }
    }

    @Test func recordsOfOtherTypesAreKeptApart() async throws {
        let transport = FakeTransport(
            json: """
                {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"t","moreComing":false,"records":[
                {"recordName":"o","recordType":"Other","recordChangeTag":"1"},
                {"recordName":"m","recordType":"Memo","recordChangeTag":"2","fields":{"title":{"value":"x"}}}]}]}
                """
        )
        let feed = fakeService(transport).privateDatabase.changes(to: Memo.self, inZone: Self.notes)
        for try await page in feed {
            #expect(page.otherRecords.map(\.recordName) == ["o"])
            #expect(page.changedRecords.map(\.model) == [Memo(title: "x")])
        }
        #expect(
            try transport.requests == [
                #"POST private/changes/zone {"zones":[{"desiredRecordTypes":["Memo"],"zoneID":{"zoneName":"Notes"}}]}"#
            ]
        )
    }

    @Test(arguments: EmulatorConnection.allCases)
    func severalZonesAreFollowedTogether(connection: EmulatorConnection) async throws {
        try await withDatabase(over: connection) { database, _ in
            try await database.createZone("Photos")
            let (photos, none) = (ZoneID(zoneName: "Photos"), ZoneID(zoneName: "None"))
            for (zone, count) in [(Self.notes, 5), (photos, 2)] {
                _ = try await database.save(
                    (0..<count).map { Memo(title: "\(zone.zoneName)\($0)") },
                    named: \.title,
                    inZone: zone
                )
            }
            var tokens: [ZoneID: ZoneChangeToken] = [:]
            var names: [String] = []
            var asked: [[String]] = []
            var errors: [String] = []
            let zones = [none, Self.notes, photos]
            for try await page in database.changes(inZones: zones, since: tokens, pageSize: 2) {
                asked.append(page.results.map(\.zoneID.zoneName))
                for zone in page.results {
                    switch zone.result {
                    case .success(let changes): names += changes.changedRecords.map { $0.recordName ?? "" }
                    case .failure(let error): errors.append("\(error.code) \(zone.zoneID.zoneName)")
                    }
                }
                tokens = page.token
            }
            #expect(asked == [["None", "Notes", "Photos"], ["Notes"], ["Notes"]])
            #expect(names == ["Notes0", "Notes1", "Photos0", "Photos1", "Notes2", "Notes3", "Notes4"])
            #expect(errors == ["ZONE_NOT_FOUND None"])
            #expect(Set(tokens.keys) == [Self.notes, photos])

            // A deleted zone is reported; a zone that was created again has to be followed from its start.
            try await database.deleteZone(Self.notes)
            try await database.deleteZone(photos)
            try await database.createZone("Photos")
            for try await page in database.changes(inZones: [Self.notes, photos], since: tokens) {
                let codes = page.results.map { result in summary(result.result) }
                #expect(codes == ["ZONE_NOT_FOUND Notes", "CHANGE_TOKEN_EXPIRED Photos"])
            }
            for try await _ in database.changes(inZones: []) {}
        }
    }

    @Test func theNewestChangesComeFirstWhereAsked() async throws {
        try await withDatabase { database, _ in
            for name in ["a", "b", "c"] { try await database.save(Memo(title: name), named: name, inZone: Self.notes) }
            var names: [String?] = []
            var last: ZoneChangeToken?
            for try await page in database.changes(inZone: Self.notes, newestFirst: true, pageSize: 2) {
                #expect(page.isNewestFirst)
                names += page.changedRecords.map(\.recordName)
                last = page.token
            }
            #expect(names == ["c", "b", "a"])
            for try await page in database.changes(inZone: Self.notes, since: last) { #expect(page.isEmpty) }
        }
    }

    @Test func fieldsAndNumbersComeAsAsked() async throws {
        try await withDatabase { database, _ in
            try await database.save(Memo(title: "a", count: 7), named: "a", inZone: Self.notes)
            var database = database
            database.numbersAsStrings = true
            let feed = database.changes(inZone: Self.notes, desiredKeys: ["count"])
            for try await page in feed {
                #expect(page.changedRecords.map(\.fields.count) == [1])
                #expect(page.changedRecords[0]["count"]?.int64Value == 7)
            }
        }
    }

    @Test func tokensThatDoNotWorkSayToStartOver() async throws {
        try await withDatabase { database, _ in
            var zoneToken: ZoneChangeToken?
            for try await page in database.changes(inZone: Self.notes) { zoneToken = page.token }
            for text in ["garbage", zoneToken?.text ?? ""] {
                let error = try await failure {
                    for try await _ in database.changes(since: DatabaseChangeToken(text)) {}
                }
                #expect(error.code == .changeTokenExpired)
                #expect(error.message.contains("start without a token"))
            }
            try await database.deleteZone(Self.notes)
            try await database.createZone("Notes")
            let error = try await failure {
                for try await _ in database.changes(inZone: Self.notes, since: zoneToken) {}
            }
            #expect(error.code == .changeTokenExpired)
            #expect(error.item == .zone(name: "Notes"))
            let size = try await failure {
                for try await _ in database.changes(inZone: Self.notes, pageSize: 0) {}
            }
            #expect(size.code == .invalidArgument)
        }
    }

    @Test func deletedZonesAreNamed() async throws {
        try await withDatabase { database, _ in
            var token: DatabaseChangeToken?
            for try await page in database.changes() { token = page.token }
            try await database.createZone("New")
            try await database.deleteZone(Self.notes)
            for try await page in database.changes(since: token) {
                #expect(page.changedZones.map(\.zoneID.zoneName) == ["New"])
                #expect(page.deletedZones.map(\.zoneName) == ["Notes"])
            }
        }
    }

    // MARK: Fetching ahead

    @Test func theNextPageIsFetchedWhileThePresentOneIsWorkedOn() async throws {
        let (requests, continuation) = AsyncStream<Int>.makeStream()
        let transport = FakeTransport { _, number in
            continuation.yield(number)
            return page(number, moreComing: number < 3)
        }
        var arrivals = requests.makeAsyncIterator()
        var pages = fakeService(transport).privateDatabase.changes(inZone: Self.notes).makeAsyncIterator()
        #expect(transport.sent.isEmpty)
        for number in 1...2 {
            #expect(try await pages.next()?.token.text == "t\(number)")
            #expect(await arrivals.next() == number)
        }
        // The third request is sent before the test asks for a third page.
        #expect(await arrivals.next() == 3)
        #expect(try await pages.next()?.token.text == "t3")
        #expect(try await pages.next() == nil)
        #expect(transport.sent.count == 3)
    }

    @Test func aLoopThatIsLeftTakesItsRequestWithIt() async throws {
        let (ends, continuation) = AsyncStream<Int>.makeStream()
        let transport = FakeTransport { _, number in
            if number == 1 { return page(number, moreComing: true) }
            do {
                try await waitForCancellation()
            } catch {
                continuation.yield(number)
                throw error
            }
            return page(number, moreComing: false)
        }
        for try await _ in fakeService(transport).privateDatabase.changes(inZone: Self.notes) {
            // Otherwise the request might never be sent, because the loop ends.
            await eventually { transport.sent.count == 2 }
            break
        }
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next() == 2)
    }

    @Test func aCancelledLoopEndsAtOnce() async throws {
        let (requests, continuation) = AsyncStream<Int>.makeStream()
        let transport = FakeTransport { _, number in
            continuation.yield(number)
            if number == 1 { return page(number, moreComing: true) }
            try await waitForCancellation()
            return page(number, moreComing: true)
        }
        let loop = Task {
            var count = 0
            let error = try await failure {
                for try await _ in fakeService(transport).privateDatabase.changes(inZone: Self.notes) { count += 1 }
            }
            return (count, error)
        }
        var arrivals = requests.makeAsyncIterator()
        while await arrivals.next() != 2 {}
        loop.cancel()
        let (count, error) = try await loop.value
        #expect(count == 1)
        #expect(error.code == .cancelled)
        #expect(transport.sent.count == 2)
    }
}

private func page(_ number: Int, moreComing: Bool) -> (HTTPResponse, HTTPBody?) {
    reply(
        .ok,
        """
        {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"t\(number)","moreComing":\(moreComing),"records":[]}]}
        """
    )
}

/// Waits until the task is cancelled.
private func waitForCancellation() async throws {
    let (never, continuation) = AsyncStream<Void>.makeStream()
    defer { continuation.finish() }
    for await _ in never {}
    try Task.checkCancellation()
}
