import Foundation
import HTTPTypes
import Logging
import MistKit
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing

/// The emulator verifies the client's credentials.
@Suite(.serialized)
struct CredentialsOnTheEmulatorTests {
    @Test(arguments: EmulatorConnection.allCases)
    func bodiesOfSeveralMegabytesAreSignedRightly(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            let payload = Data(repeating: 0x5A, count: 500_000)
            let records = (0..<8).map {
                Record(recordType: "Blob", recordName: "blob-\($0)", fields: ["payload": .bytes(payload)])
            }
            let results = try await database.save(records)
            #expect(results.map { summary($0) } == records.map { _ in "ok" })
            let last = try await database.fetch("blob-7")
            #expect(last["payload"] == .bytes(payload))
        }
    }

    @Test func anotherKeyAnotherIDAndAnotherTimeAreRefused() async throws {
        try await withCloudKitEmulator { emulator in
            let key = try ServerToServerKey(emulator.serverKeyPEM)
            let managers: [(manager: any TokenManager, code: CloudKitError.Code?)] = [
                (ServerToServerAuthManager(keyID: emulator.serverKeyID, privateKey: key), nil),
                (
                    ServerToServerAuthManager(keyID: emulator.serverKeyID, privateKey: .generate()),
                    .authenticationFailed
                ),
                (
                    ServerToServerAuthManager(keyID: String(repeating: "ab", count: 32), privateKey: key),
                    .authenticationFailed
                ),
                (
                    ServerToServerAuthManager(keyID: emulator.serverKeyID, privateKey: key) {
                        Date(timeIntervalSinceNow: -3600)
                    }, .authenticationFailed
                ),
                (APITokenManager(apiToken: String(repeating: "0", count: 64)), .authenticationFailed),
            ]
            for (manager, code) in managers {
                let service = service(of: emulator, manager)
                let results = try? await service.publicDatabase.save([Record(recordType: "Note")])
                if let code {
                    let error = try await failure {
                        try await service.publicDatabase.save([Record(recordType: "Note")])
                    }
                    #expect(error.code == code)
                    #expect(error.httpStatus == .unauthorized)
                    #expect(error.requestUUID != nil)
                } else {
                    #expect(results?.count == 1)
                }
            }
        }
    }

    @Test func aRequestThatIsChangedOnTheWayIsRefused() async throws {
        struct Meddling: ClientTransport {
            let transport: any ClientTransport

            func send(
                _ request: HTTPRequest,
                body: HTTPBody?,
                baseURL: URL,
                operationID: String
            ) async throws -> (HTTPResponse, HTTPBody?) {
                var bytes: [UInt8] = []
                if let body { bytes = try await [UInt8](collecting: body, upTo: .max) }
                let text = String(decoding: bytes, as: UTF8.self).replacing("Hello", with: "Hullo")
                return try await transport.send(
                    request,
                    body: HTTPBody(text),
                    baseURL: baseURL,
                    operationID: operationID
                )
            }
        }
        try await withCloudKitEmulator { emulator in
            let manager = ServerToServerAuthManager(
                keyID: emulator.serverKeyID,
                privateKey: try ServerToServerKey(emulator.serverKeyPEM)
            )
            let database = service(of: emulator, manager, transport: Meddling(transport: emulator.transport))
                .publicDatabase
            try await database.create(Record(recordType: "Note", fields: ["title": "Goodbye"]))
            let error = try await failure {
                try await database.create(Record(recordType: "Note", fields: ["title": "Hello"]))
            }
            #expect(error.code == .authenticationFailed)
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func anAPITokenIsUpgradedToAPerson(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let manager = AdaptiveTokenManager(apiToken: emulator.apiToken)
            let service = service(of: emulator, manager)
            let error = try await failure {
                try await service.privateDatabase.fetchZones()
            }
            #expect(error.code == .authenticationRequired)
            #expect(error.redirectURL != nil)
            try await manager.signIn(webAuthToken: emulator.webAuthToken)
            #expect(try await !service.privateDatabase.fetchZones().isEmpty)
            #expect(try await service.fetchCaller().userRecordName == emulator.userRecordName)
            #expect(try await manager.revealWebAuthToken() != emulator.webAuthToken)
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func manyRequestsAtATimeRotateTheToken(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let manager = WebAuthTokenManager(apiToken: emulator.apiToken, webAuthToken: emulator.webAuthToken)
            let database = service(of: emulator, manager).privateDatabase
            try await withThrowingTaskGroup { group in
                for number in 0..<40 {
                    group.addTask {
                        try await database.create(Record(recordType: "Note", recordName: "n\(number)"))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await manager.revealWebAuthToken() != emulator.webAuthToken)
            let results = try await database.fetch((0..<40).map { "n\($0)" })
            #expect(results.map { summary($0) } == results.map { _ in "ok" })
        }
    }

    @Test(arguments: EmulatorConnection.allCases, RunningEmulator.Identity.allCases)
    func noCredentialIsLogged(connection: EmulatorConnection, identity: RunningEmulator.Identity) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let log = RecordedLog()
            let key = try ServerToServerKey(emulator.serverKeyPEM)
            let manager: any TokenManager =
                switch identity {
                case .apiToken: APITokenManager(apiToken: emulator.apiToken)
                case .user: WebAuthTokenManager(apiToken: emulator.apiToken, webAuthToken: emulator.webAuthToken)
                case .serverKey: ServerToServerAuthManager(keyID: emulator.serverKeyID, privateKey: key)
                }
            let database = service(of: emulator, manager, logger: log.logger(level: .trace)).publicDatabase
            _ = try? await database.create(Record(recordType: "Note", recordName: "a"))
            let error = try await failure { try await database.fetch("missing") }
            _ = try? await service(of: emulator, manager, logger: log.logger(level: .trace)).fetchCaller()
            let texts = log.lines + ["\(error)", String(reflecting: error)]
            #expect(log.lines.count == 6)
            for secret in [emulator.apiToken, emulator.webAuthToken, emulator.serverKeyID] {
                #expect(texts.allSatisfy { !$0.contains(secret) })
            }
        }
    }

    private func service(
        of emulator: RunningEmulator,
        _ manager: any TokenManager,
        transport: (any ClientTransport)? = nil,
        logger: Logger = RecordedLog().logger()
    ) -> CloudKitService {
        var configuration = emulator.serviceConfiguration
        if let transport { configuration.transport = transport }
        configuration.logger = logger
        return CloudKitService(
            containerIdentifier: emulator.containerIdentifier,
            environment: emulator.environment,
            tokenManager: manager,
            configuration: configuration
        )
    }
}
