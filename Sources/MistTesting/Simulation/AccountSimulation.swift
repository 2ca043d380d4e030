import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import MistKit
import MistStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Two users, who sign in and out on devices with a store each, in one process and in virtual time.
///
/// A seed decides the operations, the faults of the network, and where processes die: before or after each commit of a
/// file, so also within a sign-in, a sign-out and a removal. It drives `MistStore` itself with the emulator's rules. In
/// the end each record is at the service of exactly one user, or still among the records of no one, with its last title;
/// and all devices show each user the same records as the service.
public struct AccountSimulation: Sendable {
    /// The number of devices.
    public var devices = 3
    /// The most processes that a device has on its folder; each device has at least one.
    public var processes = 2
    /// The number of operations on all devices.
    public var operations = 60
    /// Whether records have files. The tasks of a store that transfer them run at the same time, so a seed decides the
    /// operations and the faults, and not in which order tasks end.
    public var hasFiles = false
    /// Whether records that were made while no one is signed in join those of the user who signs in.
    public var joinsRecordsMadeSignedOut = true

    /// Makes a simulation.
    public init() {}

    /// Runs the simulation.
    ///
    /// - Parameter seed: Decides everything.
    /// - Returns: Counts of what happened.
    /// - Throws: A ``SimulationFailure`` that describes the broken condition.
    @discardableResult
    public func run(seed: UInt64) async throws -> AccountCounts {
        var world = try AccountWorld(self, seed: seed)
        defer { world.close() }
        do {
            try await world.run()
            try await world.check()
        } catch let failure as SimulationFailure {
            throw failure
        } catch {
            throw world.failure("\(error)")
        }
        return world.counts
    }
}

/// Counts of what happened in a simulation of accounts.
public struct AccountCounts: Hashable, Sendable {
    /// Operations of all kinds.
    public var operations = 0
    /// Sign-ins that opened the records of a user.
    public var signIns = 0
    /// Sign-outs after which the records were kept.
    public var signOuts = 0
    /// Sign-outs with which the records were removed.
    public var removals = 0
    /// Sessions that began without a call of the store.
    public var silentSessions = 0
    /// Devices that lost their power, with all their processes.
    public var crashes = 0
    /// Requests and records that were throttled.
    public var throttles = 0
    /// Files that were transferred.
    public var transfers = 0
    /// The number of times that a process acted while a request of another one was under way.
    public var interruptions = 0
    /// Records that were made while no one was signed in, and joined those of a user.
    public var joined = 0
    /// Records that the services of both users had in the end.
    public var records = 0

    /// Makes counts that are all zero.
    public init() {}

    /// Adds the counts of another simulation.
    public static func += (left: inout AccountCounts, right: AccountCounts) {
        left.operations += right.operations
        left.signIns += right.signIns
        left.signOuts += right.signOuts
        left.removals += right.removals
        left.silentSessions += right.silentSessions
        left.crashes += right.crashes
        left.throttles += right.throttles
        left.transfers += right.transfers
        left.interruptions += right.interruptions
        left.joined += right.joined
        left.records += right.records
    }
}

/// The state of a run.
struct AccountWorld {
    /// Whose a record is.
    enum NoteHolder: Hashable {
        case user(String)
        /// It was made on this device while no one was signed in.
        case noOne(Int)
    }

    struct ExpectedNote {
        var place: NoteHolder
        var title: String
        /// The number of the file.
        var file: Int?
        var isDeleted = false
        /// Whether a person has removed a change of it that may not have been sent.
        var isUncertain = false
    }

    let simulation: AccountSimulation
    let seed: UInt64
    let folder: URL
    let time: Mutex<Int64>.Box
    let users: [String]
    let services: [String: EmulatorSyncService]
    var generator: SplitMix64
    var devices: [AccountDevice] = []
    var notes: [String: ExpectedNote] = [:]
    /// The users who have made records of the public database.
    var authors: [String: String] = [:]
    var counts = AccountCounts()
    var story: [String] = []

    init(_ simulation: AccountSimulation, seed: UInt64) throws {
        self.simulation = simulation
        self.seed = seed
        generator = SplitMix64(seed: seed)
        let time = Mutex<Int64>.Box(1_767_225_600_000)
        self.time = time
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("accounts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let clock: @Sendable () -> Date = { Date(timeIntervalSince1970: Double(time.withLock { $0 }) / 1000) }
        let bytes = SeededBytes(seed: seed &+ 1)
        let emulator = try CloudKitEmulator(identifiers: IdentifierSource { bytes.next($0) }, clock: clock)
        users = try (0..<2).map { try emulator.createUser(emailAddress: "user\($0)@example.com") }
        services = Dictionary(
            uniqueKeysWithValues: users.map {
                ($0, EmulatorSyncService(emulator, container: SimulatedWorld.container, user: $0))
            }
        )
        var configuration = StoreConfiguration()
        configuration.clock = clock
        configuration.joinsRecordsMadeSignedOut = simulation.joinsRecordsMadeSignedOut
        configuration.massDeletionLimit = nil
        let random = Mutex<SplitMix64>.Box(SplitMix64(seed: seed &+ 2))
        configuration.random = { random.withLock { Double.random(in: 0..<1, using: &$0) } }
        for number in 1...simulation.devices {
            let count = Int.random(in: 1...max(simulation.processes, 1), using: &generator)
            let sessions = (0..<count).map { _ in
                AccountSession(services, seed: generator.next(), hasFiles: simulation.hasFiles)
            }
            devices.append(try AccountDevice(number, in: folder, sessions, configuration))
        }
    }

    func close() {
        for device in devices { device.close() }
        try? FileManager.default.removeItem(at: folder)
    }

    func failure(_ message: String) -> SimulationFailure {
        SimulationFailure(seed: seed, message: message, story: story)
    }

    mutating func tell(_ line: String) {
        story.append("\(time.withLock { $0 } - 1_767_225_600_000) ms  \(line)")
    }

    func name(_ user: String?) -> String {
        user.flatMap { users.firstIndex(of: $0) }.map { "user \($0 + 1)" } ?? "no one"
    }

    // MARK: Steps

    mutating func run() async throws {
        while counts.operations < simulation.operations {
            counts.operations += 1
            time.withLock { $0 += Int64.random(in: 1000...5000, using: &generator) }
            let device = devices[Int.random(in: 0..<devices.count, using: &generator)]
            device.current = Int.random(in: 0..<device.processes.count, using: &generator)
            let kind = Double.random(in: 0..<1, using: &generator)
            if kind < 0.5 {
                try await edit(device)
                continue
            }
            let isDeadly = generator.chance(0.35)
            device.session.faults = AccountSession.Faults(
                lostRequest: 0.04,
                lostReply: 0.06,
                throttle: 0.04,
                failedItem: 0.05,
                otherSession: 0.04,
                otherProcess: 0.2,
                crash: isDeadly ? 0.1 : 0
            )
            device.crash.arm(after: isDeadly ? Int.random(in: 1...16, using: &generator) : nil)
            var signingIn: String?
            switch kind {
            case ..<0.68: try await synchronise(device)
            case ..<0.82:
                let user = users[Int.random(in: 0..<2, using: &generator)]
                signingIn = user
                try await signIn(user, on: device)
            case ..<0.91: try await signOut(of: device)
            case ..<0.94: try await remove(from: device)
            case ..<0.97: try silentSession(on: device)
            default:
                tell("\(device.name) opens its store again")
                try device.store.close()
                do { try device.open() } catch { guard device.crash.isDead else { throw error } }
            }
            try await end(device, signingIn: signingIn)
        }
    }

    /// Lets the process begin again, if it has died, and looks at what it shows.
    private mutating func end(_ device: AccountDevice, signingIn: String?) async throws {
        device.crash.arm(after: nil)
        device.session.faults = AccountSession.Faults()
        device.session.interruption = nil
        for line in device.session.takeLines() { tell(line) }
        let hasDied = device.crash.isDead
        if let error = device.session.takeInterruptionError(), !hasDied { throw error }
        if hasDied {
            counts.crashes += 1
            tell("device \(device.number) dies and starts again")
            guard try device.restart() else { throw failure("The files were not kept.") }
        }
        for index in device.processes.indices {
            device.current = index
            try await look(at: device, afterSignInOf: hasDied ? signingIn : nil)
        }
    }

    /// Runs a step that may fail when the process dies in it, or when the service cannot be asked.
    private mutating func attempt(
        _ device: AccountDevice,
        _ codes: Set<StoreError.Code> = [],
        _ body: () async throws -> Void
    ) async throws -> Bool {
        do {
            try await body()
            return true
        } catch {
            if device.crash.isDead { return false }
            switch error {
            case let error as StoreError where codes.contains(error.code): tell("  refused: \(error.code)")
            case let error as CloudKitError: tell("  failed: \(error.code)")
            default: throw error
            }
            return false
        }
    }

    private mutating func edit(_ device: AccountDevice) async throws {
        let owner = try await device.store.account.owner
        let place = owner.map { NoteHolder.user($0) } ?? .noOne(device.number)
        let database = device.store.privateDatabase
        let present = try await database.find(Query<AccountNote>()).map(\.recordName).sorted()
        let kind = Double.random(in: 0..<1, using: &generator)
        let title = "t\(counts.operations)"
        if kind < 0.1, let owner {
            let record = "p\(counts.operations)"
            let isAdded = try await attempt(device, [.otherUser]) {
                try await device.store.publicDatabase.add(AccountNote(title: title), named: record)
            }
            tell("\(device.name) adds \(record) of \(name(owner)) to the public database: \(isAdded)")
            if isAdded { authors[record] = owner }
        } else if kind < 0.5 || present.isEmpty {
            let record = "r\(counts.operations)"
            tell("\(device.name) adds \(record) of \(name(owner))")
            let (image, file) = try await newFile(of: database)
            try await database.add(AccountNote(title: title, image: image), named: record)
            notes[record] = ExpectedNote(place: place, title: title, file: file)
        } else if kind < 0.85 {
            let record = present[Int.random(in: 0..<present.count, using: &generator)]
            tell("\(device.name) changes \(record) of \(name(owner)) to \(title)")
            let (image, file) = try await newFile(of: database)
            try await database.update(AccountNote.self, named: record) { note in
                note.title = title
                if let image { note.image = image }
            }
            notes[record]?.title = title
            if file != nil { notes[record]?.file = file }
        } else {
            let record = present[Int.random(in: 0..<present.count, using: &generator)]
            tell("\(device.name) deletes \(record) of \(name(owner))")
            try await database.remove(AccountNote.self, named: record)
            notes[record]?.isDeleted = true
        }
    }

    /// Adds a file, which some records share.
    private mutating func newFile(of database: LocalDatabase) async throws -> (image: Asset?, number: Int?) {
        guard simulation.hasFiles, generator.chance(0.4) else { return (nil, nil) }
        let number = generator.chance(0.5) ? Int.random(in: 0...3, using: &generator) : counts.operations + 8
        return (try await database.addFile(SimulatedWorld.SimulatedFile(number: number).bytes), number)
    }

    private mutating func synchronise(_ device: AccountDevice) async throws {
        tell("\(device.name) synchronises in the session of \(name(device.session.user))")
        try await prepareInterruption(of: device)
        _ = try await attempt(device, [.otherUser, .accountChanged]) { try await device.store.sync() }
    }

    /// Another process signs in or out while a request of this one is under way.
    private mutating func prepareInterruption(of device: AccountDevice) async throws {
        let others = device.processes.indices.filter { $0 != device.current }
        // Records of no one would join those of one of two users.
        guard let index = others.randomElement(using: &generator), try await device.store.account.owner != nil
        else { return }
        let other = device.processes[index]
        let user = generator.chance(0.5) ? users.randomElement(using: &generator) : nil
        let line = "process \(index + 1) \(user == nil ? "signs out" : "signs \(name(user)) in")"
        device.session.interruption = AccountSession.Interruption(line: line) {
            if let user {
                try await other.store.signIn { other.session.begin(user) }
            } else {
                try await other.store.signOut { other.session.begin(nil) }
            }
        }
    }

    private mutating func signIn(_ user: String, on device: AccountDevice) async throws {
        tell("\(name(user)) signs in on \(device.name)")
        counts.signIns += 1
        _ = try await attempt(device) { try await device.store.signIn { device.session.begin(user) } }
    }

    private mutating func signOut(of device: AccountDevice) async throws {
        tell("\(device.name) signs out")
        counts.signOuts += 1
        _ = try await attempt(device) { try await device.store.signOut { device.session.begin(nil) } }
    }

    /// A person signs out, and removes the records that are open, with the changes that were not sent.
    private mutating func remove(from device: AccountDevice) async throws {
        let pending = try await device.store.pendingChanges()
        let names = (Array(pending.edited.values) + Array(pending.deleted.values)).flatMap(\.self).sorted()
        tell("\(device.name) signs out, and removes the records with the changes of \(names)")
        counts.removals += 1
        for name in names { notes[name]?.isUncertain = true }
        _ = try await attempt(device) {
            try await device.store.signOut(.removed(pending)) { device.session.begin(nil) }
        }
    }

    /// Another part of the program replaces the session, and does not tell the store.
    private mutating func silentSession(on device: AccountDevice) throws {
        let user = generator.chance(0.3) ? nil : users[Int.random(in: 0..<2, using: &generator)]
        tell("\(device.name) has the session of \(name(user))")
        counts.silentSessions += 1
        device.session.begin(user)
    }
}
