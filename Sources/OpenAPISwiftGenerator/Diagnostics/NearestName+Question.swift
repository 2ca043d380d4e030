import Spelling

extension NearestName {
    /// `did you mean 'paths'?`, or `nil` if no name is similar.
    static func question(about text: String, among names: some Sequence<String>) -> String? {
        // Of a single letter every other one is as near.
        guard text.unicodeScalars.count > 1 else { return nil }
        return of(text, among: names).map { "did you mean '\($0)'?" }
    }

    /// The question, where there is one, and what is known: the remedy for a name that is not.
    static func remedy(for text: String, known: [String]) -> String {
        (question(about: text, among: known).map { "\($0) " } ?? "") + "known keys: \(known.joined(separator: ", "))"
    }
}
