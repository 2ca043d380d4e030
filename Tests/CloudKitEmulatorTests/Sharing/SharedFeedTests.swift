import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import TestSupport
import Testing

/// Ann writes, moves, deletes and shares records at random. Ben accepts and leaves shares, and otherwise only fetches
/// changes.
struct SharedFeedTests {
    @Test(arguments: 0..<12)
    func whatAParticipantIsToldAddsUpToWhatIsShared(seed: UInt64) throws {
        var story = try Story(seed: seed)
        for step in 0..<120 {
            let act = try story.act()
            try story.listen()
            let (heard, shared) = (story.heard, try story.shared())
            #expect(heard == shared, "seed \(seed), step \(step): \(act)")
            guard heard == shared else { return }
        }
        // A client that starts without tokens gets the same records.
        let all = story.heard
        story.forget()
        try story.listen()
        #expect(story.heard == all, "seed \(seed), from the start")
    }

    @Test func whatIsSeenIsWhatCanBeLookedUpAndQueried() throws {
        for seed in 100..<106 {
            var story = try Story(seed: UInt64(seed))
            for _ in 0..<60 { _ = try story.act() }
            try story.listen()
            #expect(try story.found() == story.heard.keys.filter { !$0.hasPrefix("share") }.sorted(), "seed \(seed)")
        }
    }
}

private struct Story {
    let world: World
    var generator: SeededGenerator
    /// The records that Ben knows from changes: names and change tags.
    private(set) var heard: [String: String] = [:]
    private var databaseToken: String?
    private var zoneToken: String?
    /// The root of each share that was created, and its short GUID.
    private var roots: [String: (root: String, shortGUID: String)] = [:]
    private static let names = (0..<10).map { "r\($0)" }
    private let zone: ZoneID

    init(seed: UInt64) throws {
        world = try World()
        generator = SeededGenerator(seed: seed)
        zone = ZoneID(zoneName: World.notes.zoneName, ownerRecordName: world.ann)
    }

    // MARK: Actions

    mutating func act() throws -> String {
        let name = Self.names.randomElement(using: &generator) ?? ""
        let records = try records()
        switch Int.random(in: 0..<12, using: &generator) {
        case 0...4:
            var record = Record(recordType: "Note", recordName: name, fields: ["n": .int64(Int64(heard.count))])
            let parent = Self.names.randomElement(using: &generator) ?? ""
            if Bool.random(using: &generator), !isAbove(name, parent, in: records) {
                record.parent = Reference(recordName: parent)
            }
            return "save \(name) below \(record.parent?.recordName ?? "nothing"): \(try annDoes(.forceReplace, record))"
        case 5:
            return "delete \(name): \(try annDoes(.forceDelete, Record(recordName: name)))"
        case 6, 7:
            guard let tag = records[name]?.recordChangeTag else { return "nothing to share" }
            let share = "share \(roots.count)"
            var record = Record(recordType: "cloudkit.share", recordName: share)
            record.shareAccess.forRecord = RecordVersion(recordName: name, recordChangeTag: tag)
            record.shareAccess.participants = [.invited(.userRecordName(world.ben))]
            let result = try annDoes(.create, record)
            if let shortGUID = try self.records()[share]?.shortGUID { roots[share] = (name, shortGUID) }
            return "share \(name) as \(share): \(result)"
        case 8:
            let share = roots.keys.sorted().randomElement(using: &generator) ?? ""
            return "stop \(share): \(try annDoes(.forceDelete, Record(recordName: share)))"
        case 9:
            guard let share = roots.keys.sorted().randomElement(using: &generator), records[share] != nil else {
                return "-"
            }
            var record = Record(recordType: "cloudkit.share", recordName: share)
            record.shareAccess.participants =
                Bool.random(using: &generator) ? [] : [.invited(.userRecordName(world.ben))]
            return "set \(share)'s participants: \(try annDoes(.forceUpdate, record))"
        case 10:
            let share = heard.keys.filter { $0.hasPrefix("share") }.sorted().randomElement(using: &generator)
            guard let share else { return "nothing to leave" }
            _ = try world.asBen(in: .shared).modifyRecords(
                [RecordOperation(.forceDelete, record: Record(recordName: share))],
                zoneID: zone
            )
            return "leave \(share)"
        default:
            let shortGUIDs = roots.values.map(\.shortGUID).sorted().map { ShortGUID($0) }
            _ = try world.asBen(in: .public).acceptShares(shortGUIDs)
            return "accept all"
        }
    }

    private func annDoes(_ type: RecordOperation.OperationType, _ record: Record) throws -> String {
        try world.modify(RecordOperation(type, record: record))[0]
    }

    /// Whether a record is above another one in the hierarchy, or is the same one.
    private func isAbove(_ name: String, _ other: String, in records: [String: Record]) -> Bool {
        // Parents of deleted records are not known, so names of missing records count as well.
        var seen: Set<String> = []
        var current: String? = other
        while let next = current, seen.insert(next).inserted {
            if next == name { return true }
            current = records[next]?.parent?.recordName
        }
        return false
    }

    // MARK: The expected records

    /// All live records of Ann's zone.
    private func records() throws -> [String: Record] {
        var records: [String: Record] = [:]
        let page = try world.asAnn().fetchRecordChanges(ZoneChangesRequest(zoneID: World.notes))
        for case .success(let record) in page.records where !record.isDeleted {
            records[record.recordName ?? ""] = record
        }
        return records
    }

    /// The records that Ben should see, by the rules: the shares that he accepted, their roots, and the records below
    /// these, except records that are below another root first.
    func shared() throws -> [String: String] {
        let records = try records()
        let shares = roots.filter { share in
            records[share.key]?.shareAccess.participants?.contains {
                $0.userIdentity?.userRecordName == world.ben && $0.acceptanceStatus == .accepted
            } ?? false
        }
        let allRoots = Set(roots.filter { records[$0.key] != nil }.values.map(\.root))
        let seenRoots = Set(shares.values.map(\.root))
        return records.filter { name, record in
            if record.recordType == "cloudkit.share" { return shares[name] != nil }
            var seen: Set<String> = []
            var current: String? = name
            while let next = current, let record = records[next], seen.insert(next).inserted {
                if allRoots.contains(next) { return seenRoots.contains(next) }
                current = record.parent?.recordName
            }
            return false
        }.mapValues { $0.recordChangeTag ?? "" }
    }

    // MARK: The changes that Ben fetches

    mutating func forget() {
        (heard, databaseToken, zoneToken) = ([:], nil, nil)
    }

    mutating func listen() throws {
        let ben = Caller.user(world.ben)
        let page = try world.emulator.request(in: world.sharedDatabase, as: ben).fetchDatabaseChanges(
            since: databaseToken
        )
        databaseToken = page.syncToken
        for case .success(let zone) in page.zones {
            if zone.isDeleted {
                (heard, zoneToken) = ([:], nil)
            } else {
                try listen(to: zone.zoneID)
            }
        }
    }

    private mutating func listen(to zone: ZoneID) throws {
        while true {
            let changes = try world.asBen(in: .shared).fetchRecordChanges(
                ZoneChangesRequest(zoneID: zone, syncToken: zoneToken, resultsLimit: 3)
            )
            for case .success(let record) in changes.records {
                heard[record.recordName ?? ""] = record.isDeleted ? nil : record.recordChangeTag
            }
            zoneToken = changes.syncToken
            if !changes.moreComing { return }
        }
    }

    /// The notes that a query of Ben finds. He can look up each of them.
    func found() throws -> [String] {
        let ben = Caller.user(world.ben)
        guard try !world.emulator.request(in: world.sharedDatabase, as: ben).zones().zones.isEmpty else {
            return []
        }
        let found = try world.emulator.request(in: world.sharedDatabase, as: ben).queryRecords(
            RecordQuery(recordType: "Note"),
            zoneID: zone
        ).records.compactMap(\.itemID)
        let looked = try world.emulator.request(in: world.sharedDatabase, as: ben).lookupRecords(
            Self.names.map { RecordLookup(recordName: $0) },
            zoneID: zone
        ).records
        let names = looked.compactMap { try? $0.get().recordName }
        return names.sorted() == found.sorted() ? found.sorted() : ["looked up \(names), found \(found)"]
    }
}
