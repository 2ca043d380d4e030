import CatServiceAPI
import OpenAPISwiftRuntime

/// The commands of the client, on top of the service or of any other implementation of its operations.
struct CatFan {
    var cats: any APIProtocol

    /// Some cats, or the service's message about a number that it refuses.
    func emoji(count: Int?) async throws -> String {
        switch try await cats.getEmoji(query: .init(count: count)) {
        case .ok(let response):
            return try await String(collecting: response.body.plainText, upTo: 10_000)
        case .badRequest(let response):
            return try await "No cats: " + String(collecting: response.body.plainText, upTo: 10_000)
        case .undocumented(let status, _):
            return "No cats: the service answers with status \(status)."
        }
    }

    /// The clip, which can be read while it is still arriving.
    func clip() async throws -> HTTPBody {
        try await cats.getClip().ok.body.binary
    }
}
