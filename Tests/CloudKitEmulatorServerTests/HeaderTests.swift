import CloudKitModel
import Foundation
import HTTPTypes
import MistTesting
import StreamingJSON
import Testing

/// The header fields of responses, and the preflight requests of browsers.
@Suite(.serialized)
struct HeaderTests {
    static let connections = EmulatorConnection.allCases

    /// The header fields that the service sets. A socket adds `date` and `content-length`.
    private func fields(_ reply: Reply) -> [String: String] {
        var fields: [String: String] = [:]
        for field in reply.headerFields where !["date", "content-length"].contains(field.name.canonicalName) {
            fields[field.name.canonicalName] = field.value
        }
        return fields
    }

    @Test(arguments: connections)
    func everyResponseBearsTheServicesFields(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let replies = [
                try await emulator.get("zones/list"),
                try await emulator.get("zones/list", as: .anonymous),
                try await emulator.get("no/such"),
                try await emulator.post("records/query", "nonsense"),
            ]
            #expect(replies.map(\.status) == [200, 401, 404, 400])
            for reply in replies {
                let uuid = try #require(reply.headerFields[.requestUUID])
                #expect(
                    fields(reply) == [
                        "content-type": "application/json; charset=UTF-8",
                        "x-apple-request-uuid": uuid,
                        "x-apple-cloudkit-version": "1.0",
                        "x-responding-instance": "ckdatabasews:mistkit-emulator",
                    ]
                )
                #expect(UUID(uuidString: uuid) != nil)
                if reply.status != 200 { #expect(reply.json["uuid"] == .string(uuid)) }
            }
            #expect(Set(replies.map { $0.headerFields[.requestUUID] }).count == replies.count)
        }
    }

    @Test(arguments: connections)
    func aPageOfThisMachineMayReadTheResponse(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let origin: HTTPFields = [.origin: "http://localhost:3000"]
            let success = try await emulator.get("zones/list", in: .private, as: .user, headerFields: origin)
            let failure = try await emulator.get("zones/list", as: .anonymous, headerFields: origin)
            #expect([success, failure].map(\.status) == [200, 401])
            for reply in [success, failure] {
                let access = fields(reply).filter { $0.key.hasPrefix("access-control") || $0.key == "vary" }
                #expect(
                    access == [
                        "access-control-allow-origin": "http://localhost:3000",
                        "access-control-allow-credentials": "true",
                        "access-control-expose-headers":
                            "X-Apple-Request-UUID, X-Responding-Instance, Via, X-Apple-CloudKit-Web-Auth-Token",
                        "vary": "Origin",
                    ]
                )
            }
        }
    }

    @Test(arguments: connections)
    func aBrowserMayAskBeforeItSends(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let preflight = try await emulator.send(
                .options,
                emulator.path("records/query", in: .private),
                as: .anonymous,
                nil,
                [
                    .origin: "http://localhost:3000",
                    .accessControlRequestMethod: "POST",
                    .accessControlRequestHeaders: "content-type,x-apple-cloudkit-request-keyid",
                ]
            )
            #expect(preflight.status == 200)
            #expect(preflight.json == .null)
            #expect(preflight.headerFields[.accessControlAllowOrigin] == "http://localhost:3000")
            #expect(preflight.headerFields[.accessControlAllowMethods] == "GET, POST, PUT, DELETE")
            #expect(
                preflight.headerFields[.accessControlAllowHeaders] == "content-type,x-apple-cloudkit-request-keyid"
            )
        }
    }

    @Test(arguments: ["https://example.com", "null", "http://localhost.example.com"])
    func aPageOfAnotherOriginGetsNothing(_ origin: String) async throws {
        try await withCloudKitEmulator { emulator in
            // The request that browsers send without asking first: text, with the credentials in the address.
            let body = """
                {"operations":[{"operationType":"create","record":{"recordName":"n","recordType":"Note","fields":{}}}]}
                """
            let fields: HTTPFields = [.origin: origin, .contentType: "text/plain"]
            let replies = [
                try await emulator.post("records/modify", as: .user, headerFields: fields, body),
                try await emulator.get("zones/list", in: .private, as: .user, headerFields: fields),
                try await emulator.get("users/caller", as: .apiToken, headerFields: fields),
                try await emulator.send(.options, emulator.path("zones/list", in: .private), as: .user, nil, fields),
                try await emulator.send(.get, "/web-courier/x", as: .anonymous, nil, fields),
            ]
            for reply in replies {
                #expect(
                    reply.refusal
                        == "403 ACCESS_DENIED pages of '\(origin)' may not use this server; "
                        + "allow the origin with --allow-origin, or Configuration.allowedOrigins"
                )
                #expect(reply.json["redirectURL"] == nil)
                #expect(reply.headerFields.allSatisfy { !$0.name.canonicalName.hasPrefix("access-control") })
                #expect(reply.headerFields[.vary] == "Origin")
            }
            for method in [HTTPRequest.Method.post, .options] {
                var upload = HTTPRequest(method: method, scheme: nil, authority: nil, path: "/asset-upload/x")
                upload.headerFields = fields
                let reply = try await emulator.send(upload, body: [1])
                #expect(reply.status == .forbidden)
                #expect(reply.headerFields.allSatisfy { !$0.name.canonicalName.hasPrefix("access-control") })
            }
            let lookup = try await emulator.post("records/lookup", #"{"records":[{"recordName":"n"}]}"#)
            #expect(lookup.json["records"]?[0]?["serverErrorCode"] == "NOT_FOUND")
        }
    }

    @Test func aPictureOfAnotherSiteIsNotARequest() async throws {
        try await withCloudKitEmulator { emulator in
            let fields: HTTPFields = [HTTPField.Name("Sec-Fetch-Site")!: "cross-site"]
            let reply = try await emulator.get("zones/list", in: .private, as: .user, headerFields: fields)
            #expect(reply.refusal == "403 ACCESS_DENIED a page of another site may not load this address without fetch")
        }
    }
}
