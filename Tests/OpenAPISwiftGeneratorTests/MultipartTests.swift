import HTTPTypes
import OpenAPISwiftGenerator
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Multipart bodies of generated clients and servers.
struct MultipartTests {
    private typealias Cover = Operations.SendCover.Input.Body.MultipartFormPayload
    private typealias Shelf = Components.Schemas.Shelf

    /// The content of the parts of a cover, as text.
    private static func words(_ body: MultipartBody<Cover>) async throws -> [String] {
        func text(_ body: HTTPBody) async throws -> String { try await String(collecting: body, upTo: 1 << 20) }
        var seen: [String] = []
        for try await part in body {
            switch part {
            case .title(let part): seen.append("title \(part.filename ?? "-") \(try await text(part.payload.body))")
            case .pages(let part): seen.append("page \(try await text(part.payload.body))")
            case .tags(let part): seen.append("tag \(try await text(part.payload.body))")
            case .note(let part):
                seen.append("note \(part.payload.headers.xKind?.rawValue ?? "-") \(part.payload.body.text)")
            case .details(let part): seen.append("details \(part.payload.body.made.timeIntervalSince1970)")
            case .scan(let part):
                let headers = part.payload.headers
                let count: Int = try await text(part.payload.body).utf8.count
                seen.append("scan \(part.filename ?? "-") \(headers.xDpi) \(headers.xShared?.rawValue ?? "-") \(count)")
            case .moment(let part): seen.append("moment \(try await text(part.payload.body))")
            case .undocumented(let part): seen.append("\(part.name ?? "-") \(try await text(part.body))")
            }
        }
        return seen
    }

    @Test func everyKindOfPartArrivesAsItWasSent() async throws {
        let client: Client = try Library(sendCover: { input in
            guard case .multipartForm(let body) = input.body else { throw Library.UnexpectedCall() }
            let words: [String] = try await Self.words(body)
            return .ok(
                .init(
                    body: .multipartForm(
                        [
                            .label(.init(payload: .init(body: HTTPBody(words.joined(separator: "|"))))),
                            .additionalProperties(.init(payload: .init(count: words.count), name: "parts")),
                        ]
                    )
                )
            )
        }).client()
        let (chunks, continuation) = AsyncStream<ArraySlice<UInt8>>.makeStream()
        for _ in 0..<10 { continuation.yield(ArraySlice(repeating: 0x61, count: 1000)) }
        continuation.finish()
        let parts: [Cover] = [
            .title(.init(payload: .init(body: "Mist & fog"), filename: "t.txt")),
            .pages(.init(payload: .init(body: "1"))), .pages(.init(payload: .init(body: "2"))),
            .note(.init(payload: .init(headers: .init(xKind: .short), body: .init(text: "né")))),
            .tags(.init(payload: .init(body: "a"))),
            .details(.init(payload: .init(body: .init(made: Date(timeIntervalSince1970: 1000))))),
            .scan(
                .init(
                    payload: .init(
                        headers: .init(xDpi: 300, xShared: .yesPlease),
                        body: HTTPBody(chunks, length: .unknown)
                    ),
                    filename: "scan.png"
                )
            ),
            .undocumented(.init(name: "more", headerFields: [:], body: "?")),
        ]
        let answer = try await client.sendCover(body: .multipartForm(MultipartBody(parts))).ok.body.multipartForm
        var seen: [String] = []
        for try await part in answer {
            switch part {
            case .label(let part): seen.append(try await String(collecting: part.payload.body, upTo: 1 << 20))
            case .additionalProperties(let part): seen.append("\(part.name ?? "-") \(part.payload.count)")
            }
        }
        #expect(
            seen == [
                "title t.txt Mist & fog|page 1|page 2|note short né|tag a|details 1000.0|"
                    + "scan scan.png 300 yes-please 10000|more ?",
                "parts 8",
            ]
        )
    }

    @Test(
        arguments: [
            ("title pages note", 200), ("title pages pages tags tags note unknown", 200), ("pages note", 400),
            ("title note", 400), ("title title pages note", 400), ("", 400),
        ]
    )
    func partsAreCountedWhileTheServerReadsThem(names: String, status: Int) async throws {
        let transport = RawTransport()
        let library = Library(sendCover: { input in
            guard case .multipartForm(let body) = input.body else { throw Library.UnexpectedCall() }
            _ = try await Self.words(body)
            return .ok(.init(body: .multipartForm([.label(.init(payload: .init(body: "l")))])))
        })
        try library.registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
        let parts: [String] = names.split(separator: " ").map { (name: Substring) in
            let text: String = name == "note" ? #"{"text":"n"}"# : "x"
            return "--b\r\ncontent-disposition: form-data; name=\"\(name)\"\r\n\r\n\(text)\r\n"
        }
        let (response, _) = try await transport.send(
            .post,
            "/covers",
            headerFields: [.contentType: "multipart/form-data; boundary=b"],
            body: HTTPBody(parts.joined() + "--b--\r\n")
        )
        #expect(response.status.code == status)
    }

    @Test func aBodyMayBeLeftOutOrBeOfAnotherType() async throws {
        let client: Client = try Library(fillShelf: { input in
            switch input.body {
            case nil: return .noContent
            case .json?: return .ok(.init(body: .multipartForm([.only(.init(payload: .init(body: "o")))])))
            case .multipartForm(let body)?:
                var names: [MultipartRawPart] = []
                for try await part in body {
                    switch part {
                    case .label(let part): _ = try await String(collecting: part.payload.body, upTo: 10)
                    case .additionalProperties(let part):
                        names.append(.init(name: part.name, headerFields: [:], body: HTTPBody("\(part.payload.count)")))
                    }
                }
                return .accepted(.init(body: .multipartForm(MultipartBody(names.map { .other($0) }))))
            }
        }).client()
        #expect(try await client.fillShelf() == .noContent)
        var count = 0
        for try await part in try await client.fillShelf(body: .json(.init(text: "t"))).ok.body.multipartForm {
            guard case .only(let part) = part else { continue }
            #expect(try await String(collecting: part.payload.body, upTo: 10) == "o")
            count += 1
        }
        #expect(count == 1)
        let shelf: MultipartBody<Shelf> = [
            .label(.init(payload: .init(body: "l"))), .additionalProperties(.init(payload: .init(count: 3), name: "x")),
        ]
        var seen: [String] = []
        for try await part in try await client.fillShelf(body: .multipartForm(shelf)).accepted.body.multipartForm {
            guard case .other(let part) = part else { continue }
            seen.append("\(part.name ?? "-") \(try await String(collecting: part.body, upTo: 10))")
        }
        #expect(seen == ["x 3"])
    }

    @Test func componentsThatAreOnlyMultipartAreEnums() {
        let generation = Generation(
            document: """
                openapi: 3.0.3
                info: {title: Test, version: "1"}
                paths: {}
                components:
                  requestBodies:
                    One: {content: {multipart/form-data: {schema: {$ref: '#/components/schemas/Parts'}}}}
                    Two: {content: {multipart/form-data: {schema: {$ref: '#/components/schemas/Shared'}}}}
                    Three: {content: {application/json: {schema: {$ref: '#/components/schemas/Shared'}}}}
                    Four: {content: {multipart/form-data: {schema: {type: object, additionalProperties: false}}}}
                  schemas:
                    Parts: {type: object, properties: {a: {type: string, format: binary}, undocumented: {type: object}}}
                    Shared: {type: object, properties: {a: {type: string}}}
                """
        )
        let bodies = "Types+RequestBodies.swift"
        #expect(generation.contains("public enum Parts: OpenAPISwiftRuntime.OperationValue {"))
        #expect(
            generation.contains("case a(OpenAPISwiftRuntime.MultipartPart<Components.Schemas.Parts.aPayload>)")
        )
        #expect(generation.contains("case undocumented(OpenAPISwiftRuntime.MultipartRawPart)"))
        #expect(generation.contains("public struct Shared: "))
        #expect(generation.contains("MultipartBody<Components.Schemas.Parts>)", in: bodies))
        #expect(generation.contains("public enum multipartFormPayload: ", in: bodies))
        #expect(generation.files[bodies]?.contains("Four") == false)
        #expect(generation.warnings.map { $0.contains("no part is allowed in it") } == [true])
    }
}
