import Foundation
import GRDB
import Hummingbird
import Logging
import MistMutationQueue
import NIOCore
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Synchronization

/// Sends notes to a server in another process: out of a queue, and in a bare loop of the same generated client, in turns.
///
/// ```
/// swift run -c release --package-path Benchmarks QueueBenchmarks
/// swift run -c release --package-path Benchmarks QueueBenchmarks 100000 3 16
/// // the notes, the rounds, and how many are sent at a time
/// ```
///
/// Each note is of an entity of its own, is added in the transaction of a row, and its answer changes the row. The loop
/// keeps nothing: it sends the notes from memory, as many at a time as the queue. The program fails where a note did not
/// arrive exactly once, and where the queue needs more than 80 MB.
@main
struct Main {
    static let memoryLimit = 80_000_000

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "serve" { return try await NoteServer.serve() }
        let numbers = arguments.compactMap { Int($0) }
        let (count, rounds) = (numbers.first ?? 20_000, numbers.dropFirst().first ?? 5)
        let concurrency = numbers.dropFirst(2).first ?? 4

        let server = try ServerProcess()
        defer { server.stop() }
        let client = Client(
            serverURL: try URL(validatingOpenAPIServerURL: "http://127.0.0.1:\(server.port)"),
            transport: AsyncHTTPClientTransport()
        )
        let sender = NoteSender(client: client)
        _ = try await bareRate(min(count, 2000), concurrency, sender, round: -1)
        var (queued, bare): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            for turn in 0..<2 {
                if (round + turn) % 2 == 0 {
                    bare.append(try await bareRate(count, concurrency, sender, round: round))
                } else {
                    queued.append(try await queueRate(count, concurrency, sender, round: round))
                }
            }
        }
        let expected = 2 * rounds * count + min(count, 2000)
        let arrived = try await Int(String(collecting: client.countNotes().ok.body.plainText, upTo: 100))
        guard arrived == expected else {
            throw Failure("\(arrived ?? -1) of \(expected) notes arrived.")
        }
        let ratios = zip(queued, bare).map { $0 / $1 }.sorted()
        print(
            """
            \(count) notes, \(concurrency) at a time, \(rounds) rounds: the queue sends \(Int(median(queued))) a second, the bare loop \
            \(Int(median(bare))): \(decimals(median(ratios))) (\(decimals(ratios[0])) to \(decimals(ratios[rounds - 1])))
            """
        )
        let memory = peakMemory()
        print("peak memory: \(memory / 1_000_000) MB")
        guard memory < memoryLimit else { throw Failure("The process needed more than \(memoryLimit) bytes.") }
    }

    /// Notes a second of a loop that keeps nothing.
    private static func bareRate(_ count: Int, _ concurrency: Int, _ sender: NoteSender, round: Int) async throws
        -> Double
    {
        let start = ContinuousClock.now
        try await withThrowingDiscardingTaskGroup { group in
            let numbers = Numbers()
            for _ in 0..<concurrency {
                group.addTask {
                    while true {
                        let number = numbers.next()
                        guard number < count else { return }
                        _ = try await sender.send(Note(number), key: "bare-\(round)-\(number)")
                    }
                }
            }
        }
        return Double(count) / seconds(since: start)
    }

    /// Notes a second of a queue, from the first attempt to the last effect.
    private static func queueRate(_ count: Int, _ concurrency: Int, _ sender: NoteSender, round: Int) async throws
        -> Double
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "queue-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = try DatabasePool(path: folder.appending(path: "notes.sqlite").path)
        try await database.write { db in
            try db.execute(sql: "CREATE TABLE note (number INTEGER PRIMARY KEY, service INTEGER)")
        }
        var configuration = MutationQueueConfiguration()
        configuration.concurrency = concurrency
        let queue = try MutationQueue(
            database,
            configuration: configuration,
            MutationHandlers<Note> { note in
                let stored = try await sender.send(note.mutation, key: note.id.rawValue)
                let number = note.mutation.number
                return MutationEffects { db in
                    try db.cachedStatement(sql: "UPDATE note SET service = ? WHERE number = ?")
                        .execute(arguments: [stored, number])
                }
            }
        )
        for first in stride(from: 0, to: count, by: 1000) {
            try await database.write { db in
                for number in first..<min(first + 1000, count) {
                    try db.execute(sql: "INSERT INTO note (number) VALUES (?)", arguments: [number])
                    try queue.enqueue(Note(number), entity: "note \(number)", in: db)
                }
            }
        }
        let start = ContinuousClock.now
        let drain = try await queue.drain()
        let rate = Double(count) / seconds(since: start)
        let stored = try await database.read { db in
            try Int.fetchOne(db, sql: "SELECT count(service) FROM note") ?? 0
        }
        guard drain.sent == count, stored == count, drain.status.isEmpty else {
            throw Failure("The queue sent \(drain.sent), and \(stored) of \(count) rows have an answer.")
        }
        try database.close()
        return rate
    }

    private static func seconds(since start: ContinuousClock.Instant) -> Double {
        (ContinuousClock.now - start) / .seconds(1)
    }

    private static func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }

    private static func decimals(_ number: Double) -> String { String(format: "%.2f", number) }

    /// The most memory that this process had resident, in bytes.
    private static func peakMemory() -> Int {
        var usage = rusage()
        #if os(Linux)
            // In kilobytes there, in bytes elsewhere.
            getrusage(numericCast(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss * 1024
        #else
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
        #endif
    }
}

/// What is sent.
struct Note: Codable, Sendable {
    let number: Int
    let text: String
    let tags: [String]

    init(_ number: Int) {
        self.number = number
        text = "Note \(number): peat, smoke and a little salt."
        tags = ["peat", "smoke"]
    }
}

/// Sends notes with the generated client.
struct NoteSender: Sendable {
    let client: Client

    func send(_ note: Note, key: String) async throws -> Int {
        try await client.addNote(
            headers: .init(idempotencyKey: key),
            body: .json(.init(text: note.text, tags: note.tags))
        ).ok.body.json.id
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The numbers of the notes, for several tasks.
private final class Numbers: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
}
