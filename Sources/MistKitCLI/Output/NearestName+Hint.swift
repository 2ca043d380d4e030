import Spelling

extension NearestName {
    /// A sentence with the nearest name; empty where no name is like the text.
    static func hint(for text: String, among names: some Sequence<String>) -> String {
        of(text, among: names).map { "Did you mean \($0)? " } ?? ""
    }
}
