public import CloudKitModel
import GRDB

/// One record to look up.
public struct RecordLookup: Hashable, Sendable {
    /// The record's name.
    public var recordName: String
    /// The fields to return of it; `nil` leaves that to the request.
    public var desiredKeys: [String]?

    /// Makes a lookup.
    public init(recordName: String, desiredKeys: [String]? = nil) {
        self.recordName = recordName
        self.desiredKeys = desiredKeys
    }
}

extension CloudKitEmulator {
    /// Looks up records of one zone by name (`records/lookup`).
    ///
    /// - Parameters:
    ///   - lookups: The names, at most 200.
    ///   - address: The database.
    ///   - zoneID: The zone; the default zone when `nil`.
    ///   - desiredKeys: The fields to return; `nil` for all.
    ///   - numbersAsStrings: Whether numbers of the reply are JSON strings.
    ///   - getCurrentSyncToken: Whether the reply carries the zone's sync token.
    ///   - caller: Who asks.
    /// - Returns: One result for each lookup, in order; `NOT_FOUND`, "Record not found", where there is none.
    /// - Throws: An ``EmulatorError``: `ZONE_NOT_FOUND`, `AUTHENTICATION_REQUIRED`, `BAD_REQUEST` for too many records.
    public func lookupRecords(
        _ lookups: [RecordLookup],
        in address: DatabaseAddress,
        zoneID: ZoneID? = nil,
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false,
        getCurrentSyncToken: Bool = false,
        as caller: Caller
    ) throws -> RecordPage {
        try authorize(caller, on: address.scope)
        let limit = configuration.limits.recordsPerResponse
        guard lookups.count <= limit else {
            throw EmulatorError.badRequest("a request looks up at most \(limit) records, not \(lookups.count)")
        }
        try makeUserRecords(named: lookups.map(\.recordName), in: address, as: caller)
        return try read(address, as: caller) { db, ground in
            let zone = try zone(zoneID, of: ground, in: db)
            let schema = try schemas.schema(of: ground.container, in: db)
            let access = try sharedAccess(to: [zone], in: ground, db)
            let records = try lookups.map { lookup in
                try result(named: lookup.recordName) {
                    guard
                        let row = try RecordRow.fetch(lookup.recordName, in: zone, db),
                        !row.isDeleted,
                        try access?.sees(row.id) ?? true
                    else {
                        throw EmulatorError(.notFound, "Record not found")
                    }
                    return try presentation(
                        desiredKeys: lookup.desiredKeys ?? desiredKeys,
                        numbersAsStrings: numbersAsStrings,
                        zoneID: zone.isDefault ? nil : zone.zoneID(in: ground),
                        user: caller.userRecordName
                    ).record(row, schema: schema)
                }
            }
            return RecordPage(
                records: records,
                syncToken: getCurrentSyncToken ? syncToken(of: zone, in: ground) : nil
            )
        }
    }
}
