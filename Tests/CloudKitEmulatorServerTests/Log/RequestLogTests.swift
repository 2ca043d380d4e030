import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

@testable import CloudKitEmulatorServer

/// The requests that an emulator keeps, and what it says about them.
struct RequestLogTests {
    @Test func aRequestIsShownWithItsBodies() async throws {
        let page = try await PageServer()
        let reply = try await page.ask("records/modify", PageServer.create)
        #expect(reply.headerFields[.loggedRequest] == "1")
        let request = try await page.latestRequest()
        #expect(request.summary.number == 1 && request.summary.method == "POST" && request.summary.status == 200)
        #expect(request.summary.endpoint == "records/modify" && request.summary.identity == page.user)
        #expect(request.summary.requestBytes == PageServer.create.utf8.count)
        #expect(request.summary.replyBytes == reply.bytes.count)
        #expect(request.isComplete && request.refusals.isEmpty)
        let sent = try JSONReader.read(JSONValue.self, from: Array(try #require(request.requestBody).utf8))
        #expect(sent == (try JSONReader.read(JSONValue.self, from: Array(PageServer.create.utf8))))
        let answered = try JSONReader.read(JSONValue.self, from: Array(try #require(request.replyBody).utf8))
        #expect(answered == reply.json)
        #expect(try await page.administer(.get, "/requests/2").status == .notFound)
        #expect(try await page.administer(.get, "/requests/0").status == .notFound)
        // Neither the administration nor the page's files are among the requests.
        #expect(try await page.administer(.get, "/requests").json["total"]?.int64Value == 1)
    }

    @Test func noCredentialIsShown() async throws {
        let page = try await PageServer()
        let (emulator, container) = (page.emulator, PageServer.container)
        let apiToken = try emulator.registerAPIToken(for: container, in: .development)
        let token = try emulator.issueWebAuthToken(for: page.user)
        let path = "/database/1/\(container)/development/private"
        let query = "ckAPIToken=\(apiToken)&ckWebAuthToken=\(PercentEncoding.encode(token))&getCurrentSyncToken=true"
        let upload = #"{"tokens":[{"recordType":"Note","fieldName":"file"}],"ckSession":"secret-7"}"#
        let signed: HTTPFields = [
            .authorization: "Bearer secret-1", .cookie: "a=secret-2", .cloudKitSignature: "secret-3",
        ]
        let reply = try await page.send(.post, "\(path)/assets/upload?\(query)", upload, page: [:])
        let address = try #require(reply.json["tokens"]?[0]?["url"]?.stringValue)
        let next = try #require(reply.headerFields[.webAuthToken])
        _ = try await page.send(.post, "\(path)/zones/list?\(query)", "{}", page: signed)
        _ = try await page.send(.post, "\(path)/tokens/create?\(query)", "not JSON: secret-4", page: [:])
        for number in 1...3 {
            let shown = try await page.administer(.get, "/requests/\(number)").text
            for credential in [
                apiToken, token, PercentEncoding.encode(token), next, address, "secret-", page.cookie,
                String(page.cookie.split(separator: "=")[1]),
            ] {
                #expect(!shown.contains(credential), "\(number): \(credential) in \(shown)")
            }
            #expect(shown.contains("getCurrentSyncToken=true"))
        }
        let list = try await page.administer(.get, "/requests").text
        #expect(!list.contains(apiToken) && !list.contains("secret-"))
    }

    @Test func aRequestIsSentAgainAsTheSameCaller() async throws {
        let page = try await PageServer()
        let other = try page.emulator.createUser()
        _ = try await page.ask("records/modify", as: other, PageServer.create)
        let again = try await page.administer(.post, "/requests/1/replay").read(Components.Schemas.LoggedRequest.self)
        #expect(again.summary.number == 2 && again.summary.identity == other)
        #expect(again.refusals.map(\.serverErrorCode) == ["CONFLICT"])
        #expect(try page.emulator.recordCounts().map(\.owner) == [other])
        #expect(try await page.administer(.post, "/requests/9/replay").status == .notFound)
        // A request whose credentials were refused has no caller.
        let path = "/database/1/\(PageServer.container)/development/private/zones/list"
        _ = try await page.send(.post, path, "{}", page: [:])
        #expect(try await page.administer(.post, "/requests/3/replay").status == .conflict)
    }

    @Test func theLogIsBounded() {
        let log = RequestLog(capacity: 3, maximumBytes: 100)
        func add(_ count: Int) {
            var entry = RequestLog.Entry(
                time: Date(timeIntervalSince1970: 0),
                request: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/"),
                isEndpoint: true,
                trace: RequestTrace()
            )
            entry.bodies = .init(request: ArraySlice(repeating: 0, count: count), reply: nil)
            _ = log.add(entry)
        }
        func kept() -> [Int: Int?] {
            Dictionary(uniqueKeysWithValues: log.latest(.max).entries.map { ($0.number, $0.bodies?.count) })
        }
        add(40)
        add(40)
        #expect(kept() == [1: 40, 2: 40])
        add(40)
        #expect(kept() == [1: nil, 2: 40, 3: 40])
        for _ in 0..<5 { add(10) }
        #expect(kept() == [6: 10, 7: 10, 8: 10])
        add(101)
        #expect(kept() == [7: nil, 8: nil, 9: nil])
        add(100)
        #expect(kept() == [8: nil, 9: nil, 10: 100])
        #expect(log.latest(1).entries.map(\.number) == [10] && log.latest(1).total == 10)
        #expect(log.entry(7) == nil && log.entry(8) != nil && log.entry(11) == nil && log.entry(-1) == nil)
    }

    // MARK: Why not

    private func refusals(_ page: PageServer) async throws -> [Components.Schemas.Refusal] {
        try await page.latestRequest().refusals
    }

    @Test func aQueryWithoutAnIndexNamesTheIndexAndAddsIt() async throws {
        let page = try await PageServer()
        let schema = "DEFINE SCHEMA RECORD TYPE Note (title STRING, GRANT READ TO \"_world\");"
        let path = "/containers/\(PageServer.container)/development/schema"
        #expect(try await page.administer(.put, path, schema, type: "text/plain").status == .ok)
        let all = #"{"query":{"recordType":"Note"}}"#
        let filtered =
            #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"title","fieldValue":{"value":"a"}}]}}"#
        let sorted = #"{"query":{"recordType":"Note","filterBy":[],"sortBy":[{"fieldName":"title"}]}}"#
        let cases = [
            (all, "queryWithoutFilter", "Add a QUERYABLE index to recordName of Note"),
            (filtered, "filterWithoutIndex", "Add a QUERYABLE index to title of Note"),
            (sorted, "sortWithoutIndex", "Add a SORTABLE index to title of Note"),
        ]
        for (query, rule, title) in cases {
            #expect(try await page.ask("records/query", query).status == .badRequest)
            let refusal = try #require(try await refusals(page).first)
            #expect(refusal.rules.map(\.id) == [rule] && refusal.rules.first?.sentence.isEmpty == false)
            #expect(refusal.rules.first?.evidence.isEmpty == false)
            let remedy = try #require(refusal.remedies.first)
            #expect(remedy.title == title)
            let request = try #require(remedy.request)
            #expect(request.path.hasPrefix("/_emulator"))
            let changed = try await page.send(.post, request.path, request.body, page: page.ownPage)
            #expect(changed.status == .ok, "\(changed.text)")
        }
        for (query, _, _) in cases {
            #expect(try await page.ask("records/query", query).status == .ok)
        }
    }

    @Test func aWriteWithoutAGrantNamesTheGrantAndAddsIt() async throws {
        let page = try await PageServer()
        let schema = "DEFINE SCHEMA RECORD TYPE Note (title STRING, GRANT READ TO \"_world\");"
        let path = "/containers/\(PageServer.container)/development/schema"
        _ = try await page.administer(.put, path, schema, type: "text/plain")
        let refused = try await page.ask("records/modify", in: .public, PageServer.create)
        #expect(refused.json["records"]?[0]?["serverErrorCode"]?.stringValue == "ACCESS_DENIED")
        let refusal = try #require(try await refusals(page).first)
        #expect(refusal.item == "n" && refusal.rules.map(\.id) == ["createWithoutGrant"])
        let remedy = try #require(refusal.remedies.first)
        #expect(remedy.title == "Grant CREATE on Note to _icloud")
        _ = try await page.send(.post, try #require(remedy.request).path, remedy.request?.body, page: page.ownPage)
        let saved = try await page.ask("records/modify", in: .public, PageServer.create)
        #expect(saved.json["records"]?[0]?["recordChangeTag"] != nil, "\(saved.text)")
        _ = try await page.ask("records/modify", in: .public, as: "nobody", PageServer.create)
        #expect(try await refusals(page).first?.remedies.map(\.kind) == [.signIn])
    }

    @Test func aTypeOfDevelopmentAloneIsDeployed() async throws {
        let page = try await PageServer()
        _ = try await page.ask("records/modify", PageServer.create)
        _ = try await page.ask("records/modify", environment: .production, PageServer.create)
        let refusal = try #require(try await refusals(page).first)
        #expect(refusal.rules.map(\.id).contains("typeNotDeployed"))
        let request = try #require(refusal.remedies.first?.request)
        #expect(try await page.send(.post, request.path, request.body, page: page.ownPage).status == .ok)
        let saved = try await page.ask("records/modify", environment: .production, PageServer.create)
        #expect(saved.json["records"]?[0]?["recordChangeTag"] != nil, "\(saved.text)")
    }

    @Test func anOldTagIsAConflict() async throws {
        let page = try await PageServer()
        _ = try await page.ask("records/modify", PageServer.create)
        let update =
            #"{"operations":[{"operationType":"update","record":{"recordType":"Note","recordName":"n","recordChangeTag":"old"}}]}"#
        _ = try await page.ask("records/modify", update)
        let refusal = try #require(try await refusals(page).first)
        #expect(refusal.serverErrorCode == "CONFLICT" && refusal.remedies.map(\.kind) == [.fetchAgain])
        #expect(refusal.rules.map(\.id).contains("updateWithOldTag"))
    }

    @Test func anEmptyResultSaysWhereTheRecordsAre() async throws {
        let page = try await PageServer()
        let query = #"{"query":{"recordType":"Note"}}"#
        _ = try await page.ask("records/modify", PageServer.create)
        _ = try await page.ask("records/query", query)
        #expect(try await refusals(page).isEmpty)
        _ = try await page.ask("records/query", in: .public, query)
        let elsewhere = try #require(try await refusals(page).first)
        #expect(elsewhere.serverErrorCode == nil)
        #expect(elsewhere.reason.contains("has 1 in the zone _defaultZone"), "\(elsewhere)")
        let filtered =
            #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"title","fieldValue":{"value":"a"}}]}}"#
        _ = try await page.ask("records/query", filtered)
        #expect(try await refusals(page).first?.reason.contains("The zone has 1 records of Note") == true)
    }

    @Test func theRulesAreThoseOfTheContract() async throws {
        let page = try await PageServer()
        let rules = try await page.administer(.get, "/rules").read(Components.Schemas.RuleList.self).rules
        #expect(rules.contains { $0.id == "updateWithOldTag" && $0.sentence.contains("old change tag") })
        #expect(rules.allSatisfy { !$0.evidence.isEmpty })
    }
}
