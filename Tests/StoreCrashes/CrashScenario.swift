import CloudKitEmulator
import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistStore

/// The steps of two devices. A process runs them and dies at one of the phone's steps, and a second process continues.
struct CrashScenario: Sendable {
    /// The device of a step.
    enum Device: String, Sendable {
        case phone, laptop
    }

    /// A person.
    enum User: String, CaseIterable, Sendable {
        case mei = "_00000000000000000000000000000001"
        case ben = "_00000000000000000000000000000002"
    }

    /// The service's failure of the first request that it can affect, in one synchronisation.
    enum ServiceFailure: Sendable {
        /// A request with changes fails as a whole, and nothing is done.
        case refusal(ServerErrorCode)
        /// The service does the changes of a request, and the response is lost.
        case lostReply
        /// Each change of a record with this name is refused.
        case refusedRecord(String)
        /// The service no longer knows the zone's token.
        case expiredToken
    }

    enum Step: Sendable {
        /// A program changes the device's records in one transaction of SQL.
        case sql(Device, [String])
        /// The device synchronises. The statements run on the device after the service has handled the first request
        /// with changes.
        case sync(Device, failure: ServiceFailure? = nil, meanwhile: [String] = [])
        /// The device's program uses its store. This may be repeated by the second process.
        case program(Device, @Sendable (MistStore) async throws -> Void)
        /// The device's program is started with other record types.
        case start(Device, [any CloudKitRecord.Type])
        /// Another program changes records at the service.
        case service(RecordOperation.OperationType, CloudKitModel.Record)
        /// The user deletes the zone at the service.
        case purge
        /// The device's folder is replaced by a copy of itself.
        case copy(Device)
        /// The person at the device signs in, or out.
        case user(Device, User?)
        /// A second store on the device's folder, which behaves as a second process, synchronises.
        case syncSecond(Device)
    }

    let name: String
    /// The scope whose records are compared.
    var scope = DatabaseScope.private
    /// The maximum number of records in a page.
    var pageSize = 200
    /// How many deletes both devices send without a permission.
    var massDeletionLimit: MassDeletionLimit? = MassDeletionLimit()
    /// The zones of the private database.
    var zones = ZoneLayout.single("Records")
    /// The types that both devices fetch first.
    var fetchFirst: [any CloudKitRecord.Type] = []
    let steps: [Step]

    init(
        _ name: String,
        scope: DatabaseScope = .private,
        pageSize: Int = 200,
        massDeletionLimit: MassDeletionLimit? = MassDeletionLimit(),
        zones: ZoneLayout = .single("Records"),
        fetchFirst: [any CloudKitRecord.Type] = [],
        _ steps: Step...
    ) {
        self.zones = zones
        self.fetchFirst = fetchFirst
        self.name = name
        self.massDeletionLimit = massDeletionLimit
        self.scope = scope
        self.pageSize = pageSize
        // At the end, everything is sent and fetched.
        self.steps = steps + [.sync(.phone), .sync(.laptop), .sync(.phone), .sync(.laptop)]
    }
}

extension CrashScenario.Step {
    fileprivate static func sync(_ device: CrashScenario.Device, _ failure: CrashScenario.ServiceFailure) -> Self {
        .sync(device, failure: failure)
    }

    fileprivate static func phone(_ statements: String...) -> Self { .sql(.phone, statements) }
    fileprivate static func laptop(_ statements: String...) -> Self { .sql(.laptop, statements) }
    fileprivate static func laptop(contentsOf statements: [String]) -> Self { .sql(.laptop, statements) }
}

extension CrashScenario {
    private static let twoBooks =
        "INSERT INTO Book (_recordName, title, note, loans) VALUES ('a', 'A', 'N', 1), ('b', 'B', 'N', 1)"

    /// Changes the phone's file while the triggers rest, as a program does that has removed them.
    private static func damage(in scope: DatabaseScope = .private, _ statements: String...) -> Step {
        .program(.phone) { store in
            try await store.file(of: scope).database.write { db in
                try db.execute(sql: "UPDATE mist_state SET applying = 1")
                for statement in statements { try db.execute(sql: statement) }
                try db.execute(sql: "UPDATE mist_state SET applying = 0")
            }
        }
    }

    /// The folder of a backup, which is in the folder of the store.
    private static func backup(beside store: MistStore) -> URL {
        let path = (store.file(of: .private).database as? DatabasePool)?.path ?? ""
        return URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("backup")
    }

    private static func verify(_ mode: VerificationMode) -> Step {
        .program(.phone) { store in try await store.verify(mode, comparing: .values) }
    }

    /// Two shelves with zones of their own, and a book on the first one.
    private static let twoShelves = [
        "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')",
        "INSERT INTO Shelf (_recordName, name) VALUES ('t', 'T')",
        "INSERT INTO Book (_recordName, shelf, title, loans) VALUES ('a', 's', 'A', 1), ('b', 's', 'B', 1)",
    ]

    /// The device's program moves a book to a shelf.
    private static func move(_ device: Device, _ book: String, below shelf: String) -> Step {
        .program(device) { store in
            let record = try await store.privateDatabase.fetch(Book.self, named: book)
            try await store.privateDatabase.move(record, below: RecordReference<Shelf>(recordName: shelf))
        }
    }

    /// All scenarios. The name of a scenario is a sentence about the phone.
    static let all: [CrashScenario] = [
        // Files
        CrashScenario(
            "adds a record with a file",
            .cover(.phone, "a", [1, 2, 3]),
            .sync(.phone)
        ),
        CrashScenario(
            "replaces the file of a record, and the reply to the push is lost",
            .cover(.phone, "a", [1, 2, 3]),
            .sync(.phone),
            .cover(.phone, "a", [4, 5, 6, 7]),
            .sync(.phone, .lostReply)
        ),
        CrashScenario(
            "receives the files of two records",
            .cover(.laptop, "a", [1, 2, 3]),
            .cover(.laptop, "b", [1, 2, 3]),
            .cover(.laptop, "c", [4, 5, 6, 7]),
            .sync(.laptop),
            .sync(.phone),
            .phone("UPDATE Cover SET title = 'seen'"),
            .sync(.phone)
        ),
        CrashScenario(
            "adds a file that another record has at the service, and one that is new",
            .cover(.phone, "a", [1, 2, 3]),
            .sync(.phone),
            .cover(.phone, "b", [1, 2, 3]),
            .cover(.phone, "c", [7, 8]),
            .sync(.phone)
        ),
        CrashScenario(
            "restores a file from a backup after it was replaced",
            .cover(.phone, "a", [1, 2, 3]),
            .sync(.phone),
            .program(.phone) { store in
                let folder = backup(beside: store)
                if !FileManager.default.fileExists(atPath: folder.path) { try await store.backup(to: folder) }
            },
            .cover(.phone, "a", [4, 5, 6, 7]),
            .sync(.phone),
            .program(.phone) { store in
                try await store.privateDatabase.restore(from: backup(beside: store))
            },
            .sync(.phone)
        ),
        CrashScenario(
            "copies a file to another record, and deletes the first",
            .cover(.phone, "a", [1, 2, 3]),
            .sync(.phone),
            .phone(
                "INSERT INTO Cover (_recordName, title, image) SELECT 'b', 'copy', image FROM Cover",
                "DELETE FROM Cover WHERE _recordName = 'a'"
            ),
            .sync(.phone)
        ),
        // Local changes
        CrashScenario(
            "inserts, changes and deletes",
            .phone(twoBooks),
            .sync(.phone),
            .phone("UPDATE Book SET title = 'AA' WHERE _recordName = 'a'", "DELETE FROM Book WHERE _recordName = 'b'"),
            .sync(.phone)
        ),
        CrashScenario(
            "changes a record three times before a synchronisation",
            .phone(twoBooks),
            .phone("UPDATE Book SET title = '2'"),
            .phone("UPDATE Book SET note = '3', title = '3'")
        ),
        CrashScenario(
            "deletes a record and inserts another of its name",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("DELETE FROM Book WHERE _recordName = 'a'", "INSERT INTO Book (_recordName, best) VALUES ('a', 2)"),
            .sync(.phone)
        ),
        CrashScenario(
            "creates and deletes a record that was never sent",
            .phone(twoBooks),
            .phone("DELETE FROM Book WHERE _recordName = 'b'"),
            .sync(.phone)
        ),
        CrashScenario(
            "changes records while its program is stopped",
            .phone(twoBooks),
            .sync(.phone),
            .phone("UPDATE Book SET loans = loans + 1", "DELETE FROM Book WHERE title = 'B'"),
            .start(.phone, [Shelf.self, Book.self]),
            .sync(.phone)
        ),
        CrashScenario(
            "changes records while they are being sent",
            .phone(twoBooks),
            .sync(.phone, meanwhile: ["UPDATE Book SET title = 'in flight', loans = loans + 5"]),
            .phone("UPDATE Book SET note = 'later'"),
            .sync(.phone, meanwhile: ["UPDATE Book SET note = 'in flight', loans = loans + 7"])
        ),
        CrashScenario(
            "deletes records while they are being created",
            .phone(twoBooks),
            .sync(.phone, meanwhile: ["DELETE FROM Book WHERE _recordName = 'a'"]),
            .sync(.phone)
        ),
        CrashScenario(
            "deletes and inserts a record while it is being created",
            .phone(twoBooks),
            .sync(
                .phone,
                meanwhile: [
                    "DELETE FROM Book WHERE _recordName = 'a'",
                    "INSERT INTO Book (_recordName, title) VALUES ('a', 'second life')",
                ]
            ),
            .sync(.phone)
        ),
        CrashScenario(
            "replaces a record as a whole",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("INSERT OR REPLACE INTO Book (_recordName, title) VALUES ('a', 'replaced')"),
            .laptop("UPDATE Book SET best = 4 WHERE _recordName = 'a'"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "gives a record another name",
            .phone(
                "INSERT INTO Shelf (_recordName) VALUES ('old')",
                "INSERT INTO Book (_recordName, shelf) VALUES ('b', 'old')"
            ),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Shelf SET _recordName = 'new'"),
            .sync(.phone)
        ),

        // Sending
        CrashScenario(
            "sends 250 records in two requests",
            .phone(
                """
                WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 250)
                INSERT INTO Book (_recordName, best) SELECT 'b' || n, n FROM number
                """
            ),
            .sync(.phone)
        ),
        CrashScenario(
            "sends parents before children, and deletes children before parents",
            .phone(
                "INSERT INTO Book (_recordName, shelf, sequel) VALUES ('b2', 's', 'b1'), ('b1', 's', NULL)",
                "INSERT INTO Shelf (_recordName) VALUES ('s')"
            ),
            .sync(.phone),
            .sync(.laptop),
            .phone("DELETE FROM Shelf"),
            .sync(.phone)
        ),
        CrashScenario(
            "sends a cycle of links in two requests",
            .phone("INSERT INTO Book (_recordName, sequel) VALUES ('a', 'b'), ('b', 'a'), ('self', 'self')"),
            .sync(.phone)
        ),
        CrashScenario(
            "loses the reply to a request of changes",
            .phone(twoBooks),
            .sync(.phone, .lostReply),
            .phone("UPDATE Book SET title = title || '!'"),
            .sync(.phone, .lostReply),
            .phone("DELETE FROM Book WHERE _recordName = 'b'"),
            .sync(.phone, .lostReply)
        ),
        CrashScenario(
            "is asked to come later",
            .phone(twoBooks),
            .sync(.phone, .refusal(.throttled)),
            .phone("UPDATE Book SET best = 1"),
            .sync(.phone, .refusal(.zoneBusy)),
            .sync(.phone)
        ),
        CrashScenario(
            "finds the storage full",
            .phone(twoBooks),
            .sync(.phone, .refusal(.quotaExceeded)),
            .phone("UPDATE Book SET best = 1"),
            .sync(.phone)
        ),
        CrashScenario(
            "has a record that the service refuses, until it is changed",
            .phone(twoBooks),
            .sync(.phone, .refusedRecord("a")),
            .phone("UPDATE Book SET title = 'accepted'"),
            .sync(.phone)
        ),

        // Conflicts
        CrashScenario(
            "edits other fields than the laptop",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Book SET title = 'phone'"),
            .laptop("UPDATE Book SET note = 'laptop'"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "edits a field before the laptop edits it, and loses",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Book SET title = 'phone'"),
            .laptop("UPDATE Book SET title = 'laptop'"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "edits a field after the laptop edited it, and wins",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .laptop("UPDATE Book SET title = 'laptop'"),
            .phone("UPDATE Book SET title = 'phone'"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "counts, joins and compares with the laptop",
            .phone("INSERT INTO Book (_recordName, loans, best, tags) VALUES ('a', 1, 5, '[\"x\"]')"),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Book SET loans = loans + 10, best = 8, tags = '[\"p\",\"x\"]'"),
            .laptop("UPDATE Book SET loans = loans + 100, best = 7, tags = '[\"l\",\"x\"]'"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "edits records that the laptop deletes",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Book SET title = 'phone'"),
            .laptop("DELETE FROM Book WHERE _recordName = 'a'"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "deletes records that the laptop edits",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .laptop("UPDATE Book SET title = 'laptop'"),
            .sync(.laptop),
            .phone("DELETE FROM Book"),
            .sync(.phone)
        ),
        CrashScenario(
            "edits a record that the laptop deletes and inserts again",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Book SET title = 'phone'"),
            .laptop(
                "DELETE FROM Book WHERE _recordName = 'a'",
                "INSERT INTO Book (_recordName, note) VALUES ('a', 'new')"
            ),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "inserts a record under a name that the laptop chose, too",
            .phone(twoBooks),
            .laptop("INSERT INTO Book (_recordName, title, best) VALUES ('a', 'laptop', 3)"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "changes children of a record that the laptop deletes",
            .phone(
                "INSERT INTO Shelf (_recordName) VALUES ('s')",
                "INSERT INTO Book (_recordName, shelf) VALUES ('old', 's')"
            ),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Book SET title = 'edited'", "INSERT INTO Book (_recordName, shelf) VALUES ('new', 's')"),
            .laptop("DELETE FROM Shelf"),
            .sync(.laptop),
            .sync(.phone)
        ),

        // Fetching
        CrashScenario(
            "fetches thirteen changes by pages of three",
            pageSize: 3,
            .laptop(
                """
                WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 13)
                INSERT INTO Book (_recordName, best) SELECT 'b' || n, n FROM number
                """
            ),
            .sync(.laptop),
            .sync(.phone),
            .phone("UPDATE Book SET title = 'phone' WHERE best > 6"),
            .laptop("DELETE FROM Book WHERE best > 9", "UPDATE Book SET note = 'laptop'"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "fetches everything again, and misses what was deleted",
            pageSize: 3,
            .phone(twoBooks, "INSERT INTO Book (_recordName) VALUES ('c'), ('d'), ('e'), ('f')"),
            .sync(.phone),
            .sync(.laptop),
            .laptop("DELETE FROM Book WHERE _recordName IN ('b', 'd')"),
            .sync(.laptop),
            .phone(
                "UPDATE Book SET title = 'edited' WHERE _recordName IN ('b', 'f')",
                "INSERT INTO Book (_recordName) VALUES ('g')"
            ),
            .sync(.phone, .expiredToken)
        ),
        CrashScenario(
            "keeps records of a type that it learns later",
            .start(.phone, [Shelf.self]),
            .laptop(
                "INSERT INTO Shelf (_recordName) VALUES ('s')",
                "INSERT INTO Book (_recordName, shelf) VALUES ('b', 's')"
            ),
            .sync(.laptop),
            .sync(.phone),
            .start(.phone, [Shelf.self, Book.self]),
            .phone("UPDATE Book SET title = 'known'"),
            .sync(.phone)
        ),
        CrashScenario(
            "gets changes of another program, which knows no edit times",
            .phone(twoBooks),
            .sync(.phone),
            .service(
                .forceUpdate,
                CloudKitModel.Record(recordType: "Book", recordName: "a", fields: ["note": .string("console")])
            ),
            .phone("UPDATE Book SET title = 'phone'"),
            .sync(.phone)
        ),
        CrashScenario(
            "loses its zone, with changes that were not sent",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Book SET title = 'lost'", "INSERT INTO Book (_recordName) VALUES ('c')"),
            .purge,
            .sync(.phone),
            .phone("INSERT INTO Book (_recordName, title) VALUES ('d', 'new')"),
            .sync(.phone)
        ),
        CrashScenario(
            "races with the laptop for the zone",
            .phone("INSERT INTO Book (_recordName, title) VALUES ('p', 'phone')"),
            .laptop("INSERT INTO Book (_recordName, title) VALUES ('l', 'laptop')"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "restores values that lost",
            .phone(twoBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("UPDATE Book SET title = 'phone'"),
            .laptop("DELETE FROM Book WHERE _recordName = 'a'", "UPDATE Book SET title = 'laptop'"),
            .sync(.laptop),
            .sync(.phone),
            .program(.phone) { store in
                for entry in try await store.privateDatabase.recoveryLog() {
                    try await store.privateDatabase.restore(entry)
                }
            },
            .sync(.phone)
        ),

        // Verifications
        CrashScenario(
            "is repaired after another program has damaged its file",
            pageSize: 6,
            .phone(twoBooks, "INSERT INTO Book (_recordName, title) VALUES ('c', 'C'), ('d', 'D'), ('e', 'E')"),
            .sync(.phone),
            .sync(.laptop),
            damage(
                "DELETE FROM Book WHERE _recordName IN ('a', 'b')",
                "UPDATE mist_record SET tag = 'fake' WHERE name = 'c'",
                "UPDATE Book SET title = '?' WHERE _recordName = 'd'",
                "INSERT OR IGNORE INTO Book (_recordName, title) VALUES ('x', 'X'), ('y', 'Y')"
            ),
            verify(.repair)
        ),
        CrashScenario(
            "keeps what the service lacks, and sends it as new records",
            .phone(
                "INSERT INTO Shelf (_recordName) VALUES ('s')",
                "INSERT INTO Book (_recordName, shelf, title) VALUES ('a', 's', 'A'), ('b', 's', 'B')"
            ),
            .sync(.phone),
            .sync(.laptop),
            damage(
                "DELETE FROM Book WHERE _recordName = 'a'",
                "INSERT OR IGNORE INTO Shelf (_recordName, name) VALUES ('x', 'X')",
                "INSERT OR IGNORE INTO Book (_recordName, shelf, title) VALUES ('y', 'x', 'Y')"
            ),
            verify(.resync)
        ),
        CrashScenario(
            "is repaired with changes that were not sent, while the laptop has changed the same records",
            pageSize: 3,
            .phone(twoBooks, "INSERT INTO Book (_recordName, title) VALUES ('c', 'C'), ('d', 'D'), ('e', 'E')"),
            .sync(.phone),
            .sync(.laptop),
            .laptop("UPDATE Book SET note = 'laptop'", "DELETE FROM Book WHERE _recordName = 'e'"),
            .sync(.laptop),
            damage(
                "DELETE FROM Book WHERE _recordName = 'a'",
                "DELETE FROM mist_record WHERE name = 'b'",
                "INSERT OR IGNORE INTO Book (_recordName, title) VALUES ('x', 'X')"
            ),
            .phone(
                "UPDATE Book SET title = 'phone', loans = loans + 1",
                "INSERT INTO Book (_recordName) VALUES ('new')"
            ),
            verify(.repair),
            verify(.repair)
        ),
        CrashScenario(
            "compares followed queries of the public database, and is repaired",
            scope: .public,
            .sql(.laptop, ["INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B'), ('c', 'C')"]),
            .sync(.laptop),
            .program(.phone) { store in try await store.publicDatabase.follow(Query<Book>()) },
            .sync(.phone),
            .laptop("DELETE FROM Book WHERE _recordName = 'c'"),
            .sync(.laptop),
            damage(
                in: .public,
                "DELETE FROM Book WHERE _recordName = 'a'",
                "INSERT OR IGNORE INTO Book (_recordName, title) VALUES ('x', 'X')"
            ),
            verify(.repair)
        ),
        CrashScenario(
            "follows a query of the public database",
            scope: .public,
            .sql(.laptop, ["INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B'), ('c', 'C')"]),
            .sync(.laptop),
            .program(.phone) { store in try await store.publicDatabase.follow(Query<Book>()) },
            .sync(.phone),
            .phone(
                "UPDATE Book SET title = 'phone' WHERE _recordName = 'a'",
                "INSERT INTO Book (_recordName) VALUES ('d')"
            ),
            .laptop("UPDATE Book SET note = 'laptop'", "DELETE FROM Book WHERE _recordName = 'b'"),
            .sync(.laptop),
            .sync(.phone, .lostReply),
            .sync(.phone)
        ),
        // Many deletes, copies and processes
        CrashScenario(
            "allows a mass deletion",
            massDeletionLimit: smallLimit,
            .phone(eightBooks),
            .sync(.phone),
            .sync(.laptop),
            .phone("DELETE FROM Book WHERE _recordName <> 'h'"),
            .sync(.phone),
            .program(.phone) { store in try await store.privateDatabase.allowMassDeletion() },
            .sync(.phone, .lostReply),
            .sync(.phone)
        ),
        CrashScenario(
            "undoes a mass deletion",
            massDeletionLimit: smallLimit,
            .phone(eightBooks),
            .sync(.phone),
            .phone("UPDATE Book SET title = 'edited'", "DELETE FROM Book WHERE _recordName <> 'h'"),
            .sync(.phone),
            .program(.phone) { store in try await store.privateDatabase.undoMassDeletion() },
            .sync(.phone)
        ),
        CrashScenario(
            "is copied with pending creates and counts",
            .phone(twoBooks),
            .sync(.phone),
            .phone(
                "INSERT INTO Book (_recordName, title, loans) VALUES ('c', 'C', 5)",
                "UPDATE Book SET loans = loans + 2 WHERE _recordName = 'a'",
                "DELETE FROM Book WHERE _recordName = 'b'"
            ),
            .copy(.phone),
            .phone("UPDATE Book SET loans = loans + 1"),
            .sync(.phone, .lostReply),
            .sync(.phone)
        ),
        CrashScenario(
            "moves a record to another zone, which the other device edits",
            zones: .perRoot,
            .sql(.phone, twoShelves),
            .sync(.phone),
            .sync(.laptop),
            .laptop("UPDATE Book SET title = 'edited', loans = loans + 2 WHERE _recordName = 'a'"),
            .phone("UPDATE Book SET note = 'noted', loans = loans + 1 WHERE _recordName = 'a'"),
            move(.phone, "a", below: "t"),
            .sync(.phone, meanwhile: ["UPDATE Book SET loans = loans + 4 WHERE _recordName = 'a'"]),
            .sync(.laptop)
        ),
        CrashScenario(
            "moves a record to another zone, and the reply to the copy is lost",
            zones: .perRoot,
            .sql(.phone, twoShelves),
            .sync(.phone),
            .sync(.laptop),
            .laptop("UPDATE Book SET title = 'edited' WHERE _recordName = 'a'"),
            .sync(.laptop),
            move(.phone, "a", below: "t"),
            move(.phone, "b", below: "t"),
            .sync(.phone, .lostReply),
            .sync(.phone)
        ),
        CrashScenario(
            "moves a record that the other device moves later",
            zones: .perRoot,
            .sql(.phone, twoShelves + ["INSERT INTO Shelf (_recordName, name) VALUES ('u', 'U')"]),
            .sync(.phone),
            .sync(.laptop),
            move(.phone, "a", below: "t"),
            .phone("UPDATE Book SET note = 'noted' WHERE _recordName = 'a'"),
            move(.laptop, "a", below: "u"),
            .sync(.laptop),
            .sync(.phone)
        ),
        CrashScenario(
            "takes the lease over from a dead process",
            .phone(twoBooks),
            .sync(.phone),
            .phone(
                "UPDATE Book SET title = 'edited', loans = loans + 1",
                "UPDATE mist_lease SET epoch = epoch + 1, holder = 1, process = 'dead', is_locked = 1, beat = 7"
            ),
            .sync(.phone, .lostReply),
            .sync(.phone)
        ),
        CrashScenario(
            "releases the lease, and a second process goes on",
            .phone(twoBooks),
            .sync(.phone),
            .phone("UPDATE Book SET loans = loans + 1", "INSERT INTO Book (_recordName) VALUES ('c')"),
            .syncSecond(.phone),
            .phone("UPDATE Book SET loans = loans + 1", "DELETE FROM Book WHERE _recordName = 'b'"),
            .sync(.phone)
        ),
        // Several people
        CrashScenario(
            "switches to another user, with changes that were not sent, and back",
            .phone(twoBooks),
            .sync(.phone),
            .phone("UPDATE Book SET title = 'Mei', loans = loans + 1", "INSERT INTO Book (_recordName) VALUES ('c')"),
            .user(.phone, .ben),
            .phone("INSERT INTO Book (_recordName, title) VALUES ('a', 'of Ben')"),
            .sync(.phone),
            .phone("UPDATE Book SET title = 'of Ben, too'"),
            .user(.phone, .mei),
            .phone("UPDATE Book SET loans = loans + 1")
        ),
        CrashScenario(
            "signs out, makes records, and signs in as another user",
            .phone(twoBooks),
            .sync(.phone),
            .phone("UPDATE Book SET title = 'Mei'"),
            .user(.phone, nil),
            .phone("INSERT INTO Book (_recordName, title) VALUES ('s', 'signed out'), ('t', 'signed out')"),
            .phone("UPDATE Book SET title = 'signed out, later' WHERE _recordName = 't'"),
            .user(.phone, .ben),
            .phone("UPDATE Book SET note = 'of Ben' WHERE _recordName = 's'"),
            .sync(.phone),
            .user(.phone, .mei)
        ),
        CrashScenario(
            "changes users while a reply is lost",
            .phone(twoBooks),
            .sync(.phone),
            .phone("UPDATE Book SET loans = loans + 1"),
            .sync(.phone, .lostReply),
            .user(.phone, .ben),
            .sync(.phone),
            .user(.phone, .mei)
        ),
        // Types that come first
        CrashScenario(
            "fetches the books first, in pages",
            pageSize: 2,
            fetchFirst: [Book.self],
            .laptop(contentsOf: twoShelves),
            .laptop("INSERT INTO Book (_recordName, shelf, title) VALUES ('c', 's', 'C'), ('d', 't', 'D')"),
            .sync(.laptop),
            .phone("INSERT INTO Book (_recordName, title) VALUES ('e', 'E')"),
            .sync(.phone),
            .laptop("DELETE FROM Book WHERE _recordName = 'a'", "UPDATE Book SET loans = loans + 1"),
            .sync(.laptop),
            .sync(.phone, .expiredToken)
        ),
    ]

    private static let smallLimit = MassDeletionLimit(records: 3, fraction: 1.0 / 3)
    private static let eightBooks =
        "INSERT INTO Book (_recordName) VALUES ('a'), ('b'), ('c'), ('d'), ('e'), ('f'), ('g'), ('h')"
}
