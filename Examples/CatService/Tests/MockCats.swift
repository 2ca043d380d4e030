import CatServiceAPI
import OpenAPISwiftRuntime

/// Cats for tests of the client: no server, no socket, no JSON, just the protocol that `Client` has as well.
struct MockCats: APIProtocol {
    var emoji: @Sendable (_ count: Int?) -> Operations.GetEmoji.Output = { _ in .ok(.init(body: .plainText("🐱"))) }
    var clip: HTTPBody = "a clip"

    func getEmoji(_ input: Operations.GetEmoji.Input) async throws -> Operations.GetEmoji.Output {
        emoji(input.query.count)
    }

    func getClip(_ input: Operations.GetClip.Input) async throws -> Operations.GetClip.Output {
        .ok(.init(body: .binary(clip)))
    }
}
