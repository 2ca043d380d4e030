import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation

// The rules take and return the messages of the document. Tests say only the parts that matter to them.

/// The records of a response.
struct RecordPage: Hashable {
    var records: [RecordResult]
    var continuationMarker: String?
    var syncToken: String?
}

/// The zones of a response, with the token for the changes after them.
struct ZonePage: Hashable {
    var zones: [ZoneResult]
    var syncToken: String
    var moreComing: Bool
}

/// One page of a zone's changes.
struct ZoneChangesPage: Hashable {
    var zoneID: ZoneID
    var records: [RecordResult]
    var syncToken: String
    var moreComing: Bool
    var reverse = false
}

typealias RecordLookup = Components.Schemas.RecordLookup
typealias ZoneChangesRequest = Components.Schemas.ZoneChangesRequest
typealias AssetUploadRequest = Components.Schemas.AssetUploadRequest
typealias CurrentUser = Components.Schemas.FetchCurrentUserResponse
typealias AssetFieldID = Components.Schemas.AssetField

extension RequestContext {
    func modifyRecords(
        _ operations: [RecordOperation],
        zoneID: ZoneID? = nil,
        atomic: Bool? = nil,
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool? = nil,
        getCurrentSyncToken: Bool = false
    ) throws -> RecordPage {
        let reply = try modifyRecords(
            .init(
                operations: operations,
                zoneID: zoneID,
                atomic: atomic,
                desiredKeys: desiredKeys,
                numbersAsStrings: numbersAsStrings
            ),
            getCurrentSyncToken: getCurrentSyncToken
        )
        return RecordPage(records: reply.records?.map(\.result) ?? [], syncToken: reply.syncToken)
    }

    func lookupRecords(
        _ lookups: [RecordLookup],
        zoneID: ZoneID? = nil,
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool? = nil,
        getCurrentSyncToken: Bool = false
    ) throws -> RecordPage {
        let reply = try lookupRecords(
            .init(
                records: lookups,
                zoneID: zoneID,
                desiredKeys: desiredKeys,
                numbersAsStrings: numbersAsStrings
            ),
            getCurrentSyncToken: getCurrentSyncToken
        )
        return RecordPage(records: reply.records?.map(\.result) ?? [], syncToken: reply.syncToken)
    }

    func queryRecords(
        _ query: RecordQuery,
        zoneID: ZoneID? = nil,
        zoneWide: Bool? = nil,
        resultsLimit: Int? = nil,
        continuationMarker: String? = nil,
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool? = nil,
        getCurrentSyncToken: Bool = false
    ) throws -> RecordPage {
        let reply = try queryRecords(
            .init(
                query: query,
                zoneID: zoneID,
                zoneWide: zoneWide,
                resultsLimit: resultsLimit.map(ResultsLimit.init(count:)),
                desiredKeys: desiredKeys,
                continuationMarker: continuationMarker,
                numbersAsStrings: numbersAsStrings
            ),
            getCurrentSyncToken: getCurrentSyncToken
        )
        return RecordPage(
            records: reply.records?.map(\.result) ?? [],
            continuationMarker: reply.continuationMarker,
            syncToken: reply.syncToken
        )
    }

    func fetchZoneChanges(_ zones: [ZoneChangesRequest]) throws -> [Result<ZoneChangesPage, ZoneError>] {
        try (fetchZoneChanges(.init(zones: zones)).zones ?? []).map { page in
            if let code = page.serverErrorCode {
                let code = ServerErrorCode(rawValue: code)
                return .failure(ZoneError(id: page.zoneID, serverErrorCode: code, reason: page.reason))
            }
            return .success(
                ZoneChangesPage(
                    zoneID: page.zoneID ?? .default,
                    records: page.records?.map(\.result) ?? [],
                    syncToken: page.syncToken ?? "",
                    moreComing: page.moreComing ?? false,
                    reverse: page.reverse ?? false
                )
            )
        }
    }

    /// One page of the changes of one zone: of `records/changes`, or of `changes/zone` where only that has the options.
    func fetchRecordChanges(_ request: ZoneChangesRequest) throws -> ZoneChangesPage {
        guard request.reverse == nil, request.desiredRecordTypes == nil else {
            switch try fetchZoneChanges([request])[0] {
            case .success(let page): return page
            case .failure(let error): throw EmulatorError(error.serverErrorCode, error.reason ?? "")
            }
        }
        let reply = try fetchRecordChanges(
            .init(
                zoneID: request.zoneID,
                syncToken: request.syncToken,
                resultsLimit: request.resultsLimit,
                desiredKeys: request.desiredKeys,
                numbersAsStrings: request.numbersAsStrings
            )
        )
        return ZoneChangesPage(
            zoneID: request.zoneID,
            records: reply.records?.map(\.result) ?? [],
            syncToken: reply.syncToken ?? "",
            moreComing: reply.moreComing ?? false,
            reverse: reply.reverse ?? false
        )
    }

    func fetchDatabaseChanges(since syncToken: String?, resultsLimit: Int? = nil) throws -> ZonePage {
        let reply = try fetchDatabaseChanges(
            .init(syncToken: syncToken, resultsLimit: resultsLimit.map(ResultsLimit.init(count:)))
        )
        return ZonePage(
            zones: reply.zones ?? [],
            syncToken: reply.syncToken ?? "",
            moreComing: reply.moreComing ?? false
        )
    }

    func fetchZoneListChanges(since metaSyncToken: String?, resultsLimit: Int? = nil) throws -> ZonePage {
        let reply = try fetchZoneListChanges(
            .init(metaSyncToken: metaSyncToken, resultsLimit: resultsLimit.map(ResultsLimit.init(count:)))
        )
        return ZonePage(
            zones: reply.zones ?? [],
            syncToken: reply.metaSyncToken ?? "",
            moreComing: reply.moreComing ?? false
        )
    }

    func zones() throws -> ZonePage {
        let reply = try listZones()
        return ZonePage(
            zones: reply.zones ?? [],
            syncToken: reply.syncToken ?? "",
            moreComing: reply.moreComing ?? false
        )
    }

    func lookupZones(_ zoneIDs: [ZoneID]) throws -> [ZoneResult] {
        try lookupZones(.init(zones: zoneIDs)).zones ?? []
    }

    func modifyZones(_ operations: [ZoneOperation]) throws -> [ZoneResult] {
        try modifyZones(.init(operations: operations)).zones ?? []
    }

    func resolveShares(_ shortGUIDs: [ShortGUID]) throws -> [ShareResult] {
        try resolveShares(.init(shortGUIDs: shortGUIDs)).results ?? []
    }

    func acceptShares(_ shortGUIDs: [ShortGUID]) throws -> [ShareResult] {
        try acceptShares(.init(shortGUIDs: shortGUIDs)).results ?? []
    }

    func subscriptions() throws -> [SubscriptionResult] { try listSubscriptions().subscriptions ?? [] }

    func lookupSubscriptions(_ names: [String]) throws -> [SubscriptionResult] {
        try lookupSubscriptions(.init(subscriptions: names.map { .init(subscriptionID: $0) })).subscriptions ?? []
    }

    func modifySubscriptions(_ operations: [SubscriptionOperation]) throws -> [SubscriptionResult] {
        try modifySubscriptions(.init(operations: operations)).subscriptions ?? []
    }

    func createDeviceToken(apnsEnvironment: String, clientID: String?) throws -> DeviceToken {
        let reply = try createDeviceToken(.init(apnsEnvironment: apnsEnvironment, clientId: clientID))
        return DeviceToken(reply.apnsEnvironment, reply.apnsToken, reply.webcourierURL)
    }

    @discardableResult
    func registerDeviceToken(
        _ apnsToken: String,
        apnsEnvironment: String,
        clientID: String?
    ) throws -> DeviceToken {
        let reply = try registerDeviceToken(
            .init(apnsEnvironment: apnsEnvironment, apnsToken: apnsToken, clientId: clientID)
        )
        return DeviceToken(reply.apnsEnvironment, reply.apnsToken, reply.webcourierURL)
    }

    func requestAssetUploads(_ uploads: [AssetUploadRequest], zoneID: ZoneID? = nil) throws -> [AssetUploadTicket] {
        try (requestAssetUploads(.init(tokens: uploads, zoneID: zoneID)).tokens ?? []).map { token in
            AssetUploadTicket(
                recordName: token.recordName ?? "",
                fieldName: token.fieldName ?? "",
                url: token.url ?? ""
            )
        }
    }

    func rereferenceAssets(
        _ fields: [AssetFieldID],
        zoneID: ZoneID? = nil,
        targetZoneID: ZoneID? = nil
    ) throws -> [Result<Asset, EmulatorError>] {
        let request = Components.Schemas.RereferenceAssetsRequest(
            zoneID: zoneID ?? .default,
            assets: fields,
            targetZoneID: targetZoneID
        )
        return try (rereferenceAssets(request).assets ?? []).map { result in
            switch result {
            case .Asset(let asset): .success(asset)
            case .AssetError(let error):
                .failure(EmulatorError(ServerErrorCode(rawValue: error.serverErrorCode), error.reason ?? ""))
            }
        }
    }

    func discoverUsers(_ lookups: [LookupInfo]) throws -> [UserIdentity] {
        try discoverUsers(.init(lookupInfos: lookups)).users ?? []
    }

    func discoveredUsers() throws -> [UserIdentity] { try discoverAllUsers().users ?? [] }
}

/// A token of a device, with the secret with which the device fetches its pushes.
struct DeviceToken: Hashable {
    var apnsEnvironment: String?
    var apnsToken: String
    var courierID: String

    init(_ apnsEnvironment: String?, _ apnsToken: String?, _ webcourierURL: String?) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken ?? ""
        courierID = webcourierURL?.split(separator: "/").last.map(String.init) ?? ""
    }
}

/// An address to which one file may be sent.
struct AssetUploadTicket: Hashable {
    var recordName: String
    var fieldName: String
    var url: String

    /// The last part of the address.
    var token: String { url.split(separator: "/").last.map(String.init) ?? "" }
}
