import Foundation

/// Measures the promises of MistStore about speed and size. Each runs in turns with its baseline, in the same run.
///
/// ```
/// swift run -c release --package-path Benchmarks StoreBenchmarks
/// // everything, in about ten minutes
/// swift run -c release --package-path Benchmarks StoreBenchmarks --records 20000 --rows 100000 --rounds 3 write find
/// // two of the measurements, with fewer records
/// ```
///
/// `--records` is the number of records that are written, fetched, sent and read; `--rows` that of the store which is
/// opened and queried; `--rounds` is the number of runs of each contender. `Documentation/Store.md` has the resulting
/// table.
@main
struct Main {
    struct Options {
        var records = 100_000
        var rows = 1_000_000
        var rounds = 5
        var names: [String] = []
    }

    static let measurements: [(name: String, run: @Sendable (Options) async throws -> [Finding])] = [
        ("write", { try await Writing(options: $0).findings() }),
        ("pull", { try await Pulling(options: $0).findings() }),
        ("push", { try await Pushing(options: $0).findings() }),
        ("open", { try await Opening(options: $0).findings() }),
        ("find", { try await Finding100(options: $0).findings() }),
        ("read", { try await ReadingAll(options: $0).findings() }),
        ("devices", { try await ManyDevices(options: $0).findings() }),
    ]

    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        if let role = arguments.first.flatMap(ChildProcess.Role.init(rawValue:)) {
            return try await ChildProcess.run(role, Array(arguments.dropFirst()))
        }
        var options = Options()
        while let argument = arguments.popFirst() {
            func number() throws -> Int {
                guard let number = arguments.popFirst().flatMap({ Int($0) }), number > 0 else {
                    throw Failure("\(argument) needs a number above 0.")
                }
                return number
            }
            switch argument {
            case "--records": options.records = try number()
            case "--rows": options.rows = try number()
            case "--rounds": options.rounds = try number()
            case let name where measurements.contains { $0.name == name }: options.names.append(name)
            default:
                let names = measurements.map(\.name).joined(separator: ", ")
                throw Failure("\(argument) is unknown. Options: --records, --rows, --rounds. Measurements: \(names).")
            }
        }
        print("\(options.records) records, \(options.rows) rows, \(options.rounds) rounds\n")
        print(Finding.header)
        for (name, run) in measurements where options.names.isEmpty || options.names.contains(name) {
            for finding in try await run(options) { print(finding.line) }
            fflush(nil)
        }
    }
}

/// Runs `body` with a folder that is removed afterwards.
func withTemporaryFolder<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "StoreBenchmarks-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}
