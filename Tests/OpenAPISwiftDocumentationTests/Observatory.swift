import Foundation
import OpenAPISwiftRuntime

// The tests are on the pages: Sources/OpenAPISwiftRuntime/OpenAPISwiftRuntime.docc.

/// A client of a service in the same process.
func makeClient(_ service: some APIProtocol = Observatory()) throws -> Client {
    let transport = InProcessTransport()
    try service.registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
    return Client(serverURL: .defaultOpenAPIServerURL, transport: transport)
}

/// What the pages leave out of the service.
extension Observatory {
    func listSightings(_ input: Operations.ListSightings.Input) async throws -> Operations.ListSightings.Output {
        let page = sightings.prefix(input.query.limit ?? 50)
        return .ok(.init(headers: .init(xTotalCount: sightings.count), body: .json(Array(page))))
    }

    func addSighting(_ input: Operations.AddSighting.Input) async throws -> Operations.AddSighting.Output {
        guard case .json(let sighting) = input.body else { return .undocumented(statusCode: 415, .init()) }
        guard !sightings.contains(where: { $0.id == sighting.id }) else {
            return .clientError(statusCode: 409, .init(body: .json(.init(title: "\(sighting.id) is taken"))))
        }
        sightings.append(sighting)
        return .created(.init(body: .json(sighting)))
    }

    func exportSightings(_ input: Operations.ExportSightings.Input) async throws -> Operations.ExportSightings.Output {
        let sightings = sightings
        let lines = AsyncStream { continuation in
            for sighting in sightings { continuation.yield(sighting) }
            continuation.finish()
        }
        let body = HTTPBody(lines.asEncodedJSONLines(), length: .unknown, iterationBehavior: .single)
        return .ok(.init(body: .applicationJsonl(body)))
    }

    func logIn(_ input: Operations.LogIn.Input) async throws -> Operations.LogIn.Output {
        let form = try input.body.urlEncodedForm
        guard form.password == "sesame" else { throw Refusal(reason: "That is not the password.") }
        return .ok(.init(body: .plainText("a token")))
    }
}

extension Components.Schemas.Sighting {
    static let wren = Self(
        id: "17",
        species: "Troglodytes troglodytes",
        at: Date(timeIntervalSince1970: 1_700_000_000),
        observer: .person(.init(kind: "person", name: "Ada"))
    )
}
