/// Finds the name that was probably meant.
enum NearestName {
    /// The known name that differs from a text in the fewest places; `nil` if none is similar.
    static func of(_ text: String, among names: some Sequence<String>) -> String? {
        // Of a single letter every other one is as near.
        guard text.unicodeScalars.count > 1 else { return nil }
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

    /// `did you mean 'paths'?`, or `nil` if no name is similar.
    static func question(about text: String, among names: some Sequence<String>) -> String? {
        of(text, among: names).map { "did you mean '\($0)'?" }
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
