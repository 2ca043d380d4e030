import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import HTTPTypes
import Logging
import OpenAPISwiftRuntime

/// What the log of requests costs when no one looks: the same requests to an emulator with the log and to one without,
/// in turns, in this process.
///
/// `swift run -c release RequestLogBenchmark` prints a line for each kind of request: the medians of the rounds, and by
/// how much the log makes the request slower.
@main
enum RequestLogBenchmark {
    private static let container = "iCloud.com.example.benchmark"
    private static let rounds = 60
    private static let requestsPerRound = 300

    /// An emulator with 1,000 records, and a user whose requests it answers.
    private struct Subject {
        let server: CloudKitEmulatorServer
        let query: String

        init(hasLog: Bool) throws {
            let emulator = try CloudKitEmulator(storage: .memory)
            var configuration = CloudKitEmulatorServer.Configuration(
                logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
            )
            if hasLog { configuration.administration = .init(container: container, version: "0") }
            server = try CloudKitEmulatorServer(emulator, configuration: configuration)
            let apiToken = try emulator.registerAPIToken(for: container, in: .development)
            let token = try emulator.issueWebAuthToken(for: emulator.createUser(), keepsSignedIn: true)
            query = "?ckAPIToken=\(apiToken)&ckWebAuthToken=\(PercentEncoding.encode(token))"
        }

        func send(_ endpoint: String, _ body: String) async throws {
            let request = HTTPRequest(
                method: .post,
                scheme: "http",
                authority: "127.0.0.1",
                path: "/database/1/\(container)/development/private/\(endpoint)\(query)"
            )
            let (response, reply) = try await server.respond(to: request, body: HTTPBody(Array(body.utf8)))
            guard response.status == .ok, let reply else { fatalError("\(endpoint): \(response.status)") }
            _ = try await [UInt8](collecting: reply, upTo: .max)
        }

        func fill() async throws {
            for batch in 0..<10 {
                let operations = (0..<100).map { number in
                    #"{"operationType":"create","record":{"recordType":"Note","recordName":"n\#(batch * 100 + number)","fields":{"title":{"value":"Note \#(number)"},"rating":{"value":\#(number % 5)}}}}"#
                }
                try await send("records/modify", #"{"operations":[\#(operations.joined(separator: ","))]}"#)
            }
        }

        func time(_ endpoint: String, _ body: String) async throws -> Duration {
            let start = ContinuousClock.now
            for _ in 0..<requestsPerRound { try await send(endpoint, body) }
            return (ContinuousClock.now - start) / requestsPerRound
        }
    }

    private static let requests = [
        ("lookup of a record", "records/lookup", #"{"records":[{"recordName":"n17"}]}"#),
        (
            "query, 20 records", "records/query",
            #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"rating","fieldValue":{"value":3}}]},"resultsLimit":20}"#
        ),
        (
            "save of a record", "records/modify",
            #"{"operations":[{"operationType":"forceUpdate","record":{"recordType":"Note","recordName":"n17","fields":{"title":{"value":"New"}}}}]}"#
        ),
    ]

    static func main() async throws {
        let (with, without) = (try Subject(hasLog: true), try Subject(hasLog: false))
        try await with.fill()
        try await without.fill()
        for (name, endpoint, body) in requests {
            var times: (with: [Duration], without: [Duration]) = ([], [])
            for round in -5..<rounds {
                // In turns, and each first in every second round, so that what the machine does besides affects both.
                var measured: [Bool: Duration] = [:]
                for hasLog in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                    measured[hasLog] = try await (hasLog ? with : without).time(endpoint, body)
                }
                // The first rounds warm up.
                guard round >= 0, let one = measured[true], let other = measured[false] else { continue }
                times.with.append(one)
                times.without.append(other)
            }
            let (one, other) = (median(times.with), median(times.without))
            let ratios = zip(times.with, times.without).map { $0 / $1 }.sorted()
            let percent = (ratios[ratios.count / 2] - 1) * 100
            print("\(name): \(microseconds(one)) with the log, \(microseconds(other)) without: \(rounded(percent)) %")
        }
    }

    private static func median(_ times: [Duration]) -> Duration { times.sorted()[times.count / 2] }

    private static func microseconds(_ time: Duration) -> String { "\(rounded(time / .microseconds(1))) µs" }

    private static func rounded(_ number: Double) -> Double { (number * 10).rounded() / 10 }
}
