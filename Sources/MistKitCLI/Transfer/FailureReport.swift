import Foundation

/// The errors of the items of a transfer: each kind is printed a few times, and then counted.
struct FailureReport {
    /// The number of errors of a kind that are printed.
    private static let shown = 10
    /// The number of kinds that are distinguished. All others are one kind.
    private static let kinds = 1000

    private var counts: [String: Int] = [:]
    /// The number of errors.
    private(set) var count = 0

    /// Prints the error of an item, unless errors of its kind were printed often enough.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - position: Where the item is, such as a file and a line.
    mutating func add(_ error: CommandError, at position: String) {
        count += 1
        let kind = Self.kind(of: error)
        let key = counts[kind] == nil && counts.count >= Self.kinds ? "" : kind
        counts[key, default: 0] += 1
        if counts[key, default: 0] <= Self.shown { Terminal.writeFailure(error, at: position) }
    }

    /// Prints how many errors were not printed.
    ///
    /// - Parameter file: The file that has the items; `nil` where there is none.
    func finish(in file: String?) {
        for (kind, count) in counts.sorted(by: { $0.key < $1.key }) where count > Self.shown {
            let cause = kind.isEmpty ? "other errors" : "for the same reason"
            let sample = kind.isEmpty ? "" : ": \(kind)"
            Terminal.writeError(
                "mistkit: and \(count - Self.shown) more \(cause)\(file.map { ", in \($0)" } ?? "")\(sample)"
            )
        }
    }

    /// The message without what differs from item to item: names of records, quoted values and numbers.
    static func kind(of error: CommandError) -> String {
        var text = error.message
        if text.hasPrefix("Record "), let end = text.range(of: ": ") { text = String(text[end.upperBound...]) }
        return text.replacing(/"[^"]*"/, with: "\"…\"").replacing(/\b\d+\b/, with: "…")
    }
}
