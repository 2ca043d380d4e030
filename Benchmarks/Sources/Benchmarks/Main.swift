import CloudKitModel
import Dispatch
import Foundation
import StreamingJSON
import Synchronization

// swift run -c release --package-path Benchmarks
// swift run -c release --package-path Benchmarks Benchmarks typed-call 1000   one part of a whole call, for a profiler
//
// Reads pages of records into typed values and writes a request, each against Foundation's JSONDecoder and JSONEncoder
// with a hand-written Codable model (CodableModel.swift). The ratios matter: all contenders of a table run in turns.
// The figures of orjson are from a separate Python process. They are left out if Python cannot import orjson.

@main
struct Benchmarks {
    static func main() throws {
        // Away from the main actor, as in a server. On the main actor, each call of the client would change threads
        // twice. Valgrind does not survive the end of a process whose `main` is asynchronous.
        let end = DispatchSemaphore(value: 0)
        let failure = Mutex<(any Error)?>(nil)
        Task.detached {
            do {
                let arguments = CommandLine.arguments.dropFirst()
                if let name = arguments.first {
                    try await repeatPart(name, count: arguments.dropFirst().first.flatMap { Int($0) } ?? 1)
                } else {
                    try await measure()
                }
            } catch {
                failure.withLock { $0 = error }
            }
            end.signal()
        }
        end.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    private static func measure() async throws {
        let rounds = 31
        let synthetic = try Samples.page()
        try await read("synthetic page, compact", synthetic, typed: .typed(TypedNote.self, synthetic), rounds: rounds)
        let recorded = shared().appendingPathComponent("recorded-exchanges/query-200-records.response.json")
        if let bytes = try? Data(contentsOf: recorded) {
            try await read("recorded page of Apple's service, indented", [UInt8](bytes), rounds: rounds)
        } else {
            print("The recorded page is not here (\(recorded.path)); set MISTKIT_SHARED to the folder that has it.\n")
        }
        try await write(rounds: rounds)
        for call in try await measureWholeCalls(rounds: rounds) { call.report() }
        try await measurePagesAhead(rounds: rounds)
        let trees = try await measureTrees(of: synthetic, rounds: rounds)
        report("Without types: synthetic page, compact", trees, records: 200, bytes: synthetic.count)
    }

    private static func read(_ title: String, _ bytes: [UInt8], typed: Contender? = nil, rounds: Int) async throws {
        let data = Data(bytes)
        let decoder = JSONDecoder()
        let count = try JSONReader.read(Page.self, from: bytes).records.count
        let times = try await medians(
            of: [
                Contender(name: "CloudKitModel") {
                    try JSONReader.read(Page.self, from: bytes).records.count
                },
                Contender(name: "JSONDecoder") {
                    try decoder.decode(CodablePage.self, from: data).records.count
                },
            ] + (typed.map { [$0] } ?? []),
            rounds: rounds
        )
        var rows = [("CloudKitModel", times[0]), ("JSONDecoder, hand-written Codable", times[1])]
        if typed != nil { rows.insert(("typed records (MistModels)", times[2]), at: 1) }
        if let orjson = try orjson(bytes) {
            rows.append(("orjson (to Python objects, in Python)", orjson.read))
        }
        report("Read: \(title)", rows, records: count, bytes: bytes.count)
    }

    private static func write(rounds: Int) async throws {
        let request = ModifyRequest(operations: Samples.operations(), zoneID: ZoneID(zoneName: "Notes"))
        let codable = try Samples.codableOperations()
        let encoder = JSONEncoder()
        let bytes = try JSONWriter.bytes(of: request)
        let times = try await medians(
            of: [
                Contender(name: "CloudKitModel") { try JSONWriter.bytes(of: request).count },
                Contender(name: "JSONEncoder") { try encoder.encode(codable).count },
            ],
            rounds: rounds
        )
        var rows = [("CloudKitModel", times[0]), ("JSONEncoder, hand-written Codable", times[1])]
        if let orjson = try orjson(bytes) {
            rows.append(("orjson (from Python objects, in Python)", orjson.write))
        }
        report("Write: modify request", rows, records: request.operations.count, bytes: bytes.count)
    }

    private static func orjson(_ bytes: [UInt8]) throws -> (read: Double, write: Double)? {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("benchmark-\(UUID().uuidString).json")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return orjsonSeconds(file: file)
    }

    private static func report(_ title: String, _ rows: [(String, Double)], records: Int, bytes: Int) {
        print("\(title) (\(records) records, \(bytes) bytes)")
        for (name, seconds) in rows {
            let speed = Double(records) / seconds
            print(
                "  " + name.padding(toLength: 42, withPad: " ", startingAt: 0)
                    + String(
                        format: "%9.1f k records/s %8.1f MB/s   %5.2f x the time",
                        speed / 1000,
                        Double(bytes) / seconds / 1e6,
                        seconds / rows[0].1
                    )
            )
        }
        print("")
    }

    /// The folder of shared data: beside the package, or where MISTKIT_SHARED says.
    private static func shared() -> URL {
        if let path = ProcessInfo.processInfo.environment["MISTKIT_SHARED"] {
            return URL(fileURLWithPath: path)
        }
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 {
            folder.deleteLastPathComponent()
        }
        return folder.deletingLastPathComponent().appendingPathComponent("shared")
    }
}
