package import CloudKitRuleIDs

/// One rule of the protocol: a sentence, its evidence, and a check of it.
///
/// ```swift
/// let target = ContractTarget(…)
/// for rule in CloudKitContract.rules where rule.isMet(by: target) {
///     try await rule.verify(against: target)
/// }
/// ```
public struct ContractRule: Sendable, Identifiable, CustomStringConvertible {
    /// The kinds of evidence for a rule. The letters are those of the project's protocol reference.
    public enum Evidence: Character, Hashable, Sendable, CaseIterable {
        /// Apple's archived "CloudKit Web Services Reference".
        case archive = "A"
        /// The behaviour of Apple's CloudKit JS.
        case cloudKitJS = "J"
        /// A recorded exchange with the service.
        case recorded = "R"
        /// A written observation of the live service.
        case observed = "L"
        /// Apple's sample programs, and CloudKit JS 1.2.0, Apple's first version.
        case samples = "S"
        /// The expectations of another client's tests, which were written to run against the live service.
        case liveTests = "T"
        /// The native framework, which speaks to the same servers.
        case native = "N"
        /// The behaviour that other clients and imitations of the service assume.
        case peers = "P"
        /// Inferred from the above.
        case inferred = "I"
        /// Not known: sources disagree or say nothing. The check accepts every possible response.
        case unconfirmed = "U"
    }

    /// The features and credentials of a target that a rule can require.
    public enum Requirement: Hashable, Sendable, CaseIterable {
        /// ``ContractTarget/user``.
        case user
        /// ``ContractTarget/secondUser``.
        case secondUser
        /// ``ContractTarget/serverKey``.
        case serverKey
        /// ``ContractTarget/production``.
        case production
        /// ``ContractTarget/hasOpenSchema``.
        case openSchema
        /// A target without ``ContractTarget/hasOpenSchema``, which has ``CloudKitContract/schema``.
        case closedSchema
        /// A ``ContractTarget/indexDelay`` of zero.
        case indexesAtOnce
        /// ``ContractTarget/servesUserDiscovery``.
        case userDiscovery
        /// ``ContractTarget/servesDeviceTokens``.
        case deviceTokens
    }

    /// The identifier that a rule of writing of the emulator has, too; `nil` if there is no such rule.
    package let identifier: RuleID?
    /// The rule, in a sentence that no other rule has.
    public let name: String
    /// The evidence for the rule.
    public let evidence: Set<Evidence>
    /// The features and credentials that the target must have.
    public let requires: Set<Requirement>
    /// The check. It throws a ``ContractViolation`` when the service breaks the rule.
    let check: @Sendable (inout ContractSession) async throws -> Void

    /// The sentence.
    public var id: String { name }

    /// The sentence.
    public var description: String { name }

    /// Whether there is direct evidence for the rule: a page of Apple's, Apple's own client or samples, a recording or an
    /// observation.
    public var isSettled: Bool {
        !evidence.contains(.unconfirmed)
            && !evidence.isDisjoint(with: [.archive, .cloudKitJS, .samples, .recorded, .observed])
    }

    /// Makes a rule from a sentence, its evidence, and the check.
    init(
        _ name: String,
        _ evidence: Set<ContractRule.Evidence>,
        requires: Set<Requirement> = [.user],
        check: @escaping @Sendable (inout ContractSession) async throws -> Void
    ) {
        self.init(nil, name, evidence, requires: requires, check: check)
    }

    /// Makes a rule that the emulator's rules of writing have, too, under the same identifier.
    init(
        _ identifier: RuleID?,
        _ name: String,
        _ evidence: Set<ContractRule.Evidence>,
        requires: Set<Requirement> = [.user],
        check: @escaping @Sendable (inout ContractSession) async throws -> Void
    ) {
        self.identifier = identifier
        self.name = name
        self.evidence = evidence
        self.requires = requires
        self.check = check
    }
}

extension ContractRule {
    /// The requirements of the rule that the target lacks.
    public func requirements(missingIn target: ContractTarget) -> Set<Requirement> {
        requires.filter { requirement in
            switch requirement {
            case .user: target.user == nil
            case .secondUser: target.secondUser == nil
            case .serverKey: target.serverKey == nil
            case .production: target.production == nil
            case .openSchema: !target.hasOpenSchema
            case .closedSchema: target.hasOpenSchema
            case .indexesAtOnce: target.indexDelay > .zero
            case .userDiscovery: !target.servesUserDiscovery
            case .deviceTokens: !target.servesDeviceTokens
            }
        }
    }

    /// Whether the target meets all requirements of the rule.
    public func isMet(by target: ContractTarget) -> Bool {
        requirements(missingIn: target).isEmpty
    }

    /// Checks the rule at an address, and deletes everything that the check created there.
    ///
    /// - Parameter target: The address, which must have what the rule ``requires``.
    /// - Throws: A ``ContractViolation`` when the rule is broken; otherwise the unchanged errors of the transport.
    public func verify(against target: ContractTarget) async throws {
        var session = ContractSession(target: target)
        do {
            try await check(&session)
        } catch {
            await session.cleanUp()
            guard var violation = error as? ContractViolation else { throw error }
            violation.rule = id
            throw violation
        }
        await session.cleanUp()
    }
}
