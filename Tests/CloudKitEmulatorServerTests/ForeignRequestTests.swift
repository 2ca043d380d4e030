import CloudKitEmulator
import CloudKitModel
import HTTPTypes
import MistTesting
import StreamingJSON
import Testing

/// Requests in the forms that Apple's samples, old versions of CloudKit JS and other clients send.
@Suite(.serialized)
struct ForeignRequestTests {
    static let connections = EmulatorConnection.allCases

    /// Apple's catalogue of samples sends the location itself, not a field with it.
    @Test(arguments: connections)
    func aSortByDistanceTakesABareLocation(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let records = [("near", 59.0), ("far", 10.0), ("here", 60.0)].map { name, latitude in
                """
                {"operationType":"create","record":{"recordName":"\(name)","recordType":"Place","fields":{"at":{
                "value":{"latitude":\(latitude),"longitude":10},"type":"LOCATION"}}}}
                """
            }
            _ = try await emulator.post(
                "records/modify",
                as: .serverKey,
                #"{"operations":[\#(records.joined(separator: ","))]}"#
            )
            for location in [
                #"{"latitude":60,"longitude":10}"#, #"{"longitude":10,"latitude":60,"altitude":5}"#,
                #"{"value":{"latitude":60,"longitude":10},"type":"LOCATION"}"#,
                #"{"value":{"latitude":60,"longitude":10}}"#,
            ] {
                let sort = #"{"fieldName":"at","relativeLocation":\#(location)}"#
                let query = #"{"query":{"recordType":"Place","sortBy":[\#(sort)]}}"#
                let reply = try await emulator.post("records/query", query)
                let names = reply.json["records"]?.arrayValue?.map { $0["recordName"]?.stringValue }
                #expect(names == ["here", "near", "far"], "\(location)")
            }
            for location in [
                #"{"latitude":60}"#, #"{"longitude":10}"#, "{}", "5", #"{"latitude":"60","longitude":10}"#,
            ] {
                let sort = #"{"fieldName":"at","relativeLocation":\#(location)}"#
                let query = #"{"query":{"recordType":"Place","sortBy":[\#(sort)]}}"#
                let reply = try await emulator.post("records/query", query)
                #expect(reply.status == 400, "\(location)")
            }
        }
    }

    /// A client in Python has its documented constants in the path.
    @Test(arguments: connections)
    func theEnvironmentOfAPathMayBeInUpperCase(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let container = emulator.containerIdentifier
            for environment in ["DEVELOPMENT", "Development"] {
                let path = "/database/1/\(container)/\(environment)/public/zones/list"
                for sender in [Sender.apiToken, .user, .serverKey] {
                    let reply = try await emulator.send(.get, path, as: sender)
                    #expect(reply.status == 200, "\(environment) \(sender)")
                }
                let device = try await emulator.send(
                    .post,
                    "/device/1/\(container)/\(environment)/tokens/create",
                    as: .user,
                    nil,
                    [:],
                    Array(#"{"apnsEnvironment":"development","clientId":"c"}"#.utf8)
                )
                #expect(device.status == 200, "\(environment)")
            }
            let token = try emulator.rules.registerAPIToken(for: container, in: .production)
            let path = "/database/1/\(container)/PRODUCTION/public/zones/list"
            #expect(try await emulator.send(.get, path, as: .anonymous, "ckAPIToken=\(token)").status == 200)
            #expect(try await emulator.send(.get, path, as: .apiToken).status == 401)
            let unknown = "/database/1/\(container)/STAGING/public/zones/list"
            #expect(try await emulator.send(.get, unknown, as: .apiToken).status == 400)
        }
    }

    /// CloudKit JS 1.2.0 sends GET, Apple's page has POST.
    @Test(arguments: connections)
    func contactsAreLookedUpByGETAndPOST(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let friend = try emulator.rules.createUser(NameComponents(givenName: "Ben"))
            let get = try await emulator.get("users/lookup/contacts", as: .user)
            let post = try await emulator.post("users/lookup/contacts", as: .user, "")
            #expect(get.status == 200)
            #expect(get.json == ["users": [["userRecordName": .string(friend), "firstName": "Ben"]]])
            #expect(post.json == get.json)
            let put = try await emulator.send(.put, emulator.path("users/lookup/contacts", in: .public), as: .user)
            #expect(put.headerFields[.allow] == "GET, POST, OPTIONS")
        }
    }

    /// Old clients name the web authentication token after the item of the sign-in's result.
    @Test(arguments: connections)
    func theWebTokenMayBeCalledSession(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let token = percentEncoded(emulator.webAuthToken)
            for query in [
                "ckSession=\(token)", "ckSession=nonsense&ckWebAuthToken=\(token)",
                "ckWebAuthToken=\(token)&ckSession=nonsense", "ckSession=&ckWebAuthToken=\(token)",
                "ckWebAuthToken=&ckSession=\(token)",
            ] {
                let reply = try await emulator.get("users/caller", query: query)
                #expect(reply.json["userRecordName"]?.stringValue == emulator.userRecordName, "\(query.prefix(14))")
                #expect(reply.headerFields[.nextWebAuthToken] != nil)
            }
            #expect(try await emulator.get("users/caller", query: "ckSession=nonsense").status == 421)
        }
    }

    @Test(arguments: connections)
    func whatFollowsAControlCharacterIsNotIgnored(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let container = emulator.containerIdentifier
            for path in [
                "/database/1/\(container)%00x/development/public/zones/list",
                "/database/1/\(container)/development%00/public/zones/list",
                "/database/1/\(container)/development/public%0A/zones/list",
                "/web-courier/a%00",
            ] {
                let reply = try await emulator.send(.get, path, as: .apiToken)
                #expect(reply.refusal == "404 NOT_FOUND could not find handler for endpoint", "\(path)")
            }
            for query in ["ckAPIToken=\(emulator.apiToken)%00junk", "ckAPIToken=\(emulator.apiToken)%0A"] {
                let reply = try await emulator.get("zones/list", as: .anonymous, query: query)
                #expect(reply.refusal == "401 AUTHENTICATION_FAILED Authentication failed", "\(query)")
            }
            let web = "ckWebAuthToken=\(percentEncoded(emulator.webAuthToken))%00junk"
            #expect(try await emulator.get("users/caller", query: web).status == 421)
        }
    }

    /// An optional member of a request may be null. The error dictionaries of the document have no nulls.
    @Test(arguments: connections)
    func errorsDoNotRepeatNulls(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let zoneID = #"{"zoneName":"None","ownerRecordName":null,"zoneType":null,"other":null}"#
            let requests: [(String, DatabaseScope, String)] = [
                ("zones/lookup", .private, #"{"zones":[\#(zoneID)]}"#),
                (
                    "zones/modify", .private,
                    #"{"operations":[{"operationType":"delete","zone":{"zoneID":\#(zoneID),"syncToken":null}}]}"#
                ),
                ("changes/zone", .private, #"{"zones":[{"zoneID":\#(zoneID),"syncToken":null}]}"#),
                (
                    "records/resolve", .public,
                    #"{"shortGUIDs":[{"value":"none","shouldFetchRootRecord":null,"rootRecordDesiredKeys":null}]}"#
                ),
                (
                    "records/modify", .private,
                    #"{"operations":[{"operationType":"create","record":{"recordName":null,"recordType":null}}]}"#
                ),
                ("subscriptions/lookup", .private, #"{"subscriptions":[{"subscriptionID":"none","query":null}]}"#),
                (
                    "assets/rereference", .private,
                    #"{"zoneID":{"zoneName":"_defaultZone"},"assets":[{"recordName":"none","fieldName":"photo","other":null}]}"#
                ),
            ]
            for (endpoint, scope, body) in requests {
                let reply = try await emulator.post(endpoint, in: scope, as: .user, body)
                #expect(reply.status == 200, "\(endpoint)")
                let text = String(decoding: try JSONWriter.bytes(of: reply.json), as: UTF8.self)
                #expect(text.contains("serverErrorCode"), "\(endpoint)")
                #expect(!text.contains("null"), "\(endpoint) \(text)")
            }
        }
    }

    /// Tests of another client were written to run against the service.
    @Test(arguments: connections)
    func whatTheServiceAnsweredOtherClients(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            func operation(_ type: String, _ recordType: String = "Note") -> String {
                #"{"operations":[{"operationType":"\#(type)","record":{"recordName":"a","recordType":"\#(recordType)"}}]}"#
            }
            _ = try await emulator.post("records/modify", as: .serverKey, operation("create"))
            let again = try await emulator.post("records/modify", as: .serverKey, operation("create"))
            #expect(again.json["records"]?[0]?["serverErrorCode"] == "CONFLICT")
            for type in ["update", "replace"] {
                let untagged = try await emulator.post("records/modify", as: .serverKey, operation(type))
                #expect(
                    untagged.refusal == "400 BAD_REQUEST BadRequestException: missing required field 'recordChangeTag'"
                )
            }
            for type in ["create", "forceUpdate", "forceDelete"] {
                let anonymous = try await emulator.post("records/modify", operation(type))
                #expect(anonymous.refusal == "421 AUTHENTICATION_REQUIRED request needs authorization", "\(type)")
                #expect(anonymous.json["redirectURL"] != nil)
            }
            let upload = #"{"tokens":[{"recordType":"Note","fieldName":"photo"}]}"#
            let anonymous = try await emulator.post("assets/upload", upload)
            #expect(anonymous.refusal == "421 AUTHENTICATION_REQUIRED request needs authorization")
        }
    }
}
