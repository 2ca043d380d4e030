import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// Requests that the document does not allow, read by a strict server and by one that accepts the deviation.
struct LenientReadingTests {
    /// A request, and what a server reads of it: the values of its parameters and body, or the status of the refusal.
    struct Row: Sendable, CustomTestStringConvertible {
        var query = ""
        var contentType: String? = "application/json"
        var accept: String?
        var option: LenientReading
        var strict: String
        var lenient: String

        var testDescription: String { "?\(query) \(contentType ?? "-") \(accept ?? "-")" }
    }

    private static let rows: [Row] = [
        Row(query: "flag=true&count=2&name=a", option: .all, strict: "true 2 a - 7", lenient: "true 2 a - 7"),
        Row(query: "flag=True", option: .booleansInAnyCase, strict: "400", lenient: "true - - - 7"),
        Row(query: "flag=FALSE", option: .booleansInAnyCase, strict: "400", lenient: "false - - - 7"),
        Row(query: "flag=yes", option: .booleansInAnyCase, strict: "400", lenient: "400"),
        Row(query: "flag=1", option: .all, strict: "400", lenient: "400"),
        Row(query: "flags=True&flags=false", option: .booleansInAnyCase, strict: "400", lenient: "- - - true,false 7"),
        Row(query: "flags=True", option: .booleansInAnyCase, strict: "400", lenient: "- - - true 7"),
        Row(query: "name=True", option: .all, strict: "- - True - 7", lenient: "- - True - 7"),
        Row(query: "flag=True", option: .emptyQueryItems, strict: "400", lenient: "400"),
        Row(query: "flag=", option: .emptyQueryItems, strict: "400", lenient: "- - - - 7"),
        Row(query: "count=", option: .emptyQueryItems, strict: "400", lenient: "- - - - 7"),
        Row(query: "name=", option: .emptyQueryItems, strict: "- -  - 7", lenient: "- -  - 7"),
        Row(query: "flag&count=3", option: .emptyQueryItems, strict: "400", lenient: "- 3 - - 7"),
        Row(query: "other", option: .emptyQueryItems, strict: "400", lenient: "- - - - 7"),
        Row(query: "other", option: .booleansInAnyCase, strict: "400", lenient: "400"),
        Row(query: "count=", option: .booleansInAnyCase, strict: "400", lenient: "400"),
        Row(contentType: nil, option: .anyContentType, strict: "- - - - 7", lenient: "- - - - 7"),
        Row(contentType: "text/plain", option: .anyContentType, strict: "415", lenient: "- - - - 7"),
        Row(contentType: "text/plain", option: .anyAccept, strict: "415", lenient: "415"),
        Row(accept: "text/html", option: .anyAccept, strict: "406", lenient: "- - - - 7"),
        Row(accept: "text/html", option: .anyContentType, strict: "406", lenient: "406"),
    ]

    @Test(arguments: rows) func aDeviationIsAcceptedWhereTheServerSaysSo(row: Row) async throws {
        #expect(try await read(row, []) == row.strict)
        #expect(try await read(row, row.option) == row.lenient)
    }

    @Test func twoContentTypesAreToldApart() async throws {
        let operation = operation([.anyContentType]) { request in
            String(try request.matchContentType(["application/json", "text/plain"]))
        }
        #expect(
            try await answer(to: Row(contentType: "text/plain", option: [], strict: "", lenient: ""), operation) == "1"
        )
        #expect(
            try await answer(to: Row(contentType: "text/html", option: [], strict: "", lenient: ""), operation) == "415"
        )
    }

    @Test func aMultipartBodyNeedsItsContentType() async throws {
        let operation = operation([.anyContentType]) { request in
            String(try request.matchContentType(["multipart/form-data"]))
        }
        #expect(
            try await answer(to: Row(contentType: "text/plain", option: [], strict: "", lenient: ""), operation)
                == "415"
        )
    }

    private func read(_ row: Row, _ reading: LenientReading) async throws -> String {
        let operation = operation(reading) { request in
            func text<Value>(_ value: Value?) -> String { value.map { "\($0)" } ?? "-" }
            let flag = try request.parameter(.query, "flag", .boolean, Bool.self)
            let count = try request.parameter(.query, "count", .number, Int.self)
            let name = try request.parameter(.query, "name", .string, String.self)
            let flags = try request.parameter(.query, "flags", .array(.boolean), [Bool].self)
            let list = flags.map { $0.map { "\($0)" }.joined(separator: ",") }
            let body: JSONBody<Int> = try request.jsonBody()
            return [text(flag), text(count), text(name), text(list), text(try body.json)].joined(separator: " ")
        }
        return try await answer(to: row, operation)
    }

    /// An operation that responds with the text that `decode` makes of the request.
    private func operation(
        _ reading: LenientReading,
        _ decode: @escaping @Sendable (ServerRequest) throws -> String
    ) -> ServerOperation<Void> {
        let server = UniversalServer(
            serverURL: .defaultOpenAPIServerURL,
            handler: (),
            configuration: Configuration(jsonEncodingOptions: [], lenientReading: reading),
            middlewares: [ErrorHandlingMiddleware()]
        )
        return server.operation(
            operationID: "read",
            method: .post,
            path: "/",
            decode: decode,
            handle: { (_, input: String, _) in input },
            encode: { output, response in
                _ = try response.set(200, JSONResponse(body: .json(output)))
            }
        )
    }

    private func answer(to row: Row, _ operation: ServerOperation<Void>) async throws -> String {
        var request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/?\(row.query)")
        request.headerFields[.contentType] = row.contentType
        request.headerFields[.accept] = row.accept
        let (response, body) = try await operation.respond(
            to: request,
            body: "7",
            metadata: ServerRequestMetadata(pathParameters: [:]),
            context: ()
        )
        guard response.status == .ok else { return "\(response.status.code)" }
        let bytes = try await [UInt8](collecting: body ?? HTTPBody(), upTo: 1000)
        return try JSONReader.read(String.self, from: bytes)
    }
}
