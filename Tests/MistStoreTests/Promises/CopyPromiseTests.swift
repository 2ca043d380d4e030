import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Promise 41: a file that was copied, or restored from a backup, is another device.
struct CopyPromiseTests {
    private static let place = FileIdentity(machine: "m", volume: "1", number: "2", path: "/copy")

    @Test("41. A file is another one where the machine or its number differs; a move keeps both")
    func placesAreCompared() {
        func identity(_ machine: String, _ volume: String, _ number: String, _ path: String) -> FileIdentity {
            FileIdentity(machine: machine, volume: volume, number: number, path: path)
        }
        let earlier = identity("m", "1", "7", "/a")
        for (found, isSame) in [
            // Opened again; moved, or a hard link; a copy; a backup that took its place.
            (identity("m", "1", "7", "/a"), true), (identity("m", "1", "7", "/b"), true),
            (identity("m", "1", "8", "/b"), false),
            (identity("m", "1", "8", "/a"), false),
            // A file system that got another number when the machine was started; a copy on another one.
            (identity("m", "2", "7", "/a"), true), (identity("m", "2", "7", "/b"), false),
            // A cloned machine, and a container with a volume; a file system without numbers.
            (identity("n", "1", "7", "/a"), false), (identity("", "1", "7", "/a"), false),
            (identity("m", "1", "", "/a"), true),
            (identity("m", "1", "", "/b"), false),
        ] {
            #expect(found.isSameFile(as: earlier) == isSame, "\(found)")
        }
        #expect(identity("", "1", "7", "/b").isSameFile(as: identity("", "1", "7", "/a")))
    }

    @Test("41, P3, 3. A pending create that was sent and deleted meanwhile does not return with an old backup")
    func deletedCreatesStayDeleted() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('first')")
        try scenario.synchronise()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B'), ('kept', 'K')")
        let backup = try scenario.device("backup", of: phone, at: Self.place)
        try scenario.synchronise(except: backup)
        try phone.run("DELETE FROM Book WHERE _recordName = 'b'")
        try scenario.synchronise(except: backup)
        #expect(try backup.value("SELECT device FROM mist_state") != 1)
        let trace = try backup.sync()
        #expect(trace.writes == [])
        try scenario.synchronise()
        try scenario.expect(["Book first", "Book kept title=K"], recovery: ["backup: Book b deleted title=B"])
    }

    @Test("41, P3, 7. An edit that was acknowledged meanwhile is not sent again, and an older one loses")
    func acknowledgedEditsAreNotSentAgain() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'phone'")
        let backup = try scenario.device("backup", of: phone, at: Self.place)
        try scenario.synchronise(except: backup)
        try laptop.run("UPDATE Book SET title = 'laptop' WHERE _recordName = 'b'")
        try scenario.synchronise(except: backup)
        #expect(try backup.sync().writes == [])
        try scenario.synchronise()
        try scenario.expect(
            ["Book a title=phone", "Book b title=laptop"],
            recovery: ["backup: Book b laterEdit title=phone"]
        )
    }

    @Test("41, P2, P3. What is pending and under way in a copy is sent once by both", arguments: [false, true])
    func pendingWorkIsSentOnce(copyIsFirst: Bool) throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('gone', 'G')")
        try scenario.synchronise()
        try phone.run(
            "INSERT INTO Book (_recordName, title) VALUES ('new', 'N')",
            "UPDATE Book SET title = 'edited' WHERE _recordName = 'a'",
            "DELETE FROM Book WHERE _recordName = 'gone'"
        )
        var copy: ScenarioDevice?
        try phone.sync { request in
            guard request.isWrite, copy == nil else { return .answered }
            copy = try scenario.device("copy", of: phone, at: Self.place)
            return copyIsFirst ? .lostRequest : .lostReply
        }
        try #require(copy).sync()
        scenario.clock.advance(by: 60)
        try scenario.synchronise()
        try scenario.expect(["Book a title=edited", "Book new title=N"])
    }

    @Test(
        "41, P2, 9. A count that was pending when the file was copied counts once, whatever both copies count after it",
        arguments: [false, true],
        [(0, 0), (3, 0), (0, 5), (3, 5), (-2, 5), (3, -2), (-2, -2)]
    )
    func inheritedCountsCountOnce(copyIsFirst: Bool, counts: (original: Int, copied: Int)) throws {
        let (original, copied) = counts
        for isNew in [false, true] {
            for isUnderWay in [false, true] {
                let scenario = try SyncScenario()
                let (phone, _) = try scenario.twoDevices()
                try phone.run("INSERT INTO Book (_recordName, loans) VALUES ('b', 10)")
                if !isNew { try scenario.synchronise() }
                try phone.run("UPDATE Book SET loans = loans + 2")
                var copy: ScenarioDevice?
                if isUnderWay {
                    // The first count of the phone is under way when the file is copied, and a second one is pending.
                    try phone.sync { request in
                        guard request.isWrite, copy == nil else { return .answered }
                        try phone.run("UPDATE Book SET loans = loans + 100")
                        copy = try scenario.device("copy", of: phone, at: Self.place)
                        return copyIsFirst ? .lostRequest : .lostReply
                    }
                } else {
                    copy = try scenario.device("copy", of: phone, at: Self.place)
                }
                let other = try #require(copy)
                scenario.clock.advance(by: 5)
                if original != 0 { try phone.run("UPDATE Book SET loans = loans + (\(original))") }
                if copied != 0 { try other.run("UPDATE Book SET loans = loans + (\(copied))") }
                scenario.clock.advance(by: 60)
                try (copyIsFirst ? other : phone).sync()
                scenario.clock.advance(by: 60)
                try scenario.synchronise()
                let sum = 12 + (isUnderWay ? 100 : 0) + original + copied
                #expect(
                    try scenario.serviceRecord("b")?.fields["loans"]?.int64Value == Int64(sum),
                    "new \(isNew), under way \(isUnderWay)"
                )
                for device in [phone, other] {
                    #expect(try device.value("SELECT loans FROM Book") == Int64(sum))
                    #expect(try device.value("SELECT count(*) FROM mist_inherited") == 0)
                    #expect(try device.value("SELECT count(*) FROM mist_edit") == 0)
                }
            }
        }
    }

    @Test("41, P2, P3, 9. Two copies of one backup count what was pending in it once")
    func twoCopiesOfABackupCountOnce() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, loans) VALUES ('b', 10)")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET loans = loans + 2")
        let copies = try ["one", "two"].enumerated().map { number, name in
            var place = Self.place
            place.number += "\(number)"
            return try scenario.device(name, of: phone, at: place)
        }
        scenario.clock.advance(by: 5)
        for (number, copy) in copies.enumerated() { try copy.run("UPDATE Book SET loans = loans + \(20 + number)") }
        for copy in copies + copies { try copy.sync() }
        // The file that was copied goes on last.
        try phone.run("UPDATE Book SET loans = loans + 100")
        try scenario.synchronise()
        #expect(try scenario.serviceRecord("b")?.fields["loans"]?.int64Value == 10 + 2 + 20 + 21 + 100)
    }

    @Test("41, P2. Over HTTP: a folder that is copied or restored is another device, and one that is moved is not")
    func foldersAreCompared() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = emulator.service(as: .user)
                func open(_ name: String) throws -> MistStore {
                    try MistStore(at: folder.appending(path: name), records: [Shelf.self, Book.self], service: service)
                }
                func copy(_ name: String, to other: String) throws {
                    try FileManager.default.copyItem(
                        at: folder.appending(path: name),
                        to: folder.appending(path: other)
                    )
                }
                var phone = try open("phone")
                try await phone.privateDatabase.add(Book(title: "A"), named: "a")
                try await phone.sync()
                try await phone.privateDatabase.add(Book(title: "B"), named: "b")
                try phone.close()
                try copy("phone", to: "backup")
                try FileManager.default.moveItem(
                    at: folder.appending(path: "phone"),
                    to: folder.appending(path: "moved")
                )
                phone = try open("moved")
                #expect(try await phone.privateDatabase.status().copyNoticed == nil)
                try await phone.sync()
                try await phone.privateDatabase.remove(Book.self, named: "b")
                try await phone.sync()
                let backup = try open("backup")
                #expect(try await backup.privateDatabase.status().copyNoticed != nil)
                #expect(try await backup.publicDatabase.status().copyNoticed != nil)
                #expect(try await backup.sync().sent == 0)
                for store in [phone, backup] {
                    #expect(try await store.privateDatabase.find(Query<Book>()).map(\.recordName) == ["a"])
                }
                #expect(try await backup.privateDatabase.recoveryLog().map(\.reason) == [.deleted])
                // The file is written as a whole into another one.
                try phone.close()
                let queue = try DatabaseQueue(path: folder.appending(path: "moved/user.sqlite").path)
                try FileManager.default.createDirectory(
                    at: folder.appending(path: "vacuumed"),
                    withIntermediateDirectories: true
                )
                let path = folder.appending(path: "vacuumed/user.sqlite").path
                try await queue.vacuum(into: path)
                try queue.close()
                let vacuumed = try open("vacuumed")
                #expect(try await vacuumed.privateDatabase.status().copyNoticed != nil)
                try vacuumed.close()
                try backup.close()
            }
        }
    }
}
