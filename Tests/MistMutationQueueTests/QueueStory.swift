import Foundation
import GRDB
import MistMutationQueue
import Synchronization

/// What the tests send: a line for a list of a service.
struct Line: Codable, Hashable, Sendable {
    var text: String
    var list: ProvisionalID?
}

/// A service that does a mutation once for each key, and once for each request without one.
final class LineService: Sendable {
    struct State {
        /// What was done, in its order.
        var done: [String] = []
        var answers: [String: Int] = [:]
        /// What the next requests are answered with; then they are done.
        var errors: [String: [ServiceError]] = [:]
        var underWay = 0
        var mostUnderWay = 0
        var requests: [String] = []
    }

    struct ServiceError: Error, CustomStringConvertible {
        enum Kind { case lostRequest, lostReply, refused, offline, signedOut, throttled }
        let kind: Kind
        var description: String { "\(kind)" }
        init(_ kind: Kind) { self.kind = kind }
    }

    let state = Mutex(State())

    var done: [String] { state.withLock { $0.done } }
    var requests: [String] { state.withLock { $0.requests } }

    func fail(_ text: String, _ kinds: ServiceError.Kind...) {
        state.withLock { $0.errors[text] = kinds.map(ServiceError.init) }
    }

    func send(_ text: String, key: String?) async throws -> Int {
        state.withLock { state in
            state.underWay += 1
            state.mostUnderWay = max(state.mostUnderWay, state.underWay)
            state.requests.append(text)
        }
        await Task.yield()
        return try state.withLock { state in
            state.underWay -= 1
            var error: ServiceError?
            if state.errors[text]?.isEmpty == false { error = state.errors[text]?.removeFirst() }
            if let error, error.kind != .lostReply { throw error }
            let answer = key.flatMap { state.answers[$0] } ?? state.done.count
            if key.map({ state.answers[$0] == nil }) ?? true { state.done.append(text) }
            if let key { state.answers[key] = answer }
            if let error { throw error }
            return answer
        }
    }
}

/// A queue in a file, with a service and a clock.
final class QueueStory: Sendable {
    let folder: URL
    let database: DatabasePool
    let service = LineService()
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    private let last = Mutex(0)

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "queue-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        database = try Self.open(folder.appending(path: "program.sqlite").path)
        try database.write { try $0.execute(sql: "CREATE TABLE line (text TEXT PRIMARY KEY, answer INTEGER)") }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Another connection to the file, as another process has one.
    func secondDatabase() throws -> DatabasePool { try Self.open(database.path) }

    /// Without a timeout, a process would meet each write of another one as an error.
    private static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        return try DatabasePool(path: path, configuration: configuration)
    }

    func advance(_ seconds: Double) { time.withLock { $0 += seconds } }

    var configuration: MutationQueueConfiguration {
        var configuration = MutationQueueConfiguration()
        configuration.clock = { [self] in time.withLock { $0 } }
        configuration.random = { 0.5 }
        configuration.pollInterval = .milliseconds(20)
        configuration.makeID = { [self] in
            let number = last.withLock { last in
                last += 1
                return last
            }
            return MutationID(rawValue: "key-\(number)")
        }
        return configuration
    }

    /// Sends a line, and notes the answer in the row that has its text.
    var handlers: MutationHandlers<Line> {
        var handlers = MutationHandlers<Line> { [service] line in
            let text = line.mutation.text + (line.mutation.list.map { " in \($0)" } ?? "")
            let answer = try await service.send(text, key: line.id.rawValue)
            return MutationEffects { db in
                try db.execute(
                    sql: "INSERT INTO line (text, answer) VALUES (?, ?)",
                    arguments: [text, answer]
                )
            }
        }
        handlers.decide = { error, _ in
            switch (error as? LineService.ServiceError)?.kind {
            case .refused: .refused()
            case .offline: .wait(.offline, for: .seconds(30))
            case .signedOut: .wait(.signedOut)
            case .throttled: .again(after: .seconds(60))
            default: .again()
            }
        }
        return handlers
    }

    func queue(
        _ database: DatabasePool? = nil,
        named name: String = "mutations",
        _ change: (inout MutationQueueConfiguration, inout MutationHandlers<Line>) -> Void = { _, _ in }
    ) throws -> MutationQueue<Line> {
        var (configuration, handlers) = (configuration, handlers)
        change(&configuration, &handlers)
        return try MutationQueue(database ?? self.database, named: name, configuration: configuration, handlers)
    }

    @discardableResult
    func add(
        _ text: String,
        _ entity: String,
        after dependencies: [MutationID] = [],
        to queue: MutationQueue<Line>
    ) throws -> MutationID {
        try database.write { db in
            try queue.enqueue(Line(text: text), entity: entity, after: dependencies, in: db).id
        }
    }

    /// The rows that answers have written.
    var rows: [String] {
        get throws { try database.read { try String.fetchAll($0, sql: "SELECT text FROM line ORDER BY text") } }
    }

    /// Everything that is left in the queue: what, in which state, after how many attempts, and the last error.
    func left(in queue: MutationQueue<Line>) throws -> [String] {
        try database.read { db in
            try queue.mutations(db).map { mutation in
                let text = mutation.mutation?.text ?? "?"
                let error = mutation.lastError.map { ": \($0)" } ?? ""
                return "\(text) \(mutation.state)\(mutation.isBlocked ? " blocked" : "") \(mutation.attempts)\(error)"
            }
        }
    }
}
