import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import GRDB
import MistKit
import MistStore
import ProcessLeases
import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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

    mutating func advance(_ milliseconds: ClosedRange<Int64>) {
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
        let operation = RecordOperation(.forceDelete, record: CloudKitModel.Record(recordName: name))
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
        try checkReceipts(in: request, of: device)
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
        } else if case .modify(let operations, _, _) = request, generator.chance(faults.failedItem) {
            counts.throttles += 1
            let index = Int.random(in: 0..<operations.count, using: &generator)
            let name = operations[index].record.recordName ?? ""
            tell("… and \(name) is to come later")
            flight.reply = answer(request, from: device, failing: index, with: .throttled(name))
        } else if let (index, name) = request.newFiles.randomElement(using: &generator),
            generator.chance(faults.refusedReceipt)
        {
            counts.refusedReceipts += 1
            tell("… and the receipt of the file of \(name) is refused")
            flight.reply = answer(request, from: device, failing: index, with: .refusedReceipt(name))
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
    var date: ServiceTime { ServiceTime(time.withLock { $0 / 1000 * 1000 }) }

    /// Lets the service carry out a request, of a device or of another program.
    func answer(
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

    mutating func deliver(to device: SimulatedDevice) throws {
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
        try noteRefusedReceipts(in: reply, to: flight.request, flight.number, on: device)
        try handle(reply, to: flight.number, on: device, date: flight.reply == nil ? date : flight.date)
        // A process that has lost the lease does not apply the reply, also where it proves that the create was stored.
        if !device.file.lease.isHeld { noteUnknownOutcome(of: flight.request) }
        device.lastReplies = device.lastReplies.suffix(3) + [(flight.number, reply)]
    }

    /// The device applies a reply. Afterwards each of its earlier edits must be pending, be the value of the record, or
    /// have a recovery record.
    mutating func handle(
        _ reply: Result<SyncReply, CloudKitError>,
        to number: RequestNumber,
        on device: SimulatedDevice,
        date: ServiceTime? = nil
    ) throws {
        let edits = try device.read { db in try PendingValues(device.file, db) }
        let before = try deletedNames(of: device)
        let filesToTakeOver = try filesToTakeOver(of: device)
        if simulation.moves > 0 { try noteDeletes(in: reply, to: number, on: device) }
        let summary = try device.engine.handle(reply, to: number, at: now(of: device), date: date)
        try checkVerification(of: device)
        try checkFilesToTakeOver(of: device, besides: filesToTakeOver)
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
}
