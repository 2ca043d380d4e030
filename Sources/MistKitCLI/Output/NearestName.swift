/// The name that a person probably meant.
enum NearestName {
    /// Finds the name that is most like a mistyped one. Upper and lower case do not matter.
    ///
    /// - Parameters:
    ///   - text: What was typed.
    ///   - names: The names that exist.
    /// - Returns: The nearest name; `nil` where no name is like the text.
    static func of(_ text: String, among names: some Sequence<String>) -> String? {
        let typed = Array(text.lowercased())
        // A third of the characters may be wrong, and one of a short name.
        let limit = max(1, typed.count / 3)
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = distance(typed, Array(name.lowercased()))
            if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
        }
        return best?.name
    }

    /// A sentence with the nearest name; empty where no name is like the text.
    static func hint(for text: String, among names: some Sequence<String>) -> String {
        of(text, among: names).map { "Did you mean \($0)? " } ?? ""
    }

    /// The number of characters that are inserted, removed, replaced or swapped with their neighbour.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for (i, first) in left.enumerated() {
            var row = [i + 1]
            for (j, second) in right.enumerated() {
                var best = min(last[j] + (first == second ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, first == right[j - 1], left[i - 1] == second {
                    best = min(best, beforeLast[j - 1] + 1)
                }
                row.append(best)
            }
            (beforeLast, last) = (last, row)
        }
        return last[right.count]
    }
}
