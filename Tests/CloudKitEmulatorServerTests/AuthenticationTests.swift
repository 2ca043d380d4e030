import CloudKitEmulator
import CloudKitModel
import Foundation
import HTTPTypes
import MistTesting
import StreamingJSON
import Testing

/// Which credentials give access to which databases, and how the service refuses others.
@Suite(.serialized)
struct AuthenticationTests {
    static let connections = EmulatorConnection.allCases

    @Test(arguments: connections)
    func eachKindOfCredentialOpensItsDatabases(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            var table: [String] = []
            for sender in Sender.allCases {
                for scope in DatabaseScope.allCases {
                    let reply = try await emulator.get("zones/list", in: scope, as: sender)
                    table.append("\(sender) \(scope) \(reply.status == 200 ? "200" : reply.refusal)")
                }
                let reply = try await emulator.get("users/caller", as: sender)
                table.append("\(sender) users/caller \(reply.status == 200 ? "200" : reply.refusal)")
            }
            #expect(
                table == [
                    "anonymous public 401 AUTHENTICATION_FAILED Authentication failed",
                    "anonymous private 401 AUTHENTICATION_FAILED Authentication failed",
                    "anonymous shared 401 AUTHENTICATION_FAILED Authentication failed",
                    "anonymous users/caller 401 AUTHENTICATION_FAILED Authentication failed",
                    "apiToken public 200",
                    "apiToken private 421 AUTHENTICATION_REQUIRED request needs authorization",
                    "apiToken shared 421 AUTHENTICATION_REQUIRED request needs authorization",
                    "apiToken users/caller 421 AUTHENTICATION_REQUIRED request needs authorization",
                    "user public 200",
                    "user private 200",
                    "user shared 200",
                    "user users/caller 200",
                    "serverKey public 200",
                    "serverKey private 401 AUTHENTICATION_FAILED Authentication failed",
                    "serverKey shared 401 AUTHENTICATION_FAILED Authentication failed",
                    "serverKey users/caller 200",
                ]
            )
        }
    }

    @Test(arguments: connections)
    func aRefusalForWantOfAUserSaysWhereToSignIn(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let reply = try await emulator.get("zones/list", in: .private)
            let uuid = try #require(reply.headerFields[.requestUUID])
            let page = try #require(reply.json["redirectURL"]?.stringValue)
            #expect(page.hasPrefix("\(emulator.serverURL)/sign-in?oauth_token="))
            #expect(!page.contains(emulator.apiToken))
            #expect(
                reply.json == [
                    "uuid": .string(uuid),
                    "serverErrorCode": "AUTHENTICATION_REQUIRED",
                    "reason": "request needs authorization",
                    "redirectURL": .string(page),
                ]
            )
        }
    }

    @Test(arguments: connections)
    func theCallerIsOneFlatIdentity(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let names: JSONValue = ["givenName": "Mei", "familyName": "Chen"]
            let caller = try await emulator.get("users/caller", as: .user)
            #expect(
                caller.json == ["userRecordName": .string(emulator.userRecordName), "nameComponents": names]
            )
            let current = try await emulator.get("users/current", as: .user)
            #expect(
                current.json == [
                    "userRecordName": .string(emulator.userRecordName), "firstName": "Mei", "lastName": "Chen",
                ]
            )
        }
    }

    @Test(arguments: connections)
    func anAPITokenOfAnotherContainerFails(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let path = "/database/1/iCloud.test.other/development/public/zones/list"
            let reply = try await emulator.send(.get, path, as: .apiToken)
            #expect(reply.refusal == "401 AUTHENTICATION_FAILED Authentication failed")
        }
    }

    // MARK: Web tokens

    @Test(arguments: connections)
    func everyResponseToAUserBringsTheNextTokenErrorsToo(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let success = try await emulator.get("zones/list", in: .private, as: .user)
            let failure = try await emulator.post("records/query", in: .private, as: .user, "{")
            #expect(failure.status == 400)
            for reply in [success, failure] {
                let token = try #require(reply.headerFields[.nextWebAuthToken])
                #expect(token != emulator.webAuthToken)
                let query = "ckAPIToken=\(emulator.apiToken)&ckWebAuthToken=\(percentEncoded(token))"
                let next = try await emulator.get("users/caller", as: .anonymous, query: query)
                #expect(next.json["userRecordName"]?.stringValue == emulator.userRecordName)
            }
            for sender in [Sender.apiToken, .serverKey] {
                let reply = try await emulator.get("zones/list", as: sender)
                #expect(reply.headerFields[.nextWebAuthToken] == nil)
            }
        }
    }

    @Test(arguments: connections)
    func aWebTokenThatIsNotEncodedOnceFails(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection, seed: 4) { emulator in
            var token = emulator.webAuthToken
            // The other characters of a token survive without encoding, so the test needs a token with a plus sign.
            while !token.contains("+") {
                token = try emulator.rules.issueWebAuthToken(for: emulator.userRecordName)
            }
            var statuses: [Int] = []
            for form in [percentEncoded(token), token, percentEncoded(percentEncoded(token)), "nonsense"] {
                let query = "ckAPIToken=\(emulator.apiToken)&ckWebAuthToken=\(form)"
                statuses.append(try await emulator.get("users/caller", as: .anonymous, query: query).status)
            }
            #expect(statuses == [200, 421, 421, 421])
        }
    }

    @Test(arguments: connections)
    func aWebTokenExpires(_ connection: EmulatorConnection) async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(over: connection, clock: clock) { emulator in
            clock.advance(by: 29 * 60)
            #expect(try await emulator.get("users/caller", as: .user).status == 200)
            clock.advance(by: 2 * 60)
            let reply = try await emulator.get("users/caller", as: .user)
            #expect(reply.refusal == "421 AUTHENTICATION_REQUIRED request needs authorization")
            #expect(reply.json["redirectURL"] != nil)
        }
    }

    // MARK: Signatures

    /// A valid request, changed in one respect after it was signed.
    enum Change: String, CaseIterable {
        case nothing, body, path, query, keyID, date, signature, noDate, noSignature, emptyHash
    }

    @Test(arguments: connections)
    func aSignedRequestWithOneByteChangedFails(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            var accepted: [Change] = []
            for change in Change.allCases {
                var body = Array(#"{"records":[{"recordName":"a"}]}"#.utf8)
                var request = HTTPRequest(
                    method: .post,
                    scheme: nil,
                    authority: nil,
                    path: emulator.path("records/lookup", in: .public) + "?clientId=a%20b&ckjsVersion=2.6.4"
                )
                let now = Date()
                try emulator.sign(&request, body: body, date: isoDate(now))
                switch change {
                case .nothing: break
                case .body: body[26] = UInt8(ascii: "b")
                case .path: request.path = request.path?.replacingOccurrences(of: "lookup", with: "lookup/")
                case .query: request.path = request.path?.replacingOccurrences(of: "%20", with: "+")
                case .keyID:
                    let digit = emulator.serverKeyID.first == "0" ? "1" : "0"
                    request.headerFields[.keyID] = digit + emulator.serverKeyID.dropFirst()
                case .date: request.headerFields[.date8601] = isoDate(now.addingTimeInterval(1))
                case .signature:
                    let other = HTTPField.Name.signature
                    request.headerFields[other] = request.headerFields[other].map { "M" + $0.dropFirst(2) + "A" }
                case .noDate: request.headerFields[.date8601] = nil
                case .noSignature: request.headerFields[.signature] = nil
                case .emptyHash:
                    let hashed = request
                    body = []
                    try emulator.sign(&request, body: body, hashesEmptyBody: false)
                    #expect(hashed.headerFields[.signature] != request.headerFields[.signature])
                }
                let reply = try await Reply(emulator.send(request, body: body))
                switch reply.refusal {
                case "401 AUTHENTICATION_FAILED Authentication failed": break
                case "400 BAD_REQUEST BadRequestException: Unexpected input": accepted.append(change)
                default:
                    #expect(reply.status == 200, "\(change)")
                    accepted.append(change)
                }
            }
            #expect(accepted == [.nothing, .emptyHash])
        }
    }

    @Test(arguments: connections)
    func aSignatureHoldsTenMinutesEitherWay(_ connection: EmulatorConnection) async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(over: connection, clock: clock) { emulator in
            var statuses: [Int: Int] = [:]
            for offset in [-3600, -601, -600, 0, 600, 601, 3600] {
                var request = HTTPRequest(
                    method: .get,
                    scheme: nil,
                    authority: nil,
                    path: emulator.path("zones/list", in: .public)
                )
                let date = clock.now.addingTimeInterval(Double(offset))
                try emulator.sign(&request, body: [], date: isoDate(date))
                statuses[offset] = try await emulator.send(request).status.code
            }
            #expect(statuses == [-3600: 401, -601: 401, -600: 200, 0: 200, 600: 200, 601: 401, 3600: 401])
        }
    }

    @Test(arguments: connections)
    func anEmptyBodyMaySignAnEmptyHash(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            for hashes in [true, false] {
                var request = HTTPRequest(
                    method: .get,
                    scheme: nil,
                    authority: nil,
                    path: emulator.path("zones/list", in: .public)
                )
                try emulator.sign(&request, body: [], hashesEmptyBody: hashes)
                #expect(try await emulator.send(request).status == .ok)
            }
        }
    }

    @Test(arguments: connections)
    func aBodyOfFiveMegabytesIsVerifiedWhole(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let padding = String(repeating: "x", count: 5 * 1024 * 1024)
            var body = Array(#"{"records":[{"recordName":"a"}],"padding":"\#(padding)"}"#.utf8)
            var request = HTTPRequest(
                method: .post,
                scheme: nil,
                authority: nil,
                path: emulator.path("records/lookup", in: .public)
            )
            try emulator.sign(&request, body: body)
            let reply = try await Reply(emulator.send(request, body: body))
            #expect(reply.status == 200)
            #expect(reply.json["records"]?[0]?["serverErrorCode"] == "NOT_FOUND")

            body[body.count - 3] = UInt8(ascii: "y")
            #expect(try await emulator.send(request, body: body).status == .unauthorized)
        }
    }

    @Test(
        .enabled(if: canRun("python3", ["-c", "import cryptography"]), "python3 with the package cryptography"),
        arguments: connections
    )
    func aRequestSignedByPythonHolds(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let body = #"{"query":{"recordType":"Note"}}"#
            let target = emulator.path("records/query", in: .public) + "?getCurrentSyncToken=true"
            let date = isoDate(Date())
            let program = """
                import base64, hashlib, sys
                from cryptography.hazmat.primitives import hashes, serialization
                from cryptography.hazmat.primitives.asymmetric import ec
                key = serialization.load_pem_private_key(sys.stdin.read().encode(), None)
                date, body, target = sys.argv[1:]
                digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
                message = f"{date}:{digest}:{target}".encode()
                print(base64.b64encode(key.sign(message, ec.ECDSA(hashes.SHA256()))).decode(), end="")
                """
            let (status, signature) = try await run(
                "python3",
                ["-c", program, date, body, target],
                input: emulator.serverKeyPEM
            )
            #expect(status == 0)
            var request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: target)
            request.headerFields[.keyID] = emulator.serverKeyID
            request.headerFields[.date8601] = date
            request.headerFields[.signature] = signature
            let reply = try await Reply(emulator.send(request, body: Array(body.utf8)))
            #expect(reply.refusal.hasPrefix("401") == false)
            request.headerFields[.date8601] = isoDate(Date(timeIntervalSinceNow: -60))
            #expect(try await emulator.send(request, body: Array(body.utf8)).status == .unauthorized)
        }
    }
}
