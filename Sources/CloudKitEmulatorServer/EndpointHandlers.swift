import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices

/// The operations of the document, answered by an emulator's rules.
///
/// A rule is a method of the request's context. It takes the request that the document describes, and returns the
/// response. ``RequestFailure`` turns the errors of the rules into responses.
struct EndpointHandlers: ContextualAPIProtocol {
    func queryRecords(
        _ input: Operations.QueryRecords.Input,
        context: RequestContext
    ) throws -> Operations.QueryRecords.Output {
        let token = input.query.getCurrentSyncToken ?? false
        return try .ok(.init(body: .json(context.queryRecords(input.body.json, getCurrentSyncToken: token))))
    }

    func lookupRecords(
        _ input: Operations.LookupRecords.Input,
        context: RequestContext
    ) throws -> Operations.LookupRecords.Output {
        let token = input.query.getCurrentSyncToken ?? false
        return try .ok(.init(body: .json(context.lookupRecords(input.body.json, getCurrentSyncToken: token))))
    }

    func modifyRecords(
        _ input: Operations.ModifyRecords.Input,
        context: RequestContext
    ) throws -> Operations.ModifyRecords.Output {
        let token = input.query.getCurrentSyncToken ?? false
        return try .ok(.init(body: .json(context.modifyRecords(input.body.json, getCurrentSyncToken: token))))
    }

    func fetchRecordChanges(
        _ input: Operations.FetchRecordChanges.Input,
        context: RequestContext
    ) throws -> Operations.FetchRecordChanges.Output {
        try .ok(.init(body: .json(context.fetchRecordChanges(input.body.json))))
    }

    func resolveShares(
        _ input: Operations.ResolveShares.Input,
        context: RequestContext
    ) throws -> Operations.ResolveShares.Output {
        try .ok(.init(body: .json(context.resolveShares(input.body.json))))
    }

    func acceptShares(
        _ input: Operations.AcceptShares.Input,
        context: RequestContext
    ) throws -> Operations.AcceptShares.Output {
        try .ok(.init(body: .json(context.acceptShares(input.body.json))))
    }

    func fetchDatabaseChanges(
        _ input: Operations.FetchDatabaseChanges.Input,
        context: RequestContext
    ) throws -> Operations.FetchDatabaseChanges.Output {
        try .ok(.init(body: .json(context.fetchDatabaseChanges(input.body.json))))
    }

    func fetchZoneChanges(
        _ input: Operations.FetchZoneChanges.Input,
        context: RequestContext
    ) throws -> Operations.FetchZoneChanges.Output {
        try .ok(.init(body: .json(context.fetchZoneChanges(input.body.json))))
    }

    func listZones(
        _ input: Operations.ListZones.Input,
        context: RequestContext
    ) throws -> Operations.ListZones.Output {
        try .ok(.init(body: .json(context.listZones())))
    }

    func lookupZones(
        _ input: Operations.LookupZones.Input,
        context: RequestContext
    ) throws -> Operations.LookupZones.Output {
        try .ok(.init(body: .json(context.lookupZones(input.body.json))))
    }

    func modifyZones(
        _ input: Operations.ModifyZones.Input,
        context: RequestContext
    ) throws -> Operations.ModifyZones.Output {
        try .ok(.init(body: .json(context.modifyZones(input.body.json))))
    }

    func fetchZoneListChanges(
        _ input: Operations.FetchZoneListChanges.Input,
        context: RequestContext
    ) throws -> Operations.FetchZoneListChanges.Output {
        try .ok(.init(body: .json(context.fetchZoneListChanges(input.body.json))))
    }

    func fetchCaller(
        _ input: Operations.FetchCaller.Input,
        context: RequestContext
    ) throws -> Operations.FetchCaller.Output {
        try .ok(.init(body: .json(context.fetchCaller())))
    }

    func fetchCurrentUser(
        _ input: Operations.FetchCurrentUser.Input,
        context: RequestContext
    ) throws -> Operations.FetchCurrentUser.Output {
        try .ok(.init(body: .json(context.fetchCurrentUser())))
    }

    func restrictUser(
        _ input: Operations.RestrictUser.Input,
        context: RequestContext
    ) throws -> Operations.RestrictUser.Output {
        try context.restrictUser()
        return .ok(.init())
    }

    func unrestrictUser(
        _ input: Operations.UnrestrictUser.Input,
        context: RequestContext
    ) throws -> Operations.UnrestrictUser.Output {
        try context.unrestrictUser()
        return .ok(.init())
    }

    func discoverAllUsers(
        _ input: Operations.DiscoverAllUsers.Input,
        context: RequestContext
    ) throws -> Operations.DiscoverAllUsers.Output {
        try .ok(.init(body: .json(context.discoverAllUsers())))
    }

    func discoverUsers(
        _ input: Operations.DiscoverUsers.Input,
        context: RequestContext
    ) throws -> Operations.DiscoverUsers.Output {
        try .ok(.init(body: .json(context.discoverUsers(input.body.json))))
    }

    func lookupUsersByEmail(
        _ input: Operations.LookupUsersByEmail.Input,
        context: RequestContext
    ) throws -> Operations.LookupUsersByEmail.Output {
        try .ok(.init(body: .json(context.lookupUsersByEmail(input.body.json))))
    }

    func lookupUsersByID(
        _ input: Operations.LookupUsersByID.Input,
        context: RequestContext
    ) throws -> Operations.LookupUsersByID.Output {
        try .ok(.init(body: .json(context.lookupUsersByID(input.body.json))))
    }

    func lookupContacts(
        _ input: Operations.LookupContacts.Input,
        context: RequestContext
    ) throws -> Operations.LookupContacts.Output {
        try .ok(.init(body: .json(context.lookupContacts())))
    }

    func listSubscriptions(
        _ input: Operations.ListSubscriptions.Input,
        context: RequestContext
    ) throws -> Operations.ListSubscriptions.Output {
        try .ok(.init(body: .json(context.listSubscriptions())))
    }

    func lookupSubscriptions(
        _ input: Operations.LookupSubscriptions.Input,
        context: RequestContext
    ) throws -> Operations.LookupSubscriptions.Output {
        try .ok(.init(body: .json(context.lookupSubscriptions(input.body.json))))
    }

    func modifySubscriptions(
        _ input: Operations.ModifySubscriptions.Input,
        context: RequestContext
    ) throws -> Operations.ModifySubscriptions.Output {
        try .ok(.init(body: .json(context.modifySubscriptions(input.body.json))))
    }

    func requestAssetUploads(
        _ input: Operations.RequestAssetUploads.Input,
        context: RequestContext
    ) throws -> Operations.RequestAssetUploads.Output {
        try .ok(.init(body: .json(context.requestAssetUploads(input.body.json))))
    }

    func rereferenceAssets(
        _ input: Operations.RereferenceAssets.Input,
        context: RequestContext
    ) throws -> Operations.RereferenceAssets.Output {
        try .ok(.init(body: .json(context.rereferenceAssets(input.body.json))))
    }

    func createDeviceToken(
        _ input: Operations.CreateDeviceToken.Input,
        context: RequestContext
    ) throws -> Operations.CreateDeviceToken.Output {
        try .ok(.init(body: .json(context.createDeviceToken(input.body.json))))
    }

    func registerDeviceToken(
        _ input: Operations.RegisterDeviceToken.Input,
        context: RequestContext
    ) throws -> Operations.RegisterDeviceToken.Output {
        try .ok(.init(body: .json(context.registerDeviceToken(input.body.json))))
    }
}

extension DatabaseAddress {
    /// The database that a path names; the public database for paths below `/device`, which name none. `nil` where a
    /// part of the path is not valid.
    init?(_ parameters: [String: Substring]) {
        guard
            let environment = ContainerEnvironment(rawValue: String(parameters["environment"] ?? "")),
            let scope = DatabaseScope(rawValue: String(parameters["database"] ?? "public"))
        else { return nil }
        self.init(String(parameters["container"] ?? ""), environment, scope)
    }
}
