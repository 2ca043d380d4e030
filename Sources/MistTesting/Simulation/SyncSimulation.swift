import CloudKitEmulator
import CloudKitModel
import CloudKitSchema
import CloudKitWebServices
import GRDB
public import MistKit
public import MistStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// CloudKit's record. GRDB has a class of the same name.
private typealias Record = CloudKitModel.Record

/// Devices that change records offline, synchronise, crash and lose replies, all in one process and in virtual time.
///
/// One seed decides everything: the operations, the order of steps, the faults and the clocks. At the end all faults
/// stop. Then the devices must agree with the service in every field, have nothing left to send, and have a recovery
/// record for each edit that was lost.
///
/// ```swift
/// @Test(arguments: UInt64(0)..<1000)
/// func todosConverge(seed: UInt64) throws {
///     try SyncSimulation(records: [TodoList.self, Todo.self]).run(seed: seed)
/// }
/// ```
///
/// Records and values are chosen at random, by the types of the fields. The same seed gives the same run.
public struct SyncSimulation: Sendable {
    /// The number of devices.
    public var devices = 3
    /// The most processes that a device has on its file; each device has at least one.
    public var processes = 3
    /// The number of operations that the programs of all devices make together.
    public var operations = 60
    /// The faults.
    public var faults = SimulationFaults.network
    /// The database that the devices synchronise: the private database, or the public database, of which they follow
    /// all records of all types.
    public var scope = DatabaseScope.private
    /// The zones in which the devices keep the records of a private database.
    public var zones = ZoneLayout.single("Records")
    /// The probability from 0 to 1 that an operation moves a record, with the records below it, to another place, which
    /// is often in another zone. Use it with the zones `perRoot`, a private database and types that have a parent, and
    /// without `SimulationFaults/massDeletion`. References other than parents have no action then.
    public var moves = 0.0
    let schemas: [RecordSchema]
    let configuration: StoreConfiguration

    /// Whether the types have files. Then they are transferred, with the faults of the network, and collected; a
    /// simulation without files has the same runs as before.
    fileprivate var hasFiles: Bool { schemas.contains { $0.fields.contains { $0.type == .asset } } }

    /// Makes a simulation.
    ///
    /// - Parameters:
    ///   - records: The record types.
    ///   - configuration: The configuration of the devices' stores.
    public init(records: [any CloudKitRecord.Type], configuration: StoreConfiguration = StoreConfiguration()) {
        schemas = records.map { $0.schema }
        self.configuration = configuration
    }

    /// Runs the simulation.
    ///
    /// - Parameter seed: Decides everything.
    /// - Returns: Counts of what happened.
    /// - Throws: A ``SimulationFailure`` that describes the broken condition, with the seed and the steps of the run.
    @discardableResult
    public func run(seed: UInt64) throws -> SimulationCounts {
        var world = try SimulatedWorld(self, seed: seed)
        defer { world.removeFiles() }
        do {
            try world.runFaulty()
            try world.heal()
            try world.check()
            try world.verify()
            try world.checkCollection()
        } catch let failure as SimulationFailure {
            throw failure
        } catch {
            throw world.failure("\(error)")
        }
        return world.counts
    }
}

/// A condition that is broken during or at the end of a simulation.
public struct SimulationFailure: Error, CustomStringConvertible {
    /// The seed that repeats the run.
    public let seed: UInt64
    /// The broken condition.
    public let message: String
    /// The steps of the run, one line each.
    public let story: [String]

    /// The message, the seed, and the last 400 lines of the story.
    public var description: String {
        "\(message)\nseed \(seed), \(story.count) steps:\n" + story.suffix(400).joined(separator: "\n")
    }
}

/// One device: a file, the processes that use it, and a clock that may be wrong.
final class SimulatedDevice {
    /// A process with an opened file and a synchronisation engine.
    struct Process {
        var file: StoreFile
        var engine: SyncEngine
        /// The request under way, with the service's reply.
        var flight: Flight?
        /// The last replies, which may arrive again.
        var lastReplies: [(number: RequestNumber, reply: Result<SyncReply, CloudKitError>)] = []
        /// The transfers under way.
        var transfers: [FileTransfer] = []
        /// Files that the program has added in the last minutes, with the time in milliseconds since 1970. It may set
        /// them in records.
        var added: [(asset: Asset, time: Int64)] = []
        /// Records that the program shows in forms, as they were when it read them.
        var forms: [(table: RecordTable, read: LocalRow)] = []
        /// When the process goes on, in milliseconds since 1970.
        var stoppedUntil: Int64 = 0
        /// When it last showed that it lives.
        var lastBeat: Int64 = 0
    }

    var processes: [Process] = []
    /// The process that acts now.
    var current = 0

    let name: String
    /// The database of the device's file. It is in memory.
    let database: DatabaseQueue
    /// How far the clock is wrong, in milliseconds.
    var clockError: Int64
    /// When the device has a network again, in milliseconds since 1970.
    var offlineUntil: Int64 = 0
    /// The deletes that a person has permitted, by record name.
    var permitted: Set<String> = []
    /// The other deletes that the service has acknowledged, with their times by the device's clock.
    var sentDeletes: [(name: String, time: MachineTime)] = []
    /// The names of the records whose delete was sent, with or without a reply.
    var underWay: Set<String> = []
    /// The names of the records that had edits which were not sent when the program deleted records.
    var unsent: Set<String> = []
    /// The user who is signed in.
    var session = SimulatedSession.owner
    /// The number of the session.
    var sessionNumber = 0
    /// The deletes that the device has read from the service.
    var seenDeletes: Set<RecordPlace> = []

    var file: StoreFile { processes[current].file }
    var engine: SyncEngine { processes[current].engine }
    var flight: Flight? {
        get { processes[current].flight }
        set { processes[current].flight = newValue }
    }
    var lastReplies: [(number: RequestNumber, reply: Result<SyncReply, CloudKitError>)] {
        get { processes[current].lastReplies }
        set { processes[current].lastReplies = newValue }
    }
    var transfers: [FileTransfer] {
        get { processes[current].transfers }
        set { processes[current].transfers = newValue }
    }
    var added: [(asset: Asset, time: Int64)] {
        get { processes[current].added }
        set { processes[current].added = newValue }
    }
    var forms: [(table: RecordTable, read: LocalRow)] {
        get { processes[current].forms }
        set { processes[current].forms = newValue }
    }
    /// The name of the process that acts now.
    var processName: String { processes.count == 1 ? name : "\(name), process \(current + 1)," }

    struct Flight {
        let number: RequestNumber
        let request: SyncRequest
        var reply: Result<SyncReply, CloudKitError>?
        /// When the service answered, in milliseconds since 1970; `nil` where it did not.
        var date: ServiceTime?
        /// Whether the request reaches the service only when the reply is due.
        let isSlowRequest: Bool
        /// The session whose credentials the request has, with its number.
        let session: SimulatedSession
        let sessionNumber: Int
    }

    private let simulation: SyncSimulation
    /// The path beside which the device has its files; `nil` for a simulation without files.
    let filesPath: String?

    init(
        name: String,
        of simulation: SyncSimulation,
        filesIn folder: URL?,
        configuration: StoreConfiguration,
        device: Int64,
        processes count: Int,
        clockError: Int64
    ) throws {
        self.name = name
        self.simulation = simulation
        filesPath = folder?.appendingPathComponent(name).path
        self.clockError = clockError
        database = try DatabaseQueue()
        for _ in 0..<count { processes.append(try open(configuration) { device }) }
        guard simulation.scope == .public else { return }
        try database.write { db in
            for schema in simulation.schemas {
                try FollowedQuery.insert(RecordQuery(recordType: schema.recordType), into: db)
            }
        }
    }

    /// Reads the file. `DatabaseQueue.read` would change `PRAGMA query_only`, after which SQLite compiles all
    /// statements again.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database.unsafeRead(body)
    }

    /// A device with a copy of another device's file.
    init(
        name: String,
        copyOf other: SimulatedDevice,
        isNoticed: Bool,
        filesIn folder: URL?,
        configuration: StoreConfiguration,
        at now: MachineTime
    ) throws {
        self.name = name
        simulation = other.simulation
        filesPath = folder?.appendingPathComponent(name).path
        if let from = other.filesPath, let filesPath, FileManager.default.fileExists(atPath: "\(from)-files") {
            try FileManager.default.copyItem(atPath: "\(from)-files", toPath: "\(filesPath)-files")
        }
        clockError = other.clockError
        (session, sessionNumber) = (other.session, other.sessionNumber)
        database = try DatabaseQueue()
        try other.database.backup(to: database)
        (permitted, sentDeletes) = (other.permitted, other.sentDeletes)
        (underWay, unsent, seenDeletes) = (other.underWay, other.unsent, other.seenDeletes)
        processes = [try open(configuration)]
        if isNoticed {
            // The first place is that of the file that was copied.
            for number in ["1", "\(name)"] {
                let place = FileIdentity(machine: "m", volume: "v", number: number, path: "/user.sqlite")
                try file.note(place, newDevice: configuration.newDevice, at: now)
            }
        }
        try engine.start(at: now)
    }

    /// Opens the file in a new process.
    private func open(
        _ configuration: StoreConfiguration,
        newDevice: @escaping () -> Int64 = { .random(in: 1...Int64.max) }
    ) throws -> Process {
        let file = try simulation.open(database, filesPath: filesPath, newDevice: newDevice)
        return Process(
            file: file,
            engine: SyncEngine(file: file, scope: simulation.scope, configuration: configuration)
        )
    }

    /// Closes a form that shows a record of a type as it is no longer.
    ///
    /// - Returns: The record as the form shows it, and as it is now; `nil` where there is no such form.
    func closeStaleForm(of table: RecordTable, _ db: Database) throws -> (read: LocalRow, present: LocalRow)? {
        for (index, form) in forms.enumerated() where form.table.id == table.id {
            let read = form.read
            guard let present = try table.row(named: read.name, in: read.zone, db), present.id == read.id,
                present.fields != read.fields
            else { continue }
            forms.remove(at: index)
            return (read, present)
        }
        return nil
    }

    /// The process dies and starts again. Everything except for the file is lost. If it is not the only process, it
    /// does not know that the lease in the file is its own former one.
    func restart(configuration: StoreConfiguration, at now: MachineTime) throws {
        processes[current] = try open(configuration)
        if processes.count == 1 { try engine.start(at: now) } else { try engine.open(at: now) }
    }
}

extension SyncSimulation {
    /// Opens the file of a device.
    ///
    /// - Parameters:
    ///   - database: The file.
    ///   - filesPath: The path beside which the files of records are kept.
    ///   - newDevice: The device's identifier, for a new file.
    /// - Returns: The opened file.
    /// - Throws: A `StoreError`.
    fileprivate func open(
        _ database: DatabaseQueue,
        filesPath: String?,
        newDevice: @escaping () -> Int64
    ) throws -> StoreFile {
        var timing = LeaseTiming()
        // The steps of a simulation are up to two seconds long.
        timing.longestGap = .seconds(2)
        return try StoreFile(
            database,
            schemas: schemas,
            scopes: [scope: scope == .public ? .default : zones.homeZone],
            hasZonePerRoot: scope != .public && zones.isPerRoot,
            leaseTiming: timing,
            filesPath: filesPath,
            newDevice: newDevice
        )
    }
}

/// The state of a run.
struct SimulatedWorld {
    let simulation: SyncSimulation
    let seed: UInt64
    let emulator: CloudKitEmulator
    let service: EmulatorSyncService
    /// The service with the session of another user.
    let otherService: EmulatorSyncService
    let configuration: StoreConfiguration
    let time: Mutex<Int64>.Box
    var generator: SplitMix64
    var devices: [SimulatedDevice] = []
    var model = ReferenceModel()
    var counts = SimulationCounts()
    var story: [String] = []
    var names = 0
    /// What the service has done about records that moved.
    let ledger = MoveLedger()
    let user: String
    /// The folder of the files of all devices; `nil` for a simulation without files.
    let folder: URL?
    static let container = "iCloud.test.simulation"

    init(_ simulation: SyncSimulation, seed: UInt64) throws {
        self.simulation = simulation
        self.seed = seed
        var generator = SplitMix64(seed: seed)
        folder =
            simulation.hasFiles
            ? FileManager.default.temporaryDirectory.appendingPathComponent("simulation-\(UUID().uuidString)") : nil
        let time = Mutex<Int64>.Box(1_767_225_600_000)
        self.time = time
        let identifiers = Mutex<SplitMix64>.Box(SplitMix64(seed: seed &+ 1))
        emulator = try CloudKitEmulator(
            identifiers: IdentifierSource { count in
                identifiers.withLock { generator in
                    (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                }
            },
            clock: { Date(timeIntervalSince1970: Double(time.withLock { $0 }) / 1000) }
        )
        user = try emulator.createUser()
        service = EmulatorSyncService(emulator, container: Self.container, user: user)
        let other = simulation.faults.otherSession > 0 ? try emulator.createUser() : user
        otherService = EmulatorSyncService(emulator, container: Self.container, user: other)
        var configuration = simulation.configuration
        let jitter = Mutex<SplitMix64>.Box(SplitMix64(seed: seed &+ 2))
        configuration.random = { jitter.withLock { Double.random(in: 0..<1, using: &$0) } }
        let copies = Mutex<SplitMix64>.Box(SplitMix64(seed: seed &+ 3))
        configuration.newDevice = { copies.withLock { Int64.random(in: 1...Int64.max, using: &$0) } }
        // A run takes some minutes of virtual time. With a longer interval, the engine would look for deletions in a
        // public database only at the beginning.
        configuration.sweepInterval = min(configuration.sweepInterval, 20_000)
        // The runs have few records.
        if simulation.faults.massDeletion > 0 {
            configuration.massDeletionLimit = MassDeletionLimit(records: 3, fraction: 1.0 / 3)
        }
        self.configuration = configuration
        // The model needs the times of edits.
        model.isRelaxed = !configuration.typesWithoutEditTimes.isEmpty
        let error = max(simulation.faults.clockError, simulation.faults.lastingClockError) * 1000
        if simulation.faults.lastingClockError > 0 { model.tolerance = 5000 }
        for index in 0..<simulation.devices {
            let device = try SimulatedDevice(
                name: "device \(index + 1)",
                of: simulation,
                filesIn: folder,
                configuration: configuration,
                device: Int64.random(in: 1...Int64.max, using: &generator),
                processes: Int.random(in: 1...max(simulation.processes, 1), using: &generator),
                clockError: generator.chance(0.5) ? Int64(Double.random(in: -error...error, using: &generator)) : 0
            )
            // A store begins with a request for changes, and learns the service's time.
            try device.engine.requestPull(by: .program, at: MachineTime(time.withLock { $0 } + device.clockError))
            devices.append(device)
        }
        self.generator = generator
        if simulation.faults.otherSession > 0 { try addRecordsOfOtherUser() }
    }

    func failure(_ message: String) -> SimulationFailure {
        SimulationFailure(seed: seed, message: message, story: story)
    }

    mutating func tell(_ text: @autoclosure () -> String) {
        story.append("\(time.withLock { $0 } - 1_767_225_600_000) ms  \(text())")
    }

    private mutating func advance(_ milliseconds: ClosedRange<Int64>) {
        let step = Int64.random(in: milliseconds, using: &generator)
        time.withLock { $0 += step }
    }

    func now(of device: SimulatedDevice) -> MachineTime {
        MachineTime(time.withLock { $0 } + device.clockError)
    }

    // MARK: Steps

    mutating func runFaulty() throws {
        while counts.operations < simulation.operations {
            advance(1...2000)
            try showLife()
            let device = devices[Int.random(in: 0..<devices.count, using: &generator)]
            if device.processes.count > 1 {
                device.current = Int.random(in: 0..<device.processes.count, using: &generator)
                if device.processes[device.current].stoppedUntil > time.withLock({ $0 }) { continue }
                if generator.chance(simulation.faults.stop) {
                    counts.stops += 1
                    let duration = Int64.random(in: 2000...30_000, using: &generator)
                    tell("\(device.processName) is stopped for \(duration) ms")
                    device.processes[device.current].stoppedUntil = time.withLock { $0 } + duration
                    continue
                }
            }
            if simulation.hasFiles, try handleFiles(of: device) { continue }
            if generator.chance(simulation.faults.crash) {
                counts.crashes += 1
                tell("\(device.processName) dies and starts again")
                if let flight = device.flight { noteUnknownOutcome(of: flight.request) }
                try device.restart(configuration: configuration, at: now(of: device))
            } else if generator.chance(simulation.scope == .private ? simulation.faults.purge : 0) {
                try purge()
            } else if generator.chance(simulation.faults.copy) {
                try copy(device, isNoticed: false)
            } else if generator.chance(simulation.faults.noticedCopy) {
                try copy(device, isNoticed: true)
            } else if generator.chance(simulation.faults.otherSession) {
                try changeSession(of: device)
            } else if simulation.faults.massDeletion > 0, generator.chance(0.02) {
                try decideAboutDeletes(of: device)
            } else if generator.chance(0.4) {
                try operate(device)
            } else if time.withLock({ $0 }) >= device.offlineUntil {
                try step(device)
                goOffline(device, simulation.faults.offline)
            }
        }
    }

    /// Lets all processes that are not stopped show that they live, or look whether another one does.
    private mutating func showLife() throws {
        let present = time.withLock { $0 }
        for device in devices where device.processes.count > 1 {
            for index in device.processes.indices where device.processes[index].stoppedUntil <= present {
                let process = device.processes[index]
                if process.file.lease.isHeld {
                    let action = try process.engine.keepLease(at: now(of: device))
                    if action == .lost, present - process.lastBeat < 3500 {
                        throw failure("\(device.name) has taken the lease from a process that lives.")
                    }
                } else {
                    _ = try process.engine.turn(of: .program, after: .never, at: .milliseconds(present))
                }
                device.processes[index].lastBeat = present
            }
        }
    }

    /// Checks that one process of a device synchronises, after a process has begun a request.
    private mutating func checkLease(of device: SimulatedDevice, formerEpoch: LeaseEpoch, wasFree: Bool) throws {
        let present = time.withLock { $0 }
        let holders = device.processes.indices.filter { index in
            let process = device.processes[index]
            return process.stoppedUntil <= present && process.file.lease.isHeld
        }
        guard holders == [device.current] else {
            throw failure("The processes \(holders.map { $0 + 1 }) of \(device.name) synchronise together.")
        }
        if try device.engine.leaseEpoch(for: .program, at: now(of: device)) != formerEpoch, !wasFree {
            counts.takeOvers += 1
            tell("\(device.processName) takes over")
        }
    }

    /// Takes the network from a device for 5 to 60 seconds.
    private mutating func goOffline(_ device: SimulatedDevice, _ probability: Double) {
        guard generator.chance(probability) else { return }
        counts.networkLosses += 1
        let duration = Int64.random(in: 5000...60_000, using: &generator)
        tell("\(device.name) has no network for \(duration) ms")
        device.offlineUntil = time.withLock { $0 } + duration
    }

    /// The user deletes a zone, with everything in it.
    private mutating func purge() throws {
        guard let zoneID = try serviceZones().randomElement(using: &generator) else { return }
        let zone = Zone(zoneID: zoneID)
        let reply = try serviceContext().modifyZones(.init(operations: [ZoneOperation(.delete, zone: zone)]))
        guard case .success? = reply.zones?.first else { return }
        counts.purges += 1
        model.isRelaxed = true
        ledger.forget(zoneID)
        tell("the zone \(zoneID.zoneName) is deleted at the service")
    }

    /// The file of a device is copied. A copy that is not noticed has no edits that were not acknowledged: both devices
    /// would send them.
    private mutating func copy(_ device: SimulatedDevice, isNoticed: Bool) throws {
        let edits = try device.read { db in try Int64.fetchOne(db, sql: "SELECT count(*) FROM mist_edit") }
        guard devices.count < simulation.devices + 2, edits == 0 || isNoticed else { return }
        counts.copies += 1
        let name = "device \(devices.count + 1)"
        tell("\(name) begins with a copy of the file of \(device.name)\(isNoticed ? ", and notices it" : "")")
        // A record that was never sent may be deleted on one of the two without a trace.
        if isNoticed { model.isShared.formUnion(try unsentNames(of: device)) }
        // Its deletes are pending in both files, and one of the two may take them back.
        for deleted in try deletedNames(of: device) { model.deletedBy[deleted]?.insert(name) }
        devices.append(
            try SimulatedDevice(
                name: name,
                copyOf: device,
                isNoticed: isNoticed,
                filesIn: folder,
                configuration: configuration,
                at: now(of: device)
            )
        )
    }

    /// The names of the records that were not acknowledged as created.
    private func unsentNames(of device: SimulatedDevice) throws -> [String] {
        try device.read { db in
            try device.file.orderedTables.flatMap { table in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT _recordName FROM "\(table.recordType)"
                        WHERE _id IN (SELECT row FROM mist_edit WHERE type = ? AND field = 0)
                        """,
                    arguments: [table.id]
                )
            }
        }
    }

    /// Sometimes another program deletes a record, of which a device does not know whether the service has it.
    private mutating func deleteElsewhere(_ names: [String]) throws {
        guard generator.chance(simulation.faults.deleteElsewhere), let name = names.randomElement(using: &generator),
            let record = try serviceRecords().first(where: { $0.recordName == name })
        else { return }
        let operation = RecordOperation(.forceDelete, record: Record(recordName: name))
        let reply = answer(.modify([operation], zone: record.zoneID ?? .default, isAtomic: false))
        // The service refuses to delete a record with records below it.
        guard case .success(.records(let results)) = reply, case .success? = results.first else { return }
        counts.deletesElsewhere += 1
        model.deletedBy[name, default: []].insert("another program")
        tell("another program deletes \(name)")
    }

    /// A public database has no feed: a create of unknown outcome is sent again, and may bring back a record that was
    /// deleted meanwhile. So the model does not predict the state of these records.
    private mutating func noteUnknownOutcome(of request: SyncRequest) {
        if simulation.scope == .public { model.isShared.formUnion(request.createdNames) }
    }

    /// One step of a device's engine: it sends a request, or gets a reply.
    private mutating func step(_ device: SimulatedDevice) throws {
        if generator.chance(simulation.faults.duplicate),
            let last = device.lastReplies.randomElement(using: &generator)
        {
            counts.duplicates += 1
            tell("\(device.name) gets an old reply once more: \(last.reply.summary)")
            try handle(last.reply, to: last.number, on: device)
        }
        if device.flight != nil { return try deliverFaulty(to: device) }
        let (epoch, wasFree) = try device.read { db in
            let row = try device.file.lease.row(db)
            return (row.epoch, row.holder == nil)
        }
        if generator.chance(0.2) { try device.engine.requestPull(by: .program, at: now(of: device)) }
        if generator.chance(simulation.faults.verification) { try requestVerification(on: device) }
        let next = try device.engine.next(at: now(of: device), isTransferring: !device.transfers.isEmpty)
        if device.file.lease.isHeld { try beginTransfers(of: device) }
        guard case .send(let request, let number) = next else { return }
        try checkLease(of: device, formerEpoch: epoch, wasFree: wasFree)
        counts.requests += 1
        if request.isAtomic { counts.atomicRequests += 1 }
        tell("\(device.processName) sends \(request.summary)")
        try checkDeletes(in: request, of: device)
        let faults = simulation.faults
        var flight = SimulatedDevice.Flight(
            number: number,
            request: request,
            reply: nil,
            isSlowRequest: generator.chance(faults.delay / 2),
            session: device.session,
            sessionNumber: device.sessionNumber
        )
        if generator.chance(faults.lostRequest) {
            counts.lostRequests += 1
            tell("… which never arrives")
            flight.reply = .failure(.broken(mayHaveBeenDone: request.isWrite))
        } else if generator.chance(faults.lostReply) {
            counts.lostReplies += 1
            _ = answer(request, from: device)
            tell("… and the reply is lost")
            noteUnknownOutcome(of: request)
            flight.reply = .failure(.broken(mayHaveBeenDone: request.isWrite))
            try deleteElsewhere(request.createdNames)
        } else if generator.chance(faults.duplicate) {
            counts.duplicates += 1
            _ = answer(request, from: device)
            tell("… which arrives twice")
            flight.reply = answer(request, from: device)
            try deleteElsewhere(request.createdNames)
        } else if generator.chance(faults.throttle) {
            counts.throttles += 1
            tell("… and is to come later")
            flight.reply = .failure(.throttled())
        } else if request.hasToken, generator.chance(faults.expiredToken * 3) {
            counts.expiredTokens += 1
            tell("… with a token that is not known any more")
            flight.reply = request.expiredReply
        } else if case .modify = request, generator.chance(faults.quota) {
            tell("… and the storage is full")
            flight.reply = .failure(CloudKitError(ErrorResponse(serverErrorCode: .quotaExceeded)))
        } else if case .modify(var operations, let zone, let isAtomic) = request, generator.chance(faults.failedItem) {
            counts.throttles += 1
            let index = Int.random(in: 0..<operations.count, using: &generator)
            let failed = operations.remove(at: index)
            tell("… and \(failed.record.recordName ?? "") is to come later")
            var results: [Result<Record, CloudKitError>] = []
            if isAtomic {
                // Nothing is done. Sometimes the service does not even report which item failed.
                counts.atomicFailures += 1
                results = operations.map { .failure(.atomic($0.record.recordName)) }
                if generator.chance(0.3) {
                    results.insert(.failure(.atomic(failed.record.recordName)), at: index)
                    flight.reply = .success(.records(results))
                }
            } else if !operations.isEmpty {
                switch answer(.modify(operations, zone: zone, isAtomic: isAtomic), from: device) {
                case .success(.records(let records)): results = records
                case let other: flight.reply = other
                }
            }
            if flight.reply == nil {
                results.insert(.failure(.throttled(failed.record.recordName)), at: index)
                flight.reply = .success(.records(results))
            }
        } else if request.fetchesRecords, generator.chance(faults.undeliveredRecord) {
            flight.reply = answer(request, from: device)
            if let name = flight.reply?.leaveOutARecord(using: &generator) {
                counts.undeliveredRecords += 1
                tell("… and \(name) is to come later")
                try deleteElsewhere([name])
            }
        } else if !flight.isSlowRequest {
            flight.reply = answer(request, from: device)
        }
        if let reply = flight.reply, !reply.isLost { flight.date = date }
        device.flight = flight
        if !generator.chance(faults.delay) { try deliverFaulty(to: device) }
    }

    /// The header field `Date` of a response at this moment, in milliseconds since 1970: it has whole seconds.
    private var date: ServiceTime { ServiceTime(time.withLock { $0 / 1000 * 1000 }) }

    /// Lets the service carry out a request, of a device or of another program.
    private func answer(
        _ request: SyncRequest,
        from device: SimulatedDevice? = nil,
        in session: SimulatedSession? = nil
    ) -> Result<SyncReply, CloudKitError> {
        do throws(CloudKitError) {
            switch session ?? device?.session ?? .owner {
            case .owner: break
            case .other: return .success(try otherService.reply(to: request, in: simulation.scope))
            case .none: throw CloudKitError(ErrorResponse(serverErrorCode: .authenticationRequired))
            }
            let reply = try service.reply(to: request, in: simulation.scope)
            if simulation.moves > 0 { ledger.note(request, reply, from: device) }
            return .success(reply)
        } catch {
            return .failure(error)
        }
    }

    /// Delivers a reply. After a broken connection, the device often loses its network for a while.
    private mutating func deliverFaulty(to device: SimulatedDevice) throws {
        try deliver(to: device)
        if case .failure(let error)? = device.lastReplies.last?.reply, error.code == .network {
            goOffline(device, simulation.faults.offline * 5)
        }
    }

    private mutating func deliver(to device: SimulatedDevice) throws {
        guard let flight = device.flight else { return }
        device.flight = nil
        // A create that arrives after another process took over may bring back a record that was deleted meanwhile.
        if flight.reply == nil, !device.file.lease.isHeld { model.isShared.formUnion(flight.request.createdNames) }
        let reply = flight.reply ?? answer(flight.request, from: device, in: flight.session)
        if flight.sessionNumber != device.sessionNumber {
            // The loop drops it: it may be about another user's records.
            tell("\(device.processName) drops a reply of another session: \(reply.summary)")
            return
        }
        tell("\(device.processName) gets \(reply.summary)")
        try handle(reply, to: flight.number, on: device, date: flight.reply == nil ? date : flight.date)
        device.lastReplies = device.lastReplies.suffix(3) + [(flight.number, reply)]
    }

    /// The device applies a reply. Afterwards each of its earlier edits must be pending, be the value of the record, or
    /// have a recovery record.
    private mutating func handle(
        _ reply: Result<SyncReply, CloudKitError>,
        to number: RequestNumber,
        on device: SimulatedDevice,
        date: ServiceTime? = nil
    ) throws {
        let edits = try device.read { db in try PendingValues(device.file, db) }
        let before = try deletedNames(of: device)
        if simulation.moves > 0 { try noteDeletes(in: reply, to: number, on: device) }
        let summary = try device.engine.handle(reply, to: number, at: now(of: device), date: date)
        try checkVerification(of: device)
        counts.conflicts += summary.merged
        let after = try deletedNames(of: device)
        for name in before.subtracting(after) where reply.acknowledged(name) {
            guard device.permitted.remove(name) == nil else { continue }
            device.sentDeletes.append((name, now(of: device)))
        }
        if let lost = try device.read({ db in try edits.lost(device.file, db, after: reply) }) {
            throw failure("\(device.name) has lost an edit without a receipt: \(lost).")
        }
    }

    // MARK: Files

    /// A file of a simulation, which its size identifies.
    struct SimulatedFile {
        let number: Int

        init(number: Int) { self.number = number }

        init(size: Int64) { number = Int(size) - 100 }

        var bytes: [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number + 100) }
    }

    /// Lets a transfer of a device end, or files be collected, or some time pass.
    ///
    /// - Returns: Whether one of these happened.
    private mutating func handleFiles(of device: SimulatedDevice) throws -> Bool {
        if generator.chance(0.01) {
            tell("an hour passes")
            advance(3_600_000...7_200_000)
            // The processes show first that they live.
            return true
        }
        if generator.chance(0.04) {
            counts.collections += 1
            try device.engine.collectFiles(at: now(of: device))
            tell("\(device.name) collects files")
            try checkFiles(of: device)
            return true
        }
        guard !device.transfers.isEmpty, generator.chance(0.5) else { return false }
        let transfer = device.transfers.remove(at: Int.random(in: 0..<device.transfers.count, using: &generator))
        let faults = simulation.faults
        if generator.chance(faults.lostRequest) {
            counts.lostRequests += 1
            try end(transfer, of: device, .failed(.broken(mayHaveBeenDone: false)))
            return true
        }
        var result = try perform(transfer, on: device)
        if generator.chance(faults.lostReply) {
            counts.lostReplies += 1
            result = .failed(.broken(mayHaveBeenDone: true))
        } else if case .downloaded = result, generator.chance(faults.lostReply) {
            // The connection ended early, and the client did not notice it.
            tell("\(device.name) gets a part of a file")
            result = try device.file.received(Array(SimulatedFile(number: 7).bytes.prefix(50)))
        }
        try end(transfer, of: device, result)
        if generator.chance(faults.duplicate), case .uploaded = result { try end(transfer, of: device, result) }
        return true
    }

    private mutating func beginTransfers(of device: SimulatedDevice) throws {
        guard simulation.hasFiles else { return }
        let limit = 3 - device.transfers.count
        device.transfers += try device.engine.nextTransfers(limit, besides: Set(device.transfers), at: now(of: device))
    }

    private mutating func end(
        _ transfer: FileTransfer,
        of device: SimulatedDevice,
        _ result: FileTransferEnd
    ) throws {
        counts.transfers += 1
        let kind: String
        switch result {
        case .uploaded: kind = "uploaded"
        case .downloaded: kind = "downloaded"
        case .failed(let error): kind = "not transferred, \(error.code)"
        }
        tell("\(device.processName) has \(kind): \(transfer.fieldName) of \(transfer.key.name)")
        try device.engine.endTransfer(transfer.key, result, at: now(of: device))
        try checkFiles(of: device)
    }

    /// Makes a transfer at the service, without faults.
    private mutating func perform(_ transfer: FileTransfer, on device: SimulatedDevice) throws -> FileTransferEnd {
        let field = AssetField(transfer.fieldName, of: transfer.key.name, inZone: transfer.zoneID)
        do throws(CloudKitError) {
            switch transfer.key.direction {
            case .upload:
                if let source = transfer.source {
                    let from = AssetField(source.fieldName, of: source.recordName, inZone: source.zoneID)
                    let asset = try? service.asset(of: from, forZone: transfer.zoneID, of: simulation.scope)
                    if let asset, source.isFile(of: asset) {
                        counts.rereferences += 1
                        return .uploaded(asset)
                    }
                }
                guard let bytes = transfer.content.flatMap({ device.file.bytes(of: $0) }) else {
                    throw CloudKitError(code: .localData, message: "The file is not there.")
                }
                let asset = try service.upload(
                    bytes,
                    for: transfer.fieldName,
                    of: transfer.recordType,
                    named: transfer.key.name,
                    inZone: transfer.zoneID,
                    of: simulation.scope
                )
                return .uploaded(asset)
            case .download:
                let bytes = try service.bytes(of: field, from: simulation.scope)
                guard Int64(bytes.count) == transfer.asset.size else {
                    throw CloudKitError(code: .conflict, message: "The record has another file by now.")
                }
                return .downloaded(try received(bytes, on: device))
            }
        } catch {
            return .failed(error)
        }
    }

    private func received(_ bytes: [UInt8], on device: SimulatedDevice) throws(CloudKitError) -> IncomingFile {
        do {
            if case .downloaded(let file) = try device.file.received(bytes) { return file }
        } catch {
            throw CloudKitError(code: .localData, message: "\(error)")
        }
        throw CloudKitError(code: .localData, message: "The file was not written.")
    }

    /// Checks that the files are there to which the device refers, and that they have the right bytes.
    private func checkFiles(of device: SimulatedDevice) throws {
        try device.read { db in
            let (used, known, onDisk) = try device.file.contents(db)
            let lost = used.subtracting(known.intersection(onDisk))
            guard lost.isEmpty else { throw failure("\(device.name) has lost the files \(lost).") }
            for held in device.added where time.withLock({ $0 }) - held.time < 55 * 60 * 1000 {
                guard let content = held.asset.content, onDisk.contains(content) else {
                    throw failure("\(device.name) has lost a file that the program has just added: \(held.asset).")
                }
            }
            for table in device.file.orderedTables {
                for row in try table.allRows(db) {
                    for asset in row.fields.values.compactMap(\.assetValue) {
                        guard let content = asset.content else { continue }
                        guard device.file.bytes(of: content) == SimulatedFile(size: asset.size ?? 0).bytes else {
                            throw failure("\(device.name) has another file in \(row.name): \(asset).")
                        }
                    }
                }
            }
        }
    }

    /// Checks that all devices have the files of all records, and that the service has the right bytes.
    private func checkFiles(of records: [Record]) throws {
        guard simulation.hasFiles else { return }
        for device in devices {
            try checkFiles(of: device)
            try device.read { db in
                for table in device.file.orderedTables {
                    for row in try table.allRows(db) {
                        for asset in row.fields.values.compactMap(\.assetValue) where asset.content == nil {
                            throw failure("\(device.name) does not have the file of \(row.name): \(asset).")
                        }
                    }
                }
            }
        }
        for record in records {
            for (name, value) in record.fields.map({ ($0.name, $0.value) }) {
                guard let asset = value.plain.assetValue else { continue }
                let field = AssetField(name, of: record.recordName ?? "", inZone: record.zoneID)
                guard try service.bytes(of: field, from: simulation.scope) == SimulatedFile(size: asset.size ?? 0).bytes
                else { throw failure("The service has another file in \(record.recordName ?? ""): \(asset).") }
            }
        }
    }

    /// Two hours later, the devices have the files to which something refers, and no others.
    mutating func checkCollection() throws {
        guard simulation.hasFiles else { return }
        for device in devices {
            for _ in 0..<2 {
                try device.engine.collectFiles(at: now(of: device))
                time.withLock { $0 += 7_200_000 }
            }
            try device.engine.collectFiles(at: now(of: device))
            try checkFiles(of: device)
            let receipts = try device.read { db in try Int64.fetchOne(db, sql: "SELECT count(*) FROM mist_transfer") }
            guard receipts == 0 else { throw failure("\(device.name) keeps receipts that it does not use.") }
            let (used, known, onDisk) = try device.read(device.file.contents)
            guard used == known, known == onDisk else {
                throw failure("\(device.name) refers to \(used.count) files, and has \(known.count), \(onDisk.count).")
            }
        }
    }

    func removeFiles() {
        if let folder { try? FileManager.default.removeItem(at: folder) }
    }

    // MARK: Many deletes

    /// The names of the deletes that a device has to send.
    private func deletedNames(of device: SimulatedDevice) throws -> Set<String> {
        try device.read { db in try Set(String.fetchAll(db, sql: "SELECT name FROM mist_tombstone")) }
    }

    /// The deletes that a request carries must not be more than the limit, with those of the last day, except for those
    /// that were permitted. The model counts by the requests and not by the engine's tables.
    private func checkDeletes(in request: SyncRequest, of device: SimulatedDevice) throws {
        guard let limit = configuration.massDeletionLimit, case .modify(let operations, _, _) = request else { return }
        let all = Set(operations.filter { $0.operationType == .delete }.compactMap(\.record.recordName))
        device.underWay.formUnion(all)
        let names = all.subtracting(device.permitted)
        guard !names.isEmpty else { return }
        let earlier = device.sentDeletes.count { now(of: device) - $0.time < 23 * 3_600_000 }
        // The engine also counts deletes of earlier hours, which makes the whole larger.
        let known = try device.read { db in
            try Int.fetchOne(
                db,
                sql: """
                    SELECT (SELECT count(*) FROM mist_record) + (SELECT count(*) FROM mist_tombstone)
                        + (SELECT coalesce(sum(deletes), 0) FROM mist_delete_count)
                    """
            ) ?? 0
        }
        let deletes = names.count + earlier
        guard deletes > limit.records, Double(deletes) > limit.fraction * Double(known) else { return }
        throw failure("\(device.name) sends \(deletes) deletes of \(known) records without a permission.")
    }

    /// A person looks at the deletes that wait, and permits them or takes them back.
    private mutating func decideAboutDeletes(of device: SimulatedDevice) throws {
        let (names, isHeld) = try device.read { db in
            (
                try String.fetchAll(db, sql: "SELECT name FROM mist_tombstone WHERE NOT is_permitted"),
                try device.engine.holdsDeletes(at: now(of: device), db)
            )
        }
        guard isHeld else { return }
        counts.massDeletions += 1
        let local = LocalDatabase(file: device.file, scope: simulation.scope, configuration: configuration)
        if generator.chance(0.5) {
            try device.database.write { db in _ = try local.allowMassDeletion(db) }
            let permitted = try deletedNames(of: device)
            tell("\(device.name) permits to delete \(permitted.sorted().joined(separator: ", "))")
            device.permitted.formUnion(permitted)
        } else {
            try device.database.write { db in _ = try local.undoMassDeletion(db) }
            let undone = Set(names).subtracting(try deletedNames(of: device))
            tell("\(device.name) takes back that it has deleted \(undone.sorted().joined(separator: ", "))")
            for name in undone.subtracting(device.underWay) { model.deletedBy[name]?.remove(device.name) }
            // A delete that was sent may have been carried out.
            model.isShared.formUnion(undone.intersection(device.underWay))
            // Edits that were not sent have ended with the delete, and so have records that were never sent.
            let present = try device.read { db in
                try device.file.orderedTables.flatMap { try $0.allRows(db).map(\.name) }
            }
            model.isShared.formUnion(device.unsent.subtracting(present))
            // And so have the edits of a record that was deleted with one above it, which another device has deleted.
            let ended = try device.read { db in
                try String.fetchAll(
                    db,
                    sql: "SELECT name FROM mist_recovery WHERE reason = ?",
                    arguments: [LossReason.deletedWithTarget.rawValue]
                )
            }
            model.isShared.formUnion(undone.intersection(ended))
        }
    }

    // MARK: Operations of programs

    private mutating func operate(_ device: SimulatedDevice) throws {
        counts.operations += 1
        let now = now(of: device)
        let table = device.file.orderedTables[Int.random(in: 0..<device.file.orderedTables.count, using: &generator)]
        let kind = Double.random(in: 0..<1, using: &generator)
        if simulation.moves > 0, generator.chance(simulation.moves), try moveARecord(of: table, on: device) { return }
        var generator = self.generator
        var lines: [String] = []
        var model = self.model
        var names = self.names
        let file = device.file
        let (scope, faults, hasMoves) = (simulation.scope, simulation.faults, simulation.moves > 0)
        var staleForms = 0
        let trueTime = simulation.faults.lastingClockError > 0 ? time.withLock { $0 } : nil
        let assignment = { (db: Database) in ZoneAssignment(file: file, scope: scope, db: db) }
        let present = time.withLock { $0 }
        try device.database.write { db in
            // A program adds a file, or takes one that it has added within the last 50 minutes.
            func makeFile(_ number: Int64) throws -> FieldValue {
                device.added.removeAll { present - $0.time > 50 * 60 * 1000 }
                if number >= 6, let held = device.added.first { return .asset(held.asset) }
                let asset = try file.addFile(SimulatedFile(number: Int(number % 6)).bytes, at: now, db)
                device.added.append((asset, present))
                return .asset(asset)
            }
            try db.execute(sql: "UPDATE mist_state SET clock = ?", arguments: [now])
            let rows = try table.allRows(db)
            if kind < 0.3 || rows.isEmpty {
                names += 1
                // Several devices choose some of the names, as for a key from outside of the app. With a zone for each
                // root, each device has a record of its own for such a key.
                let isShared = Double.random(in: 0..<1, using: &generator) < 0.1 && !file.hasZonePerRoot
                let name = isShared ? "key\(table.id)-\(Int.random(in: 1...3, using: &generator))" : "r\(names)"
                if try table.row(named: name, in: file.homeZones[scope] ?? 0, db) != nil { return }
                var fields = try randomFields(of: table, file, &generator, hasMoves: hasMoves, makeFile, db)
                let newZone = { "Z\(UInt64.random(in: 0...UInt64.max, using: &generator))" }
                let zone: ZoneRowID
                do {
                    zone = try assignment(db).zone(for: fields, named: name, in: table, newName: newZone)
                } catch let error as StoreError where hasMoves && error.code == .link {
                    // The parent is at the service both in its former zone and in its new one.
                    return
                }
                let zoneID = try assignment(db).removeOutside(&fields, of: table, zone: zone)
                let pairs = try table.columnPairs(of: fields, named: name, in: zoneID)
                try table.insert(pairs, named: name, in: zone, at: now.rawValue, db)
                lines.append("\(device.name) adds \(table.recordType) \(name) \(fields.summary)")
                try model.note(table, named: name, in: zone, isShared: isShared, fields, at: trueTime, db)
            } else if kind < 0.85 {
                let chosenRow = rows[Int.random(in: 0..<rows.count, using: &generator)]
                if generator.chance(faults.staleForm) {
                    device.forms.append((table, chosenRow))
                    lines.append("\(device.name) shows \(table.recordType) \(chosenRow.name) in a form")
                    return
                }
                let form = generator.chance(faults.staleForm * 3) ? try device.closeStaleForm(of: table, db) : nil
                let (read, row) = form ?? (chosenRow, chosenRow)
                if form != nil { staleForms += 1 }
                let all = try randomFields(of: table, file, &generator, hasMoves: hasMoves, makeFile, db)
                var chosen = table.fields.filter { _ in Double.random(in: 0..<1, using: &generator) < 0.4 }
                // Records change their places by moves.
                if hasMoves { chosen.removeAll { $0.schema.isParent } }
                var typed: [String: FieldValue] = [:]
                for field in chosen {
                    var value = all[field.name] ?? .null
                    switch field.schema.merge {
                    case .counter:
                        let step = Int64.random(in: -5...5, using: &generator)
                        value = .int64((read.fields[field.name]?.int64Value ?? 0) + step)
                        model.add(step, to: row.name, field.name)
                    case .union:
                        let old = read.fields[field.name]?.stringListValue ?? []
                        value = .stringList(Array(Set(old + (value.stringListValue ?? []))).sorted())
                    case .latest, .greatest, .smallest: break
                    }
                    typed[field.name] = value
                }
                let zoneID = try assignment(db).removeOutside(&typed, of: table, zone: row.zone)
                let written = read.fields.merging(typed) { $1 }
                var fields: [String: FieldValue] = [:]
                for (field, change) in table.changes(from: read.fields, to: written, in: row) {
                    fields[field.name] = change.value(by: field.schema.merge)
                }
                guard !fields.isEmpty else { return }
                let pairs = try table.columnPairs(of: fields, named: row.name, in: zoneID)
                try table.update(row.id, pairs, at: now.rawValue, db)
                let place = form == nil ? "" : " in a stale form"
                lines.append("\(device.name) changes \(table.recordType) \(row.name)\(place) \(fields.summary)")
                // What the form only shows is no edit.
                let edited = fields.filter { typed.keys.contains($0.key) }
                try model.note(table, named: row.name, in: row.zone, isShared: false, edited, at: trueTime, db)
            } else {
                for table in file.orderedTables {
                    device.unsent.formUnion(
                        try String.fetchAll(
                            db,
                            sql: """
                                SELECT _recordName FROM "\(table.recordType)"
                                WHERE _id IN (SELECT row FROM mist_edit WHERE type = ?)
                                """,
                            arguments: [table.id]
                        )
                    )
                }
                let isMass = faults.massDeletion > 0 && generator.chance(faults.massDeletion)
                let one = rows[Int.random(in: 0..<rows.count, using: &generator)]
                let chosen = isMass ? rows.filter { _ in generator.chance(0.8) } : [one]
                for row in chosen {
                    try table.delete(row.id, db)
                    lines.append("\(device.name) deletes \(table.recordType) \(row.name)")
                    model.deletedBy[row.name, default: []].insert(device.name)
                }
                try Cascades(file: file, db: db).complete()
                // Their edits that were not sent have ended, even if a copy in another zone outlives the delete.
                if hasMoves {
                    let present = try file.orderedTables.flatMap { try $0.allRows(db).map(\.name) }
                    model.isJoinedNoMore.formUnion(device.unsent.subtracting(present))
                    model.hasEndedEdits.formUnion(device.unsent.subtracting(present))
                }
            }
        }
        (self.generator, self.model, self.names) = (generator, model, names)
        counts.staleForms += staleForms
        for line in lines { tell(line) }
    }

    // MARK: The end

    /// Synchronises all devices without faults, until nothing changes any more.
    mutating func heal() throws {
        tell("the faults end")
        if simulation.faults.lastingClockError == 0 {
            for device in devices { device.clockError = 0 }
        }
        for device in devices { signIn(.owner, on: device) }
        var silent = 0
        while silent < 2 {
            counts.rounds += 1
            guard counts.rounds < 40 else { throw failure("The devices are not silent after \(counts.rounds) rounds.") }
            let before = try devices.map(contents) + [serviceContents()]
            for device in devices {
                // One hour ends every wait.
                time.withLock { $0 += 3_600_000 }
                try endWork(of: device)
                try decideAboutDeletes(of: device)
                try synchronise(device)
            }
            silent = try devices.map(contents) + [serviceContents()] == before ? silent + 1 : 0
        }
    }

    /// Synchronises a device without faults, until nothing is left to do.
    ///
    /// - Returns: The number of requests that change something at the service.
    @discardableResult
    private mutating func synchronise(_ device: SimulatedDevice) throws -> Int {
        try device.engine.requestPull(by: .program, at: now(of: device))
        var (requests, writes) = (0, 0)
        while true {
            switch try device.engine.next(at: now(of: device)) {
            case .send(let request, let number):
                requests += 1
                if request.isWrite { writes += 1 }
                if request.isAtomic { counts.atomicRequests += 1 }
                guard requests < 1000 else { throw failure("\(device.name) does not come to an end.") }
                tell("\(device.name) sends \(request.summary)")
                try checkDeletes(in: request, of: device)
                let reply = answer(request, from: device)
                tell("\(device.name) gets \(reply.summary)")
                try handle(reply, to: number, on: device, date: date)
            case .wait(let until):
                time.withLock { $0 = max($0, until.rawValue - device.clockError + 1) }
            case .idle: return writes
            case .transfer:
                requests += 1
                let transfers = try device.engine.nextTransfers(3, besides: [], at: now(of: device))
                guard !transfers.isEmpty, requests < 1000 else {
                    throw failure("\(device.name) does not come to an end of its transfers.")
                }
                for transfer in transfers { try end(transfer, of: device, try perform(transfer, on: device)) }
            case .blocked(let condition): throw failure("\(device.name) is blocked: \(condition).")
            case .otherProcess: throw failure("\(device.name) waits for a process that is gone.")
            }
        }
    }

    // MARK: Verifications

    /// A program asks whether the device equals the service. In a private database, another answer than yes is a
    /// mistake: what waits is no difference. In a public one, deletes of other devices may not be noticed yet.
    private mutating func requestVerification(on device: SimulatedDevice) throws {
        counts.verifications += 1
        let depth = VerificationDepth.allCases.randomElement(using: &generator) ?? .versions
        let modes: [VerificationMode] =
            simulation.scope == .public ? [.compare, .repair] : [.compare, .repair, .resync]
        let mode = modes.randomElement(using: &generator) ?? .compare
        tell("\(device.processName) asks for a verification: \(mode), \(depth)")
        try device.engine.requestVerification(mode, comparing: depth)
    }

    /// Checks what the verification has found so far.
    private func checkVerification(of device: SimulatedDevice) throws {
        guard simulation.scope != .public else { return }
        let differences = try device.engine.verification().zones.flatMap(\.differences)
        guard differences.isEmpty else { throw failure("\(device.name) differs from the service: \(differences).") }
    }

    /// All devices are compared with the service: they are equal, and nothing is sent.
    mutating func verify() throws {
        for device in devices {
            time.withLock { $0 += 3_600_000 }
            try device.engine.requestVerification(.repair, comparing: .values)
            tell("\(device.name) is compared with the service")
            let writes = try synchronise(device)
            let (isDone, zones) = try device.engine.verification()
            let isEqual = zones.allSatisfy { $0.differences.isEmpty && $0.digestHere == $0.digestThere }
            // Before the first record of a type, the service of a public database refuses to list it.
            let failures = simulation.scope == .public ? [] : zones.compactMap(\.failure)
            guard isDone, isEqual, failures.isEmpty, writes == 0, zones.allSatisfy({ $0.skipped == 0 }) else {
                throw failure("\(device.name) was compared with \(writes) writes: \(isDone), \(zones).")
            }
            counts.compared += zones.map(\.compared).reduce(0, +)
        }
    }

    /// Lets all processes of a device go on, and chooses the one that synchronises: the holder of the lease, or one that
    /// takes over.
    private mutating func endWork(of device: SimulatedDevice) throws {
        for index in device.processes.indices {
            (device.current, device.processes[index].stoppedUntil) = (index, 0)
            while device.flight != nil { try deliver(to: device) }
            for transfer in device.transfers { try end(transfer, of: device, try perform(transfer, on: device)) }
            (device.transfers, device.added) = ([], [])
        }
        for index in device.processes.indices {
            if try device.processes[index].engine.keepLease(at: now(of: device)) == .keep {
                device.current = index
                return
            }
        }
        device.current = Int.random(in: 0..<device.processes.count, using: &generator)
        var looks = 0
        while try device.engine.turn(of: .program, after: .never, at: .milliseconds(time.withLock { $0 })) == .waiting {
            looks += 1
            guard looks < 20 else { throw failure("\(device.processName) waits for a process that is gone.") }
            time.withLock { $0 += 500 }
        }
    }

    /// All records of a device: type, name, zone and fields.
    private func contents(of device: SimulatedDevice) throws -> [String] {
        try device.read { db in
            let zones = try Row.fetchAll(db, sql: "SELECT id, name FROM mist_zone")
            let names = Dictionary(uniqueKeysWithValues: zones.map { ($0["id"] as ZoneRowID, $0["name"] as String) })
            return try device.file.orderedTables.flatMap { table in
                try table.allRows(db).map { row in
                    "\(table.recordType) \(row.name) in \(names[row.zone] ?? "") \(row.fields.summary)"
                }
            }
        }
    }

    private func serviceContext() throws -> RequestContext {
        try emulator.request(in: DatabaseAddress(Self.container, .development, simulation.scope), as: .user(user))
    }

    private func serviceZones() throws -> [ZoneID] {
        guard case .success(.databaseChanges(let page)) = answer(.databaseChanges(since: nil)) else {
            throw failure("The service does not list its zones.")
        }
        return page.changedZones.map(\.zoneID).sorted { $0.zoneName < $1.zoneName }
    }

    private func serviceRecords() throws -> [Record] {
        guard simulation.scope != .public else {
            return try simulation.schemas.flatMap { try serviceRecords(ofType: $0.recordType) }
        }
        return try serviceZones().flatMap(serviceRecords)
    }

    /// All records of a type in the public database.
    private func serviceRecords(ofType type: String) throws -> [Record] {
        let context = try serviceContext()
        // Before the first record of a type, the service does not know the type.
        guard try emulator.schema(of: Self.container, in: .development)[recordType: type] != nil else { return [] }
        var records: [Record] = []
        var continuation: String?
        repeat {
            let query = RecordQuery(recordType: type)
            let page = try context.queryRecords(.init(query: query, continuationMarker: continuation))
            for case .result(.success(var record)) in page.records ?? [] {
                record.zoneID = .default
                records.append(record)
            }
            continuation = page.continuationMarker
        } while continuation != nil
        return records
    }

    private func serviceRecords(in zone: ZoneID) throws -> [Record] {
        let context = try serviceContext()
        var records: [Record] = []
        var token: String?
        while true {
            let page = try context.fetchRecordChanges(.init(zoneID: zone, syncToken: token))
            for case .result(.success(var record)) in page.records ?? [] where !record.isDeleted {
                record.zoneID = zone
                records.append(record)
            }
            guard page.moreComing == true else { return records }
            token = page.syncToken
        }
    }

    private func serviceContents() throws -> [String] {
        let order = Dictionary(uniqueKeysWithValues: simulation.schemas.enumerated().map { ($1.recordType, $0) })
        return try serviceRecords()
            .sorted { left, right in
                let (first, second) = (order[left.recordType ?? ""] ?? 0, order[right.recordType ?? ""] ?? 0)
                return (first, left.recordName ?? "") < (second, right.recordName ?? "")
            }
            .map { record in
                var fields = Dictionary(record.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
                fields["mist_edits"] = nil
                let name = "\(record.recordName ?? "") in \(record.zoneID?.zoneName ?? "")"
                return "\(record.recordType ?? "") \(name) \(fields.summary)"
            }
    }

    mutating func check() throws {
        var unclear: [String: Set<String>] = [:]
        let records = try serviceRecords()
        if simulation.moves > 0 { try checkPlaces(of: records) }
        if simulation.faults.otherSession > 0 { try checkRecordsOfOtherUser() }
        let truth = try serviceContents()
        for device in devices {
            let own = try contents(of: device)
            guard own == truth else {
                let missing = truth.filter { !own.contains($0) }.map { "  service  \($0)" }
                let extra = own.filter { !truth.contains($0) }.map { "  \(device.name)  \($0)" }
                throw failure(
                    "\(device.name) differs from the service:\n" + (missing + extra).joined(separator: "\n")
                )
            }
            let left = try device.read { db in
                try [
                    "mist_edit", "mist_tombstone", "mist_request", "mist_request_item", "mist_sent", "mist_parked",
                    "mist_cascade", "mist_transfer WHERE asset IS NULL", "mist_move", "mist_held",
                ]
                .compactMap {
                    let rows = try Row.fetchAll(db, sql: "SELECT * FROM \($0)")
                    return rows.isEmpty ? nil : "\($0) \(rows)"
                }
            }
            guard left.isEmpty else { throw failure("\(device.name) has work left: \(left.joined(separator: ", ")).") }
            // A row's change tag is a copy for reading. The engine uses the tag in `mist_record`.
            let wrong = try device.read { db in
                try device.file.orderedTables.flatMap { table in
                    try String.fetchAll(
                        db,
                        sql: """
                            SELECT _recordName FROM "\(table.recordType)" LEFT JOIN mist_record AS known
                                ON known.type = ? AND known.row = _id AND known.zone = _zone AND known.name = _recordName
                            WHERE known.tag IS NULL OR known.tag IS NOT _changeTag
                            """,
                        arguments: [table.id]
                    )
                }
            }
            guard wrong.isEmpty else { throw failure("\(device.name) has old change tags of \(wrong).") }
            for (name, fields) in try device.read(unclearCounts) { unclear[name, default: []].formUnion(fields) }
        }
        counts.unclearCounts += unclear.count
        try checkFiles(of: records)
        if simulation.faults.clockError == 0, !model.isRelaxed {
            var model = model
            if simulation.moves > 0 {
                let ended = try receipts(of: [.deleted, .deletedWithTarget, .moveUndone])
                model.forgetEditsThatEnded(as: ended, besides: records)
                model.hasUndoneMoves = Set(try receipts(of: [.moveUndone]).keys)
            }
            let outlived = ledger.outlived
            if let problem = model.problem(with: records, simulation.schemas, unclear: unclear, outlived: outlived) {
                throw failure(simulation.moves > 0 ? problem + (try receipts()) : problem)
            }
        }
    }

    /// The counters of which a device cannot know whether the service has its count, by record: another copy of its
    /// file has counted after a reply was lost. The device has a receipt for each.
    private func unclearCounts(_ db: Database) throws -> [String: Set<String>] {
        let rows = try Row.fetchAll(db, sql: "SELECT name, fields FROM mist_recovery WHERE reason = 'unclearCount'")
        return try rows.reduce(into: [:]) { result, row in
            let fields = try OtherFields.read(row["fields"])
            result[row["name"], default: []].formUnion(fields.keys)
        }
    }
}

/// A random value for each field.
private func randomFields(
    of table: RecordTable,
    _ file: StoreFile,
    _ generator: inout SplitMix64,
    hasMoves: Bool,
    _ makeFile: (Int64) throws -> FieldValue,
    _ db: Database
) throws -> [String: FieldValue] {
    var fields: [String: FieldValue] = [:]
    for field in table.fields {
        if field.schema.merge != .counter, generator.chance(0.1) { continue }
        let number = Int64.random(in: 0...9, using: &generator)
        switch field.type {
        case .int64: fields[field.name] = .int64(field.schema.merge == .counter ? 0 : number)
        case .double: fields[field.name] = .double(Double(number) / 4)
        case .timestamp: fields[field.name] = .timestamp(Date(timeIntervalSince1970: Double(number)))
        case .bytes: fields[field.name] = .bytes(Data([UInt8(number)]))
        case .stringList: fields[field.name] = .stringList((0...number % 3).map { "t\($0)" })
        case .int64List: fields[field.name] = .int64List([number])
        case .reference:
            var targets: [(name: String, isSelf: Bool)] = []
            for other in file.orderedTables {
                targets += try other.allRows(db).map { ($0.name, other.id == table.id) }
            }
            // A parent of the same type would make cycles, which the service refuses.
            if !hasMoves { targets.removeAll { $0.isSelf && field.schema.isParent } }
            // References that are no parents keep records from moving.
            if hasMoves, !field.schema.isParent, generator.chance(0.9) { continue }
            guard let target = targets.randomElement(using: &generator) else { continue }
            let isPlain = field.schema.isParent || hasMoves || number < 7
            let action: Reference.Action = isPlain ? .none : .deleteSelf
            fields[field.name] = .reference(Reference(recordName: target.name, action: action))
        case .asset: fields[field.name] = try makeFile(number)
        case .location: fields[field.name] = .location(Location(latitude: Double(number), longitude: 0))
        case .string: fields[field.name] = .string("v\(Int.random(in: 0...99, using: &generator))")
        default: continue
        }
    }
    return fields
}

extension ZoneAssignment {
    /// Removes references to records outside of the zone, which programs cannot write.
    ///
    /// - Returns: The name of the zone.
    fileprivate func removeOutside(
        _ fields: inout [String: FieldValue],
        of table: RecordTable,
        zone: ZoneRowID
    ) throws -> ZoneID {
        for field in table.fields {
            guard let name = fields[field.name]?.referenceValue?.recordName else { continue }
            if try !file.orderedTables.contains(where: { try $0.row(named: name, in: zone, db) != nil }) {
                fields[field.name] = nil
            }
        }
        return ZoneID(
            zoneName: try String.fetchOne(db, sql: "SELECT name FROM mist_zone WHERE id = ?", arguments: [zone]) ?? ""
        )
    }
}

/// The edits of a device that are not acknowledged, with their values.
private struct PendingValues {
    private struct Edit {
        let table: RecordTable
        let field: StoredField
        let name: String
        let zone: ZoneRowID
        let value: FieldValue?
        /// Whether the edit was sent with an unknown outcome: the service may have it.
        let isUncertain: Bool
    }

    private var edits: [Edit] = []
    private let lastReceipt: Int64

    init(_ file: StoreFile, _ db: Database) throws {
        lastReceipt = try Int64.fetchOne(db, sql: "SELECT max(id) FROM mist_recovery") ?? 0
        for table in file.orderedTables {
            let pending = try Self.pendingFields(of: table, db)
            guard !pending.isEmpty else { continue }
            let sent = try Set(
                String.fetchAll(
                    db,
                    sql: "SELECT name FROM mist_sent UNION SELECT name FROM mist_record WHERE is_conflicting = 1"
                )
            )
            for row in try table.allRows(db) {
                guard let fields = pending[row.id] else { continue }
                for field in table.fields {
                    let value = row.fields[field.name]
                    guard fields.contains(field.id) || (fields.contains(.insert) && value != nil) else { continue }
                    edits.append(
                        Edit(
                            table: table,
                            field: field,
                            name: row.name,
                            zone: row.zone,
                            value: value,
                            isUncertain: sent.contains(row.name)
                        )
                    )
                }
            }
        }
    }

    /// The numbers of the edited fields by row.
    private static func pendingFields(of table: RecordTable, _ db: Database) throws -> [RecordRowID: Set<FieldID>] {
        // The insert of a moved record says that its copy is to be created. Its fields were not edited.
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT row, field FROM mist_edit WHERE type = ?1 AND NOT (field = 0 AND row IN (\(movedRows)))"
            ),
            arguments: [table.id]
        )
        return Dictionary(rows.map { ($0[0], [$0[1]]) }, uniquingKeysWith: { $0.union($1) })
    }

    /// An edit that is no longer pending, is not the value of its record, and has no recovery record.
    ///
    /// - Parameters:
    ///   - file: The device's file.
    ///   - db: A reader of it.
    ///   - reply: The reply that was applied.
    /// - Returns: A description of the lost edit; `nil` when no edit was lost.
    /// - Throws: A `DatabaseError` when the file fails.
    func lost(_ file: StoreFile, _ db: Database, after reply: Result<SyncReply, CloudKitError>) throws -> String? {
        let arrived = Dictionary(grouping: reply.records, by: { $0.recordName ?? "" })
        var pending: [TableID: [RecordRowID: Set<FieldID>]] = [:]
        for table in file.orderedTables { pending[table.id] = try Self.pendingFields(of: table, db) }
        for edit in edits {
            let rows = try edit.table.rows(ofAnyZone: edit.name, db)
            let row = rows.first { $0.zone == edit.zone } ?? rows.first
            if let row {
                let fields = pending[edit.table.id]?[row.id] ?? []
                if fields.contains(edit.field.id) || fields.contains(.insert) { continue }
                if row.fields[edit.field.name]?.brief == edit.value?.brief { continue }
                // The value is merged into that of the record.
                if [.counter, .union].contains(edit.field.schema.merge) { continue }
            }
            // The service may have the edit, and then the record was deleted with another record.
            if row == nil, edit.isUncertain { continue }
            // The service may have had the edit in one zone, and a later one in another zone.
            if row == nil || rows.first?.zone != edit.zone, let versions = arrived[edit.name] {
                let isSame = versions.contains { version in
                    version.fields[edit.field.name].flatMap { $0.isNull ? nil : $0 }?.brief == edit.value?.brief
                }
                if isSame || edit.field.schema.merge != .latest { continue }
            }
            if try hasReceipt(edit, db) { continue }
            return "\(edit.table.recordType) \(edit.name) \(edit.field.name)=\(edit.value?.brief ?? "absent")"
        }
        return nil
    }

    private func hasReceipt(_ edit: Edit, _ db: Database) throws -> Bool {
        let texts = try String.fetchAll(
            db,
            sql: "SELECT fields FROM mist_recovery WHERE id > ? AND type = ? AND name = ?",
            arguments: [lastReceipt, edit.table.recordType, edit.name]
        )
        return try texts.contains { text in
            guard let value = edit.value else { return true }
            let receipt = try OtherFields.read(text)[edit.field.name]
            // Another policy may have merged the value before it was lost.
            return edit.field.schema.merge != .latest || receipt?.brief == value.brief
        }
    }
}

/// The expected final state: the edits of all devices as dictionaries, and the merge by its definition.
struct ReferenceModel {
    struct Edit {
        let time: Int64
        let device: Int64
        let value: FieldValue?
    }

    /// The edits by record name and field.
    var edits: [String: [String: [Edit]]] = [:]
    var added: [String: [String: Int64]] = [:]
    /// The devices that have deleted a record and did not take it back.
    var deletedBy: [String: Set<String>] = [:]
    private var isDeleted: Set<String> { Set(deletedBy.filter { !$0.value.isEmpty }.keys) }
    /// The records with which a record may be deleted, by all its edits: its parents, and the targets of its references
    /// with `DELETE_SELF`.
    var targets: [String: Set<String>] = [:]
    /// Names that several devices may have chosen.
    var isShared: Set<String> = []
    /// Whether something happened after which the model cannot predict the final state.
    var isRelaxed = false
    /// The records whose values that only grow, and counters, cannot be predicted.
    var isJoinedNoMore: Set<String> = []
    /// The records of which edits that were not sent have ended with a delete on the same device.
    var hasEndedEdits: Set<String> = []
    /// The records of which a device has undone a move.
    var hasUndoneMoves: Set<String> = []
    /// How much earlier than the latest edit the winner may be, in milliseconds.
    var tolerance: Int64 = 0

    mutating func add(_ step: Int64, to name: String, _ field: String) {
        added[name, default: [:]][field, default: 0] += step
    }

    /// Adds an edit, with its true time, or with the time that the store has given it.
    mutating func note(
        _ table: RecordTable,
        named name: String,
        in zone: ZoneRowID,
        isShared: Bool,
        _ fields: [String: FieldValue],
        at trueTime: Int64?,
        _ db: Database
    ) throws {
        if isShared { self.isShared.insert(name) }
        let device = try Int64.fetchOne(db, sql: "SELECT device FROM mist_state") ?? 0
        guard let row = try table.row(named: name, in: zone, db) else { return }
        for field in table.fields where fields[field.name] != nil {
            let time = try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(time) FROM mist_edit WHERE type = ?1 AND row = ?2
                    AND (field = ?3 OR (field = 0 AND row NOT IN (\(movedRows))))
                    """,
                arguments: [table.id, row.id, field.id]
            )
            // Without a time there was no edit: the value was the same as before.
            guard let time else { continue }
            let value = fields[field.name].flatMap { $0.isNull ? nil : $0 }
            if let target = value?.referenceValue, field.schema.isParent || target.action == .deleteSelf {
                targets[name, default: []].insert(target.recordName)
            }
            edits[name, default: [:]][field.name, default: []].append(
                Edit(time: trueTime ?? time, device: device, value: value)
            )
        }
    }

    /// Forgets the edits that ended with a delete of their record, of which a copy in another zone has outlived it.
    ///
    /// - Parameters:
    ///   - receipts: The values that ended. Among them are some that the service had as well.
    ///   - records: The service's records. Edits that have won in them did not end.
    fileprivate mutating func forgetEditsThatEnded(
        as receipts: [String: [[String: FieldValue]]],
        besides records: [Record]
    ) {
        func brief(_ value: FieldValue?) -> String? { value.flatMap { $0.isNull ? nil : $0.brief } }
        let present = Dictionary(records.map { ($0.recordName ?? "", $0.fields) }, uniquingKeysWith: { $1 })
        for (name, fields) in edits {
            guard let ended = receipts[name] else { continue }
            for (field, list) in fields {
                edits[name]?[field] = list.filter { edit in
                    let value = brief(edit.value)
                    if let record = present[name], brief(record[field]) == value { return true }
                    return !ended.contains { $0[field].map { brief($0) == value } ?? false }
                }
            }
            // What of the other values was pending is not in a receipt.
            isJoinedNoMore.insert(name)
        }
    }

    /// Whether a record has no parent because its move was undone when the former parent had been deleted.
    private func isRoot(
        _ name: String,
        _ field: RecordSchema.Field,
        _ value: FieldValue?,
        in records: [String: Record],
        after winner: Edit
    ) -> Bool {
        guard field.isParent, value == nil, hasUndoneMoves.contains(name), let former = winner.value?.referenceValue
        else {
            return false
        }
        return records[former.recordName] == nil && mayBeDeleted(former.recordName)
    }

    /// Whether a record was deleted, or may have been deleted with another record.
    private func mayBeDeleted(_ name: String) -> Bool {
        var seen: Set<String> = []
        var names = [name]
        while let next = names.popLast() {
            if deletedBy[next]?.isEmpty == false { return true }
            if seen.insert(next).inserted { names += targets[next] ?? [] }
        }
        return false
    }

    /// Finds the first difference of the service's records from the expected state.
    ///
    /// - Parameters:
    ///   - records: The service's records.
    ///   - schemas: The record types.
    ///   - unclear: The counters that may have another value, by record.
    ///   - outlived: The records of which a copy in another zone may have outlived a delete.
    /// - Returns: A description of the difference; `nil` where there is none.
    fileprivate func problem(
        with records: [Record],
        _ schemas: [RecordSchema],
        unclear: [String: Set<String>],
        outlived: Set<String>
    ) -> String? {
        let byName = Dictionary(records.map { ($0.recordName ?? "", $0) }, uniquingKeysWith: { $1 })
        for name in isDeleted.subtracting(isShared).subtracting(outlived) where byName[name] != nil {
            return "\(name) was deleted, and is at the service."
        }
        for (name, fields) in edits.sorted(by: { $0.key < $1.key }) where !isShared.contains(name) {
            guard let record = byName[name] else {
                if mayBeDeleted(name) { continue }
                return "\(name) was added and never deleted, and is not at the service."
            }
            guard let schema = schemas.first(where: { $0.recordType == record.recordType }) else { continue }
            for field in schema.fields where field.merge == .latest || !isJoinedNoMore.contains(name) {
                let edits = fields[field.name] ?? []
                let value = record.fields[field.name].flatMap { $0.isNull ? nil : $0 }
                switch field.merge {
                case .latest:
                    if hasEndedEdits.contains(name) { continue }
                    let winner = edits.max { ($0.time, $0.device) < ($1.time, $1.device) }
                    guard let winner, value?.brief != winner.value?.brief else { continue }
                    let isClose = edits.contains {
                        $0.time > winner.time - tolerance && $0.value?.brief == value?.brief
                    }
                    if isClose || isRoot(name, field, value, in: byName, after: winner) { continue }
                    return """
                        \(name).\(field.name) is \(value?.brief ?? "absent"), and the latest edit was \
                        \(winner.value?.brief ?? "absent") at \(winner.time).
                        """
                case .greatest, .smallest:
                    // A device may have made several edits before it sent the first one. Then only the last one counts.
                    let last = Dictionary(edits.map { ($0.device, $0.value?.int64Value) }, uniquingKeysWith: { $1 })
                        .values.compactMap(\.self)
                    let expected = field.merge == .greatest ? last.max() : last.min()
                    guard let expected else { continue }
                    let isJoined = value?.int64Value.map { field.merge == .greatest ? $0 >= expected : $0 <= expected }
                    if isJoined == true { continue }
                    return "\(name).\(field.name) is \(value?.brief ?? "absent"), and should be \(expected)."
                case .union:
                    let union = Set(edits.flatMap { $0.value?.stringListValue ?? [] })
                    guard Set(value?.stringListValue ?? []) != union else { continue }
                    return "\(name).\(field.name) is \(value?.brief ?? "absent"), and should have \(union.sorted())."
                case .counter:
                    let expected = added[name]?[field.name] ?? 0
                    let isUnclear = unclear[name]?.contains(field.name) ?? false
                    guard value?.int64Value ?? 0 != expected, !isUnclear else { continue }
                    return
                        "\(name).\(field.name) is \(value?.int64Value ?? 0), and the sum of all steps is \(expected)."
                }
            }
        }
        return nil
    }
}

extension Mutex {
    /// A mutex that closures share.
    final class Box: Sendable where Value: Sendable {
        private let mutex: Mutex<Value>

        init(_ value: Value) {
            mutex = Mutex(value)
        }

        func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
            try mutex.withLock { (value: inout sending Value) in try body(&value) }
        }
    }
}

extension CloudKitError {
    fileprivate static func broken(mayHaveBeenDone: Bool) -> CloudKitError {
        var error = CloudKitError(code: .network, message: "The connection broke.")
        error.mayHaveBeenDone = mayHaveBeenDone
        return error
    }

    fileprivate static func throttled(_ name: String? = nil) -> CloudKitError {
        CloudKitError(
            ErrorResponse(serverErrorCode: .throttled, retryAfter: 2),
            item: name.map { .record(name: $0) }
        )
    }
}

extension CloudKitError {
    fileprivate static func undelivered(_ name: String?) -> CloudKitError {
        CloudKitError(ErrorResponse(serverErrorCode: .internalError), item: name.map { .record(name: $0) })
    }

    fileprivate static func atomic(_ name: String?) -> CloudKitError {
        CloudKitError(ErrorResponse(serverErrorCode: .atomicError), item: name.map { .record(name: $0) })
    }
}

extension SyncRequest {
    fileprivate var isAtomic: Bool {
        if case .modify(_, _, let isAtomic) = self { isAtomic } else { false }
    }

    fileprivate var fetchesRecords: Bool {
        switch self {
        case .zoneChanges, .zoneListing, .query, .lookup: true
        case .caller, .databaseChanges, .createZones, .modify: false
        }
    }

    /// The names of the records that it creates.
    fileprivate var createdNames: [String] {
        guard case .modify(let operations, _, _) = self else { return [] }
        return operations.filter { $0.operationType == .create }.compactMap(\.record.recordName)
    }

    fileprivate var hasToken: Bool {
        switch self {
        case .databaseChanges(let token): token != nil
        case .zoneChanges(let cursors): cursors.contains { $0.token != nil }
        case .zoneListing(let cursor, _): cursor.token != nil
        case .caller, .createZones, .lookup, .modify, .query: false
        }
    }

    fileprivate var expiredReply: Result<SyncReply, CloudKitError> {
        let error = CloudKitError(ErrorResponse(serverErrorCode: "CHANGE_TOKEN_EXPIRED"))
        if case .zoneListing = self { return .success(.zoneChanges([.failure(error)])) }
        if case .zoneChanges(let cursors) = self { return .success(.zoneChanges(cursors.map { _ in .failure(error) })) }
        return .failure(error)
    }

    fileprivate var summary: String {
        switch self {
        case .caller: "users/caller"
        case .databaseChanges(let token): token == nil ? "changes/database from the start" : "changes/database"
        case .zoneChanges(let cursors):
            "changes/zone" + (cursors.contains { $0.token == nil } ? " from the start" : "")
                + cursors.map { " \($0.zoneID.brief)" }.joined()
        case .zoneListing(let cursor, _): "changes/zone for a list" + (cursor.token == nil ? " from the start" : "")
        case .createZones(let zones): "zones/modify" + zones.map { " \($0.brief)" }.joined()
        case .lookup(let names, let zone): "records/lookup in \(zone.brief) of \(names.joined(separator: ", "))"
        case .modify(let operations, let zone, let isAtomic):
            "records/modify in \(zone.brief)\(isAtomic ? ", atomic" : ""): "
                + operations.map { "\($0.operationType.rawValue) \($0.record.recordName ?? "")" }.joined(
                    separator: ", "
                )
        case .query: "records/query"
        }
    }
}

extension Result where Success == SyncReply, Failure == CloudKitError {
    /// Replaces a record of the reply with an error.
    ///
    /// - Returns: The name of the record; `nil` for a reply without records.
    fileprivate mutating func leaveOutARecord(using generator: inout SplitMix64) -> String? {
        switch self {
        case .success(.zoneChanges(var pages)):
            let filled = pages.indices.filter { index in (try? pages[index].get().results.isEmpty) == false }
            guard let index = filled.randomElement(using: &generator), case .success(var page) = pages[index],
                let name = Self.leaveOutARecord(of: &page.results, using: &generator)
            else { return nil }
            pages[index] = .success(page)
            self = .success(.zoneChanges(pages))
            return name
        case .success(.query(var page)):
            let name = Self.leaveOutARecord(of: &page.results, using: &generator)
            self = .success(.query(page))
            return name
        case .success(.records(var records)):
            let name = Self.leaveOutARecord(of: &records, using: &generator)
            self = .success(.records(records))
            return name
        case .success, .failure:
            return nil
        }
    }

    private static func leaveOutARecord(
        of results: inout [Result<Record, CloudKitError>],
        using generator: inout SplitMix64
    ) -> String? {
        guard let position = results.indices.randomElement(using: &generator),
            let name = (try? results[position].get())?.recordName
        else { return nil }
        results[position] = .failure(.undelivered(name))
        return name
    }

    /// Whether the reply says that a record was deleted.
    fileprivate func acknowledged(_ name: String) -> Bool {
        guard case .success(.records(let results)) = self else { return false }
        return results.contains { result in
            guard case .success(let record) = result else { return false }
            return record.recordName == name && record.isDeleted
        }
    }

    /// Whether there is no response.
    fileprivate var isLost: Bool {
        if case .failure(let error) = self { error.code == .network } else { false }
    }

    fileprivate var summary: String {
        switch self {
        case .failure(let error): "\(error.code)"
        case .success(.caller(let user)): user
        case .success(.databaseChanges(let page)):
            "\(page.changedZones.count) changed zones, \(page.deletedZones.count) deleted"
        case .success(.zoneChanges(let pages)):
            pages.map { page in
                switch page {
                case .success(let page):
                    "records "
                        + page.results.successes()
                        .map { ($0.isDeleted ? "-" : "+") + ($0.recordName ?? "") }.joined(separator: " ")
                case .failure(let error): "\(error.code)"
                }
            }.joined(separator: "; ")
        case .success(.zones): "zones"
        case .success(.records(let results)):
            results.map { result in
                switch result {
                case .success(let record): record.recordName ?? ""
                case .failure(let error): "\(error.code)"
                }
            }.joined(separator: ", ")
        case .success(.query(let page)): "\(page.results.count) records"
        }
    }
}

extension ZoneID {
    /// The end of the name.
    var brief: String { String(zoneName.suffix(4)) }
}

extension [String: FieldValue] {
    fileprivate var summary: String {
        filter { !$0.value.isNull }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.brief)" }.joined(
            separator: " "
        )
    }
}

extension FieldValue {
    fileprivate var brief: String {
        switch plain {
        case .string(let text): text
        case .int64(let number): "\(number)"
        case .reference(let reference): "→\(reference.recordName)\(reference.action == .deleteSelf ? "!" : "")"
        case .stringList(let list): "[\(list.joined(separator: ","))]"
        case .asset(let asset): "file of \(asset.size ?? -1)"
        default: "\(plain)"
        }
    }
}

extension Result where Success == SyncReply, Failure == CloudKitError {
    /// The records of the reply that have values.
    fileprivate var records: [CloudKitModel.Record] {
        guard case .success(let reply) = self else { return [] }
        return switch reply {
        case .caller, .databaseChanges, .zones: []
        case .zoneChanges(let pages): pages.successes().flatMap { $0.results.successes() }
        case .records(let results): results.successes()
        case .query(let page): page.results.successes()
        }
    }
}
