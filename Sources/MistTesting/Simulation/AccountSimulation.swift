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
    /// The number of operations on all devices.
    public var operations = 60
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
    /// Processes that died.
    public var crashes = 0
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
        left.joined += right.joined
        left.records += right.records
    }
}

private struct AccountWorld {
    /// Whose a record is.
    enum NoteHolder: Hashable {
        case user(String)
        /// It was made on this device while no one was signed in.
        case noOne(Int)
    }

    struct ExpectedNote {
        var place: NoteHolder
        var title: String
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
            let session = AccountSession(services, seed: generator.next())
            devices.append(try AccountDevice(number, in: folder, session, configuration))
        }
    }

    func close() {
        for device in devices { try? device.store.close() }
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
            let kind = Double.random(in: 0..<1, using: &generator)
            if kind < 0.5 {
                try await edit(device)
                continue
            }
            let isDeadly = generator.chance(0.35)
            device.session.faults = AccountSession.Faults(
                lostRequest: 0.04,
                lostReply: 0.06,
                otherSession: 0.04,
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
                tell("device \(device.number) opens its store again")
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
        for line in device.session.takeLines() { tell(line) }
        if device.crash.isDead {
            counts.crashes += 1
            tell("device \(device.number) dies and starts again")
            guard try device.restart() else { throw failure("The files were not kept.") }
            try await look(at: device, afterSignInOf: signingIn)
        } else {
            try await look(at: device)
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
            tell("device \(device.number) adds \(record) of \(name(owner)) to the public database: \(isAdded)")
            if isAdded { authors[record] = owner }
        } else if kind < 0.5 || present.isEmpty {
            let record = "r\(counts.operations)"
            tell("device \(device.number) adds \(record) of \(name(owner))")
            try await database.add(AccountNote(title: title), named: record)
            notes[record] = ExpectedNote(place: place, title: title)
        } else if kind < 0.85 {
            let record = present[Int.random(in: 0..<present.count, using: &generator)]
            tell("device \(device.number) changes \(record) of \(name(owner)) to \(title)")
            try await database.update(AccountNote.self, named: record) { $0.title = title }
            notes[record]?.title = title
        } else {
            let record = present[Int.random(in: 0..<present.count, using: &generator)]
            tell("device \(device.number) deletes \(record) of \(name(owner))")
            try await database.remove(AccountNote.self, named: record)
            notes[record]?.isDeleted = true
        }
    }

    private mutating func synchronise(_ device: AccountDevice) async throws {
        tell("device \(device.number) synchronises in the session of \(name(device.session.user))")
        _ = try await attempt(device, [.otherUser, .accountChanged]) { try await device.store.sync() }
    }

    private mutating func signIn(_ user: String, on device: AccountDevice) async throws {
        tell("\(name(user)) signs in on device \(device.number)")
        counts.signIns += 1
        _ = try await attempt(device) { try await device.store.signIn { device.session.begin(user) } }
    }

    private mutating func signOut(of device: AccountDevice) async throws {
        tell("device \(device.number) signs out")
        counts.signOuts += 1
        _ = try await attempt(device) { try await device.store.signOut { device.session.begin(nil) } }
    }

    /// A person signs out, and removes the records that are open, with the changes that were not sent.
    private mutating func remove(from device: AccountDevice) async throws {
        let pending = try await device.store.pendingChanges()
        let names = (Array(pending.edited.values) + Array(pending.deleted.values)).flatMap(\.self).sorted()
        tell("device \(device.number) signs out, and removes the records with the changes of \(names)")
        counts.removals += 1
        for name in names { notes[name]?.isUncertain = true }
        _ = try await attempt(device) {
            try await device.store.signOut(.removed(pending)) { device.session.begin(nil) }
        }
    }

    /// Another part of the program replaces the session, and does not tell the store.
    private mutating func silentSession(on device: AccountDevice) throws {
        let user = generator.chance(0.3) ? nil : users[Int.random(in: 0..<2, using: &generator)]
        tell("device \(device.number) has the session of \(name(user))")
        counts.silentSessions += 1
        device.session.begin(user)
    }

    // MARK: Checks

    /// Checks that the records are those of the account that is open, and notes which have joined it.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - user: The user in whose sign-in the process has died. Records of no one that are not there any more have
    ///     joined those of this user, although these may not be open.
    /// - Throws: A ``SimulationFailure``, or the error of the store.
    private mutating func look(at device: AccountDevice, afterSignInOf user: String? = nil) async throws {
        let owner = try await device.store.account.owner
        let here = NoteHolder.noOne(device.number)
        let place = owner.map { NoteHolder.user($0) } ?? here
        let present = try await device.store.privateDatabase.find(Query<AccountNote>())
        for note in present {
            guard let expected = notes[note.recordName] else {
                throw failure("No user has made \(note.recordName).")
            }
            if expected.place == here, place != here, simulation.joinsRecordsMadeSignedOut {
                counts.joined += 1
                tell("\(note.recordName) has joined \(name(owner))")
                notes[note.recordName]?.place = place
            } else if expected.place != place {
                throw failure(
                    "\(note.recordName) is of \(expected.place), and device \(device.number) shows it to \(place)."
                )
            }
        }
        let names = Set(present.map(\.recordName))
        for (name, expected) in notes.sorted(by: { $0.key < $1.key }) where expected.place == here {
            let isHere = place == here || simulation.joinsRecordsMadeSignedOut
            guard isHere, !expected.isDeleted, !expected.isUncertain, !names.contains(name) else { continue }
            if let user, place == here, simulation.joinsRecordsMadeSignedOut {
                counts.joined += 1
                tell("\(name) has joined the records of \(self.name(user)), which are not open")
                notes[name]?.place = .user(user)
                continue
            }
            throw failure("\(name) was made while no one was signed in, and device \(device.number) does not have it.")
        }
        // Only the device on which a record was made can have changed it while it was no one's.
        for note in present where place == here && note.model.title != notes[note.recordName]?.title {
            throw failure("\(note.recordName) has the title \(note.model.title ?? ""), and not its last one.")
        }
    }

    /// Lets all users synchronise on all devices without faults, and compares the services with the model.
    mutating func check() async throws {
        tell("the faults end")
        for _ in 0..<3 {
            for device in devices {
                for user in users {
                    time.withLock { $0 += 3_600_000 }
                    try await device.store.signIn { device.session.begin(user) }
                    try await look(at: device)
                    try await device.store.sync()
                    try await look(at: device)
                }
            }
        }
        for line in devices.flatMap({ $0.session.takeLines() }) { tell(line) }
        for user in users { try await check(user) }
        for device in devices {
            try await device.store.signOut { device.session.begin(nil) }
            try await look(at: device)
            let present = try await device.store.privateDatabase.find(Query<AccountNote>())
            guard present.isEmpty || !simulation.joinsRecordsMadeSignedOut else {
                throw failure("Device \(device.number) has records of no one: \(present.map(\.recordName)).")
            }
        }
        for (record, author) in authors.sorted(by: { $0.key < $1.key }) {
            guard let service = services[users[0]],
                case .records(let results) = try service.reply(to: .lookup([record], zone: .default), in: .public),
                let found = try? results.first?.get(), found.created?.userRecordName == author
            else { throw failure("\(record) of \(name(author)) is not in the public database under that name.") }
        }
    }

    private mutating func check(_ user: String) async throws {
        let there = try records(of: user)
        counts.records += there.count
        for (record, title) in there.sorted(by: { $0.key < $1.key }) {
            guard let expected = notes[record], expected.place == .user(user) else {
                throw failure("The service of \(name(user)) has \(record) of \(notes[record]?.place as Any).")
            }
            guard !expected.isUncertain else { continue }
            guard !expected.isDeleted, expected.title == title else {
                throw failure("\(record) of \(name(user)) is \(title), and should be \(expected).")
            }
        }
        for (record, expected) in notes.sorted(by: { $0.key < $1.key }) where expected.place == .user(user) {
            guard !expected.isDeleted, !expected.isUncertain, there[record] == nil else { continue }
            throw failure("\(record) of \(name(user)) is not at the service.")
        }
        for device in devices {
            try await device.store.signIn { device.session.begin(user) }
            let here = Dictionary(
                uniqueKeysWithValues: try await device.store.privateDatabase.find(Query<AccountNote>())
                    .map { ($0.recordName, $0.model.title ?? "") }
            )
            guard here == there else {
                throw failure("Device \(device.number) shows \(here) to \(name(user)), and the service has \(there).")
            }
            guard try await device.store.pendingChanges().isEmpty else {
                throw failure("Device \(device.number) has changes of \(name(user)) left.")
            }
        }
    }

    /// The titles of the records that a user has at the service.
    private func records(of user: String) throws -> [String: String] {
        guard let service = services[user],
            case .databaseChanges(let list) = try service.reply(to: .databaseChanges(since: nil), in: .private)
        else { throw failure("The service does not list its zones.") }
        var titles: [String: String] = [:]
        for zone in list.changedZones.map(\.zoneID) {
            var token: ZoneChangeToken?
            while true {
                let cursor = SyncRequest.ZoneCursor(zoneID: zone, token: token)
                guard case .zoneChanges(let pages) = try service.reply(to: .zoneChanges([cursor]), in: .private),
                    let page = try pages.first?.get()
                else { break }
                for record in try page.results.map({ try $0.get() }) where !record.isDeleted {
                    titles[record.recordName ?? ""] = record.fields["title"]?.plain.stringValue ?? ""
                }
                guard page.moreComing else { break }
                token = page.token
            }
        }
        return titles
    }
}
