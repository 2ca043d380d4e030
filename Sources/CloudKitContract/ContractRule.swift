/// One rule of the protocol: a sentence, where it is known from, and a check of it.
///
/// ```swift
/// let target = ContractTarget(…)
/// for rule in CloudKitContract.rules where rule.isMet(by: target) {
///     try await rule.verify(against: target)
/// }
/// ```
public struct ContractRule: Sendable, Identifiable, CustomStringConvertible {
    /// Where a rule is known from. The letters are those of the project's protocol reference.
    public enum Evidence: Character, Hashable, Sendable, CaseIterable {
        /// Apple's archived "CloudKit Web Services Reference".
        case archive = "A"
        /// The behaviour of Apple's CloudKit JS.
        case cloudKitJS = "J"
        /// A recorded exchange with the service.
        case recorded = "R"
        /// A written observation of the live service.
        case observed = "L"
        /// The native framework, which speaks to the same servers.
        case native = "N"
        /// What other clients and fakes believe.
        case peers = "P"
        /// Inferred from the above.
        case inferred = "I"
        /// Not known: sources disagree or say nothing. The check accepts every answer that is possible.
        case unconfirmed = "U"
    }

    /// What a target must have for a rule to be checked there.
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

    /// The rule, in a sentence that no other rule has.
    public let name: String
    /// Where the rule is known from.
    public let evidence: Set<Evidence>
    /// What the target must have.
    public let requires: Set<Requirement>
    /// The check. It throws a ``ContractViolation`` when the service breaks the rule.
    let check: @Sendable (inout ContractSession) async throws -> Void

    /// The sentence.
    public var id: String { name }

    /// The sentence.
    public var description: String { name }

    /// Whether something better than belief stands behind the rule: a page of Apple's, Apple's own client, a recording
    /// or an observation.
    public var isSettled: Bool {
        !evidence.contains(.unconfirmed)
            && !evidence.isDisjoint(with: [.archive, .cloudKitJS, .recorded, .observed])
    }

    /// Makes a rule of a sentence, letters of ``Evidence``, and the check.
    init(
        _ name: String,
        _ evidence: String,
        requires: Set<Requirement> = [.user],
        check: @escaping @Sendable (inout ContractSession) async throws -> Void
    ) {
        self.name = name
        self.evidence = Set(evidence.compactMap(Evidence.init(rawValue:)))
        self.requires = requires
        self.check = check
    }
}

extension ContractRule {
    /// What the rule requires and the target lacks.
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

    /// Whether the target has all that the rule requires.
    public func isMet(by target: ContractTarget) -> Bool {
        requirements(missingIn: target).isEmpty
    }

    /// Checks the rule at an address, and deletes what the check made there.
    ///
    /// - Parameter target: The address, which must have what the rule ``requires``.
    /// - Throws: A ``ContractViolation`` when the rule is broken; errors of the transport as they come.
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
