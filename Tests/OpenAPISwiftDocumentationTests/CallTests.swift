import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// Uses of a generated client in a program.
struct CallTests {
    private func makeClient(_ service: some APIProtocol = Observatory()) throws -> Client {
        let transport = InProcessTransport()
        try service.registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
        return Client(serverURL: .defaultOpenAPIServerURL, transport: transport)
    }

    @Test func aResponseIsReadByTheNameOfItsStatus() async throws {
        let client = try makeClient()
        let wren = Components.Schemas.Sighting.wren
        _ = try await client.addSighting(body: .json(wren)).created

        let response = try await client.listSightings(
            query: .init(limit: 10, status: [.seen, .heardOnly])
        )
        // GET /sightings?limit=10&status=seen&status=heard-only

        let page = try response.ok
        print(page.headers.xTotalCount)
        for sighting in try page.body.json { print(sighting.species, sighting.at) }

        #expect(try page.body.json == [wren])
    }

    private func show(_ id: String, with client: some APIProtocol) async throws -> String {
        switch try await client.getSighting(path: .init(id: id)) {
        case .ok(let response):
            return try response.body.json.species
        case .notFound:
            return "There is no sighting \(id)."
        case .undocumented(let statusCode, let payload):
            return "The server answers \(statusCode), \(payload.headerFields)."
        }
    }

    @Test func everyAnswerIsACase() async throws {
        #expect(try await show("17", with: makeClient()) == "There is no sighting 17.")
    }

    @Test func callsTakeTheirInputInParts() async throws {
        let client = try makeClient()

        _ = try await client.getSighting(path: .init(id: "17"))
        _ = try await client.getSighting(.init(path: .init(id: "17")))
        _ = try await client.listSightings()
        _ = try await client.listSightings(
            headers: .init(accept: [.init(contentType: .json), .init(contentType: .csv, quality: 0.5)])
        )
        // accept: application/json, text/csv; q=0.500

        let removed = try? await client.removeSighting(path: .init(id: "17")).noContent
        #expect(removed == nil)
    }

    private func logIn(_ name: String, _ password: String, with client: some APIProtocol) async -> String {
        do {
            let form = Operations.LogIn.Input.Body.UrlEncodedFormPayload(name: name, password: password)
            _ = try await client.logIn(body: .urlEncodedForm(form)).ok
            return "\(name) is logged in."
        } catch let error as ClientError {
            // The call itself failed: no connection, a middleware, a body that cannot be read.
            return "\(error.operationID) failed: \(error.underlyingError)"
        } catch {
            // The call succeeded, and the response is not `ok`.
            return "\(error)"
        }
    }

    @Test func errorsSayHowFarTheCallGot() async throws {
        let client = try makeClient()
        #expect(await logIn("Ada", "sesame", with: client) == "Ada is logged in.")
        #expect(
            await logIn("Ada", "guess", with: client).hasPrefix(
                "The response is not 'ok' but undocumented(statusCode: 403"
            )
        )

        let broken = Reply { _ in throw TransportError(code: .connectionFailed, message: "no server") }
        let unreachable = Client(serverURL: .defaultOpenAPIServerURL, transport: broken)
        let text = await logIn("Ada", "sesame", with: unreachable)
        #expect(text.hasPrefix("logIn failed: ") && text.contains("no server"))
    }

    @Test func valuesAreMadeByTheirInitializers() throws {
        var sighting = Components.Schemas.Sighting(
            id: "18",
            species: "Alcedo atthis",
            at: .now,
            status: .heardOnly,
            observer: .camera(.init(kind: "camera", model: "Pond 2")),
            weather: .init(value2: "fog"),
            extraNotes: .init(additionalProperties: ["perch": "willow"])
        )
        sighting.count = 2

        switch sighting.observer {
        case .person(let person): print(person.name)
        case .camera(let camera): print(camera.model)
        }

        // A weather of the list is in value1, and every weather is in value2.
        print(sighting.weather?.value1?.rawValue ?? sighting.weather?.value2 ?? "no weather")

        let data = try JSONEncoder().encode(sighting)
        let copy = try JSONDecoder().decode(Components.Schemas.Sighting.self, from: data)
        #expect(copy.observer == sighting.observer)
        #expect(copy.weather?.value2 == "fog")
    }

    @Test func ownTypesTakeThePlaceOfGeneratedOnes() throws {
        let serial = UUID()
        let link = try #require(URL(string: "https://example.com/wren"))
        var sighting = Components.Schemas.Sighting.wren
        sighting.observer = .camera(.init(kind: "camera", model: "Pond 2", serial: serial))
        sighting.links = [link]
        sighting.area = SquareMetres(value: 12.5)

        let bytes = try JSONWriter.bytes(of: sighting)
        #expect(String(decoding: bytes, as: UTF8.self).contains(#""area":12.5"#))
        #expect(try JSONReader.read(Components.Schemas.Sighting.self, from: bytes) == sighting)
        #expect(throws: JSONError.self) { try JSONReader.read(UUID.self, from: Array(#""17""#.utf8)) }
    }

    @Test func aRecursiveTypeIsUsedLikeAnyOther() {
        var wren = Components.Schemas.Taxon(name: "Troglodytes", parent: .init(name: "Passeriformes"))
        wren.parent?.parent = .init(name: "Aves")
        #expect(wren.parent?.parent?.name == "Aves")
    }

    @Test func serversAreFunctions() throws {
        let plain = try Servers.Server1.url()
        let south = try Servers.Server2.url(region: .south)
        // https://birds.example.com/v1
        // https://south.birds.example.com/v1

        #expect(plain.absoluteString == "https://birds.example.com/v1")
        #expect(south.absoluteString == "https://south.birds.example.com/v1")
    }
}

/// A type of the program's own, which `typeOverrides` uses instead of a schema.
struct SquareMetres: Hashable, Sendable {
    var value: Double
}

extension SquareMetres: Codable {
    init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Double.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension SquareMetres: JSONReadable, JSONWritable {
    init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.readDecodable()
    }

    func write(json writer: inout JSONWriter) {
        writer.writeEncodable(self)
    }
}
