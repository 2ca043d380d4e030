import CloudKitModel
import GRDB

/// A reference with `DELETE_SELF` or `VALIDATE` to another record of the zone.
struct Link: Hashable {
    enum Action: Int {
        case deleteSelf = 1
        case validate = 2
    }

    let name: String
    let action: Action
}

extension Record {
    /// The references of a record with `DELETE_SELF` or `VALIDATE` to records of its own zone.
    func links(within zone: ZoneRow) -> Set<Link> {
        var links: Set<Link> = []
        for (_, value) in fields {
            let references: [Reference] =
                switch value {
                case .reference(let reference): [reference]
                case .referenceList(let references): references
                default: []
                }
            for reference in references where reference.zoneID?.zoneName ?? zone.name == zone.name {
                if reference.action == .validate { links.insert(Link(name: reference.recordName, action: .validate)) }
                if reference.action == .deleteSelf {
                    links.insert(Link(name: reference.recordName, action: .deleteSelf))
                }
            }
        }
        return links
    }
}

/// The rows of the table `link`: the links of a zone's records by the record that they point to.
struct LinkRows {
    let db: Database
    let zone: ZoneRow

    func update(for change: RecordChange) throws {
        if change.old?.links(within: zone).isEmpty == false {
            try db.run("DELETE FROM link WHERE source = ?", [change.row.id])
        }
        for link in change.new?.links(within: zone) ?? [] {
            try db.run(
                "INSERT INTO link (zone, name, action, source) VALUES (?, ?, ?, ?)",
                [zone.id, link.name, link.action.rawValue, change.row.id]
            )
        }
    }

    /// The records that refer to a record.
    func sources(of row: RecordRow, action: Link.Action) throws -> [Int64] {
        let sql = "SELECT source FROM link WHERE zone = ? AND name = ? AND action = ?"
        return try db.values(sql, [row.zone, row.name, action.rawValue])
    }

    /// The number of records that have a link, not counting the record `record`.
    func count(of link: Link, except record: Int64?) throws -> Int {
        try db.value(
            """
            SELECT count(*) FROM link
            WHERE zone = ? AND name = ? AND action = ? AND source <> coalesce(?, 0)
            """,
            [zone.id, link.name, link.action.rawValue, record],
            as: Int.self
        ) ?? 0
    }

    func erase() throws {
        try db.run("DELETE FROM link WHERE source IN (SELECT id FROM record WHERE zone = ?)", [zone.id])
        try db.run("DELETE FROM link WHERE zone = ?", [zone.id])
    }
}
