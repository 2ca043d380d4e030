import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func createDeviceToken(
        _ input: Operations.CreateDeviceToken.Input
    ) async throws -> Operations.CreateDeviceToken.Output {
        let request = try input.body.json
        let token = try emulator.createDeviceToken(
            in: input.path.container,
            input.path.environment,
            apnsEnvironment: request.apnsEnvironment,
            clientID: request.clientId,
            as: caller
        )
        let reply = Components.Schemas.CreateDeviceTokenResponse(
            apnsEnvironment: token.apnsEnvironment,
            apnsToken: token.apnsToken,
            webcourierURL: courierURL(of: token)
        )
        return .ok(.init(body: .json(reply)))
    }

    func registerDeviceToken(
        _ input: Operations.RegisterDeviceToken.Input
    ) async throws -> Operations.RegisterDeviceToken.Output {
        let request = try input.body.json
        let token = try emulator.registerDeviceToken(
            request.apnsToken,
            in: input.path.container,
            input.path.environment,
            apnsEnvironment: request.apnsEnvironment,
            clientID: request.clientId,
            as: caller
        )
        var reply = Components.Schemas.RegisterDeviceTokenResponse()
        if emulator.configuration.unsettled.deviceTokenRegistration == .answersToken {
            reply.apnsEnvironment = token.apnsEnvironment
            reply.apnsToken = token.apnsToken
            reply.webcourierURL = courierURL(of: token)
        }
        return .ok(.init(body: .json(reply)))
    }

    private func courierURL(of token: IssuedDeviceToken) -> String {
        Self.address + Courier.path + token.courierID
    }
}
