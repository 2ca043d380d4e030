import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Testing

/// Counts the sightings of a species: the part of a program that is under test.
struct Census {
    var birds: any APIProtocol

    func count(of species: String) async throws -> Int {
        let sightings = try await birds.listSightings().ok.body.json
        return sightings.filter { $0.species == species }.reduce(0) { $0 + ($1.count ?? 1) }
    }
}

/// The operations that the test needs.
struct MockBirds: PartialService {
    var sightings: [Components.Schemas.Sighting] = []

    func listSightings(_ input: Operations.ListSightings.Input) async throws -> Operations.ListSightings.Output {
        .ok(.init(headers: .init(xTotalCount: sightings.count), body: .json(sightings)))
    }
}

struct CensusTests {
    @Test func countsFlocks() async throws {
        var flock = Components.Schemas.Sighting.wren
        flock.count = 4
        let census = Census(birds: MockBirds(sightings: [flock, .wren]))
        #expect(try await census.count(of: flock.species) == 5)
    }

    @Test func clientAndServerAreTestedTogether() async throws {
        let transport = InProcessTransport()
        try Observatory().registerHandlers(on: transport, serverURL: Servers.Server1.url())
        let client = Client(serverURL: try Servers.Server1.url(), transport: transport)

        _ = try await client.addSighting(body: .json(.wren)).created
        #expect(try await Census(birds: client).count(of: "Troglodytes troglodytes") == 1)
    }

    @Test func oneResponseIsMadeByHand() async throws {
        let transport = Reply { _ in
            (HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]), #"{"id": "17"}"#)
        }
        let client = Client(serverURL: try Servers.Server1.url(), transport: transport)

        await #expect(throws: ClientError.self) {
            try await client.getSighting(path: .init(id: "17"))
        }
    }
}
