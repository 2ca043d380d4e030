public import CloudKitModel
import GRDB

/// One record to look up.
public struct RecordLookup: Hashable, Sendable {
    /// The record's name.
    public var recordName: String
    /// The fields to return; `nil` for those of the whole request.
    public var desiredKeys: [String]?

    /// Makes a lookup.
    public init(recordName: String, desiredKeys: [String]? = nil) {
        self.recordName = recordName
        self.desiredKeys = desiredKeys
    }
}

extension RequestContext {
    /// Looks up records of one zone by name (`records/lookup`).
    ///
    /// - Parameters:
    ///   - lookups: The names, at most 200.
    ///   - zoneID: The zone; the default zone when `nil`.
    ///   - desiredKeys: The fields to return; `nil` for all.
    ///   - numbersAsStrings: Whether numbers of the reply are JSON strings.
    ///   - getCurrentSyncToken: Whether the reply carries the zone's sync token.
    /// - Returns: One result for each lookup, in order; `NOT_FOUND`, "Record not found", where there is no such record
    ///   or the caller cannot see it, `ACCESS_DENIED` where no grant lets the caller read it, `BAD_REQUEST` for a name with a
    ///   control character.
    /// - Throws: An ``EmulatorError``: `ZONE_NOT_FOUND`, `BAD_REQUEST` for too many records.
    public func lookupRecords(
        _ lookups: [RecordLookup],
        zoneID: ZoneID? = nil,
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false,
        getCurrentSyncToken: Bool = false
    ) throws -> RecordResults {
        try configuration.limits.check(lookups.count, of: "records", atMost: configuration.limits.recordsPerResponse)
        try makeUserRecords(named: lookups.map(\.recordName))
        return try read { context in
            let zone = try context.zone(zoneID)
            let schema = try context.schema()
            let access = try context.sharedAccess(to: [zone])
            let roles = database.scope == .public ? try context.callerRoles(in: schema) : nil
            let records = try lookups.map { lookup in
                try RecordResult(lookup.recordName) {
                    try itemFault?.check(lookup.recordName)
                    try OperationRules.name.check(lookup.recordName)
                    try deliveryFault?.check(lookup.recordName)
                    guard
                        let row = try RecordRow.fetch(lookup.recordName, in: zone, context.db),
                        !row.isDeleted,
                        try access?.sees(row.id) ?? true
                    else {
                        throw EmulatorError(.notFound, "Record not found")
                    }
                    if let roles, let type = schema.type(row.type), !roles.mayRead(row, of: type) {
                        throw EmulatorError.denied("READ")
                    }
                    let presentation = presentation(
                        desiredKeys: lookup.desiredKeys ?? desiredKeys,
                        numbersAsStrings: numbersAsStrings,
                        zoneID: zone.isDefault ? nil : zone.zoneID(in: context)
                    )
                    return try presentation.record(row, schema: schema)
                }
            }
            return RecordResults(
                records: records,
                syncToken: getCurrentSyncToken ? context.syncToken(of: zone) : nil
            )
        }
    }
}
