import CloudKitContract
import CloudKitEmulator
import CloudKitRuleIDs
import Foundation
import Testing

/// Each rule of the emulator about writing records is checked by the contract or by a suite.
struct WriteRuleTests {
    @Test func eachIdentifierIsOfOneRuleOfTheContractAndOneOfTheEmulator() {
        #expect(CloudKitContract.rules.compactMap(\.identifier).sorted() == RuleID.allCases.sorted())
        let ofTheEmulator = WriteRuleChecks.all.flatMap { checks -> [RuleID] in
            if case .contract(let identifiers) = checks { identifiers } else { [] }
        }
        #expect((ofTheEmulator + IndexRules.identifiers).sorted() == RuleID.allCases.sorted())
    }

    @Test func rulesWithoutIdentifierNameASuite() {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../CloudKitEmulatorTests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap {
            $0 as? URL
        }
        let suites = Set((files ?? []).map { $0.deletingPathExtension().lastPathComponent })
        var sentences: [String] = []
        for checks in WriteRuleChecks.all {
            guard case .suite(let suite, let sentence) = checks else { continue }
            sentences.append(sentence)
            #expect(suites.contains(suite), "Tests/CloudKitEmulatorTests has no suite \(suite); rule '\(sentence)'")
        }
        #expect(Set(sentences).count == sentences.count)
        #expect(!sentences.isEmpty)
    }

    @Test func noTwoRulesOfTheContractHaveOneSentence() {
        let names = CloudKitContract.rules.map(\.name)
        #expect(Set(names).count == names.count)
    }
}

extension [RuleID] {
    fileprivate func sorted() -> [String] { map(\.rawValue).sorted() }
}
