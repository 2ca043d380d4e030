import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import CloudKitWebServices
import Foundation
import HTTPTypes
import Logging
import MistTesting
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// Device tokens and the web courier over HTTP.
@Suite(.serialized)
struct CourierTests {
    /// Creates a device token, and returns the path of the courier's address.
    private func courier(of emulator: RunningEmulator) async throws -> String {
        let reply = try await emulator.device("tokens/create", #"{"apnsEnvironment":"development","clientId":"c"}"#)
        #expect(reply.status == 200)
        let address = try #require(reply.json["webcourierURL"]?.stringValue.flatMap(URL.init(string:)))
        #expect(address.host() == emulator.serverURL.host())
        #expect(address.port == emulator.serverURL.port)
        return address.path()
    }

    private func subscribe(_ emulator: RunningEmulator) async throws {
        let reply = try await emulator.post(
            "subscriptions/modify",
            in: .private,
            as: .user,
            """
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","subscriptionType":"query",\
            "query":{"recordType":"Note"},"firesOn":["create"]}}]}
            """
        )
        #expect(reply.json["subscriptions"]?[0]?["subscriptionID"] == "s")
    }

    private func save(_ name: String, in emulator: RunningEmulator) async throws {
        _ = try await emulator.post(
            "records/modify",
            in: .private,
            as: .user,
            """
            {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Note","fields":{}}}]}
            """
        )
    }

    @Test(arguments: EmulatorConnection.allCases)
    func theCourierHoldsARequestUntilThereIsAPush(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let path = try await courier(of: emulator)
            try await subscribe(emulator)
            let held = Task { try await emulator.send(.get, path, as: .anonymous) }
            await emulator.rules.waitForCouriers(1)
            try await save("a", in: emulator)
            let reply = try await held.value
            #expect(reply.status == 200)
            #expect(reply.json["ck"]?["qry"]?["rid"] == "a")
            #expect(reply.json["ck"]?["cid"]?.stringValue == emulator.containerIdentifier)
            // Pushes that arrived while no request waited are delivered at once, in order.
            for name in ["b", "c"] { try await save(name, in: emulator) }
            for name in ["b", "c"] {
                let reply = try await emulator.send(.get, path, as: .anonymous)
                #expect(reply.json["ck"]?["qry"]?["rid"] == .string(name))
            }
        }
    }

    /// A device asks for the next push as soon as it has one. It does not need another connection for that.
    @Test(.enabled(if: canRun("curl", ["--version"]), "curl"))
    func aConnectionServesOneRequestToTheCourierAfterAnother() async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            let path = try await courier(of: emulator)
            try await subscribe(emulator)
            for name in ["a", "b"] { try await save(name, in: emulator) }
            let address = "\(emulator.serverURL)\(path)"
            let (status, output) = try await run(
                "curl",
                ["--silent", "--write-out", "\n%{http_code} %{num_connects}\n", address, address]
            )
            #expect(status == 0)
            let lines = output.split(separator: "\n")
            #expect(lines.filter { $0.hasPrefix("200 ") } == ["200 1", "200 0"])
            #expect(lines.count == 4)
        }
    }

    @Test func nothingComesWhenTheTimeIsUp() async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(clock: clock) { emulator in
            let path = try await courier(of: emulator)
            let held = Task {
                try await emulator.send(HTTPRequest(method: .get, scheme: nil, authority: nil, path: path))
            }
            await clock.waitForSleepers()
            clock.advance(by: 29)
            #expect(clock.sleeperCount == 1)
            clock.advance(by: 1)
            let response = try await held.value
            #expect(response.status == .ok)
            #expect(response.body == [])
            await emulator.rules.waitForCouriers(0)
            #expect(clock.sleeperCount == 0)
        }
    }

    @Test func otherAddressesAndMethodsAreRefused() async throws {
        try await withCloudKitEmulator { emulator in
            let path = try await courier(of: emulator)
            #expect(
                try await emulator.send(.get, path + "0", as: .anonymous).refusal
                    == "404 NOT_FOUND there is no such token"
            )
            #expect(try await emulator.send(.get, "/web-courier/", as: .anonymous).status == 404)
            let post = try await emulator.send(.post, path, as: .anonymous)
            #expect(post.status == 405)
            #expect(post.headerFields[.allow] == "GET, OPTIONS")
            let preflight = try await emulator.send(
                .options,
                path,
                as: .anonymous,
                nil,
                [.origin: "http://localhost:3000"]
            )
            #expect(preflight.status == 200)
            #expect(preflight.headerFields[.allow] == "GET, OPTIONS")
            #expect(preflight.headerFields[.accessControlAllowMethods] == "GET, OPTIONS")
            let misplaced = try await emulator.post("tokens/create", in: .private, as: .user, "{}")
            #expect(misplaced.status == 405)
            #expect(misplaced.headerFields[.allow] == "OPTIONS")
            let options = try await emulator.send(
                .options,
                emulator.path("tokens/create", in: .private),
                as: .anonymous
            )
            #expect(options.status == 200)
            #expect(options.headerFields[.allow] == "OPTIONS")
        }
    }

    /// Apple's first client, CloudKit JS 1.2.0, sends no `clientId`. Devices without one cannot be told apart, so each
    /// call makes a token.
    @Test func aTokenNeedsNoNameOfItsClient() async throws {
        try await withCloudKitEmulator { emulator in
            let request = #"{"apnsEnvironment":"development"}"#
            let (first, second) = (
                try await emulator.device("tokens/create", request), try await emulator.device("tokens/create", request)
            )
            for reply in [first, second] {
                #expect(reply.json.objectValue?.keys.sorted() == ["apnsEnvironment", "apnsToken", "webcourierURL"])
                let token = try #require(reply.json["apnsToken"]?.stringValue)
                let registered = try await emulator.device(
                    "tokens/register",
                    #"{"apnsEnvironment":"development","apnsToken":"\#(token)"}"#
                )
                #expect(registered.json == reply.json)
            }
            #expect(first.json["apnsToken"] != second.json["apnsToken"])
        }
        var configuration = EmulatorConfiguration()
        configuration.unsettled.deviceTokensNeedClientID = true
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let reply = try await emulator.device("tokens/create", #"{"apnsEnvironment":"development"}"#)
            #expect(reply.refusal == "400 BAD_REQUEST clientId is required")
        }
    }

    /// CloudKit JS reads the same three keys of both responses, and waits for pushes at the address of the later one.
    @Test func aRegisteredTokenIsAnsweredLikeAMadeOne() async throws {
        try await withCloudKitEmulator { emulator in
            let made = try await emulator.device("tokens/create", #"{"apnsEnvironment":"development","clientId":"c"}"#)
            let token = try #require(made.json["apnsToken"]?.stringValue)
            let registered = try await emulator.device(
                "tokens/register",
                #"{"apnsEnvironment":"development","apnsToken":"\#(token)","clientId":"c"}"#
            )
            #expect(registered.status == 200)
            #expect(registered.json == made.json)
            #expect(made.json.objectValue?.keys.sorted() == ["apnsEnvironment", "apnsToken", "webcourierURL"])

            // A token of Apple's push service has a courier as well, and keeps it.
            let native = #"{"apnsEnvironment":"development","apnsToken":"bmF0aXZl","clientId":"c"}"#
            let first = try await emulator.device("tokens/register", native)
            #expect(first.json["apnsToken"] == "bmF0aXZl")
            #expect(try await emulator.device("tokens/register", native).json == first.json)
            let address = try #require(first.json["webcourierURL"]?.stringValue.flatMap(URL.init(string:)))
            #expect(first.json["webcourierURL"] != made.json["webcourierURL"])
            try await subscribe(emulator)
            try await save("a", in: emulator)
            #expect(try await emulator.send(.get, address.path(), as: .anonymous).json["ck"]?["qry"]?["rid"] == "a")
            // The token that was created for the client is still valid.
            let again = try await emulator.device("tokens/create", #"{"apnsEnvironment":"development","clientId":"c"}"#)
            #expect(again.json == made.json)
        }
    }

    @Test func aServerThatStopsEndsTheRequestsThatWait() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let rules = try CloudKitEmulator()
        let user = try rules.createUser()
        let token = try rules.request(in: DatabaseAddress("iCloud.test", .development, .public), as: .user(user))
            .createDeviceToken(.init(apnsEnvironment: "development", clientId: "c"))
        let courier = try #require(token.webcourierURL.flatMap(URL.init(string:))).path()
        let server = try CloudKitEmulatorServer(rules, configuration: .init(logger: logger))
        let held = try await server.withRunningServer { address in
            let held = Task {
                try await AsyncHTTPClientTransport().send(
                    HTTPRequest(method: .get, scheme: nil, authority: nil, path: courier),
                    body: nil,
                    baseURL: address,
                    operationID: "poll"
                )
            }
            await rules.waitForCouriers(1)
            return held
        }
        let (response, body) = try await held.value
        #expect(response.status == .ok)
        let bytes = if let body { try await [UInt8](collecting: body, upTo: 100) } else { [UInt8]() }
        #expect(bytes == [])
        await rules.waitForCouriers(0)
    }
}

extension RunningEmulator {
    /// Sends a POST to an endpoint of the device module.
    fileprivate func device(_ endpoint: String, _ json: String) async throws -> Reply {
        let path = "/device/1/\(containerIdentifier)/\(environment.rawValue)/\(endpoint)"
        return try await send(.post, path, as: .user, nil, [:], Array(json.utf8))
    }
}
