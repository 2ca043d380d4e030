import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation
import GRDB
import MistKit
import MistStore
import MistTesting
import Synchronization

/// Runs a scenario in a folder, from the step after the last finished one.
///
/// Phone, laptop and service are files in the folder. When a step is finished, this is recorded in the file of its
/// device, in the step's own transaction if it has one; and after it in a file beside, because a person may sign in whose
/// records are in another file. The clock is virtual: each step begins an hour later, and each
/// start of the process a minute later.
final class CrashRun {
    private let scenario: CrashScenario
    private let folder: URL
    private let emulator: CloudKitEmulator
    private let clock: Clock
    private var devices: [CrashScenario.Device: Device] = [:]
    private static let container = "iCloud.test.crashes"
    private static let zone = ZoneID(zoneName: "Records")

    private struct Device {
        let name: CrashScenario.Device
        var store: MistStore
        let service: FailingService
        let steps: CrashSteps?
    }

    init(_ scenario: CrashScenario, in folder: URL, dyingAt step: Int) throws {
        self.scenario = scenario
        self.folder = folder
        let starts = folder.appending(path: "starts")
        let start = ((try? Data(contentsOf: starts)) ?? Data()).count
        try Data(count: start + 1).write(to: starts)
        let clock = Clock(start: Int64(start))
        self.clock = clock
        var configuration = EmulatorConfiguration()
        configuration.limits.recordsPerResponse = scenario.pageSize
        emulator = try CloudKitEmulator(
            storage: .file(path: folder.appending(path: "service.sqlite").path),
            configuration: configuration,
            clock: { clock.date }
        )
        if start == 0 {
            for user in CrashScenario.User.allCases { _ = try emulator.createUser(userRecordName: user.rawValue) }
        }
        let steps = CrashSteps(dyingAt: step)
        for name in [CrashScenario.Device.phone, .laptop] {
            // Opening the files belongs to the phone's steps.
            let steps = name == .phone ? steps : nil
            let service = FailingService(
                Self.service(emulator, .mei),
                steps: steps
            )
            devices[name] = Device(
                name: name,
                store: try Self.open(
                    name,
                    of: scenario,
                    in: folder,
                    [Shelf.self, Book.self, Cover.self],
                    service,
                    steps,
                    clock
                ),
                service: service,
                steps: steps
            )
        }
    }

    private static func open(
        _ name: CrashScenario.Device,
        of scenario: CrashScenario,
        in folder: URL,
        _ records: [any CloudKitRecord.Type],
        _ service: FailingService,
        _ steps: CrashSteps?,
        _ clock: Clock
    ) throws -> MistStore {
        var configuration = StoreConfiguration()
        configuration.clock = { clock.date }
        configuration.random = { 0.5 }
        configuration.transactionObserver = steps
        configuration.massDeletionLimit = scenario.massDeletionLimit
        configuration.zones = scenario.zones
        configuration.fetchFirst = scenario.fetchFirst
        return try MistStore(
            at: folder.appending(path: name.rawValue),
            records: records,
            service: service,
            configuration: configuration
        )
    }

    /// The service in the name of a user.
    private static func service(_ emulator: CloudKitEmulator, _ user: CrashScenario.User) -> EmulatorSyncService {
        EmulatorSyncService(emulator, container: container, user: user.rawValue)
    }

    private func device(_ name: CrashScenario.Device) throws -> Device {
        guard let device = devices[name] else { throw CrashFailure(message: "There is no device \(name).") }
        return device
    }

    // MARK: Steps

    /// The number of steps of the phone's process.
    var stepCount: Int { devices[.phone]?.steps?.count ?? 0 }

    func play() async throws {
        let finished = folder.appending(path: "finished")
        let count = ((try? Data(contentsOf: finished)) ?? Data()).count
        let done = try CrashScenario.Device.all.flatMap { try finishedSteps(of: $0) }
        let next = max(count, done.max().map { $0 + 1 } ?? 0)
        for (index, step) in scenario.steps.enumerated() {
            clock.begin(step: Int64(index))
            if case .start(let name, let records) = step {
                // A finished `start` step also decides which record types the second process begins with.
                try start(name, records)
            }
            // The program has kept the token of the person who has signed in.
            if case .user(let name, let user?) = step, index < next { try signIn(user, at: name) }
            if index >= next { try await play(step, number: index) }
            try Data(count: index + 1).write(to: finished)
        }
    }

    private func start(_ name: CrashScenario.Device, _ records: [any CloudKitRecord.Type]) throws {
        let device = try device(name)
        try device.store.close()
        devices[name]?.store = try open(device, records)
    }

    private func signIn(_ user: CrashScenario.User, at name: CrashScenario.Device) throws {
        try device(name).service.begin(Self.service(emulator, user))
    }

    private func open(_ device: Device, _ records: [any CloudKitRecord.Type] = [Shelf.self, Book.self]) throws
        -> MistStore
    {
        try Self.open(device.name, of: scenario, in: folder, records, device.service, device.steps, clock)
    }

    /// Replaces the folder of a device by a copy of itself.
    private func copy(_ name: CrashScenario.Device) throws {
        let device = try device(name)
        try device.store.close()
        let files = FileManager.default
        let (own, copy) = (folder.appending(path: name.rawValue), folder.appending(path: "copy"))
        try files.copyItem(at: own, to: copy)
        try files.removeItem(at: own)
        try files.moveItem(at: copy, to: own)
        devices[name]?.store = try open(device)
    }

    private func play(_ step: CrashScenario.Step, number: Int) async throws {
        switch step {
        case .sql(let name, let statements):
            try write(to: name) { db in
                for statement in statements { try db.execute(sql: statement) }
                try Self.note(number, db)
            }
        case .sync(let name, let failure, let meanwhile):
            let device = try device(name)
            let (database, clock) = (database(of: device), clock)
            let edits: @Sendable () throws -> Void = {
                try Self.write(to: database, at: clock) { db in
                    // Only once, in either of the processes.
                    let mark = -number - 1
                    let isDone = try Bool.fetchOne(
                        db,
                        sql: "SELECT EXISTS (SELECT 1 FROM crash_step WHERE number = ?)",
                        arguments: [mark]
                    )
                    if isDone == true { return }
                    for statement in meanwhile { try db.execute(sql: statement) }
                    try Self.note(mark, db)
                }
            }
            device.service.begin(failure, meanwhile: meanwhile.isEmpty ? nil : edits)
            try await device.store.sync()
            // A second process may learn from a pull that its push was done, so it sends none. Then the edits of the
            // program are made here.
            if try device.service.editMeanwhile() { try await device.store.sync() }
            try write(to: name) { db in try Self.note(number, db) }
        case .program(let name, let body):
            try write(to: name) { _ in }
            try await body(device(name).store)
            try write(to: name) { db in try Self.note(number, db) }
        case .start(let name, _):
            try write(to: name) { db in try Self.note(number, db) }
        case .copy(let name):
            try copy(name)
            try write(to: name) { db in try Self.note(number, db) }
        case .user(let name, let user):
            let store = try device(name).store
            if let user {
                try signIn(user, at: name)
                try await store.openSignedInUser()
            } else {
                try await store.signOut {}
            }
            try write(to: name) { db in try Self.note(number, db) }
        case .syncSecond(let name):
            let device = try device(name)
            device.service.begin(nil, meanwhile: nil)
            let second = try open(device)
            try await second.sync()
            try second.close()
            try write(to: name) { db in try Self.note(number, db) }
        case .service(let type, let record):
            try modify([RecordOperation(type, record: record)])
            try write(to: .laptop) { db in try Self.note(number, db) }
        case .purge:
            let context = try emulator.request(
                in: DatabaseAddress(Self.container, .development, .private),
                as: .user(CrashScenario.User.mei.rawValue)
            )
            _ = try context.modifyZones(.init(operations: [ZoneOperation(.delete, zone: Zone(zoneID: Self.zone))]))
            try write(to: .laptop) { db in try Self.note(number, db) }
        }
    }

    private func modify(_ operations: [RecordOperation]) throws {
        let service = Self.service(emulator, .mei)
        let reply = try service.reply(
            to: .modify(operations, zone: Self.zone, isAtomic: false),
            in: .private
        )
        guard case .records(let results) = reply else { return }
        for result in results { _ = try result.get() }
    }

    /// Runs a transaction as a program does, at the virtual time.
    private func write(to name: CrashScenario.Device, _ body: (Database) throws -> Void) throws {
        try Self.write(to: database(of: device(name)), at: clock, body)
    }

    private static func write(
        to database: any DatabaseWriter,
        at clock: Clock,
        _ body: (Database) throws -> Void
    ) throws {
        try database.write { db in
            try db.execute(sql: "UPDATE mist_state SET clock = ?", arguments: [clock.milliseconds])
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS crash_step (number INTEGER PRIMARY KEY)")
            try body(db)
        }
    }

    private func database(of device: Device) -> any DatabaseWriter {
        device.store.file(of: scenario.scope).database
    }

    private static func note(_ step: Int, _ db: Database) throws {
        try db.execute(sql: "INSERT INTO crash_step (number) VALUES (?)", arguments: [step])
    }

    private func finishedSteps(of name: CrashScenario.Device) throws -> [Int] {
        try database(of: device(name)).read { db in
            guard try db.tableExists("crash_step") else { return [] }
            return try Int.fetchAll(db, sql: "SELECT number FROM crash_step WHERE number >= 0")
        }
    }

    // MARK: The end

    /// Everything that a user can observe of both devices and the service, a line for each record, receipt and pending
    /// change.
    func state() async throws -> [String] {
        var lines: [String] = []
        for name in CrashScenario.Device.all {
            let device = try device(name)
            let local = device.store.database(of: scenario.scope)
            lines += try records(of: device)
            for entry in try await local.recoveryLog(limit: 10_000).reversed() {
                let fields = Dictionary(entry.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
                lines.append(
                    Self.line("\(name) receipt \(entry.reason)", entry.recordType, entry.recordName, fields)
                )
            }
            let status = try await local.status()
            lines.append("\(name) pending \(status.pending) parked \(status.parked.map(\.recordName))")
            lines += try work(of: device)
        }
        return try lines + CrashScenario.User.allCases.flatMap { try serviceRecords(of: $0) }
    }

    private func records(of device: Device) throws -> [String] {
        let file = device.store.file(of: scenario.scope)
        return try file.database.read { db in
            try file.orderedTables.flatMap { table in
                try table.allRows(db).map { Self.line("\(device.name)", table.recordType, $0.name, $0.fields) }
            }
        }
    }

    /// The numbers of rows in the tables for unfinished work.
    private func work(of device: Device) throws -> [String] {
        try database(of: device).read { db in
            try [
                "mist_sent", "mist_sent_field", "mist_request", "mist_cascade", "mist_tombstone", "mist_edit",
                "mist_move",
            ].map {
                "\(device.name) \($0) \(try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? 0)"
            }
        }
    }

    private func serviceRecords(of user: CrashScenario.User) throws -> [String] {
        let service = Self.service(emulator, user)
        var records: [CloudKitModel.Record] = []
        if scenario.scope == .public {
            let request = SyncRequest.query(RecordQuery(recordType: "Book"), continuation: nil, desiredKeys: nil)
            guard case .query(let page) = try service.reply(to: request, in: .public) else { return [] }
            records = try page.results.map { try $0.get() }
        } else {
            guard case .databaseChanges(let list) = try service.reply(to: .databaseChanges(since: nil), in: .private)
            else { return [] }
            for zone in list.changedZones { records += try self.records(in: zone.zoneID, service) }
        }
        return records.map { record in
            var fields = Dictionary(record.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
            fields["mist_edits"] = nil
            return Self.line("service, \(user)", record.recordType ?? "", record.recordName ?? "", fields)
        }.sorted()
    }

    private func records(in zone: ZoneID, _ service: EmulatorSyncService) throws -> [CloudKitModel.Record] {
        var records: [CloudKitModel.Record] = []
        var token: ZoneChangeToken?
        while true {
            let request = SyncRequest.zoneChanges([SyncRequest.ZoneCursor(zoneID: zone, token: token)])
            guard case .zoneChanges(let pages) = try service.reply(to: request, in: .private),
                case .success(let page)? = pages.first
            else { return records }
            records += page.changedRecords
            token = page.token
            if !page.moreComing { return records }
        }
    }

    private static func line(_ owner: String, _ type: String, _ name: String, _ fields: [String: FieldValue]) -> String
    {
        let values = fields.filter { !$0.value.isNull }.sorted { $0.key < $1.key }.map {
            "\($0.key)=\($0.value.stable)"
        }
        return ([owner, type, name] + values).joined(separator: " ")
    }
}

extension CrashScenario.Device {
    static let all: [Self] = [.phone, .laptop]
}

/// Why the process cannot continue.
struct CrashFailure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}

/// A virtual clock.
private final class Clock: Sendable {
    private let state: Mutex<(base: Int64, step: Int64, calls: Int64)>

    init(start: Int64) {
        state = Mutex((base: 1_767_225_600_000 + start * 60_000, step: 0, calls: 0))
    }

    func begin(step: Int64) {
        state.withLock { state in (state.step, state.calls) = (step, 0) }
    }

    /// Each call is a millisecond later.
    var milliseconds: Int64 {
        state.withLock { state in
            state.calls += 1
            return state.base + state.step * 3_600_000 + state.calls
        }
    }

    var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
