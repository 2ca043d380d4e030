import CloudKitEmulator
import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import SQLiteTables
import TestSupport
import Testing

@testable import MistStore

/// Promise 46: a report for support.
struct DiagnosticsPromiseTests {
    /// Everything that a user or the service chose has this in it.
    private static let secret = "zq"

    /// A service whose errors quote the names and values of records, and a token.
    private struct QuotingService: SyncService {
        let service: EmulatorSyncService

        func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
            guard case .modify(var operations, let zone, _) = request,
                let index = operations.firstIndex(where: { $0.record.recordName == "zqRefused" })
            else { return try service.reply(to: request, in: scope) }
            operations.remove(at: index)
            var results: [Result<CloudKitModel.Record, CloudKitError>] = []
            if !operations.isEmpty,
                case .records(let others) = try service.reply(
                    to: .modify(operations, zone: zone, isAtomic: false),
                    in: scope
                )
            {
                results = others
            }
            let error = ErrorResponse(
                serverErrorCode: .badRequest,
                reason: "the title 'zqTitle' of zqRefused is bad; BAD_REQUEST ckWebAuthToken=zqToken"
            )
            results.insert(.failure(CloudKitError(error, item: .record(name: "zqRefused"))), at: index)
            return .records(results)
        }
    }

    @Test("46. A report names the schema, the conditions and what waits, and nothing that a user has written")
    func reportsHaveNoContents() async throws {
        try await inTemporaryFolder { folder in
            let emulator = try CloudKitEmulator()
            let user = try emulator.createUser()
            let container = "iCloud.zq.diagnostics"
            let service = QuotingService(service: EmulatorSyncService(emulator, container: container, user: user))
            var configuration = StoreConfiguration()
            configuration.zones = .single("zqZone")
            let records: [any CloudKitRecord.Type] = [Shelf.self, Book.self]
            let path = folder.appending(path: "zqFolder")
            let store = try MistStore(at: path, records: records, service: service, configuration: configuration)
            let books = store.privateDatabase
            try await books.add(Book(title: "zqTitle", note: "zqNote", tags: ["zqTag"]), named: "zqKept")
            try await books.add(Book(title: "zqTitle"), named: "zqDeleted")
            try await store.publicDatabase.follow(Query<Book> { Filter(\.title == "zqQuery") })
            try await store.sync()
            try await books.add(Book(title: "zqTitle"), named: "zqRefused")
            try await store.sync()
            try await store.verify()
            try await books.add(Book(title: "zqEdited"), named: "zqKept")
            try await books.remove(Book.self, named: "zqDeleted")
            try await store.file(of: .private).database.write { db in
                let zone = try StoredZone.fetch(1, db)
                let recovery = RecoveryEntries(scope: .private, db: db, sealer: nil)
                try recovery.add(
                    .deleted,
                    ["title": .string("zqLost")],
                    of: "Book",
                    "zqLost",
                    in: #require(zone),
                    at: 1
                )
                try ScopeState(scope: .private, db: db).rest(
                    until: 1,
                    because: .signedOut,
                    "https://zq.example?zqToken"
                )
                try UndeliveredRecords(scope: .private, db: db).note(
                    "zqUndelivered",
                    in: 1,
                    "zqUndelivered: INTERNAL_ERROR",
                    until: 1,
                    heldSince: nil,
                    attempts: 2
                )
                try db.execute(sql: "CREATE TABLE zqOther (zq TEXT)")
            }
            let text = try await store.diagnostics()
            #expect(!text.lowercased().contains(Self.secret), "\(text)")
            // Tags, tokens, names, and the number of the device.
            for file in [store.file(of: .private), store.file(of: .public)] {
                for value in try await file.database.read(Self.values) {
                    #expect(!text.contains(value), "\(value) in \(text)")
                }
            }
            for line in [
                "user.sqlite", "public.sqlite", "  type Book: shelf REFERENCE (parent), sequel REFERENCE, title STRING",
                "  owner: known", "  lease: free", "  private", "  public", "    condition: signedOut",
                "    zones: 1 existing", "    records of the service: 2",
                "    edited records: 2, the oldest edit 0 seconds old",
                "    deletes: 1", "    parked: 1 BAD_REQUEST, the first 0 seconds ago",
                "    not delivered: 1 INTERNAL_ERROR, up to 2 times",
                "    verification: compare, versions, ended 0 seconds ago, 1 of 1 zone, 0 differences",
                "    recovery log: 1 deleted", "    followed query of Book: 1 filter, idle", "  table Book: 2 rows",
                "  tables of other programs: 1",
            ] {
                // The machine may be slow.
                let timeless = text.replacing(/[0-9]+ seconds?/, with: "0 seconds")
                #expect(timeless.contains("\(line)"), "\(line) is not in:\n\(text)")
            }
            #expect(text.contains("  table mist_state: 1 row"))
            let wrong = text.matches(of: /\b1 (rows|bytes|filters|passes|zones|differences|times|seconds)\b/)
            #expect(wrong.isEmpty, "\(text)")
            try store.close()
        }
    }

    /// Texts of the store's tables that are neither of the schema nor names of this library.
    private static func values(_ db: Database) throws -> Set<String> {
        let columns = [
            "mist_state": ["device", "owner", "path", "machine"], "mist_scope": ["token", "detail"],
            "mist_zone": ["token", "name"], "mist_record": ["tag", "name"], "mist_user": ["name"],
            "mist_parked": ["name", "message"], "mist_recovery": ["fields", "name"], "mist_follow": ["query"],
            "Book": ["_recordName", "_changeTag", "title"],
        ]
        var values: Set<String> = []
        for (table, names) in columns {
            for name in names {
                let sql = "SELECT CAST(\(name) AS TEXT) FROM \(table) WHERE \(name) <> ''"
                values.formUnion(try String.fetchAll(db, sql: sql))
            }
        }
        // The tags of the emulator are short.
        return values.filter { $0.count > 4 && $0 != "_defaultZone" }
    }

    @Test("46. Of a message, only the codes of the service are kept; ages have one unit")
    func texts() {
        #expect(StoreDiagnostics.codes(in: "BAD_REQUEST: the value SECRET of NAME") == "BAD_REQUEST")
        #expect(StoreDiagnostics.codes(in: "THROTTLED, then INTERNAL_ERROR") == "THROTTLED INTERNAL_ERROR")
        #expect(StoreDiagnostics.codes(in: "secret") == "(6 characters)")
        for (milliseconds, text) in [
            (999, "0 seconds"), (1000, "1 second"), (119_000, "119 seconds"), (120_000, "2 minutes"),
            (7_199_000, "119 minutes"),
            (7_200_000, "2 hours"), (172_800_000, "2 days"), (-5000, "-5 seconds"),
        ] as [(Int64, String)] {
            #expect(StoreDiagnostics.text(milliseconds) == text)
        }
        #expect((0...2).map { StoreDiagnostics.counted($0, "row") } == ["0 rows", "1 row", "2 rows"])
        #expect((1...2).map { StoreDiagnostics.counted($0, "pass", "passes") } == ["1 pass", "2 passes"])
    }
}
