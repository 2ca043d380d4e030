import Crypto
import Foundation
import HTTPTypes
import Peated

extension PeatedStub {
    /// Makes a change once for each key. What is refused is not kept: it may be accepted later.
    func once(_ key: String?, by caller: Caller, _ change: () throws -> Tasting) throws -> Tasting {
        let name = key.map { "\(caller.id) \($0)" }
        if let name, let answer = state.answers[name] { return answer }
        let answer = try change()
        if let name { state.answers[name] = answer }
        try save()
        return answer
    }

    func insert(_ new: NewTasting, by caller: Caller) throws -> Tasting {
        var problems: [String: [String]] = [:]
        if let rating = new.rating, !(0...5).contains(rating) { problems["rating"] = ["is not from 0 to 5"] }
        let bottle = state.bottles.first { $0.id == new.bottleId }
        if bottle == nil { problems["bottleId"] = ["is not a bottle of the service"] }
        if let image = new.imageId, state.images[image] == nil { problems["imageId"] = ["is not a picture"] }
        guard problems.isEmpty, let bottle else {
            throw Refusal(.unprocessableContent, "The tasting is not valid.", fields: problems)
        }
        var tasting = Tasting(
            id: makeID(),
            bottle: bottle,
            author: try user(caller.id),
            notes: new.notes,
            rating: new.rating,
            tags: new.tags ?? [],
            toasts: 0,
            hasToasted: false,
            createdAt: new.createdAt ?? Date()
        )
        if let image = new.imageId { tasting.setImage(image) }
        state.tastings.append(StubState.StoredTasting(tasting: tasting))
        return tasting
    }

    func upload(_ digest: String, of caller: Caller) -> Components.Schemas.Upload {
        let upload = state.uploads["\(caller.id) \(digest)"]
        return .init(received: Int64(upload?.bytes.count ?? 0), imageId: upload?.imageID)
    }

    func receive(_ piece: Data, _ digest: String, at offset: Int64, of size: Int64, by caller: Caller) throws {
        let name = "\(caller.id) \(digest)"
        var upload = state.uploads[name] ?? StubState.StoredUpload()
        guard upload.imageID == nil else { return }
        guard (1...Int64(StubState.largestImage)).contains(size) else {
            throw Refusal(
                .unprocessableContent,
                "The picture is not valid.",
                fields: ["size": ["is not from 1 to \(StubState.largestImage) bytes"]]
            )
        }
        let received = Int64(upload.bytes.count)
        guard (0...received).contains(offset) else {
            throw Refusal(.unprocessableContent, "Bytes are missing.", fields: ["offset": ["is above \(received)"]])
        }
        upload.bytes += piece.dropFirst(Int(received - offset)).prefix(Int(max(size - received, 0)))
        if upload.bytes.count == size {
            let actual = SHA256.hash(data: upload.bytes).map { String(format: "%02x", $0) }.joined()
            guard actual == digest else {
                state.uploads[name] = nil
                try save()
                throw Refusal(
                    .unprocessableContent,
                    "The picture is not valid.",
                    fields: ["digest": ["is not the SHA-256 of the bytes"]]
                )
            }
            let id = makeID()
            upload.imageID = id
            state.images[id] = upload.bytes
        }
        state.uploads[name] = upload
        try save()
    }
}
