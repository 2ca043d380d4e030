import CatServiceAPI
import OpenAPISwiftRuntime

/// The operations of the service, without any HTTP: one method for each operation of the document.
struct CatHandlers: APIProtocol {
    /// Chooses a cat. Tests replace it.
    var chooseCat: @Sendable () -> Character = { "😸😹😺😻😼😽😾😿🙀🐱🐈".randomElement() ?? "🐱" }

    func getEmoji(_ input: Operations.GetEmoji.Input) async throws -> Operations.GetEmoji.Output {
        let count = input.query.count ?? 1
        guard (1...100).contains(count) else {
            return .badRequest(.init(body: .plainText(HTTPBody("There are 1 to 100 cats, not \(count)."))))
        }
        let cats = String((0..<count).map { _ in chooseCat() })
        return .ok(.init(body: .plainText(HTTPBody(cats))))
    }

    func getClip(_ input: Operations.GetClip.Input) async throws -> Operations.GetClip.Output {
        // Each frame is drawn when the connection is ready for it, so the length of the clip costs no memory.
        let clip = CatClip(seconds: 5)
        return .ok(.init(body: .binary(HTTPBody(clip, length: .known(clip.byteCount), iterationBehavior: .multiple))))
    }
}
