import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

typealias Schemas = Components.Schemas

/// A specimen with some of its properties.
func specimen(_ change: (inout Schemas.Specimen) -> Void) -> Schemas.Specimen {
    var specimen = Schemas.Specimen()
    change(&specimen)
    return specimen
}

/// The JSON that a client writes for a specimen, in one line.
func written(_ specimen: Schemas.Specimen, dates: any DateTranscoder = .iso8601) async throws -> String {
    let wire = Wire(json: "{}")
    let configuration = Configuration(
        dateTranscoder: dates,
        jsonEncodingOptions: [.sortedKeys, .withoutEscapingSlashes]
    )
    _ = try await wire.client(configuration: configuration).exchange(body: .json(specimen))
    return try #require(try wire.request.body)
}

/// The specimen that a server reads from JSON.
func read(_ json: String, dates: any DateTranscoder = .iso8601) async throws -> Schemas.Specimen {
    let input = try await received(
        \.exchange,
        .post,
        "/specimens",
        [:],
        HTTPBody(json),
        configuration: .init(dateTranscoder: dates)
    )
    switch input.body {
    case .json(let specimen): return specimen
    }
}

/// Expects that a specimen is written as this text, and is read from it.
func expect(
    _ specimen: Schemas.Specimen,
    is json: String,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    #expect(try await written(specimen) == json, sourceLocation: sourceLocation)
    #expect(try await read(json) == specimen, sourceLocation: sourceLocation)
}

/// Expects that the text is refused as a specimen.
func expectRefused(_ json: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let answer = try await Handlers().answer(.post, "/specimens", [:], HTTPBody(json))
    #expect(answer == Message(start: "400"), sourceLocation: sourceLocation)
}
