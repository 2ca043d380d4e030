import CloudKitContract
import CloudKitEmulator
import Foundation
import Testing

/// Each rule of the emulator about writing records names the contract rule or the suite that checks it.
struct WriteRuleTests {
    @Test func eachRuleNamesRulesOfTheContractOrASuite() {
        let contract = Set(CloudKitContract.rules.map(\.name))
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../CloudKitEmulatorTests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap {
            $0 as? URL
        }
        let suites = Set((files ?? []).map { $0.deletingPathExtension().lastPathComponent })
        for rule in WriteRuleSummary.all {
            for name in rule.contract where !contract.contains(name) {
                Issue.record(
                    "Sources/CloudKitContract/Rules has no rule with the name '\(name)'; WriteRule '\(rule.name)'"
                )
            }
            if let tests = rule.tests, !suites.contains(tests) {
                Issue.record("Tests/CloudKitEmulatorTests has no suite \(tests); WriteRule '\(rule.name)'")
            }
            #expect(!rule.contract.isEmpty || rule.tests != nil, "nothing checks '\(rule.name)'")
        }
    }

    @Test func noTwoRulesOfTheContractHaveOneSentence() {
        let names = CloudKitContract.rules.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func noTwoRulesHaveOneName() {
        let names = WriteRuleSummary.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(!names.isEmpty)
    }
}
