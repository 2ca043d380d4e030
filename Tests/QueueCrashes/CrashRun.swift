import Foundation
import GRDB
import MistMutationQueue
import Synchronization

/// What the programs of this folder send.
struct Change: Codable, Sendable {
    var text: String
    var target: ProvisionalID?
}

/// A service that is a file: it does a change once for each key, and once for each request without a key.
final class FileService: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let database: DatabaseQueue

    init(at path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF") }
        database = try DatabaseQueue(path: path, configuration: configuration)
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS done (
                        position INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, entity TEXT, text TEXT);
                    CREATE TABLE IF NOT EXISTS fault (
                        position INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT, kind TEXT,
                        -- Of a refusal that was given: the key, and the step of the scenario.
                        key TEXT, step INTEGER);
                    CREATE TABLE IF NOT EXISTS step (number INTEGER PRIMARY KEY)
                    """
            )
        }
    }

    /// Does a change. A fault that is noted for its text is used up; a request that is refused is refused again under
    /// its key in the same step of the scenario.
    func send(_ text: String, of entity: String, key: String?, step: Int) throws -> String {
        let (fault, answer) = try database.write { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT position, kind FROM fault WHERE text = ?1 AND (step IS NULL OR step = ?2 AND key = ?3)
                    ORDER BY position LIMIT 1
                    """,
                arguments: [text, step, key]
            )
            let fault: String? = row?["kind"]
            if let position: Int64 = row?["position"] {
                if fault == CrashScenario.Fault.refused.rawValue {
                    try db.execute(
                        sql: "UPDATE fault SET step = ?, key = ? WHERE position = ?",
                        arguments: [step, key, position]
                    )
                } else {
                    try db.execute(sql: "DELETE FROM fault WHERE position = ?", arguments: [position])
                }
            }
            if let fault, fault != CrashScenario.Fault.lostReply.rawValue { return (fault as String?, "") }
            try db.execute(
                sql: "INSERT OR IGNORE INTO done (key, entity, text) VALUES (?, ?, ?)",
                arguments: [key, entity, text]
            )
            return (fault, "service of \(entity)")
        }
        if let fault { throw Failure(description: fault) }
        return answer
    }

    func note(_ faults: [CrashScenario.Fault], for text: String, step: Int) throws {
        try database.write { db in
            try db.execute(sql: "INSERT OR IGNORE INTO step (number) VALUES (?)", arguments: [step])
            guard db.changesCount > 0 else { return }
            for fault in faults {
                try db.execute(sql: "INSERT INTO fault (text, kind) VALUES (?, ?)", arguments: [text, fault.rawValue])
            }
        }
    }

    /// What was done, by entity, in its order.
    func state() throws -> [String] {
        try database.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT 'service ' || entity || ': ' || text FROM done ORDER BY entity, position"
            )
        }
    }
}

/// Counts the steps of the process, and ends it at one of them.
final class CrashSteps: TransactionObserver, Sendable {
    private let last: Int
    private let passed = Mutex(0)

    init(dyingAt step: Int) { last = step }

    var count: Int { passed.withLock { $0 } }

    func pass() {
        let number = passed.withLock { passed in
            passed += 1
            return passed
        }
        if number == last { kill(getpid(), SIGKILL) }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { pass() }
    func databaseDidCommit(_ db: Database) { pass() }
    func databaseDidRollback(_ db: Database) { pass() }
}

/// Plays a scenario in a folder, from the step after the last one that was finished.
final class CrashRun: Sendable {
    private let scenario: CrashScenario
    private let database: DatabasePool
    private let queue: MutationQueue<Change>
    private let service: FileService
    let steps: CrashSteps
    private let hour: Hours

    private final class Hours: Sendable {
        let present = Mutex(0)
        var date: Date { Date(timeIntervalSince1970: 1_800_000_000 + 3600 * Double(present.withLock { $0 })) }
    }

    init(_ scenario: CrashScenario, in folder: URL, dyingAt step: Int) throws {
        self.scenario = scenario
        let (steps, hour) = (CrashSteps(dyingAt: step), Hours())
        (self.steps, self.hour) = (steps, hour)
        let service = try FileService(at: folder.appending(path: "service.sqlite").path)
        self.service = service
        database = try DatabasePool(path: folder.appending(path: "program.sqlite").path)
        database.add(transactionObserver: steps)
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS program_row (text TEXT PRIMARY KEY);
                    CREATE TABLE IF NOT EXISTS effect (text TEXT PRIMARY KEY, count INTEGER NOT NULL);
                    CREATE TABLE IF NOT EXISTS step (number INTEGER PRIMARY KEY)
                    """
            )
        }
        var handlers = MutationHandlers<Change> { outgoing in
            steps.pass()
            let change = outgoing.mutation
            let text = change.text + (change.target.map { " in \($0)" } ?? "")
            // The faults name the text without its target.
            let step = hour.present.withLock { $0 }
            let answer = try service.send(text, of: outgoing.entity, key: outgoing.id.rawValue, step: step)
            steps.pass()
            let effects = MutationEffects { db in
                try db.execute(
                    sql: """
                        INSERT INTO effect (text, count) VALUES (?, 1)
                        ON CONFLICT (text) DO UPDATE SET count = iif(count < 0, NULL, count + 1)
                        """,
                    arguments: [text]
                )
            }
            guard change.text.hasPrefix("make ") else { return effects }
            return effects.adopt(ProvisionalID(rawValue: String(change.text.dropFirst(5))), as: answer)
        }
        handlers.decide = { error, _ in
            switch CrashScenario.Fault(rawValue: "\(error)") {
            case .refused: .refused()
            case .offline: .wait(.offline, for: .seconds(60))
            case .signedOut: .wait(.signedOut)
            default: .again()
            }
        }
        handlers.join = { earlier, later in later.text == "un\(earlier.text)" ? .annihilated : .separate }
        var configuration = MutationQueueConfiguration()
        configuration.attempts = scenario.attempts
        configuration.clock = { hour.date }
        configuration.random = { 0.5 }
        queue = try MutationQueue(database, configuration: configuration, handlers)
    }

    func play() async throws {
        for (number, step) in scenario.steps.enumerated() {
            hour.present.withLock { $0 = number }
            let isDone = try await database.read { db in
                try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM step WHERE number = ?)", arguments: [number])
            }
            if isDone == true { continue }
            try await play(step, number)
        }
    }

    private func play(_ step: CrashScenario.Step, _ number: Int) async throws {
        switch step {
        case .add(let additions):
            try await write(number) { [queue] db in
                for addition in additions {
                    try db.execute(sql: "INSERT INTO program_row (text) VALUES (?)", arguments: [addition.text])
                    let change = Change(text: addition.text, target: addition.target.map(ProvisionalID.init(rawValue:)))
                    let result = try queue.enqueue(
                        change,
                        entity: addition.entity,
                        after: addition.after.map(MutationID.init(rawValue:)),
                        id: MutationID(rawValue: addition.text),
                        in: db
                    )
                    if case .annihilated(let id) = result {
                        let gone = [id.rawValue, addition.text]
                        for text in gone {
                            try db.execute(sql: "DELETE FROM program_row WHERE text = ?", arguments: [text])
                        }
                    }
                }
            }
        case .faults(let text, let faults): try service.note(faults, for: text, step: number)
        case .drain:
            try await queue.drain()
            try await write(number) { _ in }
        case .discard(let text):
            try await write(number) { [queue] db in
                try queue.discard(MutationID(rawValue: text), in: db) { mutation in
                    try db.execute(sql: "DELETE FROM program_row WHERE text = ?", arguments: [mutation.id.rawValue])
                }
            }
        case .retryAll: try await write(number) { [queue] db in try queue.retryAll(in: db) }
        case .resume: try await write(number) { [queue] db in try queue.resume(in: db) }
        case .sql(let statement): try await write(number) { db in try db.execute(sql: statement) }
        }
    }

    /// Writes as a program does, and notes the step in the same transaction.
    private func write(_ number: Int, _ body: @escaping @Sendable (Database) throws -> Void) async throws {
        try await database.write { db in
            try body(db)
            try db.execute(sql: "INSERT INTO step (number) VALUES (?)", arguments: [number])
        }
    }

    /// Everything that a user can see of the file and of the service, a line for each thing. Attempts are not compared,
    /// as a crash may cost one.
    func state() async throws -> [String] {
        let local = try await database.read { [queue] db in
            var lines = try String.fetchAll(db, sql: "SELECT 'row ' || text FROM program_row ORDER BY text")
            lines += try String.fetchAll(db, sql: "SELECT 'effect ' || text || ' ' || count FROM effect ORDER BY text")
            for mutation in try queue.mutations(db) {
                lines.append("queue \(mutation.entity): \(mutation.id) \(mutation.state) \(mutation.isBlocked)")
            }
            let status = try queue.status(in: db)
            lines.append(
                "pause \(status.pause?.reason.rawValue ?? "none"), sender \(status.sender?.programName ?? "none")"
            )
            return lines
        }
        return try local + service.state()
    }
}
