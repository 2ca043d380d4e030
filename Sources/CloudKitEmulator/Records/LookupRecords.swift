import CloudKitModel
package import CloudKitWebServices
import GRDB

extension RequestContext {
    /// Looks up records of one zone by name (`records/lookup`).
    ///
    /// - Parameters:
    ///   - request: At most 200 names. A record's own `desiredKeys` take precedence.
    ///   - getCurrentSyncToken: Whether the reply carries the zone's sync token.
    /// - Returns: One result for each lookup, in order; `NOT_FOUND`, "Record not found", where there is no such record
    ///   or the caller cannot see it, `ACCESS_DENIED` where no grant lets the caller read it, `BAD_REQUEST` for a name with a
    ///   control character.
    /// - Throws: An ``EmulatorError``: `ZONE_NOT_FOUND`, `BAD_REQUEST` for too many records.
    package func lookupRecords(
        _ request: Components.Schemas.LookupRecordsRequest,
        getCurrentSyncToken: Bool = false
    ) throws -> Components.Schemas.LookupRecordsResponse {
        let lookups = request.records
        try configuration.limits.check(lookups.count, of: "records", atMost: configuration.limits.recordsPerResponse)
        try makeUserRecords(named: lookups.map(\.recordName))
        return try read { context in
            let zone = try context.zone(request.zoneID)
            let schema = try context.schema()
            let access = try context.sharedAccess(to: [zone])
            let roles = database.scope == .public ? try context.callerRoles(in: schema) : nil
            let records = try lookups.map { lookup in
                try RecordOutput(lookup.recordName, refusals) {
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
                        desiredKeys: lookup.desiredKeys ?? request.desiredKeys,
                        numbersAsStrings: request.numbersAsStrings ?? false,
                        zoneID: zone.isDefault ? nil : zone.zoneID(in: context)
                    )
                    return try presentation.output(row, schema: schema)
                }
            }
            return Components.Schemas.LookupRecordsResponse(
                records: records,
                syncToken: getCurrentSyncToken ? context.syncToken(of: zone) : nil
            )
        }
    }
}
