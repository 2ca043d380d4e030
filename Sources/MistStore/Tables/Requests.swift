import GRDB
import MistKit

/// A row of `mist_request`.
struct RequestRow {
    let number: RequestNumber
    let kind: SyncRequest.Kind
    let zone: ZoneRowID?
    let sent: MachineTime
    /// Whether it was an atomic `modify`.
    let isAtomic: Bool
}

/// The request under way, `mist_request`: at most one for each scope.
struct Requests: TableOwner {
    static let definition = """
        -- The request under way, at most one for each scope, and what it carries.
        CREATE TABLE mist_request (
            scope INTEGER PRIMARY KEY,
            number INTEGER NOT NULL,
            kind TEXT NOT NULL,
            zone INTEGER,
            sent INTEGER NOT NULL,
            -- 1: of its operations the service does all or nothing.
            is_atomic INTEGER NOT NULL DEFAULT 0
        );
        """

    let scope: DatabaseScope
    let db: Database

    func underWay() throws -> RequestRow? {
        try db.row("SELECT * FROM mist_request WHERE scope = ?", [scope.number]).map { row in
            RequestRow(
                number: row["number"],
                kind: SyncRequest.Kind(rawValue: row["kind"]) ?? .lookup,
                zone: row["zone"],
                sent: row["sent"],
                isAtomic: row["is_atomic"]
            )
        }
    }

    /// Stores the request that is sent now.
    func insert(_ request: SyncRequest, number: RequestNumber, zone: ZoneRowID?, at now: MachineTime) throws {
        try db.run(
            "INSERT INTO mist_request (scope, number, kind, zone, sent, is_atomic) VALUES (?, ?, ?, ?, ?, ?)",
            [scope.number, number, request.kind.rawValue, zone, now, request.isAtomic]
        )
    }

    /// Forgets the request: it was answered, or given up.
    func end() throws {
        try db.run("DELETE FROM mist_request WHERE scope = ?", [scope.number])
    }
}
