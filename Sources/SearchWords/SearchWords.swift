import Foundation

/// The words of a text for a search: without case and diacritics, split where a character is neither letter nor digit.
///
/// The service matches whole words in this way (native documentation of `CKQuery`; the page on queries splits the
/// searched words on white space).
package func searchWords(in text: String) -> Set<String> {
    // Most text is ASCII, and needs no tables.
    if let words = text.utf8.withContiguousStorageIfAvailable(asciiWords) ?? nil { return words }
    // The emulator's index of words compares bytes, so that a word has one form.
    let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        .precomposedStringWithCanonicalMapping
    return Set(folded.split { !$0.isLetter && !$0.isNumber }.map(String.init))
}

/// The words of a text of ASCII; `nil` for any other.
private func asciiWords(in bytes: UnsafeBufferPointer<UInt8>) -> Set<String>? {
    var words = Set<String>()
    var word: [UInt8] = []
    for byte in bytes {
        switch byte {
        case 0x80...: return nil
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): word.append(byte | 0x20)
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): word.append(byte)
        default:
            if !word.isEmpty { words.insert(String(decoding: word, as: UTF8.self)) }
            word.removeAll(keepingCapacity: true)
        }
    }
    if !word.isEmpty { words.insert(String(decoding: word, as: UTF8.self)) }
    return words
}
