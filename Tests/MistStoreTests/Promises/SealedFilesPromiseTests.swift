import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// The values that a test looks for in files, in all forms that a file could have them in.
private struct Secrets {
    let note: Note
    /// The forms, with what they are.
    let forms: [(name: String, bytes: Data)]
    /// The checksums that edit times have of the values.
    let checksums: [Data]

    /// - Parameter number: The number of the secrets: values of different numbers are different.
    init(_ number: Int) {
        let text = "Zq7-hidden-\(number)-text"
        let pin = 4_711_815_162_300 + number
        let bytes = Data([0xde, 0xad, 0x51, 0x07, 0xbe, 0xef, 0x99, 0x01, 0xfe, 0xed, 0x77, UInt8(number)])
        let weight = 0.123456789 + Double(number)
        let latitude = 12.3456789 + Double(number)
        let day = 1_686_106_171_000 + Int64(number)
        note = Note(
            title: "title",
            text: text,
            pin: pin,
            weight: weight,
            day: Date(timeIntervalSince1970: Double(day) / 1000),
            bytes: bytes,
            place: Location(latitude: latitude, longitude: 1)
        )
        func bigEndian(_ value: UInt64, _ count: Int) -> Data {
            withUnsafeBytes(of: value.bigEndian) { Data($0).suffix(count) }
        }
        forms = [
            ("text", Data(text.utf8)),
            ("pin in SQLite", bigEndian(UInt64(pin), 6)), ("pin in JSON", Data("\(pin)".utf8)),
            ("weight in SQLite", bigEndian(weight.bitPattern, 8)), ("weight in JSON", Data("\(weight)".utf8)),
            ("day in SQLite", bigEndian(UInt64(day), 6)), ("day in JSON", Data("\(day)".utf8)),
            ("bytes", bytes), ("bytes in JSON", Data(bytes.base64EncodedString().utf8)),
            ("place", Data("\(latitude)".utf8)),
        ].map { ("\($0) \(number)", $1) }
        let fields: [(String, FieldValue)] = [("text", .string(text)), ("pin", .int64(Int64(pin)))]
        checksums = fields.map { name, value in
            withUnsafeBytes(of: Checksum.of(name, value).littleEndian) { Data($0) }
        }
    }

    /// The forms that bytes contain.
    func found(in bytes: Data) -> [String] { forms.filter { bytes.range(of: $0.bytes) != nil }.map(\.name) }

    /// The columns that contain them, or the checksums.
    func columns(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'").flatMap { table in
            try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").flatMap { row in
                row.compactMap { column, value -> String? in
                    // As SQLite gives it, and as a text.
                    let text = String.fromDatabaseValue(value).map { Data($0.utf8) } ?? Data()
                    let blob = Data.fromDatabaseValue(value) ?? Data()
                    let number = Int64.fromDatabaseValue(value).map { Data("\($0)".utf8) } ?? Data()
                    let real = Double.fromDatabaseValue(value).map { Data("\($0)".utf8) } ?? Data()
                    let isFound = [text, blob, number, real].contains { !found(in: $0).isEmpty }
                    let hasChecksum = checksums.contains { blob.range(of: $0) != nil }
                    let hasTimes = table == "mist_foreign" && text.range(of: Data(EditTimes.fieldName.utf8)) != nil
                    return isFound || hasChecksum || hasTimes ? "\(table).\(column)" : nil
                }
            }
        }
    }
}

/// Where the file of a device has secrets: columns, and the file itself with its unused pages.
private func leaks(of device: ScenarioDevice, _ secrets: [Secrets]) throws -> Set<String> {
    var found = Set(try device.database.read { db in try secrets.flatMap { try $0.columns(db) } })
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: path) }
    let copy = try DatabaseQueue(path: path.path)
    try device.database.backup(to: copy)
    try copy.close()
    let bytes = try Data(contentsOf: path)
    if !secrets.flatMap({ $0.found(in: bytes) }).isEmpty { found.insert("the file") }
    return found
}

/// Where the files of a folder have secrets: `user.sqlite-wal: text`.
private func leaks(in folder: URL, _ secrets: [Secrets]) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted().flatMap { name -> [String] in
        guard let bytes = try? Data(contentsOf: folder.appending(path: name)) else { return [] }
        return secrets.flatMap { $0.found(in: bytes) }.map { "\(name): \($0)" }
    }
}

/// A version of the program that knows the title alone.
private struct TitledNote: Hashable {
    var title: String?
}

extension TitledNote: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
    }

    static let recordType = "Note"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
    }
}

/// Promise 43: no value of a sealed field is in any file, whatever happens to its record.
@Suite(.timeLimit(.minutes(10)))
struct SealedFilesPromiseTests {
    private static let key = StoreEncryptionKey()
    private static let types: [any CloudKitRecord.Type] = [Shelf.self, Note.self]

    private func note(_ name: String, on device: ScenarioDevice) throws -> Note? {
        try device.database.read { db in
            try StoreReader(database: device.local, db: db).fetchIfPresent(Note.self, named: name)?.model
        }
    }

    @Test("43. Edits, requests, losses, unknown types and deletes leave no value of a sealed field in the file")
    func nothingIsFoundInAnyTable() throws {
        let scenario = try SyncScenario()
        let sealed: (inout StoreConfiguration) -> Void = { $0.encryptionKey = Self.key }
        let phone = try scenario.device("phone", records: Self.types, change: sealed)
        let laptop = try scenario.device("laptop", records: Self.types)
        let old = try scenario.device("old", records: [Shelf.self], change: sealed)
        let narrow = try scenario.device("narrow", records: [Shelf.self, TitledNote.self], change: sealed)
        let secrets = (0..<6).map(Secrets.init)
        func expectNothing(_ stage: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            for device in [phone, old, narrow] {
                let found = try leaks(of: device, secrets).sorted()
                #expect(found.isEmpty, "\(device.name), \(stage): \(found)", sourceLocation: sourceLocation)
            }
        }

        try phone.write { try $0.add(secrets[0].note, named: "a") }
        try expectNothing("a new record")
        try scenario.synchronise()
        // The search finds what is there: the laptop has no key.
        let plain = try leaks(of: laptop, secrets)
        #expect(plain.isSuperset(of: ["Note.text", "Note.pin", "mist_record.times", "the file"]))
        #expect(try old.value("SELECT count(*) FROM mist_foreign") == 1)
        #expect(try narrow.value("SELECT count(*) FROM mist_record WHERE other IS NOT NULL") == 1)
        try expectNothing("an unknown type, and unknown fields")
        // A program that does not know the fields reads them with the record, and keeps them when it edits it.
        let found = try narrow.database.read { db in
            try StoreReader(database: narrow.local, db: db).find(Query<TitledNote>())
        }
        #expect(found.map(\.model) == [TitledNote(title: "title")])
        #expect(found.first?.otherFields["text"]?.plain == secrets[0].note.text.map { .string($0) })
        try narrow.write { try $0.update(TitledNote.self, named: "a") { $0.title = "narrow" } }
        try narrow.sync()
        try expectNothing("an edit beside unknown fields")
        try narrow.write { try $0.update(TitledNote.self, named: "a") { $0.title = "title" } }
        try scenario.synchronise()
        #expect(try note("a", on: laptop) == secrets[0].note)

        try phone.write { try $0.add(secrets[1].note, named: "a") }
        #expect(try phone.value("SELECT count(*) FROM mist_edit WHERE base IS NOT NULL") == 6)
        try expectNothing("an edit")
        try phone.sync { $0.isWrite ? .crashAfter : .answered }
        #expect(try phone.value("SELECT count(*) FROM mist_sent_field WHERE value IS NOT NULL") == 6)
        try expectNothing("an edit that was sent")
        try phone.write { try $0.add(secrets[2].note, named: "a") }
        try scenario.synchronise()
        #expect(try note("a", on: laptop) == secrets[2].note)
        try expectNothing("an unknown outcome")

        // The laptop's edit is later, and arrives first.
        try phone.write { try $0.add(secrets[3].note, named: "a") }
        try laptop.write { try $0.add(secrets[4].note, named: "a") }
        try laptop.sync()
        try scenario.synchronise()
        #expect(try note("a", on: phone) == secrets[4].note)
        let log = try phone.database.read { db in
            try RecoveryEntries(scope: .private, db: db, sealer: phone.file.sealer).latest(1)
        }
        #expect(log.first?.fields["text"] == secrets[3].note.text.map { .string($0) })
        try expectNothing("values that lost")

        // A delete elsewhere, while an edit waits.
        try phone.write { try $0.add(secrets[5].note, named: "b") }
        try scenario.synchronise()
        try phone.write { try $0.update(Note.self, named: "b") { $0.text = secrets[1].note.text } }
        try laptop.write { try $0.remove(Note.self, named: "b") }
        try laptop.sync()
        try scenario.synchronise()
        #expect(try note("b", on: phone) == nil)
        #expect(try phone.value("SELECT count(*) FROM mist_recovery") == 2)
        try expectNothing("a deleted record")

        // The programs learn the type and the fields.
        for device in [old, narrow] { try device.restart(records: Self.types) }
        try scenario.synchronise()
        for device in [old, narrow] { #expect(try note("a", on: device) == secrets[4].note) }
        try expectNothing("a type that became known")
        for device in scenario.devices { #expect(try device.pending().isEmpty) }
    }

    @Test("43. A file that gets its key has no plain value in any table, with work that is under way")
    func theFirstKeySealsAllTables() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: Self.types)
        let laptop = try scenario.device("laptop", records: Self.types)
        let old = try scenario.device("old", records: [Shelf.self])
        let narrow = try scenario.device("narrow", records: [Shelf.self, TitledNote.self])
        let secrets = (0..<5).map(Secrets.init)
        try phone.write { try $0.add(secrets[0].note, named: "a") }
        try scenario.synchronise()
        try phone.write { try $0.add(secrets[1].note, named: "a") }
        try laptop.write { try $0.add(secrets[2].note, named: "a") }
        try laptop.sync()
        try scenario.synchronise()
        try phone.write { try $0.add(secrets[3].note, named: "a") }
        try phone.sync { $0.isWrite ? .crashAfter : .answered }
        try phone.write { try $0.add(secrets[4].note, named: "a") }
        let plain = Set(try [phone, old, narrow].flatMap { try leaks(of: $0, secrets) })
        #expect(
            plain.isSuperset(of: [
                "Note.text", "mist_edit.base", "mist_sent_field.value", "mist_recovery.fields", "mist_foreign.record",
                "mist_record.other", "mist_record.times", "mist_sent.times",
            ])
        )
        for device in [phone, old, narrow] {
            try device.restart(key: Self.key)
            let found = try leaks(of: device, secrets).sorted()
            #expect(found.isEmpty, "\(device.name): \(found)")
        }
        try scenario.synchronise()
        for device in [old, narrow] { try device.restart(records: Self.types) }
        try scenario.synchronise()
        for device in scenario.devices {
            #expect(try note("a", on: device) == secrets[4].note)
            #expect(try device.pending().isEmpty)
        }
        for device in [phone, old, narrow] { #expect(try leaks(of: device, secrets).isEmpty) }
    }

    @Test("43. The words with which the service refuses a record are sealed: they may quote a value")
    func refusalsAreSealed() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: Self.types) { $0.encryptionKey = Self.key }
        let laptop = try scenario.device("laptop", records: Self.types)
        let secrets = [Secrets(0), Secrets(1)]
        let quoted = secrets[0].note.text ?? ""
        for device in [phone, laptop] {
            try device.write { try $0.add(secrets[1].note, named: "a") }
            try device.sync { request in
                guard case .modify = request else { return .answered }
                let refusal = CloudKitError.service(.badRequest, reason: "no \(quoted)", record: "a")
                return .reply(.success(.records([.failure(refusal)])))
            }
            let parked = try await device.local.status().parked
            #expect(parked.map(\.recordName) == ["a"])
            #expect(parked.first?.message.contains("no \(quoted)") == true)
            #expect(try await device.local.status(of: Note.self, named: "a")?.parked == parked.first)
        }
        #expect(try leaks(of: phone, secrets).isEmpty)
        #expect(try leaks(of: laptop, [secrets[0]]).contains("mist_parked.message"))
        try laptop.restart(key: Self.key)
        #expect(try leaks(of: laptop, secrets).isEmpty)
        #expect(try await laptop.local.status().parked.first?.message.contains(quoted) == true)
    }

    @Test("43, 11. A record that is moved to another zone keeps its sealed values")
    func movedRecordsStaySealed() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: Self.types, zones: .perRoot) { $0.encryptionKey = Self.key }
        let laptop = try scenario.device("laptop", records: Self.types, zones: .perRoot) { $0.encryptionKey = Self.key }
        let secrets = [Secrets(0), Secrets(1)]
        try phone.write { writer in
            let shelf = try writer.add(Shelf(name: "S"), named: "s")
            try writer.add(Shelf(name: "T"), named: "t")
            var note = secrets[0].note
            note.folder = shelf.reference()
            try writer.add(note, named: "a")
        }
        try scenario.synchronise()
        try phone.write { writer in
            let note = try writer.fetch(Note.self, named: "a")
            try writer.move(note, below: try writer.fetch(Shelf.self, named: "t").reference())
            try writer.update(Note.self, named: "a") { $0.text = secrets[1].note.text }
        }
        var stages = 0
        while stages < 10 {
            stages += 1
            for device in [phone, laptop] {
                let found = try leaks(of: device, secrets)
                #expect(found.isEmpty, "\(device.name) \(stages): \(found)")
            }
            // The process dies after each request that writes.
            if try phone.sync({ $0.isWrite ? .crashAfter : .answered }).end != nil { break }
        }
        #expect(stages > 2)
        try scenario.synchronise()
        for device in [phone, laptop] {
            let found = try #require(try note("a", on: device))
            #expect(found.text == secrets[1].note.text)
            #expect(found.pin == secrets[0].note.pin)
            #expect(found.folder?.recordName == "t")
            #expect(try leaks(of: device, secrets).isEmpty)
            #expect(try device.pending().isEmpty)
        }
    }

    @Test("43. A record of another program with a field of the name that sealed fields have is kept as it is")
    func foreignFieldsOfTheNameAreKept() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: Self.types) { $0.encryptionKey = Self.key }
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')")
        try phone.sync()
        let name = FieldSealer.fieldName
        for type in ["Note", "Other"] {
            var record = ServiceRecord(recordType: type, recordName: "of \(type)".replacing(" ", with: "-"))
            record.fields[name] = .bytes(Data("MSL1 of another program".utf8))
            record.fields["title"] = .string("T")
            try scenario.change(.create, record)
        }
        try scenario.synchronise()
        try phone.write { try $0.update(Note.self, named: "of-Note") { $0.text = "edited" } }
        try scenario.synchronise()
        #expect(try scenario.serviceRecord("of-Note")?.fields[name] == .bytes(Data("MSL1 of another program".utf8)))
        #expect(try phone.pending().isEmpty)
    }

    // MARK: On disk

    private func configuration(_ key: StoreEncryptionKey?) -> StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.encryptionKey = key
        return configuration
    }

    /// A folder with a store without a key, that has secrets wherever files can have them, and another user's file.
    private func withPlainStore(
        _ body: (_ folder: URL, _ service: any SyncService, _ secrets: [Secrets]) async throws -> Void
    ) async throws {
        let secrets = (0..<4).map(Secrets.init)
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { parent in
                let (service, folder) = (emulator.service(as: .user), parent.appending(path: "store"))
                let store = try MistStore(at: folder, records: Self.types, service: service)
                let notes = store.privateDatabase
                try await notes.add(secrets[0].note, named: "a")
                try await notes.add(secrets[1].note, named: "b")
                try await store.sync()
                // A record that is removed leaves its values in unused pages; an edit leaves its base.
                try await notes.remove(Note.self, named: "b")
                try await notes.add(secrets[2].note, named: "a")
                try store.close()
                let other = try StoreFolder(
                    url: folder,
                    types: .program(Self.types),
                    configuration: StoreConfiguration(),
                    key: PresentKey(nil)
                ).open(.user("_other"), isExpected: false)
                try await LocalDatabase(file: other, scope: .private, configuration: StoreConfiguration())
                    .add(secrets[3].note, named: "c")
                try other.close(because: .storeIsClosed)
                // The search finds what is there.
                let plain = try leaks(in: folder, secrets)
                #expect(plain.contains("user.sqlite: text 2"))
                #expect(plain.contains("user.sqlite: pin in SQLite 0"))
                #expect(plain.contains("users/_other.sqlite: text 3"))
                try await body(folder, service, secrets)
            }
        }
    }

    @Test("43. The first key seals all files of the folder, with their unused pages and logs; backups are sealed")
    func theFirstKeySealsEverything() async throws {
        try await withPlainStore { folder, service, secrets in
            let store = try MistStore(
                at: folder,
                records: Self.types,
                service: service,
                configuration: configuration(Self.key)
            )
            #expect(try leaks(in: folder, secrets).isEmpty)
            let notes = store.privateDatabase
            #expect(try await notes.fetch(Note.self, named: "a").model == secrets[2].note)
            try await notes.add(secrets[1].note, named: "d")
            try await notes.update(Note.self, named: "a") { $0.text = secrets[0].note.text }
            try await store.sync()
            try await notes.update(Note.self, named: "a") { $0.text = secrets[1].note.text }
            #expect(try leaks(in: folder, secrets).isEmpty)
            let backup = folder.appending(path: "backup")
            try await store.backup(to: backup)
            try await notes.remove(Note.self, named: "a")
            try await store.sync()
            #expect(try leaks(in: folder, secrets).isEmpty)

            // The key is changed: the backup has the former one.
            let key = StoreEncryptionKey()
            try await store.changeEncryptionKey(to: key)
            let error = await #expect(throws: StoreError.self) { try await notes.restore(from: backup) }
            #expect(error?.code == .wrongKey)
            let plan = try await notes.restore(from: backup, encryptionKey: Self.key)
            #expect("\(plan)" == "1 created, 0 changed, 0 removed, 1 unchanged, 0 not restored")
            var restored = secrets[2].note
            restored.text = secrets[1].note.text
            #expect(try await notes.fetch(Note.self, named: "a").model == restored)
            try await store.sync()
            try store.close()
            #expect(try leaks(in: folder, secrets).isEmpty)

            for (key, code) in [(nil, StoreError.Code.keyMissing), (Self.key, .wrongKey)] {
                let error = #expect(throws: StoreError.self) {
                    try MistStore(at: folder, records: Self.types, configuration: configuration(key))
                }
                #expect(error?.code == code)
                let reading = #expect(throws: StoreError.self) {
                    try MistStore(readingAt: folder, records: Self.types, configuration: configuration(key))
                }
                #expect(reading?.code == code)
            }
            let reader = try MistStore(readingAt: folder, records: Self.types, configuration: configuration(key))
            #expect(try await reader.privateDatabase.fetch(Note.self, named: "a").model == restored)
            try reader.close()
        }
    }

    @Test("43. A process that has the store open without the key writes nothing, once another one has sealed it")
    func openProcessesWithoutTheKeyAreRefused() async throws {
        try await withPlainStore { folder, service, secrets in
            let former = try MistStore(at: folder, records: Self.types, service: service)
            let reading = #expect(throws: StoreError.self) {
                try MistStore(readingAt: folder, records: Self.types, configuration: configuration(Self.key))
            }
            #expect(reading?.code == .needsUpdate)
            let store = try MistStore(at: folder, records: Self.types, configuration: configuration(Self.key))
            let write = await #expect(throws: StoreError.self) {
                try await former.privateDatabase.add(secrets[3].note, named: "e")
            }
            #expect(write?.code == .keyMissing)
            let sync = await #expect(throws: StoreError.self) { try await former.sync() }
            #expect(sync?.code == .keyMissing)
            let read = await #expect(throws: StoreError.self) {
                try await former.privateDatabase.fetch(Note.self, named: "a")
            }
            #expect(read?.code == .value)
            try former.close()
            try store.close()
            // The remains are removed at the latest when no other process has the files open.
            try MistStore(at: folder, records: Self.types, configuration: configuration(Self.key)).close()
            #expect(try leaks(in: folder, secrets).isEmpty)
        }
    }

    @Test("43. A key is changed in all files of the folder: after a crash at any step, one of the two opens all")
    func keysAreChangedInAllFiles() async throws {
        try await withPlainStore { folder, _, secrets in
            let (former, key) = (Self.key, StoreEncryptionKey())
            try MistStore(at: folder, records: Self.types, configuration: configuration(former)).close()
            let paths = ["public.sqlite", "user.sqlite", "users/_other.sqlite"].map { folder.appending(path: $0).path }
            let files = StoreFolder(
                url: folder,
                types: .program(Self.types),
                configuration: configuration(former),
                key: PresentKey(former)
            )
            #expect(files.existingPaths().sorted() == paths)
            func opens(_ key: StoreEncryptionKey) -> Bool {
                do {
                    try KeyChange(from: key, to: key, paths: paths).check()
                    return true
                } catch {
                    return false
                }
            }
            for count in 0...3 {
                try KeyChange(from: former, to: key, paths: Array(paths.prefix(count))).add()
                #expect(opens(former))
                #expect(opens(key) == (count == 3))
            }
            for count in 1...3 {
                try KeyChange(from: former, to: key, paths: Array(paths.prefix(count))).complete()
                #expect(!opens(former))
                #expect(opens(key))
            }
            let store = try MistStore(at: folder, records: Self.types, configuration: configuration(key))
            #expect(try await store.privateDatabase.fetch(Note.self, named: "a").model == secrets[2].note)
            try store.close()
            // With a file of another key, nothing is changed in the others.
            let third = StoreEncryptionKey()
            try KeyChange(from: key, to: third, paths: [paths[2]]).add()
            try KeyChange(from: key, to: third, paths: [paths[2]]).complete()
            #expect(throws: StoreError.self) {
                try MistStore(at: folder, records: Self.types, configuration: configuration(key))
            }
        }
    }

    @Test("43. A store without a key has no key to change, and a key that does not fit the fields is refused")
    func refusals() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: Self.types)
            let error = await #expect(throws: StoreError.self) {
                try await store.changeEncryptionKey(to: StoreEncryptionKey())
            }
            #expect(error?.code == .keyMissing)
            try store.close()
            let fields: [RecordSchema.Field] = [
                .init(name: "count", type: .int64, isEncrypted: true, merge: .counter),
                .init(name: "file", type: .asset, isEncrypted: true),
                .init(name: "other", type: .reference, isEncrypted: true),
            ]
            for field in fields {
                let refusal = #expect(throws: StoreError.self) {
                    try StoreFile(
                        DatabaseQueue(),
                        schemas: [RecordSchema(recordType: "Bad", fields: [field])],
                        scopes: [.private: SyncScenario.zone],
                        key: PresentKey(Self.key)
                    )
                }
                #expect(refusal?.code == .schema)
                #expect(refusal?.fieldName == field.name)
            }
        }
    }
}
