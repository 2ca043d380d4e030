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
    }

    static let recordType = "Note"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title)

    var title: String?

    init(title: String) {
        self.title = title
    }

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
    }
}

/// A store on a folder, with the session of its program at the service.
final class AccountDevice {
    let number: Int
    let folder: URL
    let session: AccountSession
    let crash: CrashPoint
    private let configuration: StoreConfiguration
    private(set) var store: MistStore

    init(_ number: Int, in parent: URL, _ session: AccountSession, _ configuration: StoreConfiguration) throws {
        self.number = number
        folder = parent.appendingPathComponent("device\(number)")
        crash = CrashPoint(of: folder)
        self.session = session
        session.crash = crash
        var configuration = configuration
        configuration.transactionObserver = crash
        self.configuration = configuration
        store = try Self.opened(folder, session, configuration)
    }

    func open() throws { store = try Self.opened(folder, session, configuration) }

    private static func opened(
        _ folder: URL,
        _ session: AccountSession,
        _ configuration: StoreConfiguration
    ) throws -> MistStore {
        try MistStore(at: folder, records: [AccountNote.self], service: session, configuration: configuration)
    }

    /// Puts the files back that were there when the process died.
    ///
    /// - Returns: Whether the process has died.
    func restart() throws -> Bool {
        guard let state = crash.takeState() else { return false }
        try? store.close()
        try state.restore(to: folder)
        try open()
        return true
    }
}

/// The session of a program, with the faults of its network. The other user may sign in while a request is under way.
final class AccountSession: SyncService {
    /// How often a fault occurs, for a request.
    struct Faults {
        var lostRequest = 0.0
        var lostReply = 0.0
        var otherSession = 0.0
        var crash = 0.0
    }

    private struct State {
        var number: UInt64 = 1
        var user: String?
        var faults = Faults()
        var generator: SplitMix64
        var lines: [String] = []
        weak var crash: CrashPoint?
    }

    private let state: Mutex<State>
    private let services: [String: EmulatorSyncService]

    init(_ services: [String: EmulatorSyncService], seed: UInt64) {
        self.services = services
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
        let response = await service.response(to: request, in: scope)
        note("\(name) of \(user)")
        if isDeadly {
            note("… and the process dies")
            crash?.die()
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
        return response
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
