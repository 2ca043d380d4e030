import CloudKitModel
import GRDB
import MistKit
import MistStore
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
    /// The receipts of uploads with which the service has refused a record, and the device knows it.
    var refusedReceipts: Set<String> = []
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
        refusedReceipts = other.refusedReceipts
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
