import Foundation
import HTTPTypes
import OpenAPISwiftRuntime

/// Keeps sightings in memory.
actor Observatory: PartialService {
    private var sightings: [Components.Schemas.Sighting] = []
    private(set) var report = Report()

    struct Report: Equatable {
        var title = ""
        var sightings: [String] = []
        var photoSizes: [Int] = []
    }

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

    func getSighting(_ input: Operations.GetSighting.Input) async throws -> Operations.GetSighting.Output {
        guard let sighting = sightings.first(where: { $0.id == input.path.id }) else { return .notFound }
        return .ok(.init(body: .json(sighting)))
    }

    func sendReport(_ input: Operations.SendReport.Input) async throws -> Operations.SendReport.Output {
        guard case .multipartForm(let parts) = input.body else { return .undocumented(statusCode: 415, .init()) }
        for try await part in parts {
            switch part {
            case .title(let title):
                report.title = try await String(collecting: title.payload.body, upTo: 1000)
            case .sighting(let sighting):
                report.sightings.append(sighting.payload.body.id)
            case .photo(let photo):
                var size = 0
                for try await chunk in photo.payload.body { size += chunk.count }
                report.photoSizes.append(size)
            case .undocumented(let part):
                throw Refusal(reason: "There is no part \(part.name ?? "without a name").")
            }
        }
        return .accepted
    }

    func watchSightings(_ input: Operations.WatchSightings.Input) async throws -> Operations.WatchSightings.Output {
        let events = AsyncStream { continuation in
            for sighting in sightings {
                continuation.yield(ServerSentEventWithJSONData(event: "sighting", data: sighting))
            }
            continuation.finish()
        }
        let body = HTTPBody(
            events.asEncodedServerSentEventsWithJSONData(),
            length: .unknown,
            iterationBehavior: .single
        )
        return .ok(.init(body: .textEventStream(body)))
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

struct Refusal: Error, HTTPResponseConvertible {
    var reason: String

    var httpStatus: HTTPResponse.Status { .forbidden }
    var httpHeaderFields: HTTPFields { [.contentType: "text/plain"] }
    var httpBody: HTTPBody? { HTTPBody(reason) }
}

extension Components.Schemas.Sighting {
    static let wren = Self(
        id: "17",
        species: "Troglodytes troglodytes",
        at: Date(timeIntervalSince1970: 1_700_000_000),
        observer: .person(.init(kind: "person", name: "Ada"))
    )
}
