import CloudKitEmulator
import Foundation
import GRDB
import MistKit
import MistStore
import MistTesting
import TestSupport

/// Starts workers and a reader on one store, kills and stops workers at random, and checks what they have done.
///
/// The service is an emulator in this process, which is not killed.
struct Driver {
    static let workers = 3
    static let container = "iCloud.test.mistkit"
    /// The settings of the stores of all processes.
    static var configuration: StoreConfiguration {
        var configuration = StoreConfiguration()
        // The workers remove more records than a limit for mistakes allows.
        configuration.massDeletionLimit = nil
        configuration.syncInterval = .milliseconds(200)
        configuration.longestSyncInterval = .milliseconds(400)
        return configuration
    }

    /// The longest time, in milliseconds, from the end of a process that synchronises to the next request of another.
    private static let limit = 5000

    /// The longest time, in milliseconds, for which a run goes on until a process has died that synchronises.
    private static let extraTime = 120_000

    let seconds: Int
    let seed: UInt64

    /// What has happened to the workers.
    private struct Events {
        var kills = 0
        /// The kills of a process that held the lease, with the epoch and the time.
        var holders: [(epoch: Int64, time: Int)] = []
        /// The processes that were stopped for some time.
        var stopped: [Int32] = []
    }

    func run() async throws {
        print("processes: seed \(seed), \(seconds) s")
        let folder = FileManager.default.temporaryDirectory.appending(path: "StoreProcesses-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var problems: [String] = []
        try await withCloudKitEmulator(over: .socket) { emulator in
            try await prepare(folder, emulator)
            let events = try await disturb(folder, emulator, &problems)
            problems += try checkRequests(in: folder, events)
            problems += try await checkRecords(in: folder, emulator)
            let reads = (try? String(contentsOf: folder.appending(path: "reads"), encoding: .utf8)) ?? "0 0"
            let counts = reads.split(separator: " ")
            let busy = try busyCount(in: folder)
            print("processes: \(counts[0]) reads, \(counts[1]) observed lists, \(busy) calls that met a locked file")
        }
        guard problems.isEmpty else {
            for problem in problems.prefix(40) { print("processes: \(problem)") }
            throw Problem("processes: \(problems.count) problems with seed \(seed); the files are in \(folder.path)")
        }
        try FileManager.default.removeItem(at: folder)
    }

    /// Makes the store with the counters.
    private func prepare(_ folder: URL, _ emulator: RunningEmulator) async throws {
        let store = try open("store", in: folder, emulator)
        let pairs = (0..<Self.workers).flatMap { Worker.pair("pair-\($0)") }
        for name in Worker.tallies + pairs { try await store.privateDatabase.add(Book(), named: name) }
        try await store.sync()
        try store.close()
    }

    private func open(_ name: String, in folder: URL, _ emulator: RunningEmulator) throws -> MistStore {
        try MistStore(
            at: folder.appending(path: name),
            records: [Shelf.self, Book.self],
            service: emulator.service(as: .user),
            configuration: Self.configuration
        )
    }

    // MARK: Kills

    private func start(_ arguments: String...) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = arguments
        try process.run()
        return process
    }

    private func startWorker(_ number: Int, in folder: URL, _ emulator: RunningEmulator) throws -> Process {
        let token = try emulator.rules.issueWebAuthToken(for: emulator.userRecordName)
        return try start("work", folder.path, "\(number)", "\(emulator.serverURL)", emulator.apiToken, token)
    }

    /// Kills and stops workers until the time is over. Then no worker is left.
    ///
    /// It goes on until one of them has died while it synchronised. In ten seconds of a slow machine chance may choose
    /// none, and such a run shows nothing.
    private func disturb(_ folder: URL, _ emulator: RunningEmulator, _ problems: inout [String]) async throws -> Events
    {
        var generator = SeededGenerator(seed: seed)
        var events = Events()
        var workers = try (0..<Self.workers).map { try startWorker($0, in: folder, emulator) }
        let reader = try start("read", folder.path)
        defer {
            for process in workers + [reader] {
                kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
            }
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let path = folder.appending(path: "store/user.sqlite").path
        let file = try DatabaseQueue(path: path, configuration: configuration)
        let end = milliseconds() + seconds * 1000
        func isOver() -> Bool {
            let time = milliseconds()
            return time >= end && (!events.holders.isEmpty || time >= end + Self.extraTime)
        }
        while !isOver(), problems.isEmpty {
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...700, using: &generator)))
            for (number, worker) in workers.enumerated() where !worker.isRunning {
                problems.append("worker \(number) has failed with \(worker.terminationStatus)")
            }
            if !reader.isRunning { problems.append("the reader has failed") }
            var number = Int.random(in: 0..<Self.workers, using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0, 1:
                // A stopped process is replaced after 3.5 seconds.
                let process = workers[number].processIdentifier
                kill(process, SIGSTOP)
                events.stopped.append(process)
                try await Task.sleep(for: .milliseconds(Int.random(in: 500...6000, using: &generator)))
                kill(process, SIGCONT)
            case 2..<8:
                guard let holder = try await waitForHolder(among: workers, file) else { continue }
                number = holder
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...20, using: &generator)))
                fallthrough
            default:
                let process = workers[number].processIdentifier
                kill(process, SIGKILL)
                let time = milliseconds()
                workers[number].waitUntilExit()
                events.kills += 1
                let lease = try lease(file)
                if lease?.process == process {
                    events.holders.append((lease?.epoch ?? 0, time))
                    try await waitForTakeOver(after: lease?.epoch ?? 0, file)
                }
                workers[number] = try startWorker(number, in: folder, emulator)
            }
        }
        return events
    }

    /// The epoch and the process of the lease, where a process holds it.
    private func lease(_ file: DatabaseQueue) throws -> (epoch: Int64, process: Int32)? {
        let row = try file.read { db in
            let sql = "SELECT epoch, process_id FROM mist_lease WHERE name = 'sync' AND holder IS NOT NULL"
            return try Row.fetchOne(db, sql: sql)
        }
        guard let row else { return nil }
        return (row["epoch"], row["process_id"])
    }

    private func waitForHolder(among workers: [Process], _ file: DatabaseQueue) async throws -> Int? {
        let end = milliseconds() + 2000
        while milliseconds() < end {
            if let lease = try lease(file),
                let number = workers.firstIndex(where: { $0.processIdentifier == lease.process })
            {
                return number
            }
            try await Task.sleep(for: .milliseconds(2))
        }
        return nil
    }

    /// Waits, so that nothing else disturbs the process that takes over.
    private func waitForTakeOver(after epoch: Int64, _ file: DatabaseQueue) async throws {
        let end = milliseconds() + 2 * Self.limit
        while milliseconds() < end {
            let latest = try await file.read { db in
                try Int64.fetchOne(db, sql: "SELECT epoch FROM mist_lease WHERE name = 'sync'")
            }
            if latest ?? 0 > epoch { return }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func busyCount(in folder: URL) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("busy-") }
            .map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8).split(separator: "\n").count }
            .reduce(0, +)
    }

    // MARK: Checks

    /// One process synchronises at a time, and another one takes over soon after its end.
    private func checkRequests(in folder: URL, _ events: Events) throws -> [String] {
        var problems: [String] = []
        let requests = try SentRequest.all(in: folder)
        var processes: [Int64: Int32] = [:]
        var latest: Int64 = 0
        for request in requests {
            if request.epoch >= 0 {
                let holder = processes[request.epoch, default: request.process]
                processes[request.epoch] = holder
                if holder != request.process {
                    problems.append("the processes \(holder) and \(request.process) hold the epoch \(request.epoch)")
                }
            }
            // A process that was stopped may still read. Its reply is dropped.
            let mayBeLate = !request.isWrite && (request.epoch < 0 || events.stopped.contains(request.process))
            if request.epoch < latest, !mayBeLate {
                problems.append(
                    """
                    the process \(request.process) sends in the epoch \(request.epoch) after a request in the epoch \
                    \(latest)
                    """
                )
            }
            latest = max(latest, request.epoch)
        }
        var times: [Int] = []
        for (epoch, time) in events.holders {
            guard let next = requests.first(where: { $0.epoch > epoch && $0.time >= time }) else {
                problems.append("no process has taken over the epoch \(epoch)")
                continue
            }
            times.append(next.time - time)
        }
        times.sort()
        if let largest = times.last {
            print("processes: \(events.kills) killed, \(times.count) of them while they synchronised")
            print("processes: \(events.stopped.count) stopped for some time")
            print("processes: \(requests.count) requests in \(processes.count) epochs")
            print("processes: take-over after \(times[times.count / 2]) ms in the median, \(largest) ms at most")
            if largest >= Self.limit { problems.append("a take-over took \(largest) ms") }
        } else {
            problems.append("no process was killed while it synchronised")
        }
        return problems
    }

    /// Each change that a worker has noted as done is at the service or in the recovery log, and nothing else is.
    private func checkRecords(in folder: URL, _ emulator: RunningEmulator) async throws -> [String] {
        var problems: [String] = []
        let store = try open("store", in: folder, emulator)
        for _ in 0..<20 {
            try await store.sync()
            if try await store.privateDatabase.status().isSynchronised { break }
            try await Task.sleep(for: .milliseconds(500))
        }
        let status = try await store.privateDatabase.status()
        if !status.isSynchronised { problems.append("the store does not come to an end: \(status)") }
        let receipts = try await store.privateDatabase.recoveryLog(limit: 10_000)
        let lost = Set(receipts.map(\.recordName))
        // A new device fetches what the service has.
        let other = try open("other", in: folder, emulator)
        try await other.sync()
        func books(_ store: MistStore) async throws -> [String: Book] {
            let found = try await store.privateDatabase.find(Query<Book>())
            return Dictionary(found.map { ($0.recordName, $0.model) }, uniquingKeysWith: { $1 })
        }
        let service = try await books(other)
        if try await books(store) != service { problems.append("the store differs from the service") }
        try other.close()
        try store.close()

        /// The titles that a record may have; `nil` is a record that does not exist.
        var expected: [String: Set<String?>] = [:]
        var sums = Dictionary(uniqueKeysWithValues: Worker.tallies.map { ($0, Set([0])) })
        for worker in 0..<Self.workers { for name in Worker.pair("pair-\(worker)") { sums[name] = [0] } }
        var done = 0
        for worker in 0..<Self.workers {
            for (change, outcome) in try Journal.read(worker, in: folder) where outcome != .not {
                if outcome == .done { done += 1 }
                switch change.kind {
                case .add, .edit, .remove:
                    let title = change.kind == .remove ? nil : change.title
                    // Where the process died in between, either is right.
                    let earlier = expected[change.name] ?? [nil]
                    expected[change.name] = outcome == .done ? [title] : earlier.union([title])
                case .count, .pair:
                    for name in change.kind == .pair ? Worker.pair(change.name) : [change.name] {
                        let earlier = sums[name] ?? [0]
                        let later = Set(earlier.map { $0 + change.amount })
                        sums[name] = outcome == .done ? later : earlier.union(later)
                    }
                }
            }
        }
        for (name, titles) in expected.sorted(by: { $0.key < $1.key }) where !lost.contains(name) {
            let title = service[name]?.title
            if !titles.contains(title) {
                let right = titles.map { $0 ?? "absent" }
                problems.append("\(name) is \(title ?? "absent") at the service, and should be one of \(right)")
            }
        }
        for (name, values) in sums.sorted(by: { $0.key < $1.key }) where !lost.contains(name) {
            let loans = service[name]?.loans
            if !values.contains(loans ?? -1) {
                problems.append("\(name) is \(loans ?? -1) at the service, and was counted to \(values.sorted())")
            }
        }
        for name in service.keys where expected[name] == nil && sums[name] == nil {
            problems.append("\(name) is at the service, and no worker has added it")
        }
        print("processes: \(done) changes committed, \(receipts.count) receipts, \(service.count) records in the end")
        return problems
    }
}
