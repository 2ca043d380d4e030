import GRDB
import Peated

/// The tastings and feeds of the service, as this machine has them. All SQL of their tables is here.
struct FeedRows {
    let db: Database

    // MARK: Tastings

    /// Keeps a tasting as the service has it.
    func store(_ tasting: Tasting) throws {
        try db.execute(
            sql: """
                INSERT INTO tasting (id, content) VALUES (?, ?)
                ON CONFLICT (id) DO UPDATE SET content = excluded.content
                """,
            arguments: [tasting.id, try StoredJSON.text(tasting)]
        )
    }

    /// A tasting as the service has it; `nil` where this machine does not know it.
    func tasting(_ id: String) throws -> Tasting? {
        try String.fetchOne(db, sql: "SELECT content FROM tasting WHERE id = ?", arguments: [id])
            .map { try StoredJSON.value(Tasting.self, $0) }
    }

    /// A bottle of a tasting that this machine knows.
    func bottle(_ id: String) throws -> Bottle? {
        try String.fetchOne(
            db,
            sql: "SELECT content FROM tasting WHERE content ->> '$.bottle.id' = ? LIMIT 1",
            arguments: [id]
        )
        .map { try StoredJSON.value(Tasting.self, $0).bottle }
    }

    // MARK: Feeds

    /// A feed.
    func list(_ feed: FeedFilter) throws -> FeedList { FeedList(try rows(feed).map(\.item)) }

    /// The tastings and gaps of a feed, the newest first. A tasting is `nil` for a gap.
    func contents(_ feed: FeedFilter) throws -> [(item: FeedList.Item, tasting: Tasting?)] {
        try rows(feed).map { row in
            guard case .tasting(let id) = row.item else { return (row.item, nil) }
            return (row.item, try tasting(id))
        }
    }

    /// Stores a page with its tastings. The cursor, the page and what it replaces are in the file together.
    ///
    /// - Returns: The number of tastings that the feed did not have.
    @discardableResult
    func add(_ page: FeedPage, to feed: FeedFilter, at position: FeedList.Position) throws -> Int {
        let before = try list(feed)
        let after = before.adding(page.results.map(\.id), next: page.nextCursor, at: position)
        for tasting in page.results { try store(tasting) }
        try replace(before, with: after, feed)
        // Tastings that no feed has any more.
        try db.execute(
            sql: """
                DELETE FROM tasting WHERE id NOT IN (SELECT tasting FROM feed_item WHERE tasting IS NOT NULL)
                    AND id NOT IN (SELECT service FROM own_tasting WHERE service IS NOT NULL)
                """
        )
        return Set(after.tastings).subtracting(before.tastings).count
    }

    private func rows(_ feed: FeedFilter) throws -> [(rank: Int64, item: FeedList.Item)] {
        let sql = "SELECT rank, tasting, gap FROM feed_item WHERE feed = ? ORDER BY rank"
        return try Row.fetchAll(db, sql: sql, arguments: [feed.rawValue]).map { row in
            let tasting: String? = row["tasting"]
            return (row["rank"], tasting.map { .tasting($0) } ?? .gap(row["gap"]))
        }
    }

    /// Writes what differs: the part between the beginning and the end that both lists have.
    private func replace(_ old: FeedList, with new: FeedList, _ feed: FeedFilter) throws {
        let head = zip(old.items, new.items).prefix { $0 == $1 }.count
        let most = min(old.items.count, new.items.count) - head
        let tail = zip(old.items.reversed(), new.items.reversed()).prefix { $0 == $1 }.prefix(most).count
        let ranks = try rows(feed).map(\.rank)
        let upper = head > 0 ? ranks[head - 1] : nil
        let lower = tail > 0 ? ranks[ranks.count - tail] : nil
        var added = new.items[head..<(new.items.count - tail)]
        var numbers = FeedRanks.between(upper, lower, count: added.count)
        try delete(ranks[head..<(ranks.count - tail)], of: feed)
        if numbers == nil {
            // There is no space between the rows that stay: all get new numbers.
            try delete(ranks[...], of: feed)
            added = new.items[...]
            numbers = FeedRanks.between(nil, nil, count: added.count)
        }
        for (rank, item) in zip(numbers ?? [], added) {
            switch item {
            case .tasting(let id): try insert(rank, id, nil, feed)
            case .gap(let cursor): try insert(rank, nil, cursor, feed)
            }
        }
    }

    private func insert(_ rank: Int64, _ tasting: String?, _ gap: String?, _ feed: FeedFilter) throws {
        try db.execute(
            sql: "INSERT INTO feed_item (feed, rank, tasting, gap) VALUES (?, ?, ?, ?)",
            arguments: [feed.rawValue, rank, tasting, gap]
        )
    }

    private func delete(_ ranks: ArraySlice<Int64>, of feed: FeedFilter) throws {
        for rank in ranks {
            try db.execute(sql: "DELETE FROM feed_item WHERE feed = ? AND rank = ?", arguments: [feed.rawValue, rank])
        }
    }
}
