import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Promise 47: a tool without the types of a program works on its store, as the program has declared.
struct OperatedStorePromiseTests {
    private let records: [any CloudKitRecord.Type] = [Shelf.self, Book.self]

    /// Runs a test with a folder and a service for one user.
    private func withService(_ body: (URL, CloudKitService) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in try await body(folder, emulator.service(as: .user)) }
        }
    }

    /// Opens a store as a tool does, for a closure.
    private func operating<Value>(
        _ folder: URL,
        _ service: CloudKitService? = nil,
        key: StoreEncryptionKey? = nil,
        _ body: (MistStore) async throws -> Value
    ) async throws -> Value {
        let user = try #require(try StoreUser.all(ofStoreAt: folder).first)
        let store = try MistStore(operatingStoreAt: folder, of: user, service: service, key: key)
        defer { try? store.close() }
        return try await body(store)
    }

    /// The error of a closure.
    private func error<Value>(_ body: () async throws -> Value) async -> StoreError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    private func books(_ store: MistStore) async throws -> [String: Book] {
        let found = try await store.privateDatabase.find(Query<Book>())
        return Dictionary(uniqueKeysWithValues: found.map { ($0.recordName, $0.model) })
    }

    @Test("47, 9. A tool that knows no types merges each field as the program has declared")
    func fieldsAreMergedAsDeclared() async throws {
        try await withService { folder, service in
            let (mine, other) = (folder.appending(path: "mine"), folder.appending(path: "other"))
            var program = try MistStore(at: mine, records: records, service: service)
            let elsewhere = try MistStore(at: other, records: records, service: service)
            let first = Book(title: "B", loans: 1, best: 5, tags: ["x"])
            try await program.privateDatabase.add(first, named: "b")
            try await program.sync()
            try await elsewhere.sync()
            try await program.privateDatabase.update(Book.self, named: "b") {
                ($0.loans, $0.best, $0.tags, $0.note) = (3, 7, ["x", "y"], "mine")
            }
            try await elsewhere.privateDatabase.update(Book.self, named: "b") {
                ($0.loans, $0.best, $0.tags, $0.title) = (11, 6, ["x", "z"], "BB")
            }
            try await elsewhere.sync()
            try program.close()
            let summary = try await operating(mine, service) { store in
                #expect(store.file(of: .private).models.isEmpty)
                return try await store.sync()
            }
            #expect(summary.merged == 1 && summary.sent == 1)
            try await elsewhere.sync()
            program = try MistStore(at: mine, records: records, service: service)
            let merged = Book(title: "BB", note: "mine", loans: 13, best: 7, tags: ["x", "y", "z"])
            #expect(try await books(program) == ["b": merged])
            #expect(try await books(elsewhere) == ["b": merged])
            #expect(try await program.sync().isEmpty)
            for store in [program, elsewhere] { try store.close() }
        }
    }

    @Test("47, 33. A tool synchronises and verifies beside the program, whose edits it sends")
    func aToolWorksBesideTheProgram() async throws {
        try await withService { folder, service in
            let program = try MistStore(at: folder, records: records, service: service)
            try await program.sync()
            let shelf = try await program.privateDatabase.add(Shelf(name: "S"), named: "s")
            try await program.privateDatabase.add(Book(shelf: shelf.reference(), title: "B"), named: "b")
            try await operating(folder, service) { store in
                #expect(try await store.sync().sent == 2)
                #expect(try await program.privateDatabase.status().isSynchronised)
                try await program.privateDatabase.update(Book.self, named: "b") { $0.title = "BB" }
                let report = try await store.verify(comparing: .values)
                #expect(report.isEqual && report.zones.map(\.compared) == [2], "\(report)")
            }
            #expect(try await program.privateDatabase.status().isSynchronised)
            #expect(try await books(program)["b"]?.title == "BB")
            try program.close()
        }
    }

    @Test("47, 10, 42. A tool restores a backup and an entry of the recovery log")
    func aToolRestores() async throws {
        try await withService { folder, service in
            let (own, backup) = (folder.appending(path: "store"), folder.appending(path: "backup"))
            let program = try MistStore(at: own, records: records, service: service)
            try await program.privateDatabase.add(Book(title: "B", loans: 2, best: 4), named: "b")
            try await program.sync()
            _ = try await operating(own) { store in try await store.backup(to: backup) }
            try await program.privateDatabase.update(Book.self, named: "b") { ($0.title, $0.best) = ("BB", 9) }
            let plan = try await operating(own) { store in
                try await store.privateDatabase.restore(from: backup)
            }
            #expect("\(plan)" == "0 created, 1 changed, 0 removed, 0 unchanged, 1 not restored")
            #expect(plan.obstacles.map(\.fieldName) == ["best"])
            #expect(try await books(program)["b"] == Book(title: "B", loans: 2, best: 9))
            try await operating(own) { store in
                let entry = try #require(try await store.privateDatabase.recoveryLog().first)
                #expect(entry.reason == .restored)
                try await store.privateDatabase.restore(entry)
            }
            #expect(try await books(program)["b"]?.title == "BB")
            try program.close()
        }
    }

    @Test("47, 34. A declaration is written once, and has the fields of all programs of the store")
    func declarationsAreKept() async throws {
        try await withService { folder, service in
            var configuration = StoreConfiguration()
            configuration.zones = .perRoot
            configuration.massDeletionLimit = nil
            configuration.recoveryDays = 7
            configuration.setEditTimes(.ofRecord, of: FirstVersion.Card.self)
            func declared() throws -> StoreDeclaration? {
                try DatabaseQueue(path: folder.appending(path: "public.sqlite").path)
                    .read { db in try Declarations(db: db).read() }
            }
            try MistStore(at: folder, records: [FirstVersion.Card.self], configuration: configuration).close()
            var expected = StoreDeclaration([FirstVersion.Card.self], configuration)
            #expect(try declared() == expected)
            // A service of the program's own has no name.
            let store = try MistStore(at: folder, records: [Shelf.self], service: service, configuration: configuration)
            expected = StoreDeclaration([FirstVersion.Card.self, Shelf.self], configuration)
            #expect(try declared() == expected)
            #expect(try MistStore.service(ofStoreAt: folder)?.container == service.containerIdentifier)
            try store.close()
            // The declaration is written where it has changed, and not at each opening.
            func writes() throws -> Int? {
                try DatabaseQueue(path: folder.appending(path: "public.sqlite").path)
                    .read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM own_log") }
            }
            try await DatabaseQueue(path: folder.appending(path: "public.sqlite").path).write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE own_log (time);
                        CREATE TRIGGER own AFTER UPDATE ON mist_setting BEGIN INSERT INTO own_log VALUES (NEW.id); END
                        """
                )
            }
            try MistStore(at: folder, records: [Shelf.self], service: service, configuration: configuration).close()
            try MistStore(at: folder, records: [Shelf.self], configuration: configuration).close()
            #expect(try writes() == 0)
            configuration.recoveryBytes = 5000
            try MistStore(at: folder, records: [Shelf.self], configuration: configuration).close()
            #expect(try writes() == 1)
            // The new name of a field takes the place of the old one.
            let second = SecondVersion.Card.self
            try MistStore(at: folder, records: [second], configuration: configuration).close()
            let schemas = try #require(try declared()).schemas
            #expect(schemas.first { $0.recordType == "Card" }?.fields == second.schema.fields)
            try await operating(folder) { tool in
                #expect(tool.configuration.zones == .perRoot && tool.configuration.massDeletionLimit == nil)
                #expect(tool.configuration.recoveryDays == 7)
                #expect(tool.configuration.typesWithoutEditTimes == ["Card"])
            }
        }
    }

    @Test(
        "47. Of two programs with different policies, the one that opened the store last counts, and the change is noted"
    )
    func theLastProgramDecides() async throws {
        try await withService { folder, service in
            let path = folder.appending(path: "public.sqlite").path
            try MistStore(at: folder, records: [Counted<Counting>.self], service: service).close()
            func changes() throws -> [String] {
                try DatabaseQueue(path: path).read { db in
                    try Declarations(db: db).policyChanges()
                        .map { "\($0.recordType).\($0.fieldName): \($0.former), \($0.present)" }
                }
            }
            #expect(try changes().isEmpty)
            try MistStore(at: folder, records: [Counted<Overwriting>.self], service: service).close()
            #expect(try changes() == ["Counted.count: counter, latest"])
            #expect(try MistStore.policyChanges(ofStoreAt: folder, since: Date() - 60).count == 1)
            #expect(try MistStore.policyChanges(ofStoreAt: folder, since: Date() + 60).isEmpty)
            try await operating(folder) { store in
                let table = try store.file(of: .private).table(of: "Counted")
                #expect(table["count"]?.schema.merge == .latest)
            }
        }
    }

    @Test(
        "47. A store whose program merges with a closure is not synchronised by a tool, and everything else can be done"
    )
    func closuresAreThoseOfTheProgram() async throws {
        try await withService { folder, service in
            var configuration = StoreConfiguration()
            configuration.merge("note", of: Book.self) { _, local, _ in local }
            try MistStore(at: folder, records: records, service: service, configuration: configuration).close()
            let refusal = await error { try await operating(folder, service) { _ in } }
            #expect(refusal?.code == .schema)
            #expect(refusal?.message.hasPrefix("The program merges Book.note with a closure") == true)
            let status = try await operating(folder) { store in try await store.privateDatabase.status() }
            #expect(status.pending == 0)
        }
    }

    @Test("47. A store without a declaration is refused with what to do, and nothing of it is changed")
    func storesOfEarlierProgramsAreRefused() async throws {
        try await withService { folder, service in
            try MistStore(at: folder, records: records, service: service).close()
            let path = folder.appending(path: "public.sqlite").path
            func execute(_ sql: String) throws {
                let queue = try DatabaseQueue(path: path)
                try queue.write { db in try db.execute(sql: sql) }
                try queue.close()
            }
            try execute("DELETE FROM mist_setting")
            var refusal = await error { try await operating(folder) { _ in } }
            #expect(refusal?.code == .needsUpdate)
            #expect(refusal?.message.contains("does not have the merge policies and settings of its program") == true)
            try execute("DROP TABLE mist_setting")
            refusal = await error { try await operating(folder) { _ in } }
            #expect(refusal?.code == .needsUpdate)
            let isThere = try await DatabaseQueue(path: path).read { db in try db.tableExists("mist_setting") }
            #expect(!isThere)
            // The program brings all back.
            try MistStore(at: folder, records: records, service: service).close()
            try await operating(folder) { _ in }
            try execute("UPDATE mist_declared_field SET merge = 'average' WHERE name = 'best'")
            refusal = await error { try await operating(folder) { _ in } }
            #expect(refusal?.code == .newerFormat)
            #expect(refusal?.recordType == "Book" && refusal?.fieldName == "best")
        }
    }

    @Test("47. A tool sends a field encrypted that the program has declared so, and keeps the program's zones")
    func encryptedFieldsAreSentEncrypted() async throws {
        try await withService { folder, service in
            var configuration = StoreConfiguration()
            configuration.zones = .single("Safe")
            let program = try MistStore(
                at: folder,
                records: [Secret.self],
                service: service,
                configuration: configuration
            )
            try await program.sync()
            try await program.privateDatabase.add(Secret(text: "S"), named: "s")
            try await operating(folder, service) { store in
                let summary = try await store.sync()
                #expect(summary.sent == 1)
            }
            let sent = try await service.database(.private).fetch("s", inZone: ZoneID(zoneName: "Safe"))
            guard case .encrypted("S") = sent.fields["text"] else {
                Issue.record("\(sent)")
                return
            }
            try program.close()
        }
    }

    @Test("43, 47. A tool needs the key of a sealed store, seals none that is not, and merges what it seals")
    func sealedStoresNeedTheirKey() async throws {
        try await withService { folder, service in
            let (mine, other) = (folder.appending(path: "mine"), folder.appending(path: "other"))
            let key = StoreEncryptionKey()
            var configuration = StoreConfiguration()
            configuration.encryptionKey = key
            var program = try MistStore(
                at: mine,
                records: [Secret.self],
                service: service,
                configuration: configuration
            )
            let elsewhere = try MistStore(at: other, records: [Secret.self], service: service)
            try await program.privateDatabase.add(Secret(text: "mine"), named: "a")
            try await program.sync()
            try await elsewhere.sync()
            try await program.privateDatabase.update(Secret.self, named: "a") { $0.text = "loses" }
            try program.close()
            try await elsewhere.privateDatabase.update(Secret.self, named: "a") { $0.text = "wins" }
            try await elsewhere.sync()

            #expect(await error { try await operating(mine, service) { _ in } }?.code == .keyMissing)
            let wrong = StoreEncryptionKey()
            #expect(await error { try await operating(mine, service, key: wrong) { _ in } }?.code == .wrongKey)
            #expect(await error { try await operating(other, service, key: key) { _ in } }?.code == .wrongKey)
            try await operating(mine, service, key: key) { store in
                let summary = try await store.sync()
                #expect([summary.fetched, summary.merged, summary.lost].reduce(0, +) > 0)
                let lost = try await store.privateDatabase.recoveryLog(limit: 9).first
                #expect(lost?.fields.first?.value.plain == .string("loses"), "\(String(describing: lost))")
            }
            try elsewhere.close()
            for file in ["user.sqlite", "user.sqlite-wal"] {
                guard let bytes = FileManager.default.contents(atPath: mine.appending(path: file).path) else {
                    continue
                }
                for text in ["loses", "wins"] { #expect(bytes.range(of: Data(text.utf8)) == nil, "\(file): \(text)") }
            }
            program = try MistStore(at: mine, records: [Secret.self], configuration: configuration)
            #expect(try await program.privateDatabase.fetch(Secret.self, named: "a").text == "wins")
            try program.close()
        }
    }

    @Test("47, P6. A tool does not send a record that the program could not read")
    func requiredFieldsAreKept() async throws {
        try await withService { folder, service in
            let program = try MistStore(at: folder, records: [Counted<Counting>.self], service: service)
            try await program.privateDatabase.add(Counted<Counting>(count: 1), named: "a")
            try await program.sync()
            try await program.privateDatabase.write { writer in
                try writer.db.execute(sql: "UPDATE Counted SET name = NULL")
            }
            try await operating(folder, service) { store in
                let summary = try await store.sync()
                #expect(summary.sent == 0)
            }
            let parked = try await program.privateDatabase.status().parked
            #expect(parked.map(\.recordName) == ["a"])
            #expect(parked.first?.message.hasPrefix("The field \"name\" cannot be read.") == true, "\(parked)")
            try program.close()
        }
    }
}

/// A record with a field that the service encrypts.
private struct Secret: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let text = EncryptedRecordField<String>("text")
    }

    var text: String?

    static let recordType = "Secret"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.text)

    init(text: String) {
        self.text = text
    }

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: text = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, text)
    }
}

/// A policy of a program.
private protocol CountingPolicy: Sendable {
    static var merge: FieldMerge { get }
}

private enum Counting: CountingPolicy {
    static var merge: FieldMerge { .counter }
}

private enum Overwriting: CountingPolicy {
    static var merge: FieldMerge { .latest }
}

/// A record with a field that two programs declare differently.
private struct Counted<Policy: CountingPolicy>: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let name = RecordField<String>("name")
        let count = RecordField<Int>("count", merge: Policy.merge)
    }

    var name = "A"
    var count: Int

    static var recordType: String { "Counted" }
    static var fields: Fields { Fields() }
    static var fieldTable: FieldTable { FieldTable(fields.name, fields.count) }

    init(count: Int) {
        self.count = count
    }

    init(fields reader: inout FieldReader) throws(FieldError) {
        var (name, count): (String?, Int?)
        while let field = try reader.next() {
            switch field {
            case 0: name = try reader.value()
            case 1: count = try reader.value()
            default: try reader.skip()
            }
        }
        self.name = try reader.required(name, 0)
        self.count = try reader.required(count, 1)
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, name)
        writer.write(1, count)
    }
}
