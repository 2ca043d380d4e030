/// The model of a service: it does a change once for each key, and gives its own identifiers to things that are made.
struct SimulatedService {
    /// The changes that were done, in their order, with the key of the request.
    private(set) var done: [(change: Int, key: String)] = []
    private var answers: [String: String] = [:]

    /// Does what a request asks for.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - key: The idempotency key.
    /// - Returns: The answer: the identifier of what the change has made.
    mutating func answer(_ change: Change, key: String) -> String {
        if let answer = answers[key] { return answer }
        done.append((change.number, key))
        let answer = "service-\(change.number)"
        answers[key] = answer
        return answer
    }
}

/// What the simulated program changes.
struct Change: Codable, Hashable, Sendable {
    enum Kind: String, Codable { case make, edit, toast, takeBack }

    /// No two changes have the same number.
    var number: Int
    var kind: Kind
}

/// Why a seed fails.
struct SimulationFailure: Error, CustomStringConvertible {
    let seed: UInt64
    let message: String
    /// What happened, the last event at the end.
    let story: [String]

    var description: String {
        "seed \(seed): \(message)\n" + story.suffix(60).map { "    \($0)" }.joined(separator: "\n")
    }
}

/// What happened in a simulation.
package struct QueueSimulationCounts: Sendable {
    package private(set) var numbers: [String: Int] = [:]

    package init() {}

    /// Counts an event.
    mutating func add(_ name: String, _ count: Int = 1) { numbers[name, default: 0] += count }

    package static func += (sum: inout QueueSimulationCounts, other: QueueSimulationCounts) {
        for (name, count) in other.numbers { sum.add(name, count) }
    }

    /// The numbers by name, `name number name number …`.
    package var line: String { numbers.sorted { $0.key < $1.key }.map { "\($0) \($1)" }.joined(separator: " ") }
}
