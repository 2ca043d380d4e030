import CloudKitEmulator
import Foundation
import HTTPTypes
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing

@testable import MistKit

@Suite(.serialized)
struct NotificationTests {
    private static let notes = ZoneID(zoneName: "Notes")

    /// A push as a short text: `long created a in Notes`.
    private func line(_ notification: CloudKitNotification) -> String {
        let change =
            switch notification.change {
            case .record(let change): "\(change.reason) \(change.recordName) in \(change.zoneID.zoneName)"
            case .zone(let zone): "zone \(zone.zoneName)"
            case .database(let zone): "database \(zone?.zoneName ?? "")"
            case .other: "other"
            }
        return "\(notification.subscriptionID ?? "?") \(change)"
    }

    @Test(arguments: EmulatorConnection.allCases)
    func twoWritersAreHeardOverOneCourier(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let (ann, tom) = (emulator.service(as: .user), emulator.service(as: .serverKey))
            try await ann.privateDatabase.createZone("Notes")
            _ = try await ann.privateDatabase.save([
                Subscription(
                    "long",
                    to: Query<Memo> { Filter(\.count > 3) },
                    firesOn: [.create, .update, .delete],
                    inZone: Self.notes,
                    notificationInfo: NotificationInfo(additionalFields: ["title", "count"])
                ),
                Subscription("zone", toZone: Self.notes),
            ])
            try await ann.publicDatabase.save(Subscription("public", to: Query<Memo>(), firesOn: [.create]))

            let heard = Task {
                var lines: [String] = []
                var fields: [Record.Fields] = []
                for try await notification in ann.notifications() {
                    lines.append(line(notification))
                    if case .record(let change) = notification.change { fields.append(change.recordFields) }
                    if notification.databaseScope == .public { break }
                }
                return (lines, fields)
            }
            // Without this wait, the task might not listen yet, and the push of the change would be lost.
            await emulator.rules.waitForCouriers(1)
            let saved = try await ann.privateDatabase.save(
                [Memo(title: "a", count: 5), Memo(title: "b", count: 1)],
                named: \.title,
                inZone: Self.notes
            )
            try await ann.privateDatabase.delete(try saved[0].get(), inZone: Self.notes)
            try await tom.publicDatabase.save(Memo(title: "c"), named: "c")

            let (lines, fields) = try await heard.value
            #expect(
                lines == [
                    "long created a in Notes", "zone zone Notes", "long deleted a in Notes", "zone zone Notes",
                    "public created c in _defaultZone",
                ]
            )
            #expect(fields[0] == ["title": "a", "count": 5])
            #expect(fields[2] == [:])
            await emulator.rules.waitForCouriers(0)
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func aCancelledLoopEndsAtOnceAndLeavesNoRequestBehind(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let service = emulator.service(as: .user)
            let listening = Task {
                try await failure {
                    for try await _ in service.notifications() {}
                }
            }
            await emulator.rules.waitForCouriers(1)
            listening.cancel()
            let error = try await listening.value
            #expect(error.code == .cancelled)
            await emulator.rules.waitForCouriers(0)
        }
    }

    @Test func aDatabaseHearsItsOwnPushes() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .user)
            for database in [service.publicDatabase, service.privateDatabase] {
                try await database.save(Subscription("s", to: Query<Memo>(), firesOn: [.create]))
            }
            let first = Task {
                try await service.privateDatabase.notifications().first { _ in true }.map(line)
            }
            await emulator.rules.waitForCouriers(1)
            try await service.publicDatabase.save(Memo(title: "a"), named: "a")
            try await service.privateDatabase.save(Memo(title: "b"), named: "b")
            #expect(try await first.value == "s created b in _defaultZone")
        }
    }

    /// The web courier may count databases from zero or from one. A database misses none of its pushes.
    @Test(arguments: [EmulatorConfiguration.Unsettled.DatabaseNumbers.fromZero, .fromOne])
    func aDatabaseHearsItsPushesHoweverTheyAreNumbered(
        numbers: EmulatorConfiguration.Unsettled.DatabaseNumbers
    ) async throws {
        var configuration = EmulatorConfiguration()
        configuration.unsettled.databaseNumbersInPushes = numbers
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let service = emulator.service(as: .user)
            for database in [service.publicDatabase, service.privateDatabase] {
                try await database.save(Subscription("s", to: Query<Memo>(), firesOn: [.create]))
                let first = Task { try await database.notifications().first { _ in true } }
                await emulator.rules.waitForCouriers(1)
                try await database.save(Memo(title: "a"), named: "a")
                let push = try #require(try await first.value)
                #expect(line(push) == "s created a in _defaultZone")
                if numbers == .fromZero { #expect(push.databaseScope == database.scope) }
            }
        }
    }

    /// A push is read with the numbers of the place that it comes from.
    @Test func aNumberMeansTheDatabaseThatItsSourceMeans() {
        let lines: [(Int64, courier: DatabaseScope?, pushService: DatabaseScope?)] = [
            (0, .public, .public), (1, .private, .public), (2, .shared, .private), (3, .shared, .shared), (4, nil, nil),
        ]
        for (number, courier, pushService) in lines {
            let change = PushPayload.Change(databaseNumber: number, recordName: "a", subscriptionID: "s", reason: 1)
            let payload = PushPayload(content: PushPayload.Content(query: change))
            #expect(CloudKitNotification(payload, from: .webCourier).databaseScope == courier, "\(number)")
            #expect(CloudKitNotification(payload).databaseScope == pushService, "\(number)")
        }
    }

    @Test func aCourierThatHasNothingIsAskedAgain() async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(clock: clock) { emulator in
            let service = emulator.service(as: .user)
            try await service.privateDatabase.save(Subscription("s", to: Query<Memo>(), firesOn: [.create]))
            let first = Task { try await service.notifications().first { _ in true }.map(line) }
            for _ in 1...3 {
                // The courier has the request, and waits for its clock.
                await emulator.rules.waitForCouriers(1)
                await clock.waitForSleepers()
                clock.advance(by: 30)
                await emulator.rules.waitForCouriers(0)
            }
            await emulator.rules.waitForCouriers(1)
            try await service.privateDatabase.save(Memo(title: "a"), named: "a")
            #expect(try await first.value == "s created a in _defaultZone")
        }
    }

    @Test func aTokenThatIsForgottenIsCreatedAgain() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .user)
            try await service.privateDatabase.save(Subscription("s", to: Query<Memo>(), firesOn: [.create]))
            let first = Task { try await service.notifications().first { _ in true }.map(line) }
            await emulator.rules.waitForCouriers(1)
            try emulator.rules.revokeDeviceTokens(of: emulator.userRecordName)
            await emulator.rules.waitForCouriers(1)
            try await service.privateDatabase.save(Memo(title: "a"), named: "a")
            #expect(try await first.value == "s created a in _defaultZone")
        }
    }

    @Test func aCourierThatKnowsNoTokenEndsTheLoop() async throws {
        let made = reply(.ok, #"{"apnsToken":"dA==","webcourierURL":"https://courier.example/aps"}"#)
        let transport = FakeTransport { exchange, _ in
            switch exchange.operationID {
            case "createDeviceToken": made
            case "registerDeviceToken": reply(.ok, "{}")
            default: reply(.gone, "")
            }
        }
        let error = try await failure {
            for try await _ in service(transport, RetryPolicy(), TestClock(skippingWaits: true).timer).notifications() {
            }
        }
        #expect(error.httpStatus == .gone)
        // Two tokens were created, registered and used.
        #expect(transport.sent.count == 6)
    }

    /// The service's response to a registration is not known for certain; CloudKit JS expects the three keys.
    @Test(
        arguments: [
            ("", nil), ("", "application/json"), ("{}", "application/json"),
            (
                #"{"apnsEnvironment":"development","apnsToken":"dA==","webcourierURL":"https://c.example/"}"#,
                "application/json"
            ),
        ] as [(String, String?)]
    )
    func aRegistrationMayBeAnsweredWithNothing(body: String, contentType: String?) async throws {
        let transport = FakeTransport { _, _ in reply(.ok, body, contentType: contentType) }
        let token = DeviceToken(apnsEnvironment: .development, token: "dA==", courierURL: nil, clientID: "c")
        try await service(transport, RetryPolicy(), TestClock(skippingWaits: true).timer).registerDeviceToken(token)
        #expect(transport.sent.count == 1)
    }

    @Test func aTokenIsForTheChosenEnvironmentOfApplesPushService() async throws {
        try await withCloudKitEmulator { emulator in
            let token = try await emulator.service(as: .user).createDeviceToken(apnsEnvironment: .production)
            #expect(token.apnsEnvironment == .production)
        }
    }

    @Test func aStoredTokenFindsEarlierPushes() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .user)
            let token = try await service.createDeviceToken(clientID: "client")
            #expect(token.apnsEnvironment == .development)
            #expect("\(token)" == "DeviceToken(development, clientID: client)")
            #expect(!"\(String(reflecting: token))".contains(token.token))
            try await service.registerDeviceToken(token)
            try await service.privateDatabase.save(Subscription("s", to: Query<Memo>(), firesOn: [.create]))
            _ = try await service.privateDatabase.save([Memo(title: "a"), Memo(title: "b")], named: \.title)
            var lines: [String] = []
            for try await notification in service.notifications(of: token) {
                lines.append(line(notification))
                if lines.count == 2 { break }
            }
            #expect(lines == ["s created a in _defaultZone", "s created b in _defaultZone"])

            try emulator.rules.revokeDeviceTokens(of: emulator.userRecordName)
            let error = try await failure {
                for try await _ in service.notifications(of: token) {}
            }
            #expect(error.code == .notFound)
            let native = try await service.registerDeviceToken(.init([1, 2, 3]), apnsEnvironment: .production)
            #expect(native.token == "AQID")
            let nowhere = try await failure {
                for try await _ in service.notifications(of: native) {}
            }
            #expect(nowhere.code == .invalidArgument)
        }
    }

    @Test func aFailingCourierIsAskedAgainByTheRetryPolicy() async throws {
        let push = #"{"ck":{"nid":"n","qry":{"dbs":1,"zid":"_defaultZone","rid":"a","sid":"s","fo":1}}}"#
        let transport = courier(
            reply(.serviceUnavailable, "down"),
            reply(.ok, "<html>"),
            reply(.ok, "", contentType: nil),
            reply(.ok, push)
        )
        let clock = TestClock(skippingWaits: true)
        let service = service(transport, RetryPolicy(), clock.timer)
        let first = try await service.notifications().first { _ in true }
        #expect(first.map(line) == "s created a in _defaultZone")
        #expect(first?.notificationID == "n")
        #expect(clock.waits.count == 3)
        #expect(clock.waits.last == .milliseconds(10))
        #expect(transport.sent.dropFirst(2).allSatisfy { $0.request.path == "/aps?tok=secret" })
        // The courier gets none of the service's credentials.
        #expect(transport.sent.dropFirst(2).allSatisfy { $0.baseURL.absoluteString == "https://courier.example:8443" })
    }

    @Test func aCourierThatKeepsFailingEndsTheLoop() async throws {
        let transport = courier(reply(.serviceUnavailable, "down"))
        let clock = TestClock(skippingWaits: true)
        let error = try await failure {
            for try await _ in service(transport, RetryPolicy(maximumAttempts: 3), clock.timer).notifications() {}
        }
        #expect(error.code == .serviceUnavailable)
        #expect(error.operation == "pollCourier")
        #expect(!"\(error)".contains("secret"))
        #expect(clock.waits.count == 2)
        #expect(transport.sent.count == 5)
    }

    @Test func aTransportThatWaitsNoLongerIsNoFailure() async throws {
        let answers = courier(reply(.ok, #"{"ck":{"fet":{"sid":"s","zid":"Notes","zoid":"_b"}}}"#))
        let transport = FakeTransport { exchange, number in
            if number > 2, number < 20 { throw TransportError(code: .timedOut, message: "nothing came") }
            return try await answers.send(
                exchange.request,
                body: nil,
                baseURL: exchange.baseURL,
                operationID: exchange.operationID
            )
        }
        let first = try await service(transport, .never, TestClock(skippingWaits: true).timer).notifications().first {
            _ in true
        }
        #expect(first?.change == .zone(ZoneID(zoneName: "Notes", ownerRecordName: "_b")))
        #expect(transport.sent.count == 20)
    }

    @Test func anOddPushIsStillOne() {
        let other = CloudKitNotification(PushPayload())
        #expect(other.change == .other)
        #expect(other.databaseScope == nil)
        let change = PushPayload.Change(databaseNumber: 7, recordName: "a", subscriptionID: "s", reason: 9)
        let odd = CloudKitNotification(PushPayload(content: PushPayload.Content(query: change)))
        guard case .record(let record) = odd.change else {
            Issue.record("\(odd.change)")
            return
        }
        #expect(record.reason == .unknown(9))
        #expect(record.zoneID == .default)
        #expect(odd.databaseScope == nil)
    }

    // MARK: A courier of the test

    private func courier(_ answers: (HTTPResponse, HTTPBody?)...) -> FakeTransport {
        FakeTransport(
            [
                reply(.ok, #"{"apnsToken":"dA==","webcourierURL":"https://courier.example:8443/aps?tok=secret"}"#),
                reply(.ok, "{}"),
            ] + answers
        )
    }

    private func service(_ transport: FakeTransport, _ policy: RetryPolicy, _ clock: TestClock.Timer) -> CloudKitService
    {
        var configuration = CloudKitService.Configuration(transport: transport, logger: RecordedLog().logger())
        configuration.retryPolicy = policy
        configuration.clock = clock
        return CloudKitService(
            containerIdentifier: "iCloud.com.example.app",
            tokenManager: APITokenManager(apiToken: String(repeating: "a0", count: 32)),
            configuration: configuration
        )
    }
}
