import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import Logging
import MistKit
@_spi(Benchmarks) import MistStore
import Synchronization

/// The processes of the measurements over a socket: an emulator, and for each run a client or a store of its own.
enum ChildProcess {
    enum Role: String {
        /// An emulator with as many articles as the argument says.
        case serve
        /// The bare loop over the changes of the zone.
        case fetchBare = "fetch-bare"
        /// A store that fetches the zone into an empty folder.
        case fetchStore = "fetch-store"
        /// The bare loop that creates articles.
        case sendBare = "send-bare"
        /// A store that sends the articles of a folder.
        case sendStore = "send-store"
    }

    static let container = "iCloud.com.example.store"
    static let zone = ZoneID(zoneName: "Records")

    /// The address of an emulator, and its credentials.
    struct Address {
        var url: URL
        var apiToken: String
        var webAuthToken: String

        var arguments: [String] { [url.absoluteString, apiToken, webAuthToken] }

        init(_ words: [String]) throws {
            guard words.count == 3, let url = URL(string: words[0]) else { throw Failure("There is no emulator.") }
            (self.url, apiToken, webAuthToken) = (url, words[1], words[2])
        }

        var service: CloudKitService {
            CloudKitService(
                containerIdentifier: container,
                apiToken: apiToken,
                webAuthToken: webAuthToken,
                configuration: .init(serverURL: url)
            )
        }
    }

    /// The results of a run, which it prints as one line of JSON.
    struct Outcome: Codable {
        var records: Int
        var seconds: Double
        /// Seconds of a processor.
        var processorSeconds = processorTime()
        var peakBytes = peakMemory()
        /// How long each transaction of the engine held the write lock, in seconds.
        var locks: [Double] = []
        /// The requests of a cycle in which nothing has changed.
        var idleRequests = 0

        var rate: Double { Double(records) / seconds }
    }

    // MARK: Starting one

    static func start(_ role: Role, _ arguments: [String]) throws -> (Process, FileHandle) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [role.rawValue] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        return (process, output.fileHandleForReading)
    }

    /// Runs `body` beside an emulator.
    static func withEmulator<Value>(records: Int, _ body: (Address) async throws -> Value) async throws -> Value {
        let (process, output) = try start(.serve, ["\(records)"])
        defer { process.terminate() }
        let words = line(of: output).split(separator: " ").map(String.init)
        return try await body(Address(words))
    }

    static func outcome(of role: Role, _ arguments: [String]) throws -> Outcome {
        let (process, output) = try start(role, arguments)
        let text = line(of: output)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure("\(role.rawValue) has failed.") }
        return try JSONDecoder().decode(Outcome.self, from: Data(text.utf8))
    }

    private static func line(of file: FileHandle) -> String {
        var bytes: [UInt8] = []
        while let chunk = try? file.read(upToCount: 1), let byte = chunk.first, byte != UInt8(ascii: "\n") {
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Being one

    static func run(_ role: Role, _ arguments: [String]) async throws {
        var rest = arguments
        func number() throws -> Int {
            guard !rest.isEmpty, let number = Int(rest.removeFirst()) else { throw Failure("A number is missing.") }
            return number
        }
        switch role {
        case .serve:
            return try await serve(count: number())
        case .fetchBare:
            try report(await fetchBare(Address(rest)))
        case .fetchStore:
            let folder = URL(fileURLWithPath: rest.removeFirst())
            try report(await synchronise(folder, Address(rest)) { $0.fetched })
        case .sendBare:
            let count = try number()
            try report(await sendBare(count, Address(rest)))
        case .sendStore:
            let folder = URL(fileURLWithPath: rest.removeFirst())
            try report(await synchronise(folder, Address(rest)) { $0.sent })
        }
    }

    private static func report(_ outcome: Outcome) throws {
        print(String(decoding: try JSONEncoder().encode(outcome), as: UTF8.self))
        fflush(nil)
    }

    private static func fetchBare(_ address: Address) async throws -> Outcome {
        let start = ContinuousClock.now
        var count = 0
        for try await page in address.service.privateDatabase.changes(inZone: zone) {
            count += page.changedRecords.count
        }
        return Outcome(records: count, seconds: start.duration(to: .now) / .seconds(1))
    }

    private static func sendBare(_ count: Int, _ address: Address) async throws -> Outcome {
        let database = address.service.privateDatabase
        _ = try await database.createZone(zone.zoneName)
        let start = ContinuousClock.now
        var sent = 0
        for first in stride(from: 0, to: count, by: 200) {
            let operations = (first..<min(first + 200, count)).map { RecordOperation.create(Article.record($0)) }
            let results = try await database.modify(operations, inZone: zone, desiredKeys: [])
            for result in results { _ = try result.get() }
            sent += results.count
        }
        return Outcome(records: sent, seconds: start.duration(to: .now) / .seconds(1))
    }

    private static func synchronise(
        _ folder: URL,
        _ address: Address,
        _ count: (SyncSummary) -> Int
    ) async throws -> Outcome {
        let locks = Mutex<[Double]>([])
        let service = CountingService(service: address.service)
        var configuration = StoreConfiguration()
        configuration.zones = .single(zone.zoneName)
        configuration.onEngineTransaction = { duration in locks.withLock { $0.append(duration / .seconds(1)) } }
        let store = try MistStore(
            at: folder,
            records: [Article.self],
            service: service,
            configuration: configuration
        )
        let start = ContinuousClock.now
        let summary = try await store.sync()
        let seconds = start.duration(to: .now) / .seconds(1)
        var outcome = Outcome(records: count(summary), seconds: seconds)
        outcome.locks = locks.withLock { $0 }
        // The first of these cycles may fetch the records that were sent.
        try await store.sync()
        service.count.withLock { $0 = 0 }
        try await store.sync()
        outcome.idleRequests = service.count.withLock { $0 }
        try store.close()
        return outcome
    }

    /// Counts the requests that pass.
    private final class CountingService: SyncService {
        let service: CloudKitService
        let count = Mutex(0)

        init(service: CloudKitService) {
            self.service = service
        }

        func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
            count.withLock { $0 += 1 }
            return try await service.send(request, to: scope)
        }
    }

    // MARK: The emulator

    private static func serve(count: Int) async throws {
        let emulator = try CloudKitEmulator(storage: .memory)
        try emulator.registerContainer(container)
        let apiToken = try emulator.registerAPIToken(for: container)
        let user = try emulator.createUser(
            NameComponents(givenName: "Mei", familyName: "Chen"),
            emailAddress: "mei@example.com"
        )
        let quiet = Logger(label: "StoreBenchmarks") { _ in SwiftLogNoOpLogHandler() }
        let server = try CloudKitEmulatorServer(emulator, configuration: .init(logger: quiet))
        let webAuthToken = try emulator.issueWebAuthToken(for: user, keepsSignedIn: true)
        if count > 0 {
            let database = CloudKitService(
                containerIdentifier: container,
                apiToken: apiToken,
                webAuthToken: webAuthToken,
                configuration: .init(transport: server)
            ).privateDatabase
            _ = try await database.createZone(zone.zoneName)
            for start in stride(from: 0, to: count, by: 200) {
                let operations = (start..<min(start + 200, count)).map {
                    RecordOperation(.create, record: Article.storeRecord($0))
                }
                for result in try await database.modify(operations, inZone: zone) { _ = try result.get() }
            }
        }
        try await server.run(port: 0) { url in
            print(url.absoluteString, apiToken, webAuthToken)
            fflush(nil)
        }
    }
}
