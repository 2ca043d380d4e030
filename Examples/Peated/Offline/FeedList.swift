/// What this machine knows of a feed: tastings, the newest first, and the gaps between them.
///
/// Two tastings side by side are side by side at the service, too. Where tastings may be missing, there is a gap with
/// the cursor that fetches them. A list without a gap at its end reaches the oldest tasting.
///
/// ```
/// t9 t8 t7 | gap "t7" | t3 t2 t1      the first page and an earlier visit
/// ```
public struct FeedList: Hashable, Sendable {
    /// A part of the list.
    public enum Item: Hashable, Sendable {
        /// A tasting, by its identifier.
        case tasting(String)
        /// Tastings that this machine may not have, with the cursor that fetches them.
        case gap(String)
    }

    /// The parts, the newest first.
    public var items: [Item]

    /// Makes a list.
    public init(_ items: [Item] = []) { self.items = items }

    /// The identifiers of the tastings, the newest first.
    public var tastings: [String] {
        items.compactMap { item in
            if case .tasting(let id) = item { id } else { nil }
        }
    }

    /// The cursors of the gaps, the newest first.
    public var gaps: [String] {
        items.compactMap { item in
            if case .gap(let cursor) = item { cursor } else { nil }
        }
    }

    /// The cursor of the first gap that has tastings below it; `nil` where only the oldest tastings may be missing.
    public var firstInnerGap: String? {
        for (item, below) in zip(items, items.dropFirst()) {
            if case .gap(let cursor) = item, case .tasting = below { return cursor }
        }
        return nil
    }

    /// Where a page belongs.
    public enum Position: Hashable, Sendable {
        /// At the top: the page was fetched without a cursor.
        case top
        /// At a gap, whose cursor the page was fetched with.
        case gap(String)
    }

    /// The list after a page has arrived.
    ///
    /// The page says what the service has, side by side, from the position on. So what this machine had between the
    /// position and the last tasting that both have is replaced: it was deleted, or moved. Where they have none in
    /// common, a gap remains between the page and what comes after it.
    ///
    /// - Parameters:
    ///   - page: The identifiers of the page, the newest first.
    ///   - next: The cursor of the next page; `nil` where the page ends with the oldest tasting.
    ///   - position: Where the page belongs.
    /// - Returns: The list. It is unchanged where the gap does not exist any more: another page has filled it.
    public func adding(_ page: [String], next: String?, at position: Position) -> FeedList {
        var (before, after): (ArraySlice<Item>, ArraySlice<Item>) = ([], items[...])
        if case .gap(let cursor) = position {
            guard let gap = items.firstIndex(of: .gap(cursor)) else { return self }
            (before, after) = (items[..<gap], items[(gap + 1)...])
        }
        // A service whose pages move when a tasting is added sends some tastings twice.
        var seen = Set(before)
        let new = page.map { Item.tasting($0) }.filter { seen.insert($0).inserted }
        guard let next else { return FeedList(before + new) }

        let known = Set(new)
        guard let last = after.lastIndex(where: { known.contains($0) }) else {
            // A page without anything new, whose cursor does not move, would leave the same gap for the same page.
            if position == .gap(next), new.isEmpty { return FeedList(Array(before + after)) }
            return FeedList(before + new + [.gap(next)] + after)
        }
        var rest = after[(last + 1)...]
        if new.last != after[last] {
            // The page goes on after what was known.
            if case .gap = rest.first { rest = rest.dropFirst() }
            return FeedList(before + new + [.gap(next)] + rest)
        }
        return FeedList(before + new + rest)
    }
}

/// Where rows are in a list that is stored: a row between two others gets a number between theirs.
enum FeedRanks {
    /// The space between two rows.
    static let step: Int64 = 1 << 20

    /// Numbers for rows between two others.
    ///
    /// - Parameters:
    ///   - upper: The number of the row above; `nil` for none.
    ///   - lower: The number of the row below; `nil` for none.
    ///   - count: The number of rows.
    /// - Returns: The numbers, ascending; `nil` where there is no space, so that all rows need new ones.
    static func between(_ upper: Int64?, _ lower: Int64?, count: Int) -> [Int64]? {
        let rows = Int64(count)
        switch (upper, lower) {
        case (nil, nil): return (0..<rows).map { $0 * step }
        case (let upper?, nil): return (1...max(rows, 1)).prefix(count).map { upper + $0 * step }
        case (nil, let lower?): return (0..<rows).map { lower - (rows - $0) * step }
        case (let upper?, let lower?):
            let space = (lower - upper) / (rows + 1)
            return space < 1 ? nil : (1...max(rows, 1)).prefix(count).map { upper + $0 * space }
        }
    }
}
