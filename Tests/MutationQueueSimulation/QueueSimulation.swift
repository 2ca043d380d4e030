import Foundation
import GRDB
import MistMutationQueue
import ProcessLeases
import SQLiteTables
import Synchronization
import TestSupport

/// Processes that share a file with a queue, a service that has faults, and a model of what has to be in the file and
/// at the service. A seed decides everything; the time is virtual.
package struct QueueSimulation {
    /// The number of events of a run before its end.
    package var events = 150
    /// The number of processes.
    package var processes = 3

    package init() {}

    /// Runs a simulation, and then lets everything come to its end without faults.
    ///
    /// - Parameter seed: Decides what happens.
    /// - Returns: The counts of what happened.
    /// - Throws: The first difference from the model, with the story that led to it.
    @discardableResult
    package func run(seed: UInt64) throws -> QueueSimulationCounts {
        let folder = FileManager.default.temporaryDirectory.appending(path: "queue-simulation-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let world = try SimulatedWorld(seed: seed, path: folder.appending(path: "program.sqlite").path, processes)
        do {
            for _ in 0..<events { try world.play() }
            try world.finish()
        } catch {
            let message = (error as? ModelDifference)?.message ?? "\(error)"
            throw SimulationFailure(seed: seed, message: message, story: world.story)
        }
        return world.counts
    }
}

/// A difference between the model and the file or the service.
private struct ModelDifference: Error {
    let message: String
}

/// An error that the service answers with, or that the network gives.
private enum Fault: Error, CaseIterable {
    case lostRequest, lostReply, throttled, refused, offline, signedOut, never
}

/// A request between a process and the service.
private struct Flight {
    let attempt: MutationEngine<OutgoingChange>.Attempt
    let fault: Fault?
    var isDelivered = false
    var answer: String?
    /// Whether the process knows the end.
    var isNoted = false

    /// Whether there is nothing to wait for.
    var isEnded: Bool { isDelivered || fault == .lostRequest || fault == .never }
}

/// A change with what it belongs to.
package struct OutgoingChange: Codable, Hashable, Sendable {
    var change: Change
    /// What the change is about; the service may have an identifier of its own for it.
    var target: ProvisionalID
}

private final class SimulatedProcess {
    let number: Int
    let database: DatabaseQueue
    let queue: MutationQueue<OutgoingChange>
    let lease: FileLease
    var schedule = SimulatedProcess.newSchedule
    var flights: [Flight] = []
    var stoppedUntil: Int64 = 0
    static let concurrency = 3
    static var newSchedule: AttemptSchedule<OutgoingChange> {
        // Time passes between most events here.
        AttemptSchedule(concurrency: concurrency, shortAttempt: .seconds(5))
    }

    init(_ number: Int, _ database: DatabaseQueue, _ queue: MutationQueue<OutgoingChange>) {
        (self.number, self.database, self.queue) = (number, database, queue)
        lease = queue.engine.lease
    }
}

/// Lets a transaction fail at its end, as a disk that is full does.
private final class FailingCommits: TransactionObserver {
    /// The commit that fails, from 1; the second one of a step is there only if a step has more than one transaction.
    var failing: Int?

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws {
        if failing == 1 { throw DatabaseError(resultCode: .SQLITE_FULL) }
        failing = failing.map { $0 - 1 }
    }
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}

/// A value that the closures of a queue share with the simulation.
private final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }
}

private final class SimulatedWorld {
    /// What the model knows of a change.
    struct Expected {
        var key: String
        /// The entity, by the first identifier of what the change is about.
        var thing: String
        var parents: [Int]
        var wasSent = false
        /// It is in the queue.
        var isQueued = true
        var isDone = false
        var isDiscarded = false
    }

    private let seed: UInt64
    private var random: SeededGenerator
    private let path: String
    /// The machine's clock, and a clock that only goes forward, in milliseconds.
    private let clock = Shared<Int64>(1_800_000_000_000)
    private var present: Int64 = 0
    private var service = SimulatedService()
    private var processes: [SimulatedProcess?]
    private let commits = FailingCommits()
    private var expected: [Int: Expected] = [:]
    private var last = 0
    /// The things that the program has made, by their first identifiers, with those of the service.
    private var things: [String: String?] = [:]
    /// Requests of processes that have ended, which the network may still deliver.
    private var strays: [Flight] = []
    private var epochs: [Int64: Int] = [:]
    private var pause: StoredPause? {
        didSet { if pause == nil { knowing = [] } }
    }
    /// The processes that know of the pause: another one learns of it with its next step.
    private var knowing: Set<Int> = []
    /// The pauses that the decisions of the present step asked for.
    private let asked = Shared<[(reason: MutationPause.Reason, time: Duration?)]>([])
    private var hasFaults = true
    /// The part of requests that have a fault.
    private let faultRate: Double
    private(set) var story: [String] = []
    private(set) var counts = QueueSimulationCounts()

    init(seed: UInt64, path: String, _ count: Int) throws {
        (self.seed, self.path) = (seed, path)
        random = SeededGenerator(seed: seed)
        faultRate = [0.02, 0.1, 0.35].randomElement(using: &random) ?? 0
        processes = Array(repeating: nil, count: count)
        for number in 0..<count { processes[number] = try start(number) }
        try processes[0]?.database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE program_row (number INTEGER PRIMARY KEY);
                    CREATE TABLE effect (number INTEGER PRIMARY KEY, count INTEGER NOT NULL)
                    """
            )
        }
    }

    private var now: MachineTime { MachineTime(clock.withLock { $0 }) }

    private func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &random) < probability }

    private func tell(_ text: String) { story.append("\(present) ms: \(text)") }

    private func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw ModelDifference(message: message()) }
    }

    private func start(_ number: Int) throws -> SimulatedProcess {
        var settings = Configuration()
        settings.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        }
        let database = try DatabaseQueue(path: path, configuration: settings)
        database.add(transactionObserver: commits)
        var configuration = MutationQueueConfiguration()
        configuration.attempts = 4
        configuration.concurrency = SimulatedProcess.concurrency
        configuration.clock = { [clock] in Date(timeIntervalSince1970: Double(clock.withLock { $0 }) / 1000) }
        let numbers = Shared(SeededGenerator(seed: random.next()))
        configuration.random = { numbers.withLock { Double.random(in: 0..<1, using: &$0) } }
        var timing = LeaseTiming()
        timing.limit = .seconds(1)
        var handlers = MutationHandlers<OutgoingChange> { _ in .none }
        handlers.join = { earlier, later in
            earlier.change.kind == .toast && later.change.kind == .takeBack ? .annihilated : .separate
        }
        handlers.decide = { [asked] error, _ in
            func wait(_ reason: MutationPause.Reason, _ time: Duration?) -> MutationDecision {
                asked.withLock { $0.append((reason, time)) }
                return .wait(reason, for: time)
            }
            return switch error as? Fault {
            case .refused: .refused()
            case .throttled: .again(after: .seconds(2))
            case .offline: wait(.offline, .seconds(3))
            case .signedOut: wait(.signedOut, nil)
            default: .again()
            }
        }
        return SimulatedProcess(
            number,
            database,
            try MutationQueue(
                database,
                named: "simulation",
                configuration: configuration,
                handlers,
                leaseTiming: timing
            )
        )
    }

    // MARK: - Events

    func play() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<17: try add()
        case 17..<22: for _ in 0..<4 { try add() }
        case 22..<55: try turn()
        case 55..<78: try deliver()
        case 78..<84: advance(Int64.random(in: 1...700, using: &random))
        case 84..<87: advance(Int64.random(in: 1000...8000, using: &random))
        case 87..<90: crash()
        case 90..<92: stop()
        case 92..<94: try discard()
        case 94..<96: try retry()
        case 96..<98: try pauseOrResume()
        case 98: setClock()
        default: try beat()
        }
    }

    private func anyProcess() throws -> SimulatedProcess? {
        let number = Int.random(in: 0..<processes.count, using: &random)
        if processes[number] == nil {
            guard chance(0.5) else { return nil }
            processes[number] = try start(number)
            tell("process \(number) starts")
        }
        guard let process = processes[number], process.stoppedUntil <= present else { return nil }
        return process
    }

    private func advance(_ time: Int64) {
        present += time
        clock.withLock { $0 += time }
    }

    /// Writes as the program does. A transaction may fail at its end.
    private func write<Value>(_ process: SimulatedProcess, _ body: (Database) throws -> Value) throws -> Value? {
        commits.failing = hasFaults && chance(0.08) ? Int.random(in: 1...2, using: &random) : nil
        defer { commits.failing = nil }
        do {
            return try process.database.write(body)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL && commits.failing == 1 {
            tell("process \(process.number): the disk is full")
            counts.add("failed-commits")
            return nil
        }
    }

    private func add() throws {
        guard let process = try anyProcess() else { return }
        last += 1
        let number = last
        var kind = [Change.Kind.make, .edit, .edit, .toast, .takeBack].randomElement(using: &random) ?? .make
        if things.isEmpty { kind = .make }
        var thing = kind == .make ? "thing-\(number)" : things.keys.sorted().randomElement(using: &random) ?? ""
        // Now and then the program knows the identifier of the service already.
        var name = thing
        if let service = things[thing] ?? nil, chance(0.5) { name = service }
        let own = name
        if kind == .toast || kind == .takeBack {
            thing = "toast \(thing)"
            name = "toast \(thing)"
        }
        let queued = expected.filter { $0.value.isQueued }.keys.sorted()
        let parents = chance(0.25) ? [queued.randomElement(using: &random)].compactMap(\.self) : []
        let change = OutgoingChange(change: Change(number: number, kind: kind), target: ProvisionalID(rawValue: own))
        let ids = parents.compactMap { expected[$0]?.key }.map(MutationID.init(rawValue:))
        let fails = chance(0.05)
        struct RolledBack: Error {}
        var result: EnqueuedMutation?
        do {
            let added = try write(process) { db in
                try db.execute(sql: "INSERT INTO program_row (number) VALUES (?)", arguments: [number])
                let result = try process.queue.enqueue(
                    change,
                    entity: name,
                    after: ids.map(\.self),
                    id: MutationID(rawValue: "key-\(number)"),
                    in: db
                )
                if case .annihilated(let earlier) = result {
                    for gone in [number, Int(earlier.rawValue.dropFirst(4)) ?? 0] {
                        try db.execute(sql: "DELETE FROM program_row WHERE number = ?", arguments: [gone])
                    }
                }
                if fails { throw RolledBack() }
                return result
            }
            result = added ?? nil
        } catch is RolledBack {
            return
        }
        guard let result else { return }
        counts.add("mutations")
        switch result {
        case .added:
            expected[number] = Expected(key: "key-\(number)", thing: thing, parents: parents)
            if kind == .make { things[thing] = .some(nil) }
            tell("process \(process.number) adds \(kind) \(number) for \(name), after \(parents)")
        case .annihilated(let id):
            let earlier = Int(id.rawValue.dropFirst(4)) ?? 0
            try require(expected[earlier]?.wasSent == false, "\(earlier) was sent, and annihilated by \(number)")
            expected[earlier]?.isQueued = false
            expected[earlier]?.isDiscarded = true
            tell("\(number) annihilates \(earlier)")
            counts.add("annihilated")
        case .joined: throw ModelDifference(message: "\(number) was joined")
        }
        try check(process)
    }

    private func turn() throws {
        guard let process = try anyProcess() else { return }
        if !process.lease.isHeld {
            let time = Duration.milliseconds(present)
            let action = try process.database.read { db in try process.lease.look(db, at: time).action }
            if action == .wait { return }
        }
        try settle(process)
        let taken = process.schedule.take(at: .milliseconds(present))
        for case (let attempt, .notBegun) in taken.ends {
            tell("process \(process.number) gives \(attempt.mutation.mutation.change.number) back")
            counts.add("given-back")
        }
        asked.withLock { $0 = [] }
        let before = pause
        let step = try write(process) { db in
            try process.queue.engine.step(
                db,
                ends: taken.ends,
                underWay: taken.underWay,
                ahead: taken.ahead,
                isForProgram: true,
                at: now
            )
        }
        guard let step else {
            // The driver gives the lease up after a failure of the file, and what was under way has an unknown outcome.
            forget(process)
            return try check(process)
        }
        if step.next == .otherProcess {
            tell("process \(process.number) has lost the lease")
            counts.add("lost-leases")
            forget(process)
            return try check(process)
        }
        strays += process.flights.filter { $0.isNoted && ($0.fault == .never || $0.fault == .lostRequest) }
            .filter { _ in chance(0.3) }
        process.flights.removeAll(where: \.isNoted)
        if step.pause != nil { knowing.insert(process.number) }
        try check(process)
        try checkPause(before, process)
        for attempt in process.schedule.add(step, at: .milliseconds(present)) { try begin(attempt, process) }
        if case .wait = step.next, process.schedule.isDone, chance(0.7) {
            _ = try write(process) { db in
                try process.queue.engine.end(db, ends: [], isDone: true, at: now)
            }
        } else if !process.flights.isEmpty, hasFaults, chance(0.02) {
            tell("process \(process.number) is cancelled")
            counts.add("cancelled")
            let ends = process.schedule.cancel()
            forget(process)
            _ = try write(process) { db in try process.queue.engine.end(db, ends: ends, isDone: false, at: now) }
        }
    }

    /// Lets a process see the ends of its requests. Each may let it make the next attempt that is in the file already.
    private func settle(_ process: SimulatedProcess) throws {
        while let index = process.flights.firstIndex(where: { $0.isEnded && !$0.isNoted }) {
            process.flights[index].isNoted = true
            let flight = process.flights[index]
            let next = process.schedule.end(flight.attempt.number, end(of: flight), at: .milliseconds(present))
            if let next {
                counts.add("ahead")
                try begin(next, process)
            }
        }
    }

    private func forget(_ process: SimulatedProcess) {
        strays += process.flights
        process.flights = []
        process.schedule = SimulatedProcess.newSchedule
    }

    private func end(of flight: Flight) -> MutationEngine<OutgoingChange>.End {
        if flight.fault == .never { return .deadline }
        if let fault = flight.fault { return .error(fault) }
        let change = flight.attempt.mutation.mutation
        let number = change.change.number
        let effects = MutationEffects { db in
            try db.execute(
                sql: """
                    INSERT INTO effect (number, count) VALUES (?, 1)
                    ON CONFLICT (number) DO UPDATE SET count = count + 1
                    """,
                arguments: [number]
            )
        }
        guard change.change.kind == .make, let answer = flight.answer else { return .answer(effects) }
        return .answer(effects.adopt(ProvisionalID(rawValue: "thing-\(number)"), as: answer))
    }

    private func begin(_ attempt: MutationEngine<OutgoingChange>.Attempt, _ process: SimulatedProcess) throws {
        let mutation = attempt.mutation
        let number = mutation.mutation.change.number
        counts.add("attempts")
        guard let own = expected[number] else {
            throw ModelDifference(message: "\(number) is sent, and was never added")
        }
        try require(own.isQueued, "\(number) is sent, and is not in the queue any more")
        try require(
            mutation.id.rawValue == own.key,
            "\(number) is sent with the key \(mutation.id) instead of \(own.key)"
        )
        for (earlier, other) in expected where earlier < number && other.thing == own.thing && other.isQueued {
            throw ModelDifference(message: "\(number) is sent before \(earlier), which is of the same entity")
        }
        for parent in own.parents {
            try require(expected[parent]?.isDone == true, "\(number) is sent before \(parent), on which it depends")
        }
        try require(pause == nil || !knowing.contains(process.number), "\(number) is sent during a pause")
        let thing = own.thing.replacing("toast ", with: "")
        if let service = things[thing] ?? nil, mutation.mutation.change.kind != .make {
            try require(
                mutation.mutation.target.rawValue == service,
                "\(number) is sent for \(mutation.mutation.target), and the service calls it \(service)"
            )
        }
        let underWay = process.flights.filter { !$0.isNoted }.map(\.attempt.mutation.mutation.change.number)
        try require(underWay.count < SimulatedProcess.concurrency, "\(number) is sent beside \(underWay)")
        try require(
            !underWay.contains { expected[$0]?.thing == own.thing },
            "\(number) is sent beside another one of its entity: \(underWay)"
        )
        let (holds, epoch) = try process.database.read { db in
            (try process.lease.holder(db)?.isThisMember == true, process.lease.heldEpoch?.rawValue ?? 0)
        }
        try require(holds, "process \(process.number) sends \(number) and does not hold the lease")
        let identity = ObjectIdentifier(process).hashValue
        if let other = epochs[epoch], other != identity {
            throw ModelDifference(message: "two processes hold the lease in the epoch \(epoch)")
        }
        epochs[epoch] = identity
        if own.wasSent { counts.add("repeated") }
        expected[number]?.wasSent = true
        var fault: Fault?
        if hasFaults, chance(faultRate) { fault = Fault.allCases.randomElement(using: &random) }
        tell("process \(process.number) sends \(number)\(fault.map { ", with the fault \($0)" } ?? "")")
        if let fault { counts.add("\(fault)") }
        process.flights.append(Flight(attempt: attempt, fault: fault))
    }

    private func deliver() throws {
        // Requests of former processes and doubles of the network arrive at any time.
        if hasFaults, !strays.isEmpty, chance(0.3) {
            let index = Int.random(in: 0..<strays.count, using: &random)
            answer(&strays[index])
            strays.remove(at: index)
            counts.add("strays")
            return
        }
        let waiting = processes.compactMap(\.self).filter { $0.flights.contains { !$0.isEnded } }
        guard let process = waiting.randomElement(using: &random) else { return }
        let open = process.flights.indices.filter { !process.flights[$0].isEnded }
        guard let index = open.randomElement(using: &random) else { return }
        switch process.flights[index].fault {
        case nil, .lostReply:
            answer(&process.flights[index])
            if hasFaults, chance(0.1) {
                strays.append(process.flights[index])
                counts.add("duplicates")
            }
        default: break
        }
        process.flights[index].isDelivered = true
        if process.stoppedUntil <= present, chance(0.7) { try settle(process) }
    }

    private func answer(_ flight: inout Flight) {
        let mutation = flight.attempt.mutation
        flight.answer = service.answer(mutation.mutation.change, key: mutation.id.rawValue)
    }

    private func crash() {
        guard hasFaults, let process = processes.compactMap(\.self).randomElement(using: &random) else { return }
        tell("process \(process.number) dies")
        counts.add("crashes")
        strays += process.flights
        processes[process.number] = nil
    }

    private func stop() {
        guard hasFaults, let process = processes.compactMap(\.self).randomElement(using: &random) else { return }
        tell("process \(process.number) is stopped")
        counts.add("stops")
        process.stoppedUntil = present + Int64.random(in: 500...6000, using: &random)
    }

    private func setClock() {
        guard hasFaults else { return }
        tell("the clock is set")
        counts.add("clocks")
        let change = Int64.random(in: -86_400_000...3_600_000, using: &random)
        clock.withLock { $0 += change }
    }

    private func beat() throws {
        guard let process = try anyProcess(), process.lease.isHeld else { return }
        let action = try write(process) { db in try process.lease.beat(db, at: now) }
        if action == .lost { forget(process) }
    }

    // MARK: - What the user does

    private func discard() throws {
        guard let process = try anyProcess(),
            let number = expected.filter({ $0.value.isQueued }).keys.sorted().randomElement(using: &random),
            let key = expected[number]?.key
        else { return }
        do {
            let removed = try write(process) { db in
                try process.queue.discard(MutationID(rawValue: key), in: db) { mutation in
                    let number = mutation.mutation?.change.number
                    try db.execute(sql: "DELETE FROM program_row WHERE number = ?", arguments: [number])
                }
            }
            guard let removed else { return }
            var family: Set<Int> = [number]
            var isGrowing = true
            while isGrowing {
                let children = expected.filter { $0.value.isQueued && !family.isDisjoint(with: $0.value.parents) }.keys
                isGrowing = !family.isSuperset(of: children)
                family.formUnion(children)
            }
            try require(
                Set(removed.map(\.rawValue)) == Set(family.compactMap { expected[$0]?.key }),
                "discarding \(number) removed \(removed), and not \(family.sorted())"
            )
            for number in family {
                expected[number]?.isQueued = false
                expected[number]?.isDiscarded = true
            }
            tell("the user discards \(family.sorted())")
            counts.add("discarded", family.count)
        } catch let error as MutationQueueError where error.code == .underWay {
            return
        }
        try check(process)
    }

    private func retry() throws {
        guard let process = try anyProcess() else { return }
        _ = try write(process) { db in try process.queue.retryAll(in: db) }
        counts.add("retries")
    }

    private func pauseOrResume() throws {
        guard let process = try anyProcess() else { return }
        if pause == nil, hasFaults, chance(0.3) {
            if try write(process, { db in try process.queue.pause(.program, in: db) }) != nil {
                tell("the program pauses in process \(process.number)")
                process.schedule.hold()
                knowing.insert(process.number)
            }
        } else {
            if try write(process, { db in try process.queue.resume(in: db) }) != nil { tell("the program resumes") }
        }
        pause = try process.database.read { db in try process.queue.storedPause(in: db) }
    }

    // MARK: - The model

    /// The file and the service have what the model says.
    private func check(_ process: SimulatedProcess) throws {
        let (queued, effects, rows) = try process.database.read { db in
            (
                Set(try String.fetchAll(db, sql: "SELECT id FROM mist_mutation")),
                try Row.fetchAll(db, sql: "SELECT number, count FROM effect").map { ($0[0] as Int, $0[1] as Int) },
                Set(try Int.fetchAll(db, sql: "SELECT number FROM program_row"))
            )
        }
        let applied = Dictionary(effects, uniquingKeysWith: { $1 })
        let done = Dictionary(grouping: service.done, by: \.change)
        for (number, own) in expected.sorted(by: { $0.key < $1.key }) {
            if own.isQueued, !queued.contains(own.key) {
                // It went with the effects of its answer.
                try require(own.wasSent, "\(number) is gone, and was never sent")
                expected[number]?.isQueued = false
                expected[number]?.isDone = true
                counts.add("done")
                if things.keys.contains("thing-\(number)") { things["thing-\(number)"] = "service-\(number)" }
                try require(done[number] != nil, "\(number) is gone, and the service has not done it")
            }
            let isDone = expected[number]?.isDone == true
            try require(
                applied[number, default: 0] == (isDone ? 1 : 0),
                "\(number) is \(isDone ? "" : "not ")done, and had its effect \(applied[number, default: 0]) times"
            )
            try require(!own.isDiscarded || !queued.contains(own.key), "\(number) was discarded and is in the queue")
            try require(
                rows.contains(number) == !own.isDiscarded,
                "the program's row of \(number) is \(own.isDiscarded ? "left" : "gone")"
            )
            try require(done[number]?.count ?? 0 <= 1, "the service has done \(number) twice")
        }
        let keys = Set(expected.values.map(\.key))
        try require(queued.isSubset(of: keys), "the queue has \(queued.subtracting(keys)), which was not added")
    }

    /// A pause has the reason that it began with, until it ends.
    private func checkPause(_ before: StoredPause?, _ process: SimulatedProcess) throws {
        let after = try process.database.read { db in try process.queue.storedPause(in: db) }
        let asked = asked.withLock { $0 }
        let unlimited = asked.filter { $0.time == nil }.map(\.reason)
        if let before, before.until == nil {
            try require(
                after?.reason == before.reason,
                "the pause \(before.reason) became \(after?.reason.rawValue ?? "none")"
            )
        } else if !unlimited.isEmpty {
            try require(
                after.map { unlimited.contains($0.reason) && $0.until == nil } ?? false,
                "the queue pauses because of \(after?.reason.rawValue ?? "nothing"), and not of \(unlimited)"
            )
        } else if !asked.isEmpty {
            try require(after != nil, "the queue does not pause, and was asked to because of \(asked.map(\.reason))")
        }
        if !asked.isEmpty { counts.add("pauses") }
        pause = after
    }

    // MARK: - The end

    /// Lets everything come to its end: no faults, one process after the other, and the user sends again what failed.
    func finish() throws {
        tell("the end begins")
        hasFaults = false
        for _ in 0..<400 {
            present += 10_000
            for process in processes.compactMap(\.self) { process.stoppedUntil = 0 }
            clock.withLock { $0 += 400_000 }
            if processes.allSatisfy({ $0 == nil }) { processes[0] = try start(0) }
            for process in processes.compactMap(\.self) {
                _ = try process.database.write { db in
                    try process.queue.resume(in: db)
                    try process.queue.retryAll(in: db)
                }
                pause = nil
            }
            for _ in 0..<12 {
                if expected.values.allSatisfy({ !$0.isQueued }) { break }
                try turn()
                advance(300)
                for _ in 0..<4 { try deliver() }
            }
            if expected.values.allSatisfy({ !$0.isQueued }) { break }
        }
        let left = expected.filter { $0.value.isQueued }.keys.sorted()
        try require(left.isEmpty, "\(left) were never done")
        for (number, own) in expected where !own.isDiscarded {
            try require(service.done.contains { $0.change == number }, "the service has not done \(number)")
        }
        for (number, _) in service.done {
            let own = expected[number]
            try require(
                own?.isDiscarded != true || own?.wasSent == true,
                "the service has done \(number), which was discarded"
            )
        }
        counts.add("seeds")
    }
}
