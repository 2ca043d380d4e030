import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func queryRecords(_ input: Operations.QueryRecords.Input) async throws -> Operations.QueryRecords.Output {
        let request = try input.body.json
        let page = try emulator.queryRecords(
            request.query,
            in: DatabaseAddress(input.path),
            zoneID: request.zoneID,
            zoneWide: request.zoneWide ?? false,
            resultsLimit: request.resultsLimit?.count,
            continuationMarker: request.continuationMarker,
            desiredKeys: request.desiredKeys,
            numbersAsStrings: request.numbersAsStrings ?? false,
            getCurrentSyncToken: input.query.getCurrentSyncToken ?? false,
            as: caller
        )
        let reply = Components.Schemas.QueryRecordsResponse(
            records: page.records,
            continuationMarker: page.continuationMarker,
            syncToken: page.syncToken
        )
        return .ok(.init(body: .json(reply)))
    }

    func lookupRecords(_ input: Operations.LookupRecords.Input) async throws -> Operations.LookupRecords.Output {
        let request = try input.body.json
        let page = try ItemFault.serving(request.records, named: \.recordName) { records in
            try emulator.lookupRecords(
                records.map { RecordLookup(recordName: $0.recordName, desiredKeys: $0.desiredKeys) },
                in: DatabaseAddress(input.path),
                zoneID: request.zoneID,
                desiredKeys: request.desiredKeys,
                numbersAsStrings: request.numbersAsStrings ?? false,
                getCurrentSyncToken: input.query.getCurrentSyncToken ?? false,
                as: caller
            )
        }
        let reply = Components.Schemas.LookupRecordsResponse(records: page.records, syncToken: page.syncToken)
        return .ok(.init(body: .json(reply)))
    }

    func modifyRecords(_ input: Operations.ModifyRecords.Input) async throws -> Operations.ModifyRecords.Output {
        let request = try input.body.json
        let page = try ItemFault.serving(
            request.operations,
            named: \.record.recordName,
            atomic: request.atomic ?? false
        ) { operations in
            try emulator.modifyRecords(
                operations,
                in: DatabaseAddress(input.path),
                zoneID: request.zoneID,
                atomic: request.atomic,
                desiredKeys: request.desiredKeys,
                numbersAsStrings: request.numbersAsStrings ?? false,
                getCurrentSyncToken: input.query.getCurrentSyncToken ?? false,
                as: caller
            )
        }
        let reply = Components.Schemas.ModifyRecordsResponse(records: page.records, syncToken: page.syncToken)
        return .ok(.init(body: .json(reply)))
    }

    func fetchRecordChanges(
        _ input: Operations.FetchRecordChanges.Input
    ) async throws -> Operations.FetchRecordChanges.Output {
        let request = try input.body.json
        let changes = try emulator.fetchRecordChanges(
            ZoneChangesRequest(
                zoneID: request.zoneID,
                syncToken: request.syncToken,
                desiredKeys: request.desiredKeys,
                numbersAsStrings: request.numbersAsStrings ?? false,
                resultsLimit: request.resultsLimit?.count
            ),
            in: DatabaseAddress(input.path),
            as: caller
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
