import CatServiceAPI
import OpenAPISwiftRuntime

/// What the command-line client does with the service, or with anything else that has its operations.
struct CatFan {
    var cats: any APIProtocol

    /// Some cats, or what the service says against that number.
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

    /// The clip, to be read while it still arrives.
    func clip() async throws -> HTTPBody {
        try await cats.getClip().ok.body.binary
    }
}
