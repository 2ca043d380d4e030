import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation
import GRDB
import MistKit
import MistTesting
import SQLiteTables
import Testing

@testable import MistStore

/// CloudKit's record, not GRDB's.
typealias ServiceRecord = CloudKitModel.Record

/// Several devices of one user and the rules of an emulator in one process, with a virtual clock. A test can stop
/// between any two steps.
///
/// Programs on the devices change records with plain SQL over the tables of `Shelf` and `Book`.
final class SyncScenario {
    static let container = "iCloud.test.promises"
    static let zone = ZoneID(zoneName: "Records")

    let clock = TestClock()
    let emulator: CloudKitEmulator
    let service: EmulatorSyncService
    private let user: String
    private let environment: ContainerEnvironment
    private(set) var devices: [ScenarioDevice] = []

    init(
        environment: ContainerEnvironment = .development,
        configuration: EmulatorConfiguration = EmulatorConfiguration()
    ) throws {
        emulator = try CloudKitEmulator(configuration: configuration, clock: { [clock] in clock.now })
        user = try emulator.createUser()
        self.environment = environment
        service = EmulatorSyncService(emulator, container: Self.container, environment: environment, user: user)
    }

    /// Adds a device. Its program knows `records`, and its clock is wrong by `clockError` seconds.
    func device(
        _ name: String,
        records: [any CloudKitRecord.Type] = [Shelf.self, Book.self],
        clockError: Int = 0,
        scope: DatabaseScope = .private,
        zones: ZoneLayout = .single("Records"),
        change: (inout StoreConfiguration) -> Void = { _ in }
    ) throws -> ScenarioDevice {
        var configuration = StoreConfiguration()
        configuration.checksUser = false
        configuration.random = { 1 }
        change(&configuration)
        let device = try ScenarioDevice(
            name,
            number: Int64(devices.count) + 1,
            records,
            clockError: clockError,
            scope: scope,
            zones: zones,
            configuration,
            clock,
            service
        )
        devices.append(device)
        return device
    }

    /// Adds a device with a copy of another device's file.
    ///
    /// - Parameters:
    ///   - name: The name of the copy.
    ///   - other: The device.
    ///   - identity: Where the copy is; `nil` for a copy that cannot be told from the other one.
    /// - Returns: The copy.
    /// - Throws: A `StoreError`, or a `DatabaseError` when the file fails.
    func device(_ name: String, of other: ScenarioDevice, at identity: FileIdentity? = nil) throws -> ScenarioDevice {
        let device = try ScenarioDevice(name, copyOf: other, at: identity)
        devices.append(device)
        return device
    }

    /// A phone and a laptop.
    func twoDevices() throws -> (ScenarioDevice, ScenarioDevice) { (try device("phone"), try device("laptop")) }

    /// Synchronises all devices twice, so that each gets the changes of the others.
    func synchronise(except absent: ScenarioDevice? = nil) throws {
        for device in devices + devices where device !== absent { try device.sync() }
    }

    // MARK: The service

    /// Changes a record at the service, as another program does that does not know edit times.
    func change(_ operation: RecordOperation.OperationType, _ record: ServiceRecord) throws {
        clock.advance(by: 1)
        let request = SyncRequest.modify([RecordOperation(operation, record: record)], zone: Self.zone, isAtomic: false)
        guard case .records(let results) = try service.result(of: request, in: .private).get() else { return }
        for result in results { _ = try result.get() }
    }

    /// The service's version of a record.
    func serviceRecord(_ name: String) throws -> ServiceRecord? {
        try serviceRecords().first { $0.recordName == name }
    }

    /// Deletes a zone, as a user does it in the configuration of the account.
    func purge(_ zone: ZoneID = SyncScenario.zone) throws {
        clock.advance(by: 1)
        let context = try emulator.request(
            in: DatabaseAddress(Self.container, environment, .private),
            as: .user(user)
        )
        _ = try context.modifyZones(.init(operations: [ZoneOperation(.delete, zone: Zone(zoneID: zone))]))
    }

    /// The zones of the service.
    func serviceZones() throws -> [ZoneID] {
        guard case .databaseChanges(let page) = try service.result(of: .databaseChanges(since: nil), in: .private).get()
        else { return [] }
        return page.changedZones.map(\.zoneID)
    }

    func serviceRecords() throws -> [ServiceRecord] {
        try serviceZones().flatMap(serviceRecords)
    }

    func serviceRecords(in zone: ZoneID) throws -> [ServiceRecord] {
        var records: [ServiceRecord] = []
        var token: ZoneChangeToken?
        while true {
            let request = SyncRequest.zoneChanges([SyncRequest.ZoneCursor(zoneID: zone, token: token)])
            guard case .zoneChanges(let pages) = try service.result(of: request, in: .private).get(),
                case .success(let page)? = pages.first
            else {
                return []
            }
            records += page.changedRecords
            guard page.moreComing else { return records }
            token = page.token
        }
    }

    // MARK: The whole state

    /// Compares everything: the records of the service and of each device, the receipts, and the pending changes.
    ///
    /// A record is a line with its type, its name and its fields. A receipt is a line with device, type, name, reason
    /// and fields. For the pending changes see ``ScenarioDevice/pending()``.
    func expect(
        _ records: [String],
        recovery: [String] = [],
        pending: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let truth = try serviceRecords().map { record in
            var fields = Dictionary(record.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
            fields[EditTimes.fieldName] = nil
            return line(record.recordType ?? "", record.recordName ?? "", fields)
        }
        #expect(truth.sorted() == records.sorted(), "service", sourceLocation: sourceLocation)
        for device in devices {
            let own = try device.records()
            #expect(own == records.sorted(), "\(device.name)", sourceLocation: sourceLocation)
        }
        let receipts = try devices.flatMap { try $0.recovery() }
        #expect(receipts == recovery, sourceLocation: sourceLocation)
        let waiting = try devices.flatMap { try $0.pending() }
        #expect(waiting == pending, sourceLocation: sourceLocation)
    }
}

/// A device: a file, an engine for it, and a clock that may be wrong.
final class ScenarioDevice {
    /// What happens to a request.
    enum Delivery {
        case answered
        case lostRequest
        case lostReply
        /// The process dies before the request is sent, or before the reply arrives.
        case crashBefore
        case crashAfter
        case reply(Result<SyncReply, CloudKitError>)

        /// The same reply to a request for changes, with an error in place of those of a zone.
        func withoutChanges(of zone: ZoneID, _ request: SyncRequest) -> Delivery {
            guard case .zoneChanges(let cursors) = request, case .reply(.success(.zoneChanges(var pages))) = self else {
                return self
            }
            for (index, cursor) in cursors.enumerated() where cursor.zoneID == zone {
                pages[index] = .failure(.service(.zoneBusy))
            }
            return .reply(.success(.zoneChanges(pages)))
        }
    }

    /// The requests and the result of a synchronisation.
    struct Trace {
        var requests: [SyncRequest] = []
        var summary = SyncSummary()
        /// The last step, or `nil` if the process died.
        var end: SyncEngine.Step?

        /// A line for each request.
        var lines: [String] { requests.map(\.line) }
        /// The lines of the requests that write.
        var writes: [String] { requests.filter(\.isWrite).map(\.line) }
    }

    let name: String
    let database: DatabaseQueue
    private(set) var file: StoreFile
    private(set) var engine: SyncEngine
    var clockError: Int64
    private let scope: DatabaseScope
    private let zones: ZoneLayout
    /// The record types of the device's program.
    private var types: [any CloudKitRecord.Type]
    private(set) var configuration: StoreConfiguration
    private let clock: TestClock
    private let service: EmulatorSyncService

    fileprivate init(
        _ name: String,
        number: Int64,
        _ records: [any CloudKitRecord.Type],
        clockError: Int,
        scope: DatabaseScope,
        zones: ZoneLayout,
        _ configuration: StoreConfiguration,
        _ clock: TestClock,
        _ service: EmulatorSyncService
    ) throws {
        self.name = name
        self.clockError = Int64(clockError) * 1000
        self.scope = scope
        self.zones = zones
        types = records
        self.configuration = configuration
        self.clock = clock
        self.service = service
        database = try DatabaseQueue()
        file = try StoreFile(
            database,
            schemas: records.map { $0.schema },
            models: records,
            scopes: [scope: scope == .public ? .default : zones.homeZone],
            hasZonePerRoot: zones.isPerRoot,
            key: PresentKey(configuration.encryptionKey),
            newDevice: { number }
        )
        engine = SyncEngine(file: file, scope: scope, configuration: configuration)
    }

    fileprivate init(_ name: String, copyOf other: ScenarioDevice, at identity: FileIdentity?) throws {
        self.name = name
        clockError = other.clockError
        types = other.types
        (scope, zones, configuration) = (other.scope, other.zones, other.configuration)
        (clock, service) = (other.clock, other.service)
        database = try DatabaseQueue()
        try other.database.backup(to: database)
        (file, engine) = (other.file, other.engine)
        if identity != nil { try database.write { db in try FileState(db).setIdentity(Self.elsewhere) } }
        try restart(at: identity)
    }

    /// Where the file of every device is that was not copied.
    private static let elsewhere = FileIdentity(machine: "m", volume: "1", number: "1", path: "/elsewhere")

    /// Ends the process and starts it again with the same file, maybe with another version of the program.
    func restart(
        records: [any CloudKitRecord.Type]? = nil,
        at identity: FileIdentity? = nil,
        key: StoreEncryptionKey? = nil
    ) throws {
        types = records ?? types
        if let key { configuration.encryptionKey = key }
        file = try StoreFile(
            database,
            schemas: types.map { $0.schema },
            models: types,
            scopes: [scope: scope == .public ? .default : zones.homeZone],
            hasZonePerRoot: zones.isPerRoot,
            key: PresentKey(configuration.encryptionKey)
        )
        if let identity { try file.note(identity, newDevice: configuration.newDevice, at: now) }
        engine = SyncEngine(file: file, scope: scope, configuration: configuration)
        try engine.start(at: now)
    }

    /// The time of the device's own clock.
    var now: MachineTime { MachineTime(Int64((clock.now.timeIntervalSince1970 * 1000).rounded()) + clockError) }

    /// Changes records with SQL, as a program does, a second after the last event.
    func run(_ statements: String...) throws {
        clock.advance(by: 1)
        try database.write { [now] db in
            try db.execute(sql: "UPDATE mist_state SET clock = ?", arguments: [now])
            for statement in statements { try db.execute(sql: statement) }
        }
    }

    /// Changes records as a program does, a second after the last event.
    func write(_ body: (StoreWriter) throws -> Void) throws {
        clock.advance(by: 1)
        try database.write { [now] db in
            try db.execute(sql: "UPDATE mist_state SET clock = ?", arguments: [now])
            try body(StoreWriter(database: local, db: db))
            try Cascades(file: file, db: db).complete()
        }
    }

    /// The database of the program.
    var local: LocalDatabase {
        var configuration = StoreConfiguration()
        configuration.massDeletionLimit = self.configuration.massDeletionLimit
        return LocalDatabase(file: file, scope: scope, configuration: configuration)
    }

    // MARK: Steps

    /// Fetches changes, and sends until nothing is left to do now.
    @discardableResult
    func sync(_ delivery: (SyncRequest) throws -> Delivery = { _ in .answered }) throws -> Trace {
        try engine.requestPull(by: .program, at: now)
        return try go(delivery)
    }

    /// Sends until nothing is left to do now.
    @discardableResult
    func go(_ delivery: (SyncRequest) throws -> Delivery = { _ in .answered }) throws -> Trace {
        var trace = Trace()
        while trace.requests.count < 500 {
            let step = try engine.next(at: now)
            guard case .send(let request, let number) = step else {
                trace.end = step
                return trace
            }
            trace.requests.append(request)
            let reply: Result<SyncReply, CloudKitError>
            var isLost = false
            switch try delivery(request) {
            case .answered: reply = answer(request)
            case .lostRequest:
                isLost = true
                reply = .failure(.broken(mayHaveBeenDone: request.isWrite))
            case .lostReply:
                _ = answer(request)
                isLost = true
                reply = .failure(.broken(mayHaveBeenDone: request.isWrite))
            case .crashBefore:
                try restart()
                return trace
            case .crashAfter:
                _ = answer(request)
                try restart()
                return trace
            case .reply(let other): reply = other
            }
            // The header field `Date` of the response, in whole seconds.
            let date = isLost ? nil : ServiceTime((now - clockError).rawValue / 1000 * 1000)
            trace.summary += try engine.handle(reply, to: number, at: now, date: date)
        }
        Issue.record("\(name) does not come to an end: \(trace.lines.suffix(10))")
        return trace
    }

    /// The response of the service, a moment later.
    func answer(_ request: SyncRequest) -> Result<SyncReply, CloudKitError> {
        clock.advance(by: 0.1)
        return service.result(of: request, in: scope)
    }

    /// The reply to a request, with an error in place of one record.
    func reply(
        to request: SyncRequest,
        without name: String,
        isNamed: Bool = true
    ) throws -> Delivery {
        let error = CloudKitError.service(.internalError, record: isNamed ? name : nil)
        switch (request, answer(request)) {
        case (.zoneChanges, .success(.zoneChanges(var pages))):
            for (index, page) in pages.enumerated() {
                guard var page = try? page.get() else { continue }
                page.results = page.results.map { Self.without(name, $0, error) }
                pages[index] = .success(page)
            }
            return .reply(.success(.zoneChanges(pages)))
        case (.lookup, .success(.records(let results))):
            return .reply(.success(.records(results.map { Self.without(name, $0, error) })))
        case (.query, .success(.query(var page))):
            page.results = page.results.map { Self.without(name, $0, error) }
            return .reply(.success(.query(page)))
        case (_, let reply): return .reply(reply)
        }
    }

    private static func without(
        _ name: String,
        _ result: Result<CloudKitModel.Record, CloudKitError>,
        _ error: CloudKitError
    ) -> Result<CloudKitModel.Record, CloudKitError> {
        (try? result.get())?.recordName == name ? .failure(error) : result
    }

    /// The reply to a request, with an error in place of the changes of a zone.
    func reply(to request: SyncRequest, withoutChangesOf zone: ZoneID) throws -> Delivery {
        guard case .zoneChanges = request else { return .answered }
        return Delivery.reply(answer(request)).withoutChanges(of: zone, request)
    }

    // MARK: State

    /// The records of each zone, by name: `s b1 b2`.
    func recordsByZone() throws -> [String] {
        try database.read { db in
            let rows = try file.orderedTables.flatMap { try $0.allRows(db) }
            return Dictionary(grouping: rows, by: \.zone).values
                .map { $0.map(\.name).sorted().joined(separator: " ") }.sorted()
        }
    }

    /// The zone of a record.
    func zone(of name: String) throws -> ZoneID? {
        try database.read { db in
            let row = try file.orderedTables.flatMap { try $0.allRows(db) }.first { $0.name == name }
            return try row.flatMap { try StoredZone.fetch($0.zone, db)?.zoneID }
        }
    }

    /// A line for each record: type, name, and the fields in the order of their names.
    func records() throws -> [String] {
        try database.read { db in
            try file.orderedTables.flatMap { table in
                try table.allRows(db).map { line(table.recordType, $0.name, $0.fields) }
            }.sorted()
        }
    }

    /// The changes that were not acknowledged or that wait: `phone: edit Book 1 title`, `phone: delete 1`, `phone:
    /// parked 1 BAD_REQUEST`, …
    func pending() throws -> [String] {
        try database.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT 'edit ' || type.name || ' ' || row || coalesce(' ' || field.name, '')
                        FROM mist_edit JOIN mist_type AS type ON type.id = mist_edit.type
                        LEFT JOIN mist_field AS field ON field.id = mist_edit.field
                    UNION ALL SELECT 'delete ' || name FROM mist_tombstone
                    UNION ALL SELECT 'sent ' || operation || ' ' || name FROM mist_sent
                    UNION ALL SELECT 'sent field ' || record FROM mist_sent_field
                        WHERE record NOT IN (SELECT record FROM mist_sent)
                    UNION ALL SELECT 'cascade ' || name FROM mist_cascade
                    UNION ALL SELECT 'request ' || kind FROM mist_request
                    UNION ALL SELECT 'request item ' || position FROM mist_request_item
                    UNION ALL SELECT 'parked ' || name || ' ' || reason FROM mist_parked
                    UNION ALL SELECT 'parked ' || name || ' ' || parked FROM mist_type WHERE parked IS NOT NULL
                    UNION ALL SELECT 'applying' FROM mist_state WHERE applying <> 0
                    """
            ).map { "\(name): \($0)" }
        }
    }

    /// The entries of the recovery log: `phone: Book b deleted title=Milk`. A field that was cleared is `title=null`.
    func recovery() throws -> [String] {
        try database.read { db in
            try Row.fetchAll(db, sql: "SELECT type, name, reason, fields FROM mist_recovery ORDER BY id").map { row in
                let fields = try OtherFields.read(row["fields"])
                return "\(name): "
                    + line(
                        "\(row["type"] as String)",
                        "\(row["name"] as String) \(row["reason"] as String)",
                        fields.mapValues { $0.isNull ? .string("null") : $0 }
                    )
            }
        }
    }

    /// An integer that a query of the file returns.
    func value(_ sql: String) throws -> Int64 {
        try database.read { db in try Int64.fetchOne(db, sql: sql) ?? 0 }
    }
}

extension EmulatorSyncService {
    /// The service's response.
    func result(of request: SyncRequest, in scope: DatabaseScope) -> Result<SyncReply, CloudKitError> {
        do throws(CloudKitError) {
            return .success(try reply(to: request, in: scope))
        } catch {
            return .failure(error)
        }
    }
}

private func line(_ type: String, _ name: String, _ fields: [String: FieldValue]) -> String {
    let values = fields.filter { !$0.value.isNull }.sorted { $0.key < $1.key }.map { name, value in
        let text =
            switch value.plain {
            case .string(let text): text
            case .int64(let number): "\(number)"
            case .reference(let reference): "→\(reference.recordName)"
            case .stringList(let list): "[\(list.joined(separator: ","))]"
            case let other: "\(other)"
            }
        return "\(name)=\(text)"
    }
    return ([type, name] + values).joined(separator: " ")
}

extension SyncRequest {
    /// A line for the request: `modify create a, update b`, `lookup a`, `changes/zone`, …
    var line: String {
        switch self {
        case .caller: "users/caller"
        case .databaseChanges: "changes/database"
        case .zoneChanges: "changes/zone"
        case .zoneListing: "changes/zone list"
        case .createZones(let zones): "zones/modify \(zones.map(\.zoneName).joined(separator: ", "))"
        case .lookup(let names, _): "lookup \(names.joined(separator: ", "))"
        case .modify(let operations, _, _):
            "modify "
                + operations.map { "\($0.operationType.rawValue) \($0.record.recordName ?? "")" }.joined(
                    separator: ", "
                )
        case .query: "query"
        }
    }

    /// The operations of a `modify`; `nil` for other requests.
    var operations: [RecordOperation]? {
        if case .modify(let operations, _, _) = self { operations } else { nil }
    }
}

extension CloudKitError {
    /// A connection that broke.
    static func broken(mayHaveBeenDone: Bool) -> CloudKitError {
        var error = CloudKitError(code: .network, message: "The connection broke.")
        error.mayHaveBeenDone = mayHaveBeenDone
        return error
    }

    /// An error of the service.
    static func service(
        _ code: ServerErrorCode,
        reason: String? = nil,
        retryAfter: Double? = nil,
        record: String? = nil
    ) -> CloudKitError {
        CloudKitError(
            ErrorResponse(serverErrorCode: code, reason: reason, retryAfter: retryAfter),
            item: record.map { .record(name: $0) }
        )
    }
}

extension ScenarioDevice {
    /// Makes the file one of an earlier format.
    func takeAwayParts(sinceFormat format: Int) throws {
        try database.write { db in try MistStoreTests.takeAwayParts(sinceFormat: format, of: db) }
    }
}

/// Makes a file one of an earlier format.
func takeAwayParts(sinceFormat format: Int, of db: Database) throws {
    var parts = ["DROP TABLE mist_seal", "ALTER TABLE mist_field DROP COLUMN is_sealed"]
    if format < 6 { parts += ["DROP TABLE mist_move", "DROP TABLE mist_moved", "DROP TABLE mist_held"] }
    if format < 5 { parts.append("DROP TABLE mist_delete_count") }
    if format < 5 {
        parts += [
            "state DROP COLUMN machine", "state DROP COLUMN volume", "state DROP COLUMN number",
            "state DROP COLUMN path", "tombstone DROP COLUMN is_permitted",
            "recovery DROP COLUMN is_provisional", "scope DROP COLUMN removed",
            "scope DROP COLUMN mass_removed_at", "scope DROP COLUMN mass_removed",
            "scope DROP COLUMN mass_removed_of",
        ].map { "ALTER TABLE mist_\($0)" }
    }
    if format < 4 {
        parts.append("DROP TABLE mist_request_item")
        parts += ["request DROP COLUMN token", "request DROP COLUMN query", "sent DROP COLUMN request"]
            .map { "ALTER TABLE mist_\($0)" }
    }
    if format < 3 {
        parts.append("DROP TABLE mist_former_device")
        parts += [
            "state DROP COLUMN date_bias", "state DROP COLUMN owner", "state DROP COLUMN visitor",
            "scope DROP COLUMN held_since", "scope DROP COLUMN held_until", "zone DROP COLUMN held_since",
            "record DROP COLUMN written", "undelivered DROP COLUMN held_since",
        ].map { "ALTER TABLE mist_\($0)" }
    }
    if format < 2 {
        parts.append("DROP TABLE mist_undelivered")
        parts += ["rests_until", "failures", "failure"].map { "ALTER TABLE mist_zone DROP COLUMN \($0)" }
    }
    parts.append("UPDATE mist_state SET format = \(format)")
    for part in parts { try db.execute(sql: part) }
}
