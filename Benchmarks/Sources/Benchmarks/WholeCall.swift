import CloudKitModel
import Crypto
import Foundation
import HTTPTypes
@_spi(Benchmarks) import MistKit
import OpenAPISwiftRuntime
import StreamingJSON

// Measures a query as programs make it, signed with a server-to-server key, against the work that every client has to
// do for it: the signature, and the JSON of the request and of the page. The difference is the cost of everything else
// in the client.

/// How long a call took, and its parts.
struct WholeCall {
    var title: String
    var total: Double
    /// The parts, each measured on its own.
    var parts: [(String, Double)]
    /// The time of all parts, one after the other as in a call, where each part finds the heap and the caches as the
    /// part before has left them.
    var together: Double

    func report() {
        print("Whole call, \(title): a query is signed, sent in process, answered with the synthetic page, and read")
        let rows = [("the call", total)] + parts + [("these parts together", together)]
        for (name, seconds) in rows + [("neither JSON nor crypto", total - together)] {
            print(
                "  " + name.padding(toLength: 42, withPad: " ", startingAt: 0)
                    + String(format: "%9.1f µs %6.1f %%", seconds * 1e6, seconds / total * 100)
            )
        }
        print("")
    }
}

/// Answers every request with one page, after it has read the body of the request.
private struct PageTransport: ClientTransport {
    let page: [UInt8]

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        if let body { _ = try await [UInt8](collecting: body, upTo: 1 << 20) }
        let fields: HTTPFields = [
            .contentType: "application/json; charset=UTF-8", .requestUUID: "1E2D3C4B-0000-4000-8000-0123456789AB",
        ]
        return (HTTPResponse(status: .ok, headerFields: fields), HTTPBody(page))
    }
}

extension HTTPField.Name {
    fileprivate static let requestUUID = Self("X-Apple-Request-UUID")!
}

/// The body of the query's request.
private struct QueryRequest: JSONWritable {
    var query: RecordQuery

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("query")
        writer.write(query)
        writer.endObject()
    }
}

/// Signs a request with a server-to-server key, as any client of the service has to do.
private func sign(_ body: [UInt8], with key: P256.Signing.PrivateKey, path: String) throws -> String {
    let date = "2026-01-02T03:04:05Z"
    let digest = Data(SHA256.hash(data: body)).base64EncodedString()
    return try key.signature(for: Data("\(date):\(digest):\(path)".utf8)).derRepresentation.base64EncodedString()
}

/// The calls and their parts.
private func contenders() throws -> [Contender] {
    let page = try Samples.page(hasMore: false)
    let service = CloudKitService(
        containerIdentifier: "iCloud.com.example.app",
        tokenManager: ServerToServerAuthManager(
            keyID: String(repeating: "0f1e2d3c", count: 8),
            privateKey: .generate()
        ),
        configuration: .init(transport: PageTransport(page: page))
    )
    let database = service.publicDatabase
    let typed = Query<TypedNote> {
        Filter(\.count >= 0)
        Sort(\.title)
    }
    let untyped = Query(
        recordType: "Note",
        filters: [Filter("count", .greaterThanOrEquals, 0)],
        sorts: [Sort("title")]
    )
    let request = QueryRequest(
        query: RecordQuery(
            recordType: "Note",
            filters: [QueryFilter("count", .greaterThanOrEquals, .int64(0))],
            sorts: [QuerySort("title")]
        )
    )
    let body = try JSONWriter.bytes(of: request)
    let key = P256.Signing.PrivateKey()
    let path = "/database/1/iCloud.com.example.app/development/public/records/query"

    return [
        Contender(name: "typed-call") { try await count(of: database.records(matching: typed)) },
        Contender(name: "untyped-call") { try await count(of: database.records(matching: untyped)) },
        Contender(name: "signature") { try sign(body, with: key, path: path).utf8.count },
        Contender(name: "request") { try JSONWriter.bytes(of: request).count },
        Contender(name: "typed-page") { try count(ofTyped: page) },
        Contender(name: "untyped-page") { try count(ofUntyped: page) },
        Contender(name: "typed-parts") {
            try sign(JSONWriter.bytes(of: request), with: key, path: path).utf8.count + count(ofTyped: page)
        },
        Contender(name: "untyped-parts") {
            try sign(JSONWriter.bytes(of: request), with: key, path: path).utf8.count + count(ofUntyped: page)
        },
    ]
}

/// Runs a call or one of its parts again and again, for a profiler. `Scripts/measure-call` counts its instructions.
func repeatPart(_ name: String, count: Int) async throws {
    guard let contender = try contenders().first(where: { $0.name == name }) else {
        throw UnknownPart(name: name, known: try contenders().map(\.name))
    }
    for _ in 0..<count { _ = try await contender.run() }
}

private struct UnknownPart: Error {
    let name: String
    let known: [String]
}

/// Measures a page of typed records and one of untyped records, each in turns with its parts.
func measureWholeCalls(rounds: Int) async throws -> [WholeCall] {
    let times = try await medians(of: contenders(), rounds: rounds)
    let common = [
        ("crypto: SHA-256 and a signature on P-256", times[2]), ("JSON of the request", times[3]),
    ]
    return [
        WholeCall(
            title: "typed records",
            total: times[0],
            parts: common + [("JSON of the page", times[4])],
            together: times[6]
        ),
        WholeCall(
            title: "untyped records",
            total: times[1],
            parts: common + [("JSON of the page", times[5])],
            together: times[7]
        ),
    ]
}

private func count(ofTyped page: [UInt8]) throws -> Int {
    var count = 0
    for result in try readTypedRecords(TypedNote.self, from: page) {
        _ = try result.get()
        count += 1
    }
    return count
}

private func count(ofUntyped page: [UInt8]) throws -> Int {
    try JSONReader.read(Page.self, from: page).records.count
}

private func count<Model>(of records: RecordSequence<Model>) async throws -> Int {
    var count = 0
    for try await page in records.pages {
        for result in page.results {
            _ = try result.get()
            count += 1
        }
    }
    return count
}
