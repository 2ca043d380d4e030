import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    /// One flat identity, as CloudKit JS reads it; Apple's page shows a list.
    func fetchCaller(
        _ input: Operations.FetchCaller.Input,
        context: RequestContext
    ) async throws -> Operations.FetchCaller.Output {
        let identity = try context.fetchCaller()
        let reply = Components.Schemas.FetchCallerResponse(
            userRecordName: identity.userRecordName,
            nameComponents: identity.nameComponents,
            lookupInfo: identity.lookupInfo
        )
        return .ok(.init(body: .json(reply)))
    }

    func fetchCurrentUser(
        _ input: Operations.FetchCurrentUser.Input,
        context: RequestContext
    ) async throws -> Operations.FetchCurrentUser.Output {
        let user = try context.fetchCurrentUser()
        let reply = Components.Schemas.FetchCurrentUserResponse(
            userRecordName: user.userRecordName,
            firstName: user.firstName,
            lastName: user.lastName
        )
        return .ok(.init(body: .json(reply)))
    }

    func discoverUsers(
        _ input: Operations.DiscoverUsers.Input,
        context: RequestContext
    ) async throws -> Operations.DiscoverUsers.Output {
        let request = try input.body.json
        let users = try context.discoverUsers(
            request.lookupInfos
        )
        return .ok(.init(body: .json(.init(users: users))))
    }

    func discoverAllUsers(
        _ input: Operations.DiscoverAllUsers.Input,
        context: RequestContext
    ) async throws -> Operations.DiscoverAllUsers.Output {
        let users = try context.discoverAllUsers()
        return .ok(.init(body: .json(.init(users: users))))
    }

    // The deprecated endpoints find the same users, and describe them as they did before there were identities.

    func lookupUsersByEmail(
        _ input: Operations.LookupUsersByEmail.Input,
        context: RequestContext
    ) async throws -> Operations.LookupUsersByEmail.Output {
        let request = try input.body.json
        let users = try context.lookupUsers(
            request.users,
            by: \.emailAddress
        )
        return .ok(.init(body: .json(.init(users: users.map { .init($0) }))))
    }

    func lookupUsersByID(
        _ input: Operations.LookupUsersByID.Input,
        context: RequestContext
    ) async throws -> Operations.LookupUsersByID.Output {
        let request = try input.body.json
        let users = try context.lookupUsers(
            request.users,
            by: \.userRecordName
        )
        return .ok(.init(body: .json(.init(users: users.map { .init($0) }))))
    }

    func lookupContacts(
        _ input: Operations.LookupContacts.Input,
        context: RequestContext
    ) async throws -> Operations.LookupContacts.Output {
        let users = try context.discoverAllUsers()
        return .ok(.init(body: .json(.init(users: users.map { .init($0) }))))
    }
}

extension Components.Schemas.User {
    /// An identity in the older form. Only a lookup by address tells an address: the one that was asked for.
    fileprivate init(_ identity: UserIdentity) {
        self.init(
            userRecordName: identity.userRecordName,
            firstName: identity.nameComponents?.givenName,
            lastName: identity.nameComponents?.familyName,
            emailAddress: identity.lookupInfo?.emailAddress
        )
    }
}
