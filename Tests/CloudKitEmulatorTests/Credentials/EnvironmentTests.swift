import CloudKitModel
import Crypto
import Foundation
import GRDB
import Testing

@testable import CloudKitEmulator

/// Development and production have separate credentials.
struct EnvironmentTests {
    private let failed = "AUTHENTICATION_FAILED Authentication failed"

    /// The caller that the credentials identify in each environment, or the refusal.
    private func callers(_ emulator: CloudKitEmulator, _ credentials: Credentials) -> [String] {
        ContainerEnvironment.allCases.map { environment in
            var caller = ""
            let outcome = refusal {
                let found = try emulator.authenticate(credentials, for: World.container, in: environment)
                caller = "\(found.caller)"
            }
            return outcome == "accepted" ? caller : outcome
        }
    }

    @Test func anAPITokenHoldsWhereItIsRegistered() throws {
        let emulator = try World().emulator
        let development = try emulator.registerAPIToken(for: World.container)
        let production = try emulator.registerAPIToken(for: World.container, in: .production)
        #expect(callers(emulator, Credentials(apiToken: development)) == ["anonymous", failed])
        #expect(callers(emulator, Credentials(apiToken: production)) == [failed, "anonymous"])
        try emulator.registerAPIToken(development, for: World.container, in: .production)
        #expect(callers(emulator, Credentials(apiToken: development)) == ["anonymous", "anonymous"])
    }

    @Test func aServerKeyHoldsWhereItIsRegistered() throws {
        let world = try World()
        let key = P256.Signing.PrivateKey()
        let point = ServerKey.x963(Array(key.publicKey.x963Representation))
        let keyID = try world.emulator.registerServerKey(point, for: World.container, in: .production)
        let date = "2023-11-14T22:13:20Z"
        let hash = Data(SHA256.hash(data: [UInt8]())).base64EncodedString()
        let signature = ServerKeySignature(
            keyID: keyID,
            date: date,
            body: [],
            subpath: "/x",
            signature: try key.signature(for: Data("\(date):\(hash):/x".utf8)).derRepresentation.base64EncodedString()
        )
        let credentials = Credentials(signature: signature)
        #expect(callers(world.emulator, credentials) == [failed, "\(Caller.serverKey(keyID: keyID))"])
        #expect(try world.emulator.registerServerKey(point, for: World.container) == keyID)
        #expect(Set(callers(world.emulator, credentials)) == ["\(Caller.serverKey(keyID: keyID))"])
    }

    @Test func aWebTokenHoldsInTheEnvironmentOfTheSignIn() throws {
        let world = try World()
        let emulator = world.emulator
        let api = try emulator.registerAPIToken(for: World.container)
        try emulator.registerAPIToken(api, for: World.container, in: .production)
        let ann = "\(Caller.user(world.ann))"
        let refused = "AUTHENTICATION_REQUIRED request needs authorization"
        func callers(_ token: String) -> [String] {
            self.callers(emulator, Credentials(apiToken: api, webAuthToken: token))
        }
        #expect(callers(try emulator.issueWebAuthToken(for: world.ann)) == [ann, ann])
        #expect(callers(try emulator.issueWebAuthToken(for: world.ann, container: World.container)) == [ann, ann])
        let token = try emulator.issueWebAuthToken(
            for: world.ann,
            container: World.container,
            environment: .production
        )
        #expect(callers(token) == [refused, ann])
        // The next token is valid in no more environments than the one before.
        let next = try emulator.authenticate(
            Credentials(apiToken: api, webAuthToken: token),
            for: World.container,
            in: .production
        ).nextWebAuthToken
        #expect(callers(try #require(next)) == [refused, ann])
        let ticket = emulator.makeSignInTicket(apiToken: api, for: World.container, in: .production)
        #expect(try emulator.signInRequest(ofTicket: ticket)?.environment == .production)
        #expect(try emulator.signInRequest(ofTicket: ticket)?.container == World.container)
    }

    @Test func credentialsOfAnOlderFileHoldInBoth() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "emulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "emulator.sqlite").path
        let token = String(repeating: "0123456789abcdef", count: 4)
        let older = try DatabasePool(path: path)
        try Tables.migrator.migrate(older, upTo: "sign-in")
        try older.write { db in
            try db.execute(sql: "INSERT INTO api_token VALUES (?, ?)", arguments: [token, World.container])
            try db.execute(
                sql: "INSERT INTO server_key VALUES ('k', ?, ?)",
                arguments: [World.container, P256.Signing.PrivateKey().publicKey.x963Representation]
            )
        }
        try older.close()
        let emulator = try CloudKitEmulator(storage: .file(path: path))
        #expect(callers(emulator, Credentials(apiToken: token)) == ["anonymous", "anonymous"])
        let keys = try emulator.read { db in
            try String.fetchAll(db, sql: "SELECT environment FROM server_key WHERE id = 'k' ORDER BY environment")
        }
        #expect(keys == ["development", "production"])
    }
}
