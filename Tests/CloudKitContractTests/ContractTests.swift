import CloudKitContract
import CloudKitEmulator
import CloudKitModel
import CloudKitSchema
import MistTesting
import Testing

/// The emulator keeps the contract: in process and over a socket, again on the same data, and with each response that
/// is considered possible.
@Suite(.serialized)
struct ContractTests {
    @Test(arguments: CloudKitContract.rules, EmulatorConnection.allCases)
    func emulatorKeepsTheContract(rule: ContractRule, connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            var target = try emulator.contractTarget()
            if rule.requires.contains(.closedSchema) {
                try emulator.rules.importSchema(
                    ContainerSchema(parsing: CloudKitContract.schema),
                    into: emulator.containerIdentifier
                )
                target.hasOpenSchema = false
            }
            try await rule.verify(against: target)
        }
    }

    @Test func rulesHoldAgainOnTheSameData() async throws {
        try await withCloudKitEmulator { emulator in
            let target = try emulator.contractTarget()
            for _ in 1...2 {
                let broken = await CloudKitContract.run(openSchemaRules, against: target).filter { !$0.outcome.isHeld }
                #expect(broken.map { "\($0.rule) \($0.outcome)" } == [])
            }
        }
    }

    /// The schema that the suite publishes has exactly what its rules need: with this schema, the emulator accepts no
    /// other fields, and enforces indexes and grants.
    @Test func rulesHoldWithTheSchemaOfTheSuite() async throws {
        try await withCloudKitEmulator { emulator in
            try emulator.rules.importSchema(
                ContainerSchema(parsing: CloudKitContract.schema),
                into: emulator.containerIdentifier
            )
            var target = try emulator.contractTarget()
            target.hasOpenSchema = false
            let outcomes = await CloudKitContract.run(against: target)
            #expect(outcomes.filter { !$0.outcome.isHeldOrSkipped }.map { "\($0.rule) \($0.outcome)" } == [])
            let held = outcomes.filter { $0.rule.requires.contains(.closedSchema) && $0.outcome.isHeld }
            #expect(held.count == CloudKitContract.rules.count { $0.requires.contains(.closedSchema) })
        }
    }

    /// Where sources disagree, a rule accepts all their claims. So the rules hold as well with the other setting of
    /// each switch for such a claim.
    @Test func rulesTakeEveryAnswerThatIsHeldPossible() async throws {
        var configuration = EmulatorConfiguration()
        configuration.unsettled.createOnExisting = .exists
        configuration.unsettled.updateWithoutTag = .refusesRecord
        configuration.unsettled.deleteWithoutTag = .accepted
        configuration.unsettled.anonymousWrite = .refusesRecord
        configuration.unsettled.forceDeleteOfMissingSucceeds = false
        configuration.unsettled.atomicByDefault = true
        configuration.unsettled.atomicInDefaultZone = .refused
        configuration.unsettled.atomicFailure = .wholeRequest
        configuration.unsettled.expiredToken = .badRequest
        configuration.unsettled.emptySyncToken = .fromTheStart
        configuration.unsettled.negationsMatchMissingFields = true
        configuration.unsettled.beginsWithIgnoresCase = true
        configuration.unsettled.listMemberBeginsWith = .firstMember
        configuration.unsettled.createExistingZone = .exists
        configuration.unsettled.serverKeyOnPrivateDatabase = .accessDenied
        configuration.unsettled.serverKeyAsCaller = .refused
        configuration.unsettled.unknownFieldType = .refusesRecord
        configuration.unsettled.deviceTokenRegistration = .answersNothing
        configuration.unsettled.deviceTokensNeedClientID = true
        configuration.unsettled.databaseNumbersInPushes = .fromOne
        configuration.unsettled.zonesInList = .whole
        configuration.webAuthTokens.rejection = .authenticationFailed
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let target = try emulator.contractTarget()
            let broken = await CloudKitContract.run(openSchemaRules, against: target).filter { !$0.outcome.isHeld }
            #expect(broken.map { "\($0.rule) \($0.outcome)" } == [])
        }
    }

    /// There are three claims about a missing change tag.
    @Test func rulesTakeEveryAnswerToAMissingTag() async throws {
        var configuration = EmulatorConfiguration()
        configuration.unsettled.updateWithoutTag = .accepted
        configuration.unsettled.deleteWithoutTag = .refusesRequest
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let rules = openSchemaRules.filter { $0.name.hasSuffix("deletes it") || $0.name.contains("no change tag") }
            #expect(rules.count > 5)
            let broken = await CloudKitContract.run(rules, against: try emulator.contractTarget())
                .filter { !$0.outcome.isHeld }
            #expect(broken.map { "\($0.rule) \($0.outcome)" } == [])
        }
    }

    /// A container with an imported schema refuses a server-to-server key's records of other types in either way.
    @Test(arguments: [ServerErrorCode.notFound, .badRequest])
    func rulesTakeEveryAnswerToAnUnknownType(code: ServerErrorCode) async throws {
        var configuration = EmulatorConfiguration()
        configuration.unsettled.unknownTypeOfServerKey = code
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            try emulator.rules.importSchema(
                ContainerSchema(parsing: CloudKitContract.schema),
                into: emulator.containerIdentifier
            )
            var target = try emulator.contractTarget()
            target.hasOpenSchema = false
            let rules = CloudKitContract.rules.filter { $0.name.hasPrefix("a record type that the schema lacks") }
            #expect(await CloudKitContract.run(rules, against: target).map(\.outcome.isHeld) == [true])
        }
    }

    @Test func rulesAreNamedOnce() {
        let names = Dictionary(grouping: CloudKitContract.rules, by: \.name)
        #expect(names.filter { $0.value.count > 1 }.keys.sorted() == [])
        #expect(names.count >= 150)
    }

    @Test func aTargetWithoutUsersSkipsRulesThatNeedThem() async throws {
        try await withCloudKitEmulator { emulator in
            var target = try emulator.contractTarget()
            target.user = nil
            target.secondUser = nil
            target.serverKey = nil
            for (rule, outcome) in await CloudKitContract.run(against: target) {
                switch outcome {
                case .holds: #expect(rule.requires.isDisjoint(with: [.user, .secondUser, .serverKey]))
                case .skipped(let missing): #expect(!missing.isEmpty && missing.isSubset(of: rule.requires))
                case .broken, .failed: Issue.record("\(rule) \(outcome)")
                }
            }
        }
    }
}

/// The rules that need no imported schema.
private let openSchemaRules = CloudKitContract.rules.filter { !$0.requires.contains(.closedSchema) }

extension CloudKitContract.Outcome {
    /// Whether the rule was checked and holds.
    var isHeld: Bool {
        if case .holds = self { true } else { false }
    }

    /// Whether the rule holds, or needs something that the target lacks.
    var isHeldOrSkipped: Bool {
        if case .skipped = self { true } else { isHeld }
    }
}
