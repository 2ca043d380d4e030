import CloudKitModel
import CloudKitWebServices
import GRDB
import MistKit
import MistStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A record of a simulation of accounts.
struct AccountNote: Hashable, CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
        let image = RecordField<Asset>("image")
    }

    static let recordType = "Note"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title, fields.image)

    var title: String?
    var image: Asset?

    init(title: String, image: Asset? = nil) {
        (self.title, self.image) = (title, image)
    }

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            case 1: image = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
        writer.write(1, image)
    }
}

/// A folder of a store, with the processes that have it open.
final class AccountDevice {
    /// A process with its store, and with the session of its program at the service.
    struct Process {
        let session: AccountSession
        var store: MistStore
    }

    let number: Int
    let folder: URL
    let crash: CrashPoint
    private let configuration: StoreConfiguration
    private(set) var processes: [Process] = []
    /// The process that acts now.
    var current = 0

    init(_ number: Int, in parent: URL, _ sessions: [AccountSession], _ configuration: StoreConfiguration) throws {
        self.number = number
        folder = parent.appendingPathComponent("device\(number)")
        crash = CrashPoint(of: folder)
        var configuration = configuration
        configuration.transactionObserver = crash
        self.configuration = configuration
        for session in sessions {
            session.crash = crash
            processes.append(Process(session: session, store: try opened(by: session)))
        }
    }

    var store: MistStore { processes[current].store }
    var session: AccountSession { processes[current].session }
    /// The name of the process that acts now.
    var name: String { "device \(number)" + (processes.count == 1 ? "" : ", process \(current + 1),") }

    /// Opens the store of the process that acts now.
    func open() throws { processes[current].store = try opened(by: session) }

    private func opened(by session: AccountSession) throws -> MistStore {
        try MistStore(at: folder, records: [AccountNote.self], service: session, configuration: configuration)
    }

    func close() { for process in processes { try? process.store.close() } }

    /// Puts the files back that were there when the device lost its power, and starts its processes again.
    ///
    /// - Returns: Whether it has lost its power.
    func restart() throws -> Bool {
        guard let state = crash.takeState() else { return false }
        close()
        try state.restore(to: folder)
        for index in processes.indices { processes[index].store = try opened(by: processes[index].session) }
        return true
    }
}

/// The session of a program, with the faults of its network. The other user may sign in while a request is under way.
final class AccountSession: SyncService {
    /// How often a fault occurs, for a request.
    struct Faults {
        var lostRequest = 0.0
        var lostReply = 0.0
        var throttle = 0.0
        /// One record of a batch is to come later.
        var failedItem = 0.0
        var otherSession = 0.0
        /// Another process of the device acts while the request is under way.
        var otherProcess = 0.0
        var crash = 0.0
    }

    /// What another process does while a request is under way.
    struct Interruption: Sendable {
        let line: String
        let body: @Sendable () async throws -> Void
    }

    private struct State {
        var number: UInt64 = 1
        var user: String?
        var faults = Faults()
        var generator: SplitMix64
        var lines: [String] = []
        var throttles = 0
        var transfers = 0
        var interruption: Interruption?
        var interruptions = 0
        var interruptionError: (any Error)?
        /// How often each transfer was tried.
        var attempts: [String: UInt64] = [:]
        weak var crash: CrashPoint?
    }

    private let state: Mutex<State>
    private let services: [String: EmulatorSyncService]
    private let seed: UInt64
    /// Whether records have files. The tasks that transfer them write beside the one that sends requests.
    private let hasFiles: Bool

    init(_ services: [String: EmulatorSyncService], seed: UInt64, hasFiles: Bool) {
        (self.services, self.seed, self.hasFiles) = (services, seed, hasFiles)
        state = Mutex(State(generator: SplitMix64(seed: seed)))
    }

    var session: UInt64 { state.withLock { $0.number } }
    var user: String? { state.withLock { $0.user } }

    var faults: Faults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    var crash: CrashPoint? {
        get { state.withLock { $0.crash } }
        set { state.withLock { $0.crash = newValue } }
    }

    /// What another process does during one of the next requests.
    var interruption: Interruption? {
        get { state.withLock { $0.interruption } }
        set { state.withLock { $0.interruption = newValue } }
    }

    /// The number of times that another process has acted during a request.
    var interruptions: Int { state.withLock { $0.interruptions } }

    /// The error of what another process has done since the last call.
    func takeInterruptionError() -> (any Error)? {
        state.withLock { state in
            defer { state.interruptionError = nil }
            return state.interruptionError
        }
    }

    /// The number of files that were transferred.
    var transfers: Int { state.withLock { $0.transfers } }

    /// The number of requests and items that were throttled.
    var throttles: Int { state.withLock { $0.throttles } }

    /// Begins the session of a user, or of no one.
    func begin(_ user: String?) {
        state.withLock { state in
            guard state.user != user else { return }
            state.user = user
            state.number += 1
        }
    }

    /// What has happened to requests since the last call.
    func takeLines() -> [String] {
        state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
    }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        try await response(to: request, in: scope, ofSession: session).result.get()
    }

    func response(
        to request: SyncRequest,
        in scope: DatabaseScope,
        ofSession session: UInt64
    ) async throws -> SyncResponse {
        if crash?.isDead == true { return SyncResponse(.failure(Self.broken)) }
        let (user, fate, isDeadly) = state.withLock { state -> (String?, Double, Bool) in
            let fate = Double.random(in: 0..<1, using: &state.generator)
            return (state.number == session ? state.user : nil, fate, state.generator.chance(state.faults.crash))
        }
        let faults = faults
        let name = "\(scope.rawValue) \(request.isWrite ? "write" : "read")"
        if fate < faults.lostRequest {
            note("\(name) of \(user ?? "no one") never arrives")
            return SyncResponse(.failure(Self.broken))
        }
        guard let user, let service = services[user] else {
            note("\(name) without a session")
            return SyncResponse(.failure(CloudKitError(ErrorResponse(serverErrorCode: .authenticationRequired))))
        }
        let isThrottled = state.withLock { $0.generator.chance(faults.throttle) }
        if isThrottled {
            note("\(name) of \(user) is to come later")
            state.withLock { $0.throttles += 1 }
            return SyncResponse(.failure(.throttled()))
        }
        let response = await answer(request, in: scope, by: service, faults)
        note("\(name) of \(user)")
        if isDeadly {
            note("… and the process dies")
            // Only in a commit is no other task writing.
            if hasFiles { crash?.arm(after: 1) } else { crash?.die() }
        }
        if fate < faults.lostRequest + faults.lostReply {
            note("… and the reply is lost")
            return SyncResponse(.failure(Self.broken))
        }
        if fate < faults.lostRequest + faults.lostReply + faults.otherSession {
            let other = services.keys.sorted().first { $0 != user }
            note("… and \(other ?? "no one") signs in before the reply arrives")
            begin(other)
        }
        let interruption = state.withLock { state -> Interruption? in
            guard state.generator.chance(faults.otherProcess) else { return nil }
            defer { state.interruption = nil }
            return state.interruption
        }
        guard let interruption else { return response }
        note("… and before the reply arrives, \(interruption.line)")
        state.withLock { $0.interruptions += 1 }
        do {
            try await interruption.body()
        } catch {
            state.withLock { $0.interruptionError = error }
        }
        return response
    }

    /// Lets the service carry out a request, sometimes except for one record, which is to come later.
    private func answer(
        _ request: SyncRequest,
        in scope: DatabaseScope,
        by service: EmulatorSyncService,
        _ faults: Faults
    ) async -> SyncResponse {
        let index = state.withLock { state -> Int? in
            guard case .modify(let operations, _, _) = request, state.generator.chance(faults.failedItem) else {
                return nil
            }
            return operations.indices.randomElement(using: &state.generator)
        }
        guard let index, let rest = request.leavingOut(index) else {
            return await service.response(to: request, in: scope)
        }
        note("… and \(rest.name) is to come later")
        state.withLock { $0.throttles += 1 }
        let error = CloudKitError.throttled(rest.name)
        guard let request = rest.request else {
            return SyncResponse(.success(.records(rest.results([], index, error))))
        }
        let response = await service.response(to: request, in: scope)
        guard case .success(.records(let results)) = response.result else { return response }
        return SyncResponse(.success(.records(rest.results(results, index, error))), date: response.date)
    }

    func upload(
        _ upload: AssetUpload,
        inZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws -> Asset {
        try await transfer("upload for \(upload.recordName ?? "")", session) { service in
            try await service.upload(upload, inZone: zone, of: scope, ofSession: session, progress: progress)
        }
    }

    func rereference(_ field: AssetField, forZone zone: ZoneID, of scope: DatabaseScope, ofSession session: UInt64)
        async throws -> Asset
    {
        try await transfer("second use of the file of \(field.recordName)", session) { service in
            try await service.rereference(field, forZone: zone, of: scope, ofSession: session)
        }
    }

    func download(
        _ field: AssetField,
        to file: URL,
        from scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws {
        try await transfer("download of \(field.recordName)", session) { service in
            try await service.download(field, to: file, from: scope, ofSession: session, progress: progress)
        }
    }

    /// Makes a transfer. Its faults follow from its name and from the number of attempts, because several tasks transfer
    /// files at the same time.
    private func transfer<Value>(
        _ name: String,
        _ session: UInt64,
        _ body: (EmulatorSyncService) async throws -> Value
    ) async throws -> Value {
        if crash?.isDead == true { throw Self.broken }
        let (user, fate, faults) = state.withLock { state -> (String??, Double, Faults) in
            let attempt = state.attempts[name, default: 0]
            state.attempts[name] = attempt + 1
            let start = name.utf8.reduce(seed &+ attempt) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            var generator = SplitMix64(seed: start)
            let fate = Double.random(in: 0..<1, using: &generator)
            return (state.number == session ? .some(state.user) : nil, fate, state.faults)
        }
        guard let user else { throw CloudKitError(code: .cancelled, message: "Another session has begun.") }
        if fate < faults.lostRequest {
            note("\(name) never arrives")
            throw Self.broken
        }
        guard let user, let service = services[user] else {
            throw CloudKitError(ErrorResponse(serverErrorCode: .authenticationRequired))
        }
        let value = try await body(service)
        state.withLock { $0.transfers += 1 }
        note("\(name) of \(user)")
        guard fate >= faults.lostRequest + faults.lostReply else {
            note("… and the reply is lost")
            throw Self.broken
        }
        return value
    }

    private func note(_ line: String) { state.withLock { $0.lines.append("  " + line) } }

    private static var broken: CloudKitError {
        var error = CloudKitError(code: .network, message: "The connection broke.")
        error.mayHaveBeenDone = true
        return error
    }
}

/// The moment at which a process dies: before or after a commit of one of its files, or between a request and its reply.
///
/// The files are kept as they are then. What the process does afterwards is undone, and reaches no service.
final class CrashPoint: TransactionObserver, Sendable {
    /// The files of a folder at a moment.
    struct State: Sendable {
        fileprivate var files: [(path: String, link: URL, content: Data)] = []
        fileprivate let links: URL

        /// Puts the files back. They have the numbers of inodes that they had, so they are no copies.
        func restore(to folder: URL) throws {
            let manager = FileManager.default
            try manager.removeItem(at: folder)
            try manager.createDirectory(at: folder, withIntermediateDirectories: true)
            for file in files {
                let target = folder.appendingPathComponent(file.path)
                let parent = target.deletingLastPathComponent()
                try manager.createDirectory(at: parent, withIntermediateDirectories: true)
                try file.content.write(to: file.link)
                try manager.moveItem(at: file.link, to: target)
            }
            try manager.removeItem(at: links)
        }
    }

    private struct Course {
        /// The number of moments that are left.
        var countdown: Int?
        var state: State?
        var isDead = false
    }

    private let folder: URL
    private let course = Mutex(Course())

    init(of folder: URL) {
        self.folder = folder
    }

    /// Whether the process has died.
    var isDead: Bool { course.withLock { $0.isDead } }

    /// Lets the process die after a number of moments; `nil` lets it live.
    func arm(after moments: Int?) { course.withLock { $0.countdown = moments } }

    /// The files at the death of the process, which begins again.
    func takeState() -> State? {
        course.withLock { course in
            defer { course = Course() }
            return course.state
        }
    }

    /// The process dies now.
    func die() {
        course.withLock { course in
            guard !course.isDead else { return }
            course.isDead = true
            course.state = try? present()
        }
    }

    private func present() throws -> State {
        let manager = FileManager.default
        var state = State(links: folder.appendingPathExtension("links"))
        try manager.createDirectory(at: state.links, withIntermediateDirectories: true)
        for path in try manager.subpathsOfDirectory(atPath: folder.path).sorted() where !path.hasSuffix("-shm") {
            let url = folder.appendingPathComponent(path)
            let kind = try manager.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType
            guard kind == .typeRegular else { continue }
            let link = state.links.appendingPathComponent("\(state.files.count)")
            try manager.linkItem(at: url, to: link)
            state.files.append((path, link, try Data(contentsOf: url)))
        }
        return state
    }

    private func pass() {
        let isDeadly = course.withLock { course in
            guard let left = course.countdown else { return false }
            course.countdown = left > 1 ? left - 1 : nil
            return left == 1
        }
        if isDeadly { die() }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { pass() }
    func databaseDidCommit(_ db: Database) { pass() }
    func databaseDidRollback(_ db: Database) {}
}
