import Foundation
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// Bodies: streams, parts, events.
struct BodyTests {
    private func makeClient(_ service: some APIProtocol = Observatory()) throws -> Client {
        let transport = InProcessTransport()
        try service.registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
        return Client(serverURL: .defaultOpenAPIServerURL, transport: transport)
    }

    @Test func bodiesAreMadeOfWhatIsAtHand() async throws {
        let text: HTTPBody = "tsip tsip"
        let bytes = HTTPBody([0x49, 0x44, 0x33])
        let data = HTTPBody(Data("tsip".utf8))
        let chunks = AsyncStream<ArraySlice<UInt8>> { continuation in
            continuation.yield([0x49, 0x44])
            continuation.yield([0x33])
            continuation.finish()
        }
        let stream = HTTPBody(chunks, length: .known(3))

        #expect(try await String(collecting: text, upTo: 1024) == "tsip tsip")
        #expect(try await Data(collecting: data, upTo: 1024).count == 4)
        #expect(try await [UInt8](collecting: stream, upTo: 3) == [UInt8](collecting: bytes, upTo: 3))
    }

    @Test func filesAreSentAsTheConnectionTakesThem() async throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "song-\(UUID()).mp3")
        try Data(repeating: 7, count: 200_000).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let client = try makeClient(SongService())

        let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int64
        let song = HTTPBody(
            FileChunks(url: url),
            length: size.map { .known($0) } ?? .unknown,
            iterationBehavior: .multiple
        )
        _ = try await client.putSong(path: .init(id: "17"), body: .audioMpeg(song)).noContent

        var count = 0
        for try await chunk in try await client.getSong(path: .init(id: "17")).ok.body.audioMpeg {
            count += chunk.count
        }
        #expect(count == 5)
    }

    @Test func aBodyIsReadIntoATypeOfTheProgram() async throws {
        let client = try makeClient()
        _ = try await client.addSighting(body: .json(.wren)).created

        let response = try await client.getSighting(buffering: .init(path: .init(id: "17")))
        switch response {
        case .ok(let sighting):
            let species = try sighting.body.json(Species.self)
            print(species.name, sighting.body.bytes.count)
            #expect(species.name == "Troglodytes troglodytes")
        case .other(let output):
            // What the usual call returns: `notFound` here.
            print(output)
            Issue.record("The response is \(output)")
        }
    }

    @Test func partsAreWrittenAndReadInOrder() async throws {
        let observatory = Observatory()
        let client = try makeClient(observatory)
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47]

        _ = try await client.sendReport(
            body: .multipartForm([
                .title(.init(payload: .init(body: "Two at the pond"))),
                .sighting(.init(payload: .init(body: .wren))),
                .photo(.init(payload: .init(body: HTTPBody(png)), filename: "pond.png")),
            ])
        ).accepted

        let report = await observatory.report
        #expect(report == .init(title: "Two at the pond", sightings: ["17"], photoSizes: [4]))
    }

    @Test func eventsAreReadAsTheyArrive() async throws {
        let client = try makeClient()
        _ = try await client.addSighting(body: .json(.wren)).created
        var species: [String?] = []

        let feed = try await client.watchSightings().ok.body.textEventStream
        for try await event in feed.asDecodedServerSentEventsWithJSONData(of: Components.Schemas.Sighting.self) {
            species.append(event.data?.species)
        }

        let export = try await client.exportSightings().ok.body.applicationJsonl
        for try await sighting in export.asDecodedJSONLines(of: Components.Schemas.Sighting.self) {
            species.append(sighting.species)
        }

        #expect(species == ["Troglodytes troglodytes", "Troglodytes troglodytes"])
    }

    @Test func aFormIsAStruct() async throws {
        let client = try makeClient()

        let form = Operations.LogIn.Input.Body.UrlEncodedFormPayload(name: "Ada", password: "sesame")
        let token = try await client.logIn(body: .urlEncodedForm(form)).ok.body.plainText
        let text = try await String(collecting: token, upTo: 1000)
        // POST /logins
        // content-type: application/x-www-form-urlencoded
        //
        // name=Ada&password=sesame

        #expect(text == "a token")
    }
}

/// The species of a sighting, and nothing else of it.
struct Species: JSONReadable {
    var name = ""

    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key == "species" { name = try reader.readString() } else { try reader.skipValue() }
        }
    }
}

/// The bytes of a file, read when the connection is ready for them.
struct FileChunks: AsyncSequence, Sendable {
    var url: URL

    struct AsyncIterator: AsyncIteratorProtocol {
        let url: URL
        var file: FileHandle?

        mutating func next() async throws -> ArraySlice<UInt8>? {
            let file = try self.file ?? FileHandle(forReadingFrom: url)
            self.file = file
            guard let data = try file.read(upToCount: 65_536), !data.isEmpty else { return nil }
            return ArraySlice(data)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(url: url)
    }
}

private struct SongService: PartialService {
    func putSong(_ input: Operations.PutSong.Input) async throws -> Operations.PutSong.Output {
        var size = 0
        for try await chunk in try input.body.audioMpeg { size += chunk.count }
        return size == 200_000 ? .noContent : .undocumented(statusCode: 400, .init())
    }

    func getSong(_ input: Operations.GetSong.Input) async throws -> Operations.GetSong.Output {
        let song = AsyncStream<ArraySlice<UInt8>> { continuation in
            continuation.yield([1, 2, 3])
            continuation.yield([4, 5])
            continuation.finish()
        }
        return .ok(.init(body: .audioMpeg(HTTPBody(song, length: .unknown))))
    }
}
