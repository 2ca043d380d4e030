import CloudKitEmulator
import CloudKitEmulatorAdministration
import HTTPTypes
import OpenAPISwiftRuntime

/// The operations of the document about the console's page.
extension AdministrationHandlers {
    func checkHealth(
        _ input: Operations.CheckHealth.Input,
        context: AdministrationHost
    ) throws -> Operations.CheckHealth.Output {
        _ = try context.emulator.userExists("")
        return .ok(.init(body: .json(.init(status: .ok, version: context.administration.version))))
    }

    func describePage(
        _ input: Operations.DescribePage.Input,
        context: AdministrationHost
    ) throws -> Operations.DescribePage.Output {
        let page = try context.servedPage
        var identities: [Components.Schemas.PageIdentity] = []
        if page.profileUser != nil {
            identities.append(
                .init(value: "user", title: "Local User", databases: [._public, ._private, .shared])
            )
        }
        identities.append(.init(value: "nobody", title: "Nobody", databases: [._public]))
        identities.append(.init(value: "server", title: "Server key", databases: [._public]))
        let description = Components.Schemas.Page(
            version: context.administration.version,
            service: .emulator,
            address: context.address,
            container: context.administration.container,
            environment: .development,
            administration: true,
            readOnlyEnvironments: page.isReadOnly ? [.development, .production] : [],
            identities: identities,
            switches: .init(additionalProperties: context.emulator.configuration.switches)
        )
        return .ok(.init(body: .json(description)))
    }

    func checkPageSession(
        _ input: Operations.CheckPageSession.Input,
        context: AdministrationHost
    ) throws -> Operations.CheckPageSession.Output {
        let access = try context.servedPage.access
        let session = Components.Schemas.PageSession(
            isOpen: access.isOpen(for: context.request),
            needsPassword: access.needsPassword
        )
        return .ok(.init(body: .json(session)))
    }

    func openPageSession(
        _ input: Operations.OpenPageSession.Input,
        context: AdministrationHost
    ) throws -> Operations.OpenPageSession.Output {
        let (access, emulator) = (try context.servedPage.access, context.emulator)
        guard access.needsPassword else {
            throw AdministrationFailure(
                .unauthorized,
                .wrongPassword,
                "This page has no password. Open the address that the command printed."
            )
        }
        let password = try input.body.json.password
        switch access.open(password: password, for: context.request, at: emulator.present) {
        // ``AdministrationHost`` adds the cookie: as a parameter, its value would be percent-encoded.
        case .opened: return .noContent(.init())
        case .wrong: throw AdministrationFailure(.unauthorized, .wrongPassword, "This is not the password.")
        case .tooMany:
            throw AdministrationFailure(
                .tooManyRequests,
                .tooManyAttempts,
                "The password was wrong too often. Try again in a minute."
            )
        }
    }

    func closePageSession(
        _ input: Operations.ClosePageSession.Input,
        context: AdministrationHost
    ) throws -> Operations.ClosePageSession.Output {
        try context.servedPage.access.close()
        return .noContent(.init())
    }
}

extension AdministrationHost {
    fileprivate var servedPage: CloudKitEmulatorServer.ServedPage {
        get throws(AdministrationFailure) {
            if let page { return page }
            throw AdministrationFailure(.notFound, .notFound, "This emulator serves no page.")
        }
    }
}
