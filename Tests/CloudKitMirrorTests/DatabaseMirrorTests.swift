import CloudKitEmulatorServer
import CloudKitMirror
import Foundation
import GRDB
import HTTPTypes
import MistKit
import MistTesting
import OpenAPISwiftRuntime
import Synchronization
import TestSupport
import Testing

/// CloudKit's record, not GRDB's.
private typealias Record = MistKit.Record

/// Mirrors made by a program; those of the command are in the tests of the command.
struct DatabaseMirrorTests {
    /// Runs a closure with the private database of an emulator that has a zone, and a place for a mirror.
    private func withDatabase(
        faults: [FaultRule] = [],
        middlewares: [any ClientMiddleware] = [],
        _ body: (_ database: CloudKitDatabase, _ file: URL) async throws -> Void
    ) async throws {
        try await inTemporaryFolder { folder in
            try await withCloudKitEmulator(faults: faults) { emulator in
                var configuration = emulator.serviceConfiguration
                configuration.middlewares = middlewares
                let service = CloudKitService(
                    containerIdentifier: emulator.containerIdentifier,
                    apiToken: emulator.apiToken,
                    webAuthToken: emulator.webAuthToken,
                    configuration: configuration
                )
                let database = service.privateDatabase
                _ = try await database.createZone("Notes")
                try await body(database, folder.appending(path: "copy.sqlite"))
            }
        }
    }

    private func note(_ number: Int, _ title: String = "A note") -> Record {
        Record(
            recordType: "Note",
            recordName: "n\(number)",
            fields: ["title": .string(title), "rating": .int64(Int64(number))],
            zoneID: ZoneID(zoneName: "Notes")
        )
    }

    private func titles(_ file: URL) throws -> [String] {
        try DatabaseQueue(path: file.path).read { db in
            try String.fetchAll(db, sql: "SELECT title FROM Note ORDER BY recordName")
        }
    }

    @Test func aLaterUpdateFetchesOnlyWhatChanged() async throws {
        try await withDatabase { database, file in
            for number in 1...5 { try await database.save(note(number)) }
            let mirror = try DatabaseMirror(at: file, of: database)
            let all = try await mirror.preview(.allZones)
            #expect(all.fetched == 5 && all.removed == 0)
            let reports = Mutex<[MirrorCounts]>([])
            let first = try await mirror.update(.allZones) { counts in reports.withLock { $0.append(counts) } }
            #expect(first.written == 5 && first.deleted == 0 && first.bytes > 0)
            #expect(reports.withLock(\.last) == first)

            try await database.forceReplace(note(2, "Another title"))
            try await database.forceDelete("n4", inZone: ZoneID(zoneName: "Notes"))
            let changes = try await mirror.preview(.allZones)
            #expect(changes.fetched == 1 && changes.removed == 1)
            let second = try await mirror.update(.zone(ZoneID(zoneName: "Notes")))
            #expect(second.written == 1 && second.deleted == 1)
            let third = try await mirror.update(.allZones)
            #expect(third.written == 0 && third.deleted == 0)
            try await mirror.close()
            #expect(try titles(file) == ["A note", "Another title", "A note", "A note"])
        }
    }

    @Test func recordsAreReadAsTheServiceSentThem() async throws {
        try await withDatabase { database, file in
            for number in 1...3 { try await database.save(note(number)) }
            let mirror = try DatabaseMirror(at: file, of: database)
            try await mirror.update(.allZones)
            try await mirror.close()

            var records = try MirroredRecords(ofFileAt: file, in: ZoneID(zoneName: "Notes"))
            #expect(records.count == 3 && records.shares == 0 && records.size > 0)
            var found: [String: Record] = [:]
            while let item = try records.next() { found[item.recordName] = try item.record() }
            let known = try await database.fetch("n2", inZone: ZoneID(zoneName: "Notes"))
            #expect(found.count == 3 && found["n2"]?.fields == known.fields)
            #expect(found["n2"]?.recordChangeTag == known.recordChangeTag)

            var rest = try MirroredRecords(ofFileAt: file, startingAfter: 2)
            #expect(try rest.next()?.position == 3)
            #expect(try rest.next() == nil)
        }
    }

    @Test func aFileHasOneDatabase() async throws {
        try await withDatabase { database, file in
            try await DatabaseMirror(at: file, of: database).close()
            #expect(try DatabaseMirror.origin(ofFileAt: file) == MirrorOrigin(database))
            expect(.otherDatabase) { _ = try DatabaseMirror(at: file, of: database.service.publicDatabase) }
        }
    }

    @Test func aFileOfAnotherProgramIsNotChanged() async throws {
        try await withDatabase { database, file in
            let queue = try DatabaseQueue(path: file.path)
            try await queue.write { db in try db.execute(sql: "CREATE TABLE mine (a)") }
            try queue.close()
            let before = try Data(contentsOf: file)
            expect(.notAMirror) { _ = try DatabaseMirror(at: file, of: database) }
            expect(.notAMirror) { _ = try MirroredRecords(ofFileAt: file) }
            expect(.notAMirror) { _ = try DatabaseMirror.origin(ofFileAt: file) }
            #expect(try Data(contentsOf: file) == before)
        }
    }

    @Test func aPathThatCannotBeUsedSaysWhy() async throws {
        try await withDatabase { database, file in
            expect(.unwritable) { _ = try DatabaseMirror(at: file.appending(path: "no/folder"), of: database) }
            expect(.unreadable) { _ = try MirroredRecords(ofFileAt: file) }
            let origin = try DatabaseMirror.origin(ofFileAt: file)
            #expect(origin == nil)
        }
    }

    @Test func anUpdateRefusesASecondOneAtTheSameTime() async throws {
        let interruption = Interruption()
        try await withDatabase(middlewares: [interruption]) { database, file in
            try await database.save(note(1))
            let mirror = try DatabaseMirror(at: file, of: database)
            interruption.set { try await mirror.update(.allZones) }
            #expect(try await mirror.update(.allZones).written == 1)
            #expect(interruption.codes.first == .busy)
            interruption.set { try await mirror.close() }
            try await mirror.update(.allZones)
            #expect(interruption.codes.last == .busy)
            try await mirror.close()
            let titles = try titles(file)
            #expect(titles == ["A note"])
        }
    }

    @Test func twoProcessesTakeTurns() async throws {
        try await withDatabase { database, file in
            // Two mirrors of one file have nothing in common but the file, like two processes.
            let (one, other) = (try DatabaseMirror(at: file, of: database), try DatabaseMirror(at: file, of: database))
            try await database.save(note(1))
            try await one.update(.allZones)
            let page = Record(recordType: "Page", recordName: "p", zoneID: ZoneID(zoneName: "Notes"))
            try await database.save(page)
            try await database.forceReplace(
                Record(
                    recordType: "Note",
                    recordName: "n1",
                    fields: ["title": .string("New"), "colour": .string("red")],
                    zoneID: ZoneID(zoneName: "Notes")
                )
            )
            // It adds a table and a column, which the first one did not know.
            #expect(try await other.update(.allZones).written == 2)
            try await database.forceReplace(
                Record(
                    recordType: "Note",
                    recordName: "n1",
                    fields: ["title": .string("Newer"), "colour": .string("blue")],
                    zoneID: ZoneID(zoneName: "Notes")
                )
            )
            try await database.forceDelete("p", inZone: ZoneID(zoneName: "Notes"))
            let counts = try await one.update(.allZones)
            #expect(counts.written == 1 && counts.deleted == 1)
            try await one.close()
            try await other.close()
            let pages = try await DatabaseQueue(path: file.path).read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM Page")
            }
            let titles = try titles(file)
            #expect(pages == 0 && titles == ["Newer"])
        }
    }

    @Test func aFailedPageLeavesAMirrorThatGoesOn() async throws {
        let fault = FaultRule(.undeliveredRecords(named: ["n2"]), on: "records/query")
        try await withDatabase(faults: [fault]) { database, file in
            // In whichever order they come, one is before the record that is not delivered.
            for number in 1...3 {
                var record = note(number)
                record.zoneID = nil
                try await database.save(record)
            }
            let mirror = try DatabaseMirror(at: file, of: database)
            await #expect(throws: CloudKitError.self) { try await mirror.update(.types(["Note"])) }
            #expect(try await mirror.update(.types(["Note"])).written == 3)
            try await mirror.close()
            let titles = try titles(file)
            #expect(titles == ["A note", "A note", "A note"])
        }
    }

    @Test func aPreviewLeavesTheFileToOthers() async throws {
        try await withDatabase { database, file in
            try await database.save(note(1))
            let mirror = try DatabaseMirror(at: file, of: database)
            _ = try await mirror.preview(.allZones)
            _ = try await mirror.writeCopy()
            let other = try DatabaseMirror(at: file, of: database)
            #expect(try await other.update(.allZones).written == 1)
            try await other.close()
            try await mirror.close()
        }
    }

    @Test func aMirrorInMemoryHasNoCopy() async throws {
        try await withDatabase { database, _ in
            try await database.save(note(1))
            let mirror = try DatabaseMirror(inMemoryOf: database)
            let preview = try await mirror.preview(.allZones)
            #expect(preview.fetched == 1)
            let error = await #expect(throws: MirrorError.self) { _ = try await mirror.writeCopy() }
            #expect(error?.code == .unwritable)
        }
    }

    @Test func recordsBeforeTheFirstAreNotSkipped() async throws {
        try await withDatabase { database, file in
            try await database.save(note(1))
            let mirror = try DatabaseMirror(at: file, of: database)
            try await mirror.update(.allZones)
            try await mirror.close()
            var records = try MirroredRecords(ofFileAt: file, startingAfter: -1)
            let first = try records.next()
            #expect(first?.recordName == "n1" && first?.zoneID == ZoneID(zoneName: "Notes"))
            var others = try MirroredRecords(ofFileAt: file, in: ZoneID(zoneName: "Notes", ownerRecordName: "_other"))
            let none = try others.next()
            #expect(none == nil)
        }
    }

    @Test func aClosedMirrorSaysSo() async throws {
        try await withDatabase { database, file in
            let mirror = try DatabaseMirror(at: file, of: database)
            try await mirror.close()
            try await mirror.close()
            let error = await #expect(throws: MirrorError.self) { try await mirror.update(.allZones) }
            #expect(error?.code == .closed)
            let other = await #expect(throws: MirrorError.self) { _ = try await mirror.writeCopy() }
            #expect(other?.code == .closed)
        }
    }

    @Test func aRefusedRequestKeepsThePagesBefore() async throws {
        try await withDatabase { database, file in
            try await database.save(note(1))
            let mirror = try DatabaseMirror(at: file, of: database)
            try await mirror.update(.allZones)
            do {
                try await mirror.update(.zone(ZoneID(zoneName: "Missing")))
                Issue.record("a zone that does not exist was mirrored")
            } catch let error as CloudKitError {
                #expect(error.code == .zoneNotFound)
            }
            let copy = try await mirror.writeCopy(at: Date(timeIntervalSince1970: 0))
            #expect(copy.lastPathComponent == "copy-1970-01-01T000000Z.sqlite")
            #expect(try titles(copy) == ["A note"])
            try await mirror.close()
        }
    }
}

/// Does something once, before the next request is sent, and notes the codes of the errors.
private final class Interruption: ClientMiddleware {
    private let state = Mutex<(action: (@Sendable () async throws -> Void)?, codes: [MirrorError.Code])>((nil, []))

    var codes: [MirrorError.Code] { state.withLock(\.codes) }

    func set(_ action: @escaping @Sendable () async throws -> Void) {
        state.withLock { $0.action = action }
    }

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        do {
            try await state.withLock { state in
                defer { state.action = nil }
                return state.action
            }?()
        } catch let error as MirrorError {
            state.withLock { $0.codes.append(error.code) }
        }
        return try await next(request, body, baseURL)
    }
}

/// Expects that a closure throws a mirror's error with a code.
private func expect(
    _ code: MirrorError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) {
    let error = #expect(throws: MirrorError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}
