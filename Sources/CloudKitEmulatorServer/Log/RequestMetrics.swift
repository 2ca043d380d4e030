import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import OpenAPISwiftRuntime
import Synchronization

/// The numbers of answered requests since the start, by operation and status.
final class RequestMetrics: Sendable {
    private struct Key: Hashable {
        /// The operation of CloudKit Web Services; `nil` for other paths, such as those of files.
        var operation: String?
        /// `nil` where the connection broke without a response.
        var status: Int?
    }

    private struct Series {
        var count = 0
        var seconds = 0.0
        /// The number of requests that took at most the time of ``bounds``, without those of the bounds before.
        var buckets = [Int](repeating: 0, count: RequestMetrics.bounds.count)

        mutating func add(_ seconds: Double) {
            count += 1
            self.seconds += seconds
            if let bucket = RequestMetrics.bounds.firstIndex(where: { seconds <= $0 }) { buckets[bucket] += 1 }
        }
    }

    private struct State {
        var series: [Key: Series] = [:]
        var faulted = 0
    }

    /// In seconds.
    private static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    private let state = Mutex(State())

    /// Counts a request.
    func add(operation: String?, status: Int?, duration: Duration, isFaulted: Bool) {
        state.withLock { state in
            if isFaulted { state.faulted += 1 }
            state.series[Key(operation: operation, status: status), default: Series()].add(duration / .seconds(1))
        }
    }

    /// The numbers in the text format of Prometheus.
    var text: String {
        let (series, faulted) = state.withLock { ($0.series, $0.faulted) }
        var lines = [
            "# HELP mistkit_emulator_request_seconds How long the emulator worked on responses, until their heads were ready.",
            "# TYPE mistkit_emulator_request_seconds histogram",
        ]
        let sorted = series.sorted {
            ($0.key.operation ?? "", $0.key.status ?? 0) < ($1.key.operation ?? "", $1.key.status ?? 0)
        }
        for (key, series) in sorted {
            let status = key.status.map { "\($0)" } ?? "none"
            let labels = "operation=\"\(key.operation ?? "other")\",status=\"\(status)\""
            var sum = 0
            for (bound, count) in zip(Self.bounds, series.buckets) {
                sum += count
                lines.append("mistkit_emulator_request_seconds_bucket{\(labels),le=\"\(bound)\"} \(sum)")
            }
            lines.append("mistkit_emulator_request_seconds_bucket{\(labels),le=\"+Inf\"} \(series.count)")
            lines.append("mistkit_emulator_request_seconds_sum{\(labels)} \(series.seconds)")
            lines.append("mistkit_emulator_request_seconds_count{\(labels)} \(series.count)")
        }
        lines += [
            "# HELP mistkit_emulator_faulted_requests_total Requests that a fault rule affected.",
            "# TYPE mistkit_emulator_faulted_requests_total counter",
            "mistkit_emulator_faulted_requests_total \(faulted)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}

extension AdministrationHandlers {
    func fetchMetrics(
        _ input: Operations.FetchMetrics.Input,
        context: AdministrationHost
    ) throws -> Operations.FetchMetrics.Output {
        struct Database: Hashable {
            var container: String
            var environment: ContainerEnvironment
            var name: String
        }
        var records: [Database: Int] = [:]
        for count in try context.emulator.recordCounts() {
            let name = count.owner == nil ? "public" : "private"
            records[Database(container: count.container, environment: count.environment, name: name), default: 0] +=
                count.records
        }
        var lines = [
            "# HELP mistkit_emulator_records Records that are not deleted.",
            "# TYPE mistkit_emulator_records gauge",
        ]
        lines += records.map { database, count in
            let container = database.container.map { "\\\"\n".contains($0) ? "_" : String($0) }.joined()
            return """
                mistkit_emulator_records{container="\(container)",environment="\(database.environment.rawValue)",\
                database="\(database.name)"} \(count)
                """
        }.sorted()
        lines += [
            "# HELP mistkit_emulator_event_streams Open event streams.",
            "# TYPE mistkit_emulator_event_streams gauge",
            "mistkit_emulator_event_streams \(context.server.events.listenerCount)",
        ]
        let text = context.server.metrics.text + lines.joined(separator: "\n") + "\n"
        return .ok(.init(body: .plainText(HTTPBody(text))))
    }
}
