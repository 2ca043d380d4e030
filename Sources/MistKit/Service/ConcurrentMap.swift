/// Works on items concurrently, and passes on each outcome as soon as it is known.
///
/// With a limit of one, or with one item, it stays on the caller's task.
///
/// - Parameters:
///   - items: The items. Work on them begins in this order.
///   - limit: The most items at a time; at least one.
///   - work: What to do with the item at an index. It is cancelled with the calling task.
///   - receive: Takes the outcome of the item at an index. When it returns `false`, work on further items does not begin.
func forEachConcurrently<Item: Sendable, Outcome: Sendable>(
    _ items: [Item],
    atMost limit: Int,
    _ work: @escaping @Sendable (Int, Item) async -> Outcome,
    receive: (Int, Outcome) -> Bool
) async {
    if limit <= 1 || items.count <= 1 {
        for (index, item) in items.enumerated() {
            guard receive(index, await work(index, item)) else { return }
        }
        return
    }
    await withTaskGroup(of: (Int, Outcome).self) { group in
        var waiting = items.indices
        func beginNext() {
            guard let index = waiting.popFirst() else { return }
            group.addTask { (index, await work(index, items[index])) }
        }
        for _ in 0..<limit { beginNext() }
        var goesOn = true
        while let (index, outcome) = await group.next() {
            if !receive(index, outcome) { goesOn = false }
            if goesOn { beginNext() }
        }
    }
}

/// Works on items concurrently.
///
/// - Parameters:
///   - items: The items.
///   - limit: The most items at a time; at least one.
///   - work: What to do with the item at an index. It is cancelled with the calling task.
/// - Returns: The outcomes in the order of the items.
func concurrentMap<Item: Sendable, Outcome: Sendable>(
    _ items: [Item],
    atMost limit: Int,
    _ work: @escaping @Sendable (Int, Item) async -> Outcome
) async -> [Outcome] {
    var outcomes = [Outcome?](repeating: nil, count: items.count)
    await forEachConcurrently(items, atMost: limit, work) { index, outcome in
        outcomes[index] = outcome
        return true
    }
    return outcomes.compactMap(\.self)
}
