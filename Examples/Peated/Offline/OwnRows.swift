import GRDB
import MistMutationQueue
import Peated

/// What the user has written on this machine, until the service's feeds have it. All SQL of the tables is here.
struct OwnRows {
    let db: Database

    /// A tasting of this machine.
    struct Row {
        /// The identifier that this machine chose.
        var id: String
        /// The identifier that the service chose; `nil` until it has the tasting.
        var service: String?
        /// The tasting as it will be.
        var tasting: Tasting
        /// The SHA-256 of its picture.
        var picture: String?
    }

    // MARK: Tastings

    func add(_ tasting: Tasting, picture: String?) throws {
        try db.execute(
            sql: "INSERT INTO own_tasting (id, content, picture) VALUES (?, ?, ?)",
            arguments: [tasting.id, try StoredJSON.text(tasting), picture]
        )
    }

    /// Notes that the service has a tasting, with its toasts.
    func noteSent(_ id: String, as service: String) throws {
        try db.execute(sql: "UPDATE own_tasting SET service = ? WHERE id = ?", arguments: [service, id])
        try db.execute(sql: "UPDATE own_toast SET tasting = ? WHERE tasting = ?", arguments: [service, id])
    }

    /// Removes a tasting that the service does not have.
    func remove(_ id: String) throws {
        try db.execute(sql: "DELETE FROM own_tasting WHERE id = ? AND service IS NULL", arguments: [id])
    }

    /// Whether a tasting with this picture waits.
    func needs(_ picture: String) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM own_tasting WHERE picture = ? AND service IS NULL)"
        return try Bool.fetchOne(db, sql: sql, arguments: [picture]) ?? false
    }

    /// The tasting with one of its two identifiers.
    func tasting(_ id: String) throws -> Row? {
        try GRDB.Row.fetchOne(db, sql: "SELECT * FROM own_tasting WHERE id = ? OR service = ?", arguments: [id, id])
            .map(row)
    }

    /// The tastings of this machine that a feed lacks, the latest first.
    func tastings(missingIn feed: FeedFilter) throws -> [Row] {
        guard feed != .friends else { return [] }
        let sql = """
            SELECT * FROM own_tasting WHERE service IS NULL OR (
                NOT \(feed == .own ? "is_in_own" : "is_in_global")
                AND service NOT IN (SELECT tasting FROM feed_item WHERE feed = ? AND tasting IS NOT NULL)
            )
            ORDER BY rowid DESC
            """
        return try GRDB.Row.fetchAll(db, sql: sql, arguments: [feed.rawValue]).map(row)
    }

    /// The tastings that the service has, by its identifiers.
    func sent() throws -> [String] {
        try String.fetchAll(db, sql: "SELECT service FROM own_tasting WHERE service IS NOT NULL")
    }

    /// Notes that a feed was fetched from its top after the service had these tastings. From then on the feed says
    /// where they are, or that they are gone. Those of both feeds are removed.
    func noteFetched(_ sent: [String], in feed: FeedFilter) throws {
        guard feed != .friends else { return }
        let column = feed == .own ? "is_in_own" : "is_in_global"
        for id in sent {
            try db.execute(sql: "UPDATE own_tasting SET \(column) = 1 WHERE service = ?", arguments: [id])
        }
        try db.execute(sql: "DELETE FROM own_tasting WHERE is_in_global AND is_in_own")
    }

    private func row(_ row: GRDB.Row) throws -> Row {
        Row(
            id: row["id"],
            service: row["service"],
            tasting: try StoredJSON.value(Tasting.self, row["content"]),
            picture: row["picture"]
        )
    }

    // MARK: Toasts

    /// Notes a toast, or that it was taken back, until its mutation is done.
    func setToast(_ isOn: Bool, on tasting: String, by mutation: MutationID) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO own_toast (tasting, is_on, mutation) VALUES (?, ?, ?)",
            arguments: [tasting, isOn, mutation.rawValue]
        )
    }

    /// Notes that a mutation is done or will never be: the service's own state holds, unless a later one waits.
    func removeToast(of mutation: MutationID) throws {
        try db.execute(sql: "DELETE FROM own_toast WHERE mutation = ?", arguments: [mutation.rawValue])
    }

    /// What the user has chosen; `nil` where the service knows it.
    func toast(on tasting: String) throws -> Bool? {
        try Bool.fetchOne(db, sql: "SELECT is_on FROM own_toast WHERE tasting = ?", arguments: [tasting])
    }
}

extension Tasting {
    /// The tasting as it will be when the service knows the user's choice.
    func withToast(_ isOn: Bool?) -> Tasting {
        guard let isOn, isOn != hasToasted else { return self }
        var tasting = self
        tasting.hasToasted = isOn
        tasting.toasts = max(tasting.toasts + (isOn ? 1 : -1), 0)
        return tasting
    }
}
