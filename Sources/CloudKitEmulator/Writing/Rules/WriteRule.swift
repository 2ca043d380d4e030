package import CloudKitRuleIDs

/// A rule about writing records: a decision about values, without access to the storage.
///
/// ``RecordWriter`` reads the facts, checks the rules, and only then writes. So an operation that fails has changed
/// nothing.
///
/// To add a rule, put it into the list of its subject in this folder: ``OperationRules``, ``ContentRules``,
/// ``ShareRules`` or ``AssetRules``. The rules of a list are checked in order, and the first failure counts. A rule
/// reads properties of the list's facts. Its identifiers are those of the rules of `CloudKitContract` that check it: a
/// search for one finds the sentence and the evidence.
struct WriteRule<Facts>: Sendable {
    /// What checks the rule.
    let checks: WriteRuleChecks
    /// The failure for facts that break the rule; `nil` for facts that keep it.
    let failure: @Sendable (Facts) -> EmulatorError?

    /// Makes a rule of the protocol, which the contract checks.
    init(_ identifiers: RuleID..., failure: @escaping @Sendable (Facts) -> EmulatorError?) {
        checks = .contract(identifiers)
        self.failure = failure
    }

    /// Makes a rule that no source settles. The contract has no such rule; a suite of the emulator's own tests checks it.
    init(_ sentence: String, tests suite: String, failure: @escaping @Sendable (Facts) -> EmulatorError?) {
        checks = .suite(suite, sentence)
        self.failure = failure
    }
}

extension Array {
    /// Throws the failure of the first rule that is broken.
    func check<Facts>(_ facts: Facts) throws(EmulatorError) where Element == WriteRule<Facts> {
        for rule in self {
            guard var failure = rule.failure(facts) else { continue }
            switch rule.checks {
            case .contract(let identifiers):
                // A failure may say which of the rule's identifiers it is about.
                if failure.cause.rules.isEmpty { failure.cause.rules = identifiers }
            case .suite(_, let sentence): failure.cause.sentence = sentence
            }
            throw failure
        }
    }

    fileprivate func checks<Facts>() -> [WriteRuleChecks] where Element == WriteRule<Facts> { map(\.checks) }
}

/// What checks a rule about writing records.
package enum WriteRuleChecks: Hashable, Sendable {
    /// Rules of `CloudKitContract`.
    case contract([RuleID])
    /// A suite of the emulator's own tests. The rule in a sentence, because the contract has none.
    case suite(String, String)

    /// The checks of every rule about writing records.
    package static var all: [WriteRuleChecks] {
        OperationRules.name.checks() + OperationRules.all.checks() + OperationRules.deletion.checks()
            + ContentRules.type.checks() + ContentRules.field.checks() + ContentRules.content.checks()
            + ShareRules.all.checks() + AssetRules.all.checks()
    }
}
