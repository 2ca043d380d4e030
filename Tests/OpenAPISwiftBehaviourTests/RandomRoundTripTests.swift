import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Random values are sent from the client to the server and back. `MISTKIT_SEED` repeats a run.
struct RandomRoundTripTests {
    private static let seed: UInt64 =
        ProcessInfo.processInfo.environment["MISTKIT_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)

    private func values(_ run: Int) -> RandomValues { RandomValues(seed: Self.seed &+ UInt64(run)) }

    private func note(_ run: Int) -> Comment { "MISTKIT_SEED=\(Self.seed), run \(run)" }

    @Test(arguments: [JSONEncodingOptions(), [.sortedKeys, .prettyPrinted]])
    func valuesOfEveryKindOfSchemaComeBack(options: JSONEncodingOptions) async throws {
        let client: Client = try Handlers(exchange: { input in
            switch input.body {
            case .json(let specimen): .ok(.init(body: .json(specimen)))
            }
        }).client(configuration: .init(jsonEncodingOptions: options))
        for run in 0..<100 {
            var random: RandomValues = values(run)
            let specimen: Schemas.Specimen = random.specimen()
            let answer = try await client.exchange(body: .json(specimen)).ok.body.json
            #expect(answer == specimen, note(run))
        }
    }

    @Test func randomValuesSurviveFoundationsCoders() throws {
        for run in 0..<50 {
            var random: RandomValues = values(run)
            let specimen: Schemas.Specimen = random.specimen()
            let data: Data = try JSONEncoder().encode(specimen)
            #expect(try JSONDecoder().decode(Schemas.Specimen.self, from: data) == specimen, note(run))
        }
    }

    @Test func parametersOfEveryStyleArrive() async throws {
        for run in 0..<60 {
            var random: RandomValues = values(run)
            let (query, lists, filter, headers) = (random.query(), random.lists(), random.filter(), random.headers())
            let (name, point) = (random.text(from: 1), random.point())
            let words: [String] = random.list(from: 1) { "w" + $0.text() }
            let comment: Comment = note(run)
            let client: Client = try Handlers(
                getName: { input in
                    #expect(input.path.name == name, comment)
                    return .noContent
                },
                getSpread: { input in
                    #expect(input.path == .init(list: words, point: point), comment)
                    return .noContent
                },
                query: { input in
                    #expect(input.query == query, comment)
                    return .noContent
                },
                queryLists: { input in
                    #expect(input.query == lists, comment)
                    return .noContent
                },
                queryExploded: { input in
                    #expect(input.query.filter == filter, comment)
                    return .noContent
                },
                queryJoined: { input in
                    #expect(input.query.filter == filter, comment)
                    return .noContent
                },
                queryDeep: { input in
                    #expect(input.query.filter == filter, comment)
                    return .noContent
                },
                sendHeaders: { input in
                    #expect(input.headers == headers, comment)
                    return .noContent
                },
                queryForm: { input in
                    #expect(input.query.filter == filter, comment)
                    return .noContent
                }
            ).client()
            #expect(try await client.getName(path: .init(name: name)) == .noContent, comment)
            #expect(try await client.getSpread(path: .init(list: words, point: point)) == .noContent, comment)
            #expect(try await client.query(query: query) == .noContent, comment)
            #expect(try await client.queryLists(query: lists) == .noContent, comment)
            #expect(try await client.queryExploded(query: .init(filter: filter)) == .noContent, comment)
            #expect(try await client.queryJoined(query: .init(filter: filter)) == .noContent, comment)
            #expect(try await client.queryDeep(query: .init(filter: filter)) == .noContent, comment)
            #expect(try await client.sendHeaders(headers: headers) == .noContent, comment)
            // Joined by commas, a list of one empty text is written like an empty list.
            guard filter.tags != [""] else { continue }
            #expect(try await client.queryForm(query: .init(filter: filter)) == .noContent, comment)
        }
    }

    @Test func randomURLEncodedFormsArriveUnchanged() async throws {
        for run in 0..<60 {
            var random: RandomValues = values(run)
            let form = random.form()
            let comment: Comment = note(run)
            let client: Client = try Handlers(sendForm: { input in
                #expect(input.body == .urlEncodedForm(form), comment)
                return .noContent
            }).client()
            #expect(try await client.sendForm(body: .urlEncodedForm(form)) == .noContent, comment)
        }
    }

    @Test func randomMultipartFormsArriveUnchanged() async throws {
        typealias Album = Components.Schemas.Album
        for run in 0..<100 {
            var random: RandomValues = values(run)
            let (cover, caption, notes) = (random.text(), random.text(), random.list { $0.note() })
            let client: Client = try Handlers(sendAlbum: { input in
                guard case .multipartForm(let album) = input.body else { throw UnexpectedCall() }
                var parts: [Album] = []
                for try await part in album {
                    switch part {
                    case .cover(let part):
                        let body = try await text(part.payload.body)
                        parts.append(.cover(.init(payload: .init(body: HTTPBody(body)))))
                    case .caption(let part):
                        let body = try await text(part.payload.body)
                        parts.append(.caption(.init(payload: .init(body: .dripping(body)))))
                    case .notes, .undocumented: parts.append(part)
                    }
                }
                return .ok(.init(body: .multipartForm(MultipartBody(parts))))
            }).client()
            var sent: [Album] = notes.map { .notes(.init(payload: .init(body: $0))) }
            sent.insert(.cover(.init(payload: .init(body: .dripping(cover)))), at: random.below(sent.count + 1))
            sent.insert(.caption(.init(payload: .init(body: HTTPBody(caption)))), at: random.below(sent.count + 1))
            let answer = try await client.sendAlbum(body: .multipartForm(MultipartBody(sent))).ok.body.multipartForm
            var received: (cover: String?, caption: String?, notes: [Schemas.Note]) = (nil, nil, [])
            for try await part in answer {
                switch part {
                case .cover(let part): received.cover = try await text(part.payload.body)
                case .caption(let part): received.caption = try await text(part.payload.body)
                case .notes(let part): received.notes.append(part.payload.body)
                case .undocumented: throw UnexpectedCall()
                }
            }
            #expect(received.cover == cover && received.caption == caption && received.notes == notes, note(run))
        }
    }
}
