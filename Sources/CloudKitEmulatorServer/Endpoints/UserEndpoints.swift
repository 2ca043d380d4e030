import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    /// Responds with one flat identity, as CloudKit JS reads it. Apple's page shows a list.
    func fetchCaller(
        _ input: Operations.FetchCaller.Input,
        context: RequestContext
    ) throws -> Operations.FetchCaller.Output {
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
    ) throws -> Operations.FetchCurrentUser.Output {
        let user = try context.fetchCurrentUser()
        let reply = Components.Schemas.FetchCurrentUserResponse(
            userRecordName: user.userRecordName,
            firstName: user.firstName,
            lastName: user.lastName
        )
        return .ok(.init(body: .json(reply)))
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

    func discoverUsers(
        _ input: Operations.DiscoverUsers.Input,
        context: RequestContext
    ) throws -> Operations.DiscoverUsers.Output {
        try .ok(.init(body: .json(.init(users: context.discoverUsers(input.body.json.lookupInfos)))))
    }

    func discoverAllUsers(
        _ input: Operations.DiscoverAllUsers.Input,
        context: RequestContext
    ) throws -> Operations.DiscoverAllUsers.Output {
        try .ok(.init(body: .json(.init(users: context.discoverAllUsers()))))
    }

    // The deprecated endpoints find the same users, and describe them in the older form, which has no identities.

    func lookupUsersByEmail(
        _ input: Operations.LookupUsersByEmail.Input,
        context: RequestContext
    ) throws -> Operations.LookupUsersByEmail.Output {
        let users = try context.lookupUsers(input.body.json.users, by: \.emailAddress)
        return .ok(.init(body: .json(.init(users: users.map { .init($0) }))))
    }

    func lookupUsersByID(
        _ input: Operations.LookupUsersByID.Input,
        context: RequestContext
    ) throws -> Operations.LookupUsersByID.Output {
        let users = try context.lookupUsers(input.body.json.users, by: \.userRecordName)
        return .ok(.init(body: .json(.init(users: users.map { .init($0) }))))
    }

    func lookupContacts(
        _ input: Operations.LookupContacts.Input,
        context: RequestContext
    ) throws -> Operations.LookupContacts.Output {
        try .ok(.init(body: .json(.init(users: context.discoverAllUsers().map { .init($0) }))))
    }
}

extension Components.Schemas.User {
    /// An identity in the older form. It has an address only where the lookup named that address.
    fileprivate init(_ identity: UserIdentity) {
        self.init(
            userRecordName: identity.userRecordName,
            firstName: identity.nameComponents?.givenName,
            lastName: identity.nameComponents?.familyName,
            emailAddress: identity.lookupInfo?.emailAddress
        )
    }
}
