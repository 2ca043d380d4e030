import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func queryRecords(
        _ input: Operations.QueryRecords.Input,
        context: RequestContext
    ) throws -> Operations.QueryRecords.Output {
        let request = try input.body.json
        let page = try context.queryRecords(
            request.query,
            zoneID: request.zoneID,
            zoneWide: request.zoneWide ?? false,
            resultsLimit: request.resultsLimit?.count,
            continuationMarker: request.continuationMarker,
            desiredKeys: request.desiredKeys,
            numbersAsStrings: request.numbersAsStrings ?? false,
            getCurrentSyncToken: input.query.getCurrentSyncToken ?? false
        )
        let reply = Components.Schemas.QueryRecordsResponse(
            records: page.records,
            continuationMarker: page.continuationMarker,
            syncToken: page.syncToken
        )
        return .ok(.init(body: .json(reply)))
    }

    func lookupRecords(
        _ input: Operations.LookupRecords.Input,
        context: RequestContext
    ) throws -> Operations.LookupRecords.Output {
        let request = try input.body.json
        let page = try context.lookupRecords(
            request.records.map { RecordLookup(recordName: $0.recordName, desiredKeys: $0.desiredKeys) },
            zoneID: request.zoneID,
            desiredKeys: request.desiredKeys,
            numbersAsStrings: request.numbersAsStrings ?? false,
            getCurrentSyncToken: input.query.getCurrentSyncToken ?? false
        )
        let reply = Components.Schemas.LookupRecordsResponse(records: page.records, syncToken: page.syncToken)
        return .ok(.init(body: .json(reply)))
    }

    func modifyRecords(
        _ input: Operations.ModifyRecords.Input,
        context: RequestContext
    ) throws -> Operations.ModifyRecords.Output {
        let request = try input.body.json
        let page = try context.modifyRecords(
            request.operations,
            zoneID: request.zoneID,
            atomic: request.atomic,
            desiredKeys: request.desiredKeys,
            numbersAsStrings: request.numbersAsStrings ?? false,
            getCurrentSyncToken: input.query.getCurrentSyncToken ?? false
        )
        let reply = Components.Schemas.ModifyRecordsResponse(records: page.records, syncToken: page.syncToken)
        return .ok(.init(body: .json(reply)))
    }

    func fetchRecordChanges(
        _ input: Operations.FetchRecordChanges.Input,
        context: RequestContext
    ) throws -> Operations.FetchRecordChanges.Output {
        let request = try input.body.json
        let changes = try context.fetchRecordChanges(
            ZoneChangesRequest(
                zoneID: request.zoneID,
                syncToken: request.syncToken,
                desiredKeys: request.desiredKeys,
                numbersAsStrings: request.numbersAsStrings ?? false,
                resultsLimit: request.resultsLimit?.count
            )
        )
        let reply = Components.Schemas.FetchRecordChangesResponse(
            records: changes.records,
            syncToken: changes.syncToken,
            moreComing: changes.moreComing,
            reverse: changes.reverse
        )
        return .ok(.init(body: .json(reply)))
    }
}
