/// Finds the name that was probably meant, for "Did you mean …?" in the messages of the tools.
package enum NearestName {
    /// The name that differs from a text in the fewest places, upper and lower case apart.
    ///
    /// A third of the text may be wrong, and one character of a short one.
    ///
    /// - Parameters:
    ///   - text: What was written.
    ///   - names: The names that exist.
    /// - Returns: The nearest name, the first of those that are equally near; `nil` where no name is like the text.
    package static func of(_ text: String, among names: some Sequence<String>) -> String? {
        // Names are short. A text of another length is compared by its beginning.
        let wanted = Array(text.lowercased().unicodeScalars.prefix(100))
        var best: (name: String, distance: Int)?
        for name in names {
            let scalars = Array(name.lowercased().unicodeScalars.prefix(100))
            let limit = best?.distance ?? (max(wanted.count, 3) / 3 + 1)
            guard abs(scalars.count - wanted.count) < limit else { continue }
            let distance = distance(from: wanted, to: scalars)
            if distance < limit { best = (name, distance) }
        }
        return best?.name
    }

    /// The number of scalars to insert, remove or replace; two neighbours that are swapped count as one.
    private static func distance(from left: [Unicode.Scalar], to right: [Unicode.Scalar]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let isSame = left[row] == right[column]
                var value = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    value = min(value, beforeLast[column - 1] + 1)
                }
                current.append(value)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
