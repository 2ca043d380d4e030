import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Files of earlier formats that are opened while they have pending work of each kind that the format knew.
struct EarlierFormatPromiseTests: PhotoTests {
    private struct Death: Error {}

    @Test(
        "34, I3. A file of an earlier format is updated with its pending work, and its request under way has an unknown outcome",
        arguments: 1...6,
        [false, true]
    )
    func filesOfEarlierFormatsKeepTheirWork(format: Int, isCarriedOut: Bool) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Book (_recordName, title, loans) VALUES ('a', 'A', 1)",
            "INSERT INTO Book (_recordName, title) VALUES ('b', 'B')"
        )
        try scenario.synchronise()
        try phone.run(
            "UPDATE Book SET title = 'AA', loans = loans + 2 WHERE _recordName = 'a'",
            "DELETE FROM Book WHERE _recordName = 'b'",
            "INSERT INTO Book (_recordName, title) VALUES ('c', 'C')"
        )
        // The process of the earlier version dies while the changes are under way.
        #expect(throws: Death.self) {
            try phone.sync { request in
                guard request.isWrite else { return .answered }
                if isCarriedOut { _ = phone.answer(request) }
                try phone.takeAwayParts(sinceFormat: format)
                throw Death()
            }
        }
        #expect(try phone.value("SELECT count(*) FROM mist_request") == 1)
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('d', 'D')")
        try laptop.run("UPDATE Book SET note = 'laptop' WHERE _recordName = 'a'")
        try phone.restart()
        #expect(try phone.value("SELECT format FROM mist_state") == SystemTables.format)
        #expect(try phone.value("SELECT count(*) FROM mist_request") == 0)
        #expect(try phone.value("SELECT count(*) FROM mist_sent WHERE is_uncertain = 1") == 3)
        let trace = try phone.go()
        #expect(trace.lines.first == "changes/zone")
        #expect(trace.writes == [isCarriedOut ? "modify create d" : "modify update a, create c, create d, delete b"])
        try scenario.synchronise()
        try scenario.expect(["Book a loans=3 note=laptop title=AA", "Book c title=C", "Book d title=D"])
    }

    @Test(
        "34, I3, 11. A file of the format before sealed values goes on with a move, whatever of it was sent",
        arguments: ["", "create", "delete"],
        [false, true]
    )
    func movesGoOn(request: String, isCarriedOut: Bool) throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [Folder.self], zones: .perRoot)
        let laptop = try scenario.device("laptop", records: [Folder.self], zones: .perRoot)
        try phone.run(
            "INSERT INTO Folder (_recordName, title, opened) VALUES ('x', 'x', 0), ('y', 'y', 0)",
            "INSERT INTO Folder (_recordName, above, title, opened) VALUES ('a', 'x', 'a', 0), ('b', 'a', 'b', 1)"
        )
        try scenario.synchronise()
        try phone.run("UPDATE Folder SET opened = opened + 2 WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        if request.isEmpty {
            try phone.takeAwayParts(sinceFormat: 6)
        } else {
            #expect(throws: Death.self) {
                try phone.sync { sent in
                    guard sent.line.contains(request) else { return .answered }
                    if isCarriedOut { _ = phone.answer(sent) }
                    try phone.takeAwayParts(sinceFormat: 6)
                    throw Death()
                }
            }
        }
        #expect(try phone.moves() > 0)
        try laptop.run("UPDATE Folder SET title = 'edited' WHERE _recordName = 'b'")
        try phone.restart()
        #expect(try phone.value("SELECT format FROM mist_state") == SystemTables.format)
        scenario.clock.advance(by: 600)
        for _ in 0..<3 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→y opened=0 title=a", "Folder b above=→a opened=3 title=edited",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y",
        ])
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["a b y", "x"])
            #expect(try device.moves() == 0)
        }
    }

    @Test(
        "34, I3, 25. A record that is parked in a file of an earlier format stays parked, and is sent later",
        arguments: 1...6
    )
    func parkedRecordsStayParked(format: Int) async throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('fine', 'F'), ('refused', 'R'), ('early', 'E')")
        // The service stores one record, refuses one, and does not have yet what the third one refers to.
        try phone.sync { request in
            guard case .modify(let operations, let zone, let isAtomic) = request else { return .answered }
            let stored = operations.filter { $0.record.recordName == "fine" }
            guard case .records(let results) = try phone.answer(.modify(stored, zone: zone, isAtomic: isAtomic)).get()
            else { return .answered }
            let failures: [Result<ServiceRecord, CloudKitError>] = [
                .failure(.service(.badRequest, reason: "no", record: "refused")),
                .failure(.service(.validatingReferenceError, record: "early")),
            ]
            return .reply(.success(.records(results + failures)))
        }
        let pending = try phone.pending()
        #expect(pending.suffix(2) == ["phone: parked early reference", "phone: parked refused BAD_REQUEST"])
        let parked = try await phone.local.status().parked
        #expect(parked.map { "\($0.recordName) \($0.reason)" } == ["early reference", "refused BAD_REQUEST"])
        try phone.takeAwayParts(sinceFormat: format)
        try phone.restart()
        #expect(try phone.value("SELECT format FROM mist_state") == SystemTables.format)
        #expect(try phone.pending() == pending)
        #expect(try await phone.local.status().parked == parked)
        #expect(try phone.sync().writes == [])
        // Only one of them is sent again at a time of the store's own choice.
        scenario.clock.advance(by: 60)
        #expect(try phone.sync().writes == ["modify create early"])
        #expect(try await phone.local.status().parked == parked.suffix(1))
        try await phone.local.retryParked()
        #expect(try phone.sync().writes == ["modify create refused"])
        try scenario.synchronise()
        try scenario.expect(["Book early title=E", "Book fine title=F", "Book refused title=R"])
    }

    private static let books = (0...9).map { "Book b\($0)" }

    /// A phone with a small limit of deletes and a laptop, both with the books `b0` to `b9`.
    private func devicesWithTenBooks() throws -> (SyncScenario, ScenarioDevice) {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone") {
            $0.massDeletionLimit = MassDeletionLimit(records: 3, fraction: 1.0 / 3)
        }
        _ = try scenario.device("laptop")
        for number in 0...9 { try phone.run("INSERT INTO Book (_recordName) VALUES ('b\(number)')") }
        try scenario.synchronise()
        return (scenario, phone)
    }

    @Test(
        "34, I3, 40. Many deletes that wait in a file of an earlier format wait for a permission after the update",
        arguments: 1...6
    )
    func heldDeletesStayHeld(format: Int) async throws {
        let (scenario, phone) = try devicesWithTenBooks()
        try phone.run("DELETE FROM Book WHERE _recordName < 'b6'")
        #expect(try phone.sync().writes == [])
        let waiting = MassDeletion(deletes: 6, sentBefore: 0, records: 10)
        #expect(try await phone.local.status().massDeletion == waiting)
        try phone.takeAwayParts(sinceFormat: format)
        try phone.restart()
        try phone.run("UPDATE Book SET title = 'edited' WHERE _recordName = 'b9'")
        #expect(try phone.sync().writes == ["modify update b9"])
        let status = try await phone.local.status()
        #expect(status.conditions == [.massDeletion] && status.massDeletion == waiting)
        #expect(try scenario.serviceRecords().count == 10)
        #expect(try await phone.local.allowMassDeletion() == 6)
        try scenario.synchronise()
        try scenario.expect(Self.books[6...8] + ["Book b9 title=edited"])
    }

    @Test(
        "34, I3, 40. A permission for many deletes in a file of an earlier format holds after the update",
        arguments: 5...6
    )
    func permissionsAreKept(format: Int) async throws {
        let (scenario, phone) = try devicesWithTenBooks()
        try phone.run("DELETE FROM Book WHERE _recordName < 'b6'")
        #expect(try await phone.local.allowMassDeletion() == 6)
        try phone.takeAwayParts(sinceFormat: format)
        try phone.restart()
        try phone.run("DELETE FROM Book")
        #expect(try phone.sync().writes == ["modify delete b0, delete b1, delete b2, delete b3, delete b4, delete b5"])
        #expect(
            try await phone.local.status().massDeletion == MassDeletion(deletes: 4, sentBefore: 0, records: 4)
        )
        try await phone.local.allowMassDeletion()
        try scenario.synchronise()
        try scenario.expect([])
    }

    @Test(
        "34, I3, 40. Deletes that were sent before the update of a file count for a day, if its format counted them",
        arguments: 1...6
    )
    func sentDeletesCount(format: Int) async throws {
        let (scenario, phone) = try devicesWithTenBooks()
        try phone.run("DELETE FROM Book WHERE _recordName < 'b3'")
        #expect(try phone.sync().writes.count == 1)
        try phone.takeAwayParts(sinceFormat: format)
        scenario.clock.advance(by: 20 * 3600)
        try phone.restart()
        try phone.run("DELETE FROM Book WHERE _recordName < 'b6'")
        let isCounted = format >= 5
        #expect(try phone.sync().writes == (isCounted ? [] : ["modify delete b3, delete b4, delete b5"]))
        var configuration = phone.configuration
        configuration.clock = { [clock = scenario.clock] in clock.now }
        let local = LocalDatabase(file: phone.file, scope: .private, configuration: configuration)
        let waiting = isCounted ? MassDeletion(deletes: 3, sentBefore: 3, records: 10) : nil
        #expect(try await local.status().massDeletion == waiting)
        scenario.clock.advance(by: 5 * 3600)
        try scenario.synchronise()
        try scenario.expect(Array(Self.books[6...9]))
    }

    @Test(
        "34, I3, 11. A held delete in a file of an earlier format is decided on when all zones were read",
        arguments: [false, true]
    )
    func heldDeletesAreDecided(isMoved: Bool) throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [Folder.self], zones: .perRoot)
        let laptop = try scenario.device("laptop", records: [Folder.self], zones: .perRoot)
        try phone.run(
            "INSERT INTO Folder (_recordName, title, opened) VALUES ('x', 'x', 0), ('y', 'y', 0)",
            "INSERT INTO Folder (_recordName, above, title, opened) VALUES ('a', 'x', 'a', 0), ('b', 'a', 'b', 0)"
        )
        try scenario.synchronise()
        let target = try #require(try laptop.zone(of: "y"))
        try laptop.run("UPDATE Folder SET title = 'edited' WHERE _recordName = 'b'")
        if isMoved {
            try phone.move("a", below: "y")
        } else {
            try phone.run(
                "DELETE FROM Folder WHERE _recordName = 'a'",
                "UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'y'"
            )
        }
        try phone.sync()
        // The service does not deliver the changes of the other zone, in which copies may be.
        try laptop.sync { try laptop.reply(to: $0, withoutChangesOf: target) }
        #expect(try laptop.value("SELECT count(*) FROM mist_held") == 2)
        try laptop.takeAwayParts(sinceFormat: 6)
        try laptop.restart()
        #expect(try laptop.value("SELECT format FROM mist_state") == SystemTables.format)
        try laptop.sync { try laptop.reply(to: $0, withoutChangesOf: target) }
        #expect(try laptop.value("SELECT count(*) FROM mist_held") == 2)
        #expect(try laptop.recordsByZone() == ["a b x", "y"])
        for _ in 0..<2 { try scenario.synchronise() }
        if isMoved {
            try scenario.expect([
                "Folder a above=→y opened=0 title=a", "Folder b above=→a opened=0 title=edited",
                "Folder x opened=0 title=x", "Folder y opened=0 title=y",
            ])
            #expect(try laptop.recordsByZone() == ["a b y", "x"])
        } else {
            try scenario.expect(
                ["Folder x opened=0 title=x", "Folder y opened=1 title=y"],
                recovery: ["laptop: Folder b deleted above=→a opened=0 title=edited"]
            )
        }
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("34, I3, 36. Over HTTP: a file of an earlier format transfers the files that wait", arguments: 5...6)
    func filesAreTransferred(format: Int) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = emulator.service(as: .user)
                func open(_ name: String) throws -> MistStore {
                    var configuration = StoreConfiguration()
                    configuration.setDownload(.onDemand, of: \.image, in: Photo.self)
                    return try MistStore(
                        at: folder.appending(path: name),
                        records: [Album.self, Photo.self],
                        service: service,
                        configuration: configuration
                    )
                }
                var phone = try open("phone")
                let laptop = try open("laptop")
                try await add("a", picture, to: laptop)
                try await laptop.sync()
                try await phone.sync()
                #expect(try await image(of: "a", on: phone) == nil)
                #expect(try await phone.privateDatabase.requestFile(\.image, of: Photo.self, named: "a"))
                try await add("b", other, to: phone)
                try phone.close()
                for name in ["user.sqlite", "public.sqlite"] {
                    let queue = try DatabaseQueue(path: folder.appending(path: "phone/\(name)").path)
                    try await queue.write { db in try takeAwayParts(sinceFormat: format, of: db) }
                    try queue.close()
                }
                phone = try open("phone")
                try await phone.sync()
                try await laptop.sync()
                #expect(try await laptop.privateDatabase.requestFile(\.image, of: Photo.self, named: "b"))
                try await laptop.sync()
                #expect(try await image(of: "a", on: phone) == picture)
                #expect(try await image(of: "b", on: laptop) == other)
                for store in [phone, laptop] {
                    #expect(try await store.privateDatabase.status().isSynchronised)
                    #expect(try await store.privateDatabase.recoveryLog().isEmpty)
                    try store.close()
                }
            }
        }
    }
}
