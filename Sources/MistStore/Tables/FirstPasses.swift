import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The pass over a zone for the types that are fetched first.
struct FirstPass: Sendable {
    let types: [String]
    /// The token of its last page. It is not the zone's, which is fetched from its start afterwards.
    let token: ZoneChangeToken?
}

/// The passes for the types that are fetched first, `mist_first_pass`: of zones that are fetched from their start. An
/// entry ends with that fetch.
struct FirstPasses: TableOwner {
    /// A program without the table fetches the zone from its start at once, so it needs no new format.
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_first_pass (
            zone INTEGER PRIMARY KEY,
            -- JSON: the names of the record types.
            types TEXT NOT NULL,
            token TEXT,
            -- 1: the pass has ended, and the zone is fetched.
            is_done INTEGER NOT NULL DEFAULT 0
        )
        """

    let db: Database

    /// Begins a pass, unless there was one since the zone is fetched from its start.
    func begin(of types: [String], in zone: ZoneRowID) throws {
        try db.run(
            "INSERT INTO mist_first_pass (zone, types) VALUES (?, ?) ON CONFLICT (zone) DO NOTHING",
            [zone, String(decoding: try JSONEncoder().encode(types), as: UTF8.self)]
        )
    }

    func underWay(in zone: ZoneRowID) throws -> FirstPass? {
        try db.row("SELECT types, token FROM mist_first_pass WHERE zone = ? AND NOT is_done", [zone]).map { row in
            FirstPass(types: Self.types(row["types"]), token: (row["token"] as String?).flatMap(ZoneChangeToken.init))
        }
    }

    /// The types of which each of some zones has everything: all of them where there is no zone.
    func complete(of types: some Sequence<String>, in zones: [ZoneRowID]) throws -> Set<String> {
        try zones.reduce(into: Set(types)) { complete, zone in
            let done = try db.value(
                "SELECT types FROM mist_first_pass WHERE zone = ? AND is_done",
                [zone],
                as: String.self
            )
            complete.formIntersection(done.map(Self.types) ?? [])
        }
    }

    private static func types(_ text: String) -> [String] {
        // Another program may have changed the row. Then the zone is read without a type.
        (try? JSONDecoder().decode([String].self, from: Data(text.utf8))) ?? []
    }

    /// Stores the token behind a page of a pass.
    func store(token: ZoneChangeToken, in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_first_pass SET token = ? WHERE zone = ?", [token.text, zone])
    }

    /// Ends a pass.
    func end(in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_first_pass SET is_done = 1, token = NULL WHERE zone = ?", [zone])
    }

    /// Forgets the pass of a zone that was fetched, or is gone.
    func forget(in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_first_pass WHERE zone = ?", [zone])
    }
}
