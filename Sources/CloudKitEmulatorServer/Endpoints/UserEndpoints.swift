import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    /// One flat identity, as CloudKit JS reads it; Apple's page shows a list.
    func fetchCaller(_ input: Operations.FetchCaller.Input) async throws -> Operations.FetchCaller.Output {
        let identity = try emulator.fetchCaller(as: caller)
        let reply = Components.Schemas.FetchCallerResponse(
            userRecordName: identity.userRecordName,
            nameComponents: identity.nameComponents,
            lookupInfo: identity.lookupInfo
        )
        return .ok(.init(body: .json(reply)))
    }

    func fetchCurrentUser(
        _ input: Operations.FetchCurrentUser.Input
    ) async throws -> Operations.FetchCurrentUser.Output {
        let user = try emulator.fetchCurrentUser(as: caller)
        let reply = Components.Schemas.FetchCurrentUserResponse(
            userRecordName: user.userRecordName,
            firstName: user.firstName,
            lastName: user.lastName
        )
        return .ok(.init(body: .json(reply)))
    }
}
