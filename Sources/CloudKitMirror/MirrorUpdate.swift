import AsyncAlgorithms
import Foundation
import MistKit

/// Brings a mirror up to date.
struct MirrorUpdate {
    let file: MirrorFile
    let database: CloudKitDatabase
    private let report: @Sendable (MirrorCounts) -> Void
    /// The error for a zone that was to be followed and no longer exists.
    private var missing: CloudKitError?

    /// The number of zones in one request. A page has at most 200 records of each zone.
    private static let zonesPerRequest = 10
    /// The number of fetched pages that can wait while a transaction ends.
    ///
    /// More pages would not fit in the processor's caches.
    private static let pagesAhead = 4

    /// - Parameters:
    ///   - file: The mirror.
    ///   - database: The database whose records it has.
    ///   - report: Called after each page with what was written so far.
    init(_ file: MirrorFile, from database: CloudKitDatabase, report: @escaping @Sendable (MirrorCounts) -> Void) {
        self.file = file
        self.database = database
        self.report = report
    }

    /// Fetches what changed since the last run.
    mutating func run(_ selection: MirrorSelection, at time: Date) async throws {
        try file.beginUpdate()
        switch selection.kind {
        case .allZones:
            try await followDatabase()
            try await follow(file.staleZones())
        case .zone(let zoneID):
            try await follow([file.staleZone(zoneID)])
            if let missing { throw missing }
        case .types(let types):
            for type in types { try await query(type) }
        }
        try file.finish(at: time)
    }

    /// Zones in groups, each for one request.
    private static func requests<Zone>(for zones: [Zone]) -> [[Zone]] {
        stride(from: 0, to: zones.count, by: zonesPerRequest).map { start in
            Array(zones[start..<min(start + zonesPerRequest, zones.count)])
        }
    }

    // MARK: Zones

    private func followDatabase() async throws {
        guard let token = try file.databaseToken() else { return try await listZones() }
        do {
            var since = token
            for try await page in database.changes(since: token) {
                if let failure = page.failures.first { throw failure }
                try file.apply(page, since: since)
                since = page.token
            }
        } catch let error as CloudKitError where error.code == .changeTokenExpired {
            try file.forgetDatabaseToken()
            try await listZones()
        }
    }

    /// Saves the list of all zones in one step, as a zone that is missing from the complete list was deleted.
    private func listZones() async throws {
        var list: DatabaseChanges?
        for try await page in database.changes() {
            if let failure = page.failures.first { throw failure }
            var whole = page
            whole.results = (list?.results ?? []) + page.results
            list = whole
        }
        if let list { try file.apply(list, since: nil) }
    }

    private mutating func follow(_ zones: [MirrorZone]) async throws {
        for zones in Self.requests(for: zones) {
            let expired = try await followTogether(zones)
            guard !expired.isEmpty else { continue }
            let again = try expired.map { zone in try file.beginRereading(zone) }
            if let zone = try await followTogether(again).first {
                throw MirrorError(
                    .refusedToken,
                    "The service refuses a change token of the zone \(zone.name) that it has just issued."
                )
            }
        }
    }

    /// Fetches the changes of some zones. Each request gets a page of every zone.
    ///
    /// - Returns: The zones whose tokens the service no longer accepts.
    private mutating func followTogether(_ zones: [MirrorZone]) async throws -> [MirrorZone] {
        var zones = Dictionary(uniqueKeysWithValues: zones.map { ($0.zoneID, $0) })
        var expired: [MirrorZone] = []
        var failure: CloudKitError?
        let changes = database.changes(
            inZones: zones.keys.sorted { $0.description < $1.description },
            since: zones.compactMapValues { zone in zone.token.flatMap { ZoneChangeToken($0) } }
        )
        for try await results in changes.buffer(policy: .bounded(Self.pagesAhead)) {
            var pages: [(zone: MirrorZone, page: ZoneChanges?)] = []
            for result in results.results {
                guard let zone = zones[result.zoneID] else { continue }
                switch result.result {
                case .success(let page):
                    if let failure = page.failures.first { throw failure }
                    pages.append((zone, page))
                    zones[result.zoneID]?.token = page.token.text
                    if !page.moreComing { zones[result.zoneID]?.isRereading = false }
                case .failure(let error) where error.code == .zoneNotFound:
                    pages.append((zone, nil))
                    missing = error
                case .failure(let error) where error.code == .changeTokenExpired: expired.append(zone)
                // The other zones continue.
                case .failure(let error): failure = failure ?? error
                }
            }
            try file.apply(pages)
            report(file.counts)
        }
        if let failure { throw failure }
        return expired
    }

    // MARK: Counting

    /// Fetches everything that a run would fetch, and writes nothing.
    ///
    /// - Parameter selection: What a run would copy.
    /// - Returns: The numbers.
    /// - Throws: ``MirrorError`` or a `CloudKitError`.
    func preview(_ selection: MirrorSelection) async throws -> MirrorPreview {
        switch selection.kind {
        case .types(let types):
            var fetched = 0
            for type in types {
                for try await page in database.records(matching: Query(recordType: type)).pages {
                    for result in page.results { _ = try result.get() }
                    fetched += page.results.count
                }
            }
            return MirrorPreview(fetched: fetched, removed: 0)
        case .zone(let zone):
            let changes = try await countChanges(in: [zone], missing: .fails)
            return MirrorPreview(fetched: changes.fetched, removed: changes.removed)
        case .allZones:
            let (zones, removed) = try await changedZones()
            let changes = try await countChanges(in: zones, missing: .counts)
            return MirrorPreview(fetched: changes.fetched, removed: changes.removed + removed)
        }
    }

    /// The zones that have changes which were not fetched, and the number of the file's zones that were deleted.
    private func changedZones() async throws -> (changed: [ZoneID], removed: Int) {
        let known = Set(try file.zones().map(\.zoneID))
        let stale = try file.staleZones().map(\.zoneID)
        func following(_ token: DatabaseChangeToken?) async throws -> (changed: [ZoneID], removed: Int) {
            var (zones, removed) = (stale, 0)
            for try await page in database.changes(since: token) {
                if let failure = page.failures.first { throw failure }
                let changed = page.changedZones.map { $0.zoneID.inRequests(to: database.scope) }
                    .filter { $0.zoneName != ZoneID.default.zoneName }
                let deleted = page.deletedZones.map { $0.inRequests(to: database.scope) }
                zones = zones.filter { !changed.contains($0) && !deleted.contains($0) } + changed
                removed += deleted.count { known.contains($0) }
            }
            return (zones, removed)
        }
        do {
            return try await following(file.databaseToken())
        } catch let error as CloudKitError where error.code == .changeTokenExpired {
            return try await following(nil)
        }
    }

    /// What becomes of a zone that does not exist.
    private enum MissingZone {
        case fails, counts
    }

    private func countChanges(
        in zones: [ZoneID],
        missing: MissingZone
    ) async throws -> (fetched: Int, removed: Int) {
        var (fetched, removed) = (0, 0)
        var tokens = Dictionary(
            uniqueKeysWithValues: try file.zones().compactMap { zone in
                zone.token.flatMap { ZoneChangeToken($0) }.map { (zone.zoneID, $0) }
            }
        )
        var zones = zones
        while !zones.isEmpty {
            var expired: [ZoneID] = []
            for zones in Self.requests(for: zones) {
                for try await page in database.changes(inZones: zones, since: tokens) {
                    for result in page.results {
                        switch result.result {
                        case .success(let changes):
                            if let failure = changes.failures.first { throw failure }
                            fetched += changes.changedRecords.count
                            removed += changes.deletedRecords.count
                        case .failure(let error)
                        where error.code == .changeTokenExpired && tokens[result.zoneID] != nil:
                            expired.append(result.zoneID)
                        case .failure(let error) where error.code == .zoneNotFound && missing == .counts:
                            removed += 1
                        case .failure(let error):
                            throw error
                        }
                    }
                }
            }
            for zone in expired { tokens[zone] = nil }
            zones = expired
        }
        return (fetched, removed)
    }

    // MARK: Queries

    private mutating func query(_ type: String) async throws {
        let state = try file.beginQuery(of: type)
        do {
            try await query(state)
        } catch let error as CloudKitError where error.code == .badRequest && state.marker != nil {
            // The marker of a run that was killed long ago may no longer be valid.
            try await query(file.beginQuery(of: type, isNew: true))
        }
    }

    private mutating func query(_ start: MirrorFile.QueryState) async throws {
        var state = start
        let records = database.records(matching: Query(recordType: state.recordType), startingAt: state.marker)
        for try await page in records.pages.buffer(policy: .bounded(Self.pagesAhead)) {
            try file.apply(page, of: state)
            state.marker = page.marker
            report(file.counts)
        }
    }
}
