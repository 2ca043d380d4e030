import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func createDeviceToken(
        _ input: Operations.CreateDeviceToken.Input,
        context: RequestContext
    ) throws -> Operations.CreateDeviceToken.Output {
        let request = try input.body.json
        let token = try context.createDeviceToken(
            apnsEnvironment: request.apnsEnvironment,
            clientID: request.clientId
        )
        let reply = Components.Schemas.CreateDeviceTokenResponse(
            apnsEnvironment: token.apnsEnvironment,
            apnsToken: token.apnsToken,
            webcourierURL: context.courierURL(of: token)
        )
        return .ok(.init(body: .json(reply)))
    }

    func registerDeviceToken(
        _ input: Operations.RegisterDeviceToken.Input,
        context: RequestContext
    ) throws -> Operations.RegisterDeviceToken.Output {
        let request = try input.body.json
        let token = try context.registerDeviceToken(
            request.apnsToken,
            apnsEnvironment: request.apnsEnvironment,
            clientID: request.clientId
        )
        var reply = Components.Schemas.RegisterDeviceTokenResponse()
        if context.configuration.unsettled.deviceTokenRegistration == .answersToken {
            reply.apnsEnvironment = token.apnsEnvironment
            reply.apnsToken = token.apnsToken
            reply.webcourierURL = context.courierURL(of: token)
        }
        return .ok(.init(body: .json(reply)))
    }
}

extension RequestContext {
    /// The address of the web courier for a device.
    fileprivate func courierURL(of token: IssuedDeviceToken) -> String {
        serverAddress + Courier.path + token.courierID
    }
}
