import CloudKitModel
import CloudKitSchema
package import CloudKitWebServices
import GRDB
import StreamingJSON

extension RequestContext {
    /// Queries the records of one type (`records/query`).
    ///
    /// A record must match all filters. Records come in the order of the sorts, equal ones in creation order. A saved
    /// record is found at once (the service takes a few seconds).
    ///
    /// - Parameters:
    ///   - request: Without an imported schema, every field can be queried, sorted and searched. `zoneWide` is ignored
    ///     beside a `zoneID`, and in public databases.
    ///   - getCurrentSyncToken: Whether the reply carries the zone's sync token.
    /// - Returns: A page of at most 200 records. Its marker belongs to the same query.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for an invalid query, in the recorded words where they are known;
    ///   `ZONE_NOT_FOUND`; `ACCESS_DENIED` where no grant of the type lets the caller read.
    package func queryRecords(
        _ request: Components.Schemas.QueryRecordsRequest,
        getCurrentSyncToken: Bool = false
    ) throws -> Components.Schemas.QueryRecordsResponse {
        let query = request.query
        let limit = try configuration.limits.pageSize(request.resultsLimit)
        try checkQuery(ofType: query.recordType)
        if query.recordType == ContainerSchema.userType { try makeUserRecords(named: nil) }
        return try read { context in
            let isZoneWide = request.zoneWide == true && request.zoneID == nil && database.scope != .public
            let zones = isZoneWide ? try context.zones() : [try context.zone(request.zoneID)]
            let schema = try context.schema()
            guard let type = schema[query.recordType] else {
                throw EmulatorError(
                    configuration.unsettled.unknownRecordType,
                    "Did not find record type: \(query.recordType)"
                ).helped(
                    by: database.environment == .production
                        ? .deployment : .definition(recordType: query.recordType, field: nil)
                )
            }
            let roles = try context.callerRoles(in: schema)
            let readable = database.scope == .public ? roles.readableRecords(of: type) : .all
            if case .noRecords = readable { throw EmulatorError.ungranted("READ", on: type.name, to: user) }
            try IndexRules.requireFilter(query.filters, of: type)
            let conditions = try query.filters.map { filter in
                try QueryCondition(filter, of: type, configuration: configuration)
            }
            let order = try QueryOrder(query.sorts, of: type)
            // No one has shared anything with the user.
            guard !zones.isEmpty else { return Components.Schemas.QueryRecordsResponse(records: []) }
            let queryFingerprint = try self.queryFingerprint(of: query, zones: isZoneWide ? [] : zones, in: context)
            let plan = try QueryPlan(
                conditions: conditions,
                sorts: order,
                type: type,
                zones: zones.map(\.id),
                limit: limit,
                db: context.db
            )
            let start = try start(
                request.continuationMarker,
                fingerprint: queryFingerprint,
                keys: plan.order.sorts.count
            )
            let found = try QueryRun(
                plan: plan,
                conditions: conditions,
                zones: zones.map(\.id),
                start: start,
                limit: limit,
                access: try context.sharedAccess(to: zones),
                readable: readable,
                db: context.db
            ).records()

            let names = Dictionary(uniqueKeysWithValues: zones.map { ($0.id, $0) })
            var presentation = presentation(
                desiredKeys: request.desiredKeys,
                numbersAsStrings: request.numbersAsStrings ?? false
            )
            let records = try found.prefix(limit).map { match in
                let candidate = match.candidate
                if let zone = names[candidate.row.zone], isZoneWide || !zone.isDefault {
                    presentation.zoneID = zone.zoneID(in: context)
                }
                return try RecordOutput(candidate.row.name, refusals) {
                    try deliveryFault?.check(candidate.row.name)
                    return try presentation.output(candidate.row, content: candidate.knownContent, schema: schema)
                }
            }
            var page = Components.Schemas.QueryRecordsResponse(records: records)
            if found.count > limit {
                page.continuationMarker = ContinuationMarker(
                    query: queryFingerprint,
                    position: found[limit - 1].position
                )
                .text(salt: emulator.tokenKey.salt)
            }
            if getCurrentSyncToken, let zone = zones.first, !isZoneWide {
                page.syncToken = context.syncToken(of: zone)
            }
            return page
        }
    }

    /// The fingerprint that binds a marker to the query, the zones and the database.
    private func queryFingerprint(of query: RecordQuery, zones: [ZoneRow], in context: DatabaseContext) throws -> UInt64
    {
        let salt = zones.reduce(UInt64(context.databaseID)) { ($0 &+ UInt64($1.id)) &* 31 }
        return try JSONWriter.bytes(of: query).fingerprint(salt: salt)
    }

    private func start(_ marker: String?, fingerprint queryFingerprint: UInt64, keys: Int) throws(EmulatorError)
        -> QueryPosition?
    {
        guard let marker else { return nil }
        guard
            let marker = ContinuationMarker(marker, salt: emulator.tokenKey.salt),
            marker.query == queryFingerprint,
            marker.position.keys.count == keys
        else {
            throw .badRequest("Invalid continuation marker")
        }
        return marker.position
    }
}

/// The execution of a query: it reads records along the plan's index, and keeps those that match.
private struct QueryRun {
    struct Match {
        let position: QueryPosition
        let candidate: QueryCandidate
    }

    let plan: QueryPlan
    let conditions: [QueryCondition]
    let zones: [Int64]
    let start: QueryPosition?
    let limit: Int
    /// The access of the caller to zones that are not the caller's; `nil` where the caller sees all records.
    let access: SharedAccess?
    /// The records that the grants of the type let the caller read.
    let readable: ReadableRecords
    let db: Database

    /// The records of the page, and one more where a further page follows.
    func records() throws -> [Match] {
        try plan.streams ? streamed() : gathered()
    }

    /// Reads records in the order of the result until the page is full.
    ///
    /// The index knows only the first sort. Records that are equal by it are collected, and then ordered by the other
    /// sorts.
    private func streamed() throws -> [Match] {
        var access = plan.access
        let sorts = plan.order.sorts.count
        if let start {
            access.start = QueryAccess.Start(
                key: start.keys.first.map { $0 ?? .absent } ?? .absent,
                record: sorts <= 1 ? start.record : nil
            )
        }
        var steps = try Steps(along: access, zones: zones, db)
        var page: [Match] = []
        var group: [Match] = []
        var groupKey: OrderedValue?
        while let (key, row) = try steps.next() {
            if sorts > 1 {
                if key != groupKey {
                    page += group.sorted { plan.order.precedes($0.position, $1.position) }
                    group.removeAll()
                    if page.count > limit { break }
                    groupKey = key
                }
            }
            guard let match = try match(row) else { continue }
            if sorts > 1 {
                group.append(match)
            } else {
                page.append(match)
                if page.count > limit { break }
            }
        }
        page += group.sorted { plan.order.precedes($0.position, $1.position) }
        return Array(page.prefix(limit + 1))
    }

    /// Reads all records that the index leaves, and keeps the first of them in the order of the result.
    private func gathered() throws -> [Match] {
        var steps = try Steps(along: plan.access, zones: zones, db)
        var matches: [Match] = []
        while let (_, row) = try steps.next() {
            guard let match = try match(row) else { continue }
            matches.append(match)
            if matches.count > 4 * (limit + 1) { keepFirst(of: &matches) }
        }
        keepFirst(of: &matches)
        return matches
    }

    private func keepFirst(of matches: inout [Match]) {
        matches.sort { plan.order.precedes($0.position, $1.position) }
        matches.removeLast(max(0, matches.count - limit - 1))
    }

    /// The record, if it matches and comes after the start of the page.
    private func match(_ row: RecordRow) throws -> Match? {
        if let access, try !access.sees(row.id) { return nil }
        if case .own(let creator) = readable, row.creator != creator { return nil }
        let candidate = QueryCandidate(row: row)
        guard try conditions.allSatisfy({ try $0.matches(candidate) }) else { return nil }
        let position = try plan.order.position(of: candidate)
        if let start, !plan.order.precedes(start, position) { return nil }
        return Match(position: position, candidate: candidate)
    }
}

/// The records along an index, each once.
private struct Steps {
    private let records: RecordRowCursor
    /// The records read so far, where the index can give a record twice; `nil` otherwise.
    private var seen: Set<Int64>?

    init(along access: QueryAccess, zones: [Int64], _ db: Database) throws {
        let (sql, arguments) = access.recordsStatement(zones: zones)
        records = try RecordRowCursor(sql, arguments, db)
        seen = access.canRepeat ? [] : nil
    }

    mutating func next() throws -> (key: OrderedValue?, row: RecordRow)? {
        while let (record, row) = try records.next() {
            guard seen?.insert(record.id).inserted ?? true else { continue }
            return (OrderedValue.fromDatabaseValue(row[11]), record)
        }
        return nil
    }
}

extension QueryAccess {
    /// Whether a record may come more than once. A list has one entry for each element.
    fileprivate var canRepeat: Bool {
        switch path {
        case .entries(_, let values): (values?.count ?? 2) > 1
        case .words(let fields, let words): fields.count * words.count > 1
        case .locations, .times, .names: false
        }
    }
}
