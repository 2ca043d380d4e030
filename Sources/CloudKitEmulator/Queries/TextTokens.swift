import Foundation

/// The words of a text for a search: without case and diacritics, split where a character is neither letter nor digit.
///
/// The service matches whole words so (native documentation of `CKQuery`; the page on queries splits the searched words
/// on white space).
func textTokens(in text: String) -> Set<String> {
    let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    return Set(folded.split { !$0.isLetter && !$0.isNumber }.map(String.init))
}
