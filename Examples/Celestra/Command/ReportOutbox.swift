import AsyncHTTPClient
import Foundation
import GRDB
import MistMutationQueue
import NIOCore
import NIOHTTP1

/// Reports of runs that are sent to an address. A file keeps them until the address has accepted them.
///
/// A run that finds the receiver down ends as usual. The next one sends the report that was kept, then its own.
struct ReportOutbox {
    /// A report that waits.
    struct PendingReport: Codable, Hashable, Sendable {
        var address: String
        /// The text that `celestra update --json` prints.
        var json: String
    }

    /// An answer of the receiver other than success.
    struct ReceiverFailure: Error, Hashable {
        var status: UInt
    }

    private let database: DatabaseQueue
    private let queue: MutationQueue<PendingReport>

    /// Opens a file during a closure, and makes it where there is none.
    static func with<Value>(file: String, _ body: (ReportOutbox) async throws -> Value) async throws -> Value {
        var settings = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // A host that refuses a connection now will refuse it in the next ten seconds, too.
        settings.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
        do {
            let value = try await body(ReportOutbox(file: file, client: client))
            try await client.shutdown()
            return value
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private init(file: String, client: HTTPClient) throws {
        var configuration = Configuration()
        // Another run may write to the file at the same time.
        configuration.busyMode = .timeout(5)
        database = try DatabaseQueue(path: file, configuration: configuration)
        var handlers = MutationHandlers<PendingReport> { outgoing in
            try await Self.send(outgoing.mutation, key: outgoing.id.rawValue, client)
            return .none
        }
        handlers.decide = { error, _ in Self.decision(after: error) }
        queue = try MutationQueue(database, named: "reports", handlers)
    }

    private static func send(_ report: PendingReport, key: String, _ client: HTTPClient) async throws {
        var request = HTTPClientRequest(url: report.address)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        // A receiver that keeps the keys does not count a report twice whose answer was lost.
        request.headers.add(name: "Idempotency-Key", value: key)
        request.body = .bytes(ByteBuffer(string: report.json))
        let response = try await client.execute(request, timeout: .seconds(30))
        guard (200..<300).contains(response.status.code) else { throw ReceiverFailure(status: response.status.code) }
    }

    /// What an error of the receiver means. An outage does not count as an attempt, however many runs it lasts.
    static func decision(after error: any Error) -> MutationDecision {
        guard let failure = error as? ReceiverFailure else {
            return .wait(.offline, for: .seconds(60), "It cannot be reached.")
        }
        let sentence = "It answers with status \(failure.status)."
        return failure.status >= 500 || [408, 429].contains(failure.status)
            ? .wait(.offline, for: .seconds(60), sentence) : .refused(sentence)
    }

    /// Keeps a report. Those for one address are sent in their order.
    func add(_ report: PendingReport) async throws {
        try await database.write { [queue] db in
            _ = try queue.enqueue(report, entity: report.address, in: db)
        }
    }

    /// Sends what waits, and gives up what the receiver refuses.
    ///
    /// - Returns: What is not sent, and why, in lines for people.
    func send() async throws -> [String] {
        try await database.write { [queue] db in try queue.resume(.offline, in: db) }
        var lines: [String] = []
        var status = try await queue.drain().status
        while status.failed > 0 {
            // A report that is refused does not hold the later ones up.
            lines += try await database.write { [queue] db in
                try queue.mutations(in: .failed, db).map { failed in
                    try queue.discard(failed.id, in: db)
                    let address = failed.mutation?.address ?? "The receiver"
                    return "\(address) refuses a report, which is dropped. \(failed.lastError ?? "")"
                }
            }
            status = try await queue.drain().status
        }
        let waiting = status.waiting + status.sending
        if waiting > 0 {
            let reports = waiting == 1 ? "1 report waits" : "\(waiting) reports wait"
            lines.append("\(reports) for the next run. \(status.pause?.message ?? "")")
        }
        return lines
    }
}
