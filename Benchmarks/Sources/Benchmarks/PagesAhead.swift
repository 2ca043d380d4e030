import Dispatch
import Foundation
import HTTPTypes
import MistKit
import OpenAPISwiftRuntime
import Synchronization

// Measures a loop over the pages of a query. The server takes as long for a page as the emulator does. The client finds
// the marker of the next page at the edge of the response, before it reads the records, so that server and client work
// at the same time. In the pages of the other contender, a member follows the marker, so that the client does not find
// it early: it requests the next page after it has read the records.

/// Answers each request with a page, after the time that a server with its own processor would need.
private final class PacedTransport: ClientTransport {
    /// The time that the emulator takes for a page.
    static let pace = Duration.microseconds(1500)

    private let body: [UInt8]
    private let end: String
    private let pageCount: Int
    private let sent = Mutex(0)
    private let queue = DispatchQueue(label: "server")

    init(_ page: [UInt8], end: String, pageCount: Int) {
        body = page.dropLast()
        self.end = end
        self.pageCount = pageCount
    }

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let number = sent.withLock { sent in
            sent += 1
            return sent
        }
        let more = number % pageCount == 0 ? "" : #","continuationMarker":"page-\#(number)""#
        let bytes = self.body + Array("\(more)\(end)}".utf8)
        await withCheckedContinuation { continuation in
            queue.async {
                let start = ContinuousClock.now
                while ContinuousClock.now - start < Self.pace {}
                continuation.resume()
            }
        }
        return (HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]), HTTPBody(bytes))
    }
}

/// Measures how much time the search at the edge saves in a loop. Both loops run in turns, and the time is wall-clock
/// time.
func measurePagesAhead(rounds: Int) async throws {
    let page = try Samples.page(hasMore: false)
    let pageCount = 20
    func seconds(_ end: String) async throws -> Double {
        let service = CloudKitService(
            containerIdentifier: "iCloud.com.example.app",
            apiToken: String(repeating: "a0", count: 32),
            configuration: .init(transport: PacedTransport(page, end: end, pageCount: pageCount))
        )
        let start = ContinuousClock.now
        var count = 0
        for try await record in service.publicDatabase.records(matching: Query(recordType: "Note")) {
            count += record.fields.count > 0 ? 1 : 0
        }
        guard count == 200 * pageCount else { return .nan }
        let time = ContinuousClock.now - start
        return Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    }
    var times: [[Double]] = [[], []]
    for _ in 0..<rounds {
        times[0].append(try await seconds(""))
        times[1].append(try await seconds(#","other":1"#))
    }
    let medians = times.map { $0.sorted()[$0.count / 2] / Double(pageCount) }
    print("Pages of a query, 200 untyped records each, from a server that takes 1.5 ms for a page")
    print(String(format: "  next page requested before this one is read %9.0f µs a page", medians[0] * 1e6))
    print(String(format: "  next page requested after this one is read  %9.0f µs a page", medians[1] * 1e6))
    print(String(format: "  the search for the marker saves %.1f %%\n", (1 - medians[0] / medians[1]) * 100))
}
