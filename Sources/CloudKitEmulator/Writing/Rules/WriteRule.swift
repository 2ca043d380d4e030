/// A rule about writing records: a decision about values, without access to the storage.
///
/// ``RecordWriter`` reads the facts, checks the rules, and only then writes. So an operation that fails has changed
/// nothing.
///
/// To add a rule, put it into the list of its subject in this folder: ``OperationRules``, ``ContentRules``,
/// ``ShareRules`` or ``AssetRules``. The rules of a list are checked in order, and the first failure counts. A rule
/// reads properties of the list's facts. It has the name of the rule of `CloudKitContract` that checks it; a test fails
/// until there is such a rule.
struct WriteRule<Facts>: Sendable {
    /// The rule, in the words of the contract's rule. Where no source shows the service's response, the contract has no
    /// such rule.
    let name: String
    /// Further rules of the contract that check it.
    let alsoChecked: [String]
    /// The suite of the emulator's own tests that checks a rule which the contract does not have.
    let tests: String?
    /// The failure for facts that break the rule; `nil` for facts that keep it.
    let failure: @Sendable (Facts) -> EmulatorError?

    init(
        _ name: String,
        also: String...,
        tests: String? = nil,
        failure: @escaping @Sendable (Facts) -> EmulatorError?
    ) {
        self.name = name
        alsoChecked = also
        self.tests = tests
        self.failure = failure
    }
}

extension Array {
    /// Throws the failure of the first rule that is broken.
    func check<Facts>(_ facts: Facts) throws(EmulatorError) where Element == WriteRule<Facts> {
        for rule in self {
            if let failure = rule.failure(facts) { throw failure }
        }
    }

    fileprivate func summaries<Facts>() -> [WriteRuleSummary] where Element == WriteRule<Facts> {
        map {
            WriteRuleSummary(
                name: $0.name,
                contract: $0.tests == nil ? [$0.name] + $0.alsoChecked : [],
                tests: $0.tests
            )
        }
    }
}

/// A rule without its decision, for the test that compares the rules with the contract.
package struct WriteRuleSummary: Sendable {
    package let name: String
    /// The names of the rules of `CloudKitContract` that check the rule.
    package let contract: [String]
    /// The suite of the emulator's own tests that checks it.
    package let tests: String?

    /// Every rule about writing records.
    package static var all: [WriteRuleSummary] {
        OperationRules.name.summaries() + OperationRules.all.summaries() + OperationRules.deletion.summaries()
            + ContentRules.type.summaries()
            + ContentRules.field.summaries() + ContentRules.content.summaries() + ShareRules.all.summaries()
            + AssetRules.all.summaries()
    }
}
