import CloudKitEmulator
import CloudKitModel
import CloudKitSchema
import CloudKitWebServices
import GRDB
import MistKit
import MistStore
import ProcessLeases
import SQLiteTables

/// The end of a run, and what must be true then.
extension SimulatedWorld {
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
                try retryRefusedFiles(of: device)
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
                try checkReceipts(in: request, of: device)
                let reply = answer(request, from: device)
                tell("\(device.name) gets \(reply.summary)")
                try noteRefusedReceipts(in: reply, to: request, number, on: device)
                try handle(reply, to: number, on: device, date: date)
            case .wait(let until):
                time.withLock { $0 = max($0, until.rawValue - device.clockError + 1) }
            case .idle: return writes
            case .transfer:
                requests += 1
                let transfers = try nextTransfers(3, of: device)
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
    mutating func requestVerification(on device: SimulatedDevice) throws {
        counts.verifications += 1
        let depth = VerificationDepth.allCases.randomElement(using: &generator) ?? .versions
        let modes: [VerificationMode] =
            simulation.scope == .public ? [.compare, .repair] : [.compare, .repair, .resync]
        let mode = modes.randomElement(using: &generator) ?? .compare
        tell("\(device.processName) asks for a verification: \(mode), \(depth)")
        try device.engine.requestVerification(mode, comparing: depth)
    }

    /// Checks what the verification has found so far.
    func checkVerification(of device: SimulatedDevice) throws {
        guard simulation.scope != .public else { return }
        // An old record is left out beside its copy, until the device that made the copy has deleted the old one.
        let differences = try device.engine.verification().zones.flatMap(\.differences)
            .filter { simulation.moves == 0 || $0.kind != .missingHere }
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

    func serviceContext() throws -> RequestContext {
        try emulator.request(in: DatabaseAddress(Self.container, .development, simulation.scope), as: .user(user))
    }

    func serviceZones() throws -> [ZoneID] {
        guard case .success(.databaseChanges(let page)) = answer(.databaseChanges(since: nil)) else {
            throw failure("The service does not list its zones.")
        }
        return page.changedZones.map(\.zoneID).sorted { $0.zoneName < $1.zoneName }
    }

    func serviceRecords() throws -> [CloudKitModel.Record] {
        guard simulation.scope != .public else {
            return try simulation.schemas.flatMap { try serviceRecords(ofType: $0.recordType) }
        }
        return try serviceZones().flatMap(serviceRecords)
    }

    /// All records of a type in the public database.
    private func serviceRecords(ofType type: String) throws -> [CloudKitModel.Record] {
        let context = try serviceContext()
        // Before the first record of a type, the service does not know the type.
        guard try emulator.schema(of: Self.container, in: .development)[recordType: type] != nil else { return [] }
        var records: [CloudKitModel.Record] = []
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

    func serviceRecords(in zone: ZoneID) throws -> [CloudKitModel.Record] {
        let context = try serviceContext()
        var records: [CloudKitModel.Record] = []
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
                model.clearedLinks = try receipts(of: [.targetMoved]).mapValues { Set($0.flatMap(\.keys)) }
                model.noteEndedEdits(of: ledger.revived)
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
