import CloudKitModel
import HTTPTypes
import MistTesting
import StreamingJSON
import Testing

/// The paths, methods and bodies that the server accepts, and how it refuses others.
@Suite(.serialized)
struct RoutingTests {
    static let connections = EmulatorConnection.allCases

    @Test(arguments: connections)
    func anUnknownPathHasNoHandler(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let base = "/database/1/\(emulator.containerIdentifier)/development"
            for path in [
                "/", "/nonsense", base, "\(base)/public/records", "\(base)/public/records/zip/prepare",
                "/database/2/\(emulator.containerIdentifier)/development/public/zones/list",
                "\(base)/subscriptions/lookup",
            ] {
                for method in [HTTPRequest.Method.get, .post, .options] {
                    let reply = try await emulator.send(method, path, as: .apiToken)
                    #expect(reply.refusal == "404 NOT_FOUND could not find handler for endpoint", "\(method) \(path)")
                }
            }
        }
    }

    @Test(arguments: connections)
    func optionsTellsTheMethodsOfAKnownPath(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let reply = try await emulator.send(.options, emulator.path("zones/list", in: .public), as: .anonymous)
            #expect(reply.status == 200)
            #expect(reply.headerFields[.allow] == "GET, POST, PUT, DELETE")
            #expect(reply.json == .null)
        }
    }

    @Test(arguments: connections)
    func anotherMethodOnAKnownPathIsNotAllowed(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let query = try await emulator.get("records/query")
            #expect(query.status == 405)
            #expect(query.headerFields[.allow] == "POST, OPTIONS")
            let list = try await emulator.send(.put, emulator.path("zones/list", in: .public), as: .apiToken)
            #expect(list.status == 405)
            #expect(list.headerFields[.allow] == "GET, POST, OPTIONS")
        }
    }

    @Test(arguments: connections)
    func anEndpointOfGetAnswersPostAsWell(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            for endpoint in ["zones/list", "users/caller", "users/current"] {
                let get = try await emulator.get(endpoint, as: .user)
                let post = try await emulator.post(endpoint, as: .user, "{}")
                let empty = try await emulator.post(endpoint, as: .user, "")
                #expect(get.status == 200)
                #expect(get.json == post.json)
                #expect(get.json == empty.json)
            }
        }
    }

    @Test(arguments: connections)
    func everyContentTypeIsAccepted(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            for type in [nil, "text/plain", "application/json", "application/json; charset=utf-8", "image/png", "?"] {
                var fields: HTTPFields = [.accept: "text/html"]
                fields[.contentType] = type
                let reply = try await emulator.post(
                    "records/lookup",
                    headerFields: fields,
                    #"{"records":[{"recordName":"a"}]}"#
                )
                #expect(reply.status == 200, "\(type ?? "none")")
            }
        }
    }

    @Test(arguments: connections)
    func unknownMembersAndNullsAreIgnored(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let reply = try await emulator.post(
                "records/lookup",
                query: "ckjsBuildVersion=2420ProjectDev22&remapEnums=True&getCurrentSyncToken=True&clientId=&x",
                """
                {"records": [{"recordName": "a", "color": [1, {}]}], "zoneID": null, "desiredKeys": null,
                 "numbersAsStrings": null, "later": {"than": "now"}}
                """
            )
            #expect(reply.status == 200)
            #expect(reply.json["records"]?[0]?["recordName"] == "a")
            #expect(reply.json["syncToken"] != nil)
        }
    }

    @Test(arguments: connections)
    func whatIsNoJSONOrOfAnotherFormIsUnexpectedInput(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            for body in [
                "", "{", "nonsense", "[]", "null", "{}", #"{"records":{}}"#, #"{"records":[1]}"#,
                #"{"records":[{}]}"#, #"{"records":[]} x"#, #"{"records":[],"zoneID":"Notes"}"#,
                "{\"records\":[\"\u{0}\"",
            ] {
                let reply = try await emulator.post("records/lookup", body)
                #expect(reply.refusal == "400 BAD_REQUEST BadRequestException: Unexpected input", "\(body)")
            }
            for path in [
                "/database/1/\(emulator.containerIdentifier)/staging/public/zones/list",
                "/database/1/\(emulator.containerIdentifier)/development/secret/zones/list",
            ] {
                let reply = try await emulator.send(.get, path, as: .apiToken)
                #expect(reply.refusal == "400 BAD_REQUEST BadRequestException: Unexpected input", "\(path)")
            }
        }
    }

    @Test(arguments: connections)
    func aBodyAboveTheSizeLimitIsRefused(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let body = String(repeating: " ", count: 64 * 1024 * 1024 + 1)
            let reply = try await emulator.post("records/lookup", body)
            #expect(reply.refusal == "413 BAD_REQUEST the request body is longer than 67108864 bytes")
            #expect(try await emulator.get("zones/list").status == 200)
        }
    }
}
