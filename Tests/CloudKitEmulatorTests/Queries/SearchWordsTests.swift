import Foundation
import SearchWords
import Testing

/// The words of texts, which the index compares byte by byte.
struct SearchWordsTests {
    @Test(arguments: ["がっこう", "한국", "Café", "Ωmega ĳ"])
    func aWordHasOneForm(_ text: String) {
        func words(_ text: String) -> [[UInt8]] { searchWords(in: text).map { Array($0.utf8) } }
        let composed = words(text.precomposedStringWithCanonicalMapping)
        #expect(Set(words(text.decomposedStringWithCanonicalMapping)) == Set(composed))
        #expect(!composed.isEmpty)
    }
}
