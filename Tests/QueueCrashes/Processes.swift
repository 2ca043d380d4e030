import Foundation
import GRDB
import MistMutationQueue
import TestSupport

/// A process that adds mutations and sends them, until it is killed.
struct Worker {
    private let database: DatabasePool
    private let queue: MutationQueue<Change>
    private let name: String

    init(in folder: URL, name: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        database = try DatabasePool(path: folder.appending(path: "program.sqlite").path, configuration: configuration)
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS program_row (text TEXT PRIMARY KEY, entity TEXT NOT NULL);
                    CREATE TABLE IF NOT EXISTS effect (text TEXT PRIMARY KEY, count INTEGER NOT NULL)
                    """
            )
        }
        let service = try FileService(at: folder.appending(path: "service.sqlite").path)
        // Now and then a request or a reply is lost.
        let handlers = MutationHandlers<Change> { outgoing in
            let text = outgoing.mutation.text
            if Int.random(in: 0..<20) == 0 { throw FileService.Failure(description: "lostRequest") }
            _ = try service.send(text, of: outgoing.entity, key: outgoing.id.rawValue, step: 0)
            if Int.random(in: 0..<20) == 0 { throw FileService.Failure(description: "lostReply") }
            return MutationEffects { db in
                try db.execute(
                    sql: "INSERT INTO effect VALUES (?, 1) ON CONFLICT (text) DO UPDATE SET count = count + 1",
                    arguments: [text]
                )
            }
        }
        var settings = MutationQueueConfiguration()
        settings.attempts = 1_000_000
        settings.shortestBackOff = .milliseconds(20)
        settings.longestBackOff = .milliseconds(100)
        queue = try MutationQueue(database, configuration: settings, handlers)
        self.name = name
    }

    /// Adds and sends without end; the last process only sends.
    func run() async throws {
        if name == "last" {
            while try await !queue.drain().status.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
            return
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [queue] in try await queue.run() }
            for number in 0... {
                let (queue, text) = (queue, "\(name) \(number)")
                try await database.write { db in
                    // The key says what the text is, so a service that has two of a text was sent two keys.
                    let entity = "entity \(number % 5)"
                    try db.execute(
                        sql: "INSERT INTO program_row (text, entity) VALUES (?, ?)",
                        arguments: [text, entity]
                    )
                    try queue.enqueue(Change(text: text), entity: entity, in: db)
                }
                try await Task.sleep(for: .milliseconds(10))
            }
            try await group.waitForAll()
        }
    }
}

/// Starts two workers on one file, kills and stops them at random, and checks that each mutation had its effect once.
struct ProcessDriver {
    let seed: UInt64

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private func start(_ folder: URL, _ name: String) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = ["work", folder.path, name]
        try process.run()
        return process
    }

    func run(for seconds: Double) async throws {
        try await inTemporaryFolder { folder in
            var random = SeededGenerator(seed: seed)
            let end = ContinuousClock.now + .seconds(seconds)
            var (starts, kills, stops) = (0, 0, 0)
            var workers: [Process] = []
            while ContinuousClock.now < end {
                while workers.count < 2 {
                    starts += 1
                    workers.append(try start(folder, "worker-\(starts)"))
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...900, using: &random)))
                let index = Int.random(in: 0..<workers.count, using: &random)
                let process = workers[index].processIdentifier
                if Int.random(in: 0..<6, using: &random) == 0 {
                    kill(process, SIGSTOP)
                    try await Task.sleep(for: .milliseconds(Int.random(in: 100...5000, using: &random)))
                    kill(process, SIGCONT)
                    stops += 1
                } else {
                    kill(process, SIGKILL)
                    workers[index].waitUntilExit()
                    guard workers[index].terminationReason == .uncaughtSignal else {
                        throw Failure(description: "seed \(seed): a worker ended by itself")
                    }
                    workers.remove(at: index)
                    kills += 1
                }
            }
            for worker in workers {
                kill(worker.processIdentifier, SIGKILL)
                worker.waitUntilExit()
            }
            let last = try start(folder, "last")
            last.waitUntilExit()
            guard last.terminationStatus == 0 else {
                throw Failure(description: "seed \(seed): the last worker failed")
            }
            try await check(folder, "\(starts) processes, \(kills) kills, \(stops) stops")
        }
    }

    private func check(_ folder: URL, _ events: String) async throws {
        let program = try DatabaseQueue(path: folder.appending(path: "program.sqlite").path)
        let service = try DatabaseQueue(path: folder.appending(path: "service.sqlite").path)
        let (added, effects, left) = try await program.read { db in
            (
                try Row.fetchAll(db, sql: "SELECT text, entity FROM program_row ORDER BY rowid").map {
                    ($0[0] as String, $0[1] as String)
                },
                try Row.fetchAll(db, sql: "SELECT text, count FROM effect").map { ($0[0] as String, $0[1] as Int) },
                try Int.fetchOne(db, sql: "SELECT count(*) FROM mist_mutation") ?? 0
            )
        }
        let done = try await service.read { db in
            try Row.fetchAll(db, sql: "SELECT text, entity FROM done ORDER BY position").map {
                ($0[0] as String, $0[1] as String)
            }
        }
        guard left == 0 else { throw Failure(description: "seed \(seed): \(left) mutations are left") }
        guard effects.allSatisfy({ $0.1 == 1 }), Set(effects.map(\.0)) == Set(added.map(\.0)) else {
            throw Failure(description: "seed \(seed): not every mutation had its effect once")
        }
        for entity in Set(added.map(\.1)) {
            let (expected, found) = (added.filter { $0.1 == entity }.map(\.0), done.filter { $0.1 == entity }.map(\.0))
            guard expected == found else {
                throw Failure(description: "seed \(seed): the service has done \(entity) in another order, or twice")
            }
        }
        print("queue processes: \(events), \(added.count) mutations, each done once, in its order")
    }
}
