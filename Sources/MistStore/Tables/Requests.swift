import GRDB
import MistKit
import SQLiteTables

/// A row of `mist_request`.
struct RequestRow {
    let number: RequestNumber
    let kind: SyncRequest.Kind
    /// The zone of a lookup, a `modify` or a list.
    let zone: ZoneRowID?
    let sent: MachineTime
    /// Whether it was an atomic `modify`.
    let isAtomic: Bool
    /// The token of a request for the list of changed zones.
    let token: DatabaseChangeToken?
    /// The query of a page.
    let query: FollowedQueryID?

    fileprivate init(_ row: Row) {
        number = row["number"]
        kind = SyncRequest.Kind(rawValue: row["kind"]) ?? .lookup
        zone = row["zone"]
        sent = row["sent"]
        isAtomic = row["is_atomic"]
        token = (row["token"] as String?).flatMap(DatabaseChangeToken.init)
        query = row["query"]
    }
}

/// What a request is about. It is stored with the request, so that the reply is applied to what was asked for, whatever
/// has changed meanwhile.
enum RequestContent {
    /// The user who is signed in.
    case user
    /// The zones that changed since a token.
    case list(since: DatabaseChangeToken?)
    /// Zones with their tokens, in the order of the request.
    case zones([Requests.ZoneItem])
    /// Records of a zone, by their names.
    case names([String], zone: ZoneRowID)
    /// Operations of a zone. Each is stored as a ``SentOperation``.
    case operations(zone: ZoneRowID)
    /// A page of a followed query.
    case page(FollowedQueryID)
    /// A page of the records of a zone, or of a followed query, for a verification.
    case listing(zone: ZoneRowID, query: FollowedQueryID?)

    /// The kind of the request, where the request alone does not say it.
    fileprivate var kind: SyncRequest.Kind? {
        if case .listing = self { .listing } else { nil }
    }
}

/// The request under way, at most one for each scope, and what it asks for: `mist_request`, `mist_request_item`.
struct Requests: TableOwner {
    static let definition = """
        -- The request under way, at most one for each scope.
        CREATE TABLE mist_request (
            scope INTEGER PRIMARY KEY,
            number INTEGER NOT NULL,
            kind TEXT NOT NULL,
            -- Of lookups and of requests that modify records.
            zone INTEGER,
            sent INTEGER NOT NULL,
            -- 1: of its operations the service does all or nothing.
            is_atomic INTEGER NOT NULL DEFAULT 0,
            \(columns.joined(separator: ",\n    "))
        );
        \(items)
        """

    /// The token of a request for the list of changed zones, and the followed query of a page.
    private static let columns = ["token TEXT", "query INTEGER"]

    private static let items = """
        -- What the request asks for: zones with their tokens, or records of its zone. Operations are in mist_sent.
        CREATE TABLE mist_request_item (
            scope INTEGER NOT NULL,
            position INTEGER NOT NULL,
            zone INTEGER NOT NULL,
            token TEXT,
            name TEXT,
            PRIMARY KEY (scope, position)
        ) WITHOUT ROWID;
        """

    static func update(from format: Int64) -> [String] {
        guard format < 4 else { return [] }
        // The reply to a request of an earlier format cannot be applied. Its operations have an unknown outcome.
        return [items, "DELETE FROM mist_request"] + columns.map { "ALTER TABLE mist_request ADD COLUMN \($0)" }
    }

    /// Whether the file has the table of items, which came with the fourth format.
    static func haveItems(_ db: Database) throws -> Bool { try db.tableExists("mist_request_item") }

    /// A zone of a request, with the token that was sent.
    struct ZoneItem {
        let zone: ZoneRowID
        let token: ZoneChangeToken?
    }

    let scope: DatabaseScope
    let db: Database

    func underWay() throws -> RequestRow? {
        try db.row("SELECT * FROM mist_request WHERE scope = ?", [scope.number]).map(RequestRow.init)
    }

    /// The zones of the request under way, in its order.
    func zones() throws -> [ZoneItem] {
        try db.rows(
            "SELECT zone, token FROM mist_request_item WHERE scope = ? AND name IS NULL ORDER BY position",
            [scope.number]
        ).map { ZoneItem(zone: $0["zone"], token: ($0["token"] as String?).flatMap(ZoneChangeToken.init)) }
    }

    /// The names of the records that the request under way asks for.
    func names() throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(
                sql: "SELECT name FROM mist_request_item WHERE scope = ? AND name IS NOT NULL ORDER BY position"
            ),
            arguments: [scope.number]
        )
    }

    /// Stores the request that is sent now.
    func insert(_ request: SyncRequest, _ content: RequestContent, number: RequestNumber, at now: MachineTime) throws {
        var row: (zone: ZoneRowID?, token: String?, query: FollowedQueryID?)
        switch content {
        case .user: break
        case .list(let token): row.token = token?.text
        case .zones(let zones):
            for (position, zone) in zones.enumerated() {
                try insert(zone.zone, token: zone.token?.text, name: nil, at: position)
            }
        case .names(let names, let zone):
            row.zone = zone
            for (position, name) in names.enumerated() { try insert(zone, token: nil, name: name, at: position) }
        case .operations(let zone): row.zone = zone
        case .page(let query): row.query = query
        case .listing(let zone, let query): (row.zone, row.query) = (zone, query)
        }
        try db.run(
            """
            INSERT INTO mist_request (scope, number, kind, zone, sent, is_atomic, token, query)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                scope.number, number, (content.kind ?? request.kind).rawValue, row.zone, now, request.isAtomic,
                row.token,
                row.query,
            ]
        )
    }

    private func insert(_ zone: ZoneRowID, token: String?, name: String?, at position: Int) throws {
        try db.run(
            "INSERT INTO mist_request_item (scope, position, zone, token, name) VALUES (?, ?, ?, ?, ?)",
            binding: [
                .integer(scope.number), .integer(Int64(position)), ColumnValue(zone), ColumnValue(token),
                ColumnValue(name),
            ]
        )
    }

    /// Forgets the request: it was answered, or given up.
    func end() throws {
        try db.run("DELETE FROM mist_request_item WHERE scope = ?", [scope.number])
        try db.run("DELETE FROM mist_request WHERE scope = ?", [scope.number])
    }
}
