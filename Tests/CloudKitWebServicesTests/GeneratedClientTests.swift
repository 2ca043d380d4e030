import CloudKitModel
import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization
import Testing

@testable import CloudKitWebServices

/// The requests that the generated client sends and how it reads responses, with a closure as its transport.
struct GeneratedClientTests {
    private final class Exchange: ClientTransport {
        struct Sent: Equatable {
            var operation: String
            var line: String
            var body: JSONValue?
        }

        let sent = Mutex<[Sent]>([])
        private let status: HTTPResponse.Status
        private let answer: String

        init(status: HTTPResponse.Status = .ok, answer: String) {
            self.status = status
            self.answer = answer
        }

        func send(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String
        ) async throws -> (HTTPResponse, HTTPBody?) {
            var json: JSONValue?
            if let body {
                let bytes = try await [UInt8](collecting: body, upTo: 1 << 20)
                json = try JSONReader.read(JSONValue.self, from: bytes)
            }
            let line = "\(request.method.rawValue) \(request.path ?? "")"
            sent.withLock { $0.append(Sent(operation: operationID, line: line, body: json)) }
            return (HTTPResponse(status: status, headerFields: [.contentType: "application/json"]), HTTPBody(answer))
        }
    }

    private func client(_ exchange: Exchange) throws -> Client {
        Client(serverURL: try Servers.Server1.url(), transport: exchange)
    }

    @Test func aQueryIsSentAsTheDocumentSaysAndItsPageRead() async throws {
        let exchange = Exchange(
            answer: """
                {"records":[{"recordName":"a","recordType":"Note","fields":{"n":{"value":1,"type":"INT64"}},"new":true},
                 {"recordName":"b","serverErrorCode":"A_NEW_CODE","reason":"why"}],"continuationMarker":"m","later":[]}
                """
        )
        let page = try await client(exchange).queryRecords(
            path: .init(version: "1", container: "iCloud.a/b", environment: .development, database: .private),
            query: .init(getCurrentSyncToken: true),
            body: .json(.init(query: RecordQuery(recordType: "Note"), resultsLimit: 2, desiredKeys: []))
        ).ok.body.json

        #expect(
            exchange.sent.withLock { $0 } == [
                Exchange.Sent(
                    operation: "queryRecords",
                    line: "POST /database/1/iCloud.a%2Fb/development/private/records/query?getCurrentSyncToken=true",
                    body: ["query": ["recordType": "Note"], "resultsLimit": 2, "desiredKeys": []]
                )
            ]
        )
        #expect(page.continuationMarker == "m")
        #expect(page.records?.count == 2)
        #expect(try page.records?.first?.result.get().fields["n"] == 1)
        guard case .result(.failure(let failure))? = page.records?.last else {
            Issue.record("the failed item is no failure")
            return
        }
        #expect(failure.id == "b")
        #expect(failure.serverErrorCode == "A_NEW_CODE")
    }

    @Test func anErrorIsTheCaseOfItsStatus() async throws {
        let exchange = Exchange(
            status: .init(code: 421),
            answer: #"{"uuid":"u","serverErrorCode":"AUTHENTICATION_REQUIRED","redirectURL":"https://example.com"}"#
        )
        let output = try await client(exchange).fetchCaller(
            path: .init(version: "1", container: "iCloud.a", environment: .production, database: .public)
        )
        guard case .misdirectedRequest(let response) = output else {
            Issue.record("\(output)")
            return
        }
        #expect(try response.body.json.redirectURL == "https://example.com")
        #expect(
            exchange.sent.withLock { $0.map(\.line) } == ["GET /database/1/iCloud.a/production/public/users/caller"]
        )
    }

    @Test func deviceTokensLiveBesideTheDatabases() async throws {
        let exchange = Exchange(
            answer: #"{"apnsEnvironment":"development","apnsToken":"dA==","webcourierURL":"https://c"}"#
        )
        let token = try await client(exchange).createDeviceToken(
            path: .init(version: "1", container: "iCloud.a", environment: .development),
            body: .json(.init(apnsEnvironment: "development", clientId: "c"))
        ).ok.body.json
        #expect(token.webcourierURL == "https://c")
        #expect(exchange.sent.withLock { $0.map(\.line) } == ["POST /device/1/iCloud.a/development/tokens/create"])
    }
}
