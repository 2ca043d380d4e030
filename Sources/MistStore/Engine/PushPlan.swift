/// A change that may go into the next request, with the facts that the choice depends on.
struct PushCandidate: Hashable {
    let name: String
    /// Whether the service does not have the record.
    let isCreate: Bool
    /// The record above it.
    let parent: String?
    /// The names of all records that it refers to in this request, including the record above it.
    let targets: Set<String>
    /// About how many bytes it takes in a request.
    let size: Int
}

/// Chooses the candidates that go into one request: a pure decision.
///
/// A new record and the new records below it are a family. A family goes into one atomic request, with the new records
/// that it refers to: the service stores all of it or nothing, so other devices never see half of a family. Several
/// families share a request. Everything else goes into requests that are not atomic, where a failure concerns one
/// record only.
///
/// A family that is too large for one request is sent in several, from the top down.
struct PushPlan<Change> {
    /// The chosen changes, in the order of the candidates.
    let chosen: [Change]
    /// Whether the service is to carry out all operations or none.
    let isAtomic: Bool

    /// Makes the choice.
    ///
    /// - Parameters:
    ///   - changes: The changes, targets first.
    ///   - candidate: What of a change the choice depends on.
    ///   - count: The most operations of a request.
    ///   - bytes: The most bytes of a request. A change that is larger than this is chosen alone.
    ///   - mayBeAtomic: Whether the zone accepts atomic requests.
    init(
        _ changes: [Change],
        _ candidate: (Change) -> PushCandidate,
        count: Int,
        bytes: Int,
        mayBeAtomic: Bool
    ) {
        let candidates = changes.map(candidate)
        let families = mayBeAtomic ? Families(candidates) : nil
        let eligible = families?.needed ?? Array(candidates.indices)
        var fitting = 0
        var size = 0
        for index in eligible.prefix(max(1, count)) {
            size += candidates[index].size
            guard fitting == 0 || size <= bytes else { break }
            fitting += 1
        }
        if let families, fitting < eligible.count { fitting = families.wholeFamilies(within: fitting) }
        chosen = eligible.prefix(fitting).map { changes[$0] }
        isAtomic = families != nil && chosen.count > 1
    }
}

/// The families of the candidates.
private struct Families {
    /// The members of families, and the new records that they refer to, in the order of the candidates.
    let needed: [Int]
    /// For each element of `needed`, the position in `needed` of the last member of its family.
    private let ends: [Int]

    /// Finds the families; `nil` when no new record is below another new one.
    init?(_ candidates: [PushCandidate]) {
        let creates = Dictionary(
            candidates.indices.filter { candidates[$0].isCreate }.map { (candidates[$0].name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        // Parents come before their children.
        var tops = Array(candidates.indices)
        var isNeeded = Array(repeating: false, count: candidates.count)
        for (index, candidate) in candidates.enumerated() where candidate.isCreate {
            guard let parent = candidate.parent.flatMap({ creates[$0] }), parent < index else { continue }
            tops[index] = tops[parent]
            isNeeded[index] = true
            isNeeded[parent] = true
        }
        guard isNeeded.contains(true) else { return nil }
        for index in candidates.indices.reversed() where isNeeded[index] {
            for target in candidates[index].targets {
                if let target = creates[target] { isNeeded[target] = true }
            }
        }
        needed = candidates.indices.filter { isNeeded[$0] }
        var last: [Int: Int] = [:]
        for (position, index) in needed.enumerated() { last[tops[index]] = position }
        ends = needed.map { last[tops[$0]] ?? 0 }
    }

    /// The largest number of records, up to `count`, that divides no family; `count` itself when the first family is
    /// larger.
    func wholeFamilies(within count: Int) -> Int {
        var end = 0
        var whole = 0
        for (position, familyEnd) in ends.prefix(count).enumerated() {
            end = max(end, familyEnd)
            if end == position { whole = position + 1 }
        }
        return whole == 0 ? count : whole
    }
}

/// The next attempt for items that failed because another item of their atomic request failed: a pure decision.
enum AtomicRetry: Hashable {
    /// The items are sent again. The items that caused the failure wait by their own rules.
    case again
    /// The response names no item that caused the failure. The items are sent once more in a request that is not
    /// atomic, so that each has an outcome of its own.
    case apart
    /// The request was not atomic, so its response makes no sense. The items are sent again later.
    case later

    /// Decides by the outcomes of a request.
    ///
    /// - Parameters:
    ///   - outcomes: The outcomes of the items.
    ///   - isAtomic: Whether the request was atomic.
    /// - Returns: The decision; `nil` when no item failed because of another.
    static func of(_ outcomes: some Sequence<ItemOutcome>, isAtomic: Bool) -> AtomicRetry? {
        let outcomes = Set(outcomes)
        guard outcomes.contains(.again) else { return nil }
        guard outcomes.subtracting([.again, .acknowledged]).isEmpty else { return .again }
        return isAtomic ? .apart : .later
    }
}
