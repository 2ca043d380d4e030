import OpenAPISwiftRuntime

/// A change to tastings, as a value that can be stored and sent later.
public enum TastingWrite: Codable, Hashable, Sendable {
    case add(NewTasting)
    case addToast(tastingID: String)
    case removeToast(tastingID: String)
}

/// Makes all changes to tastings.
///
/// The client's own writer sends each change at once. An app that works without a network wraps it in another writer,
/// which stores changes that cannot be sent, returns the tasting as it will be, and passes the changes on when there is
/// a network again.
public protocol TastingWriter: Sendable {
    /// Makes a change.
    /// - Returns: The tasting after the change.
    func write(_ write: TastingWrite) async throws(PeatedError) -> Tasting
}

/// Sends each change at once.
struct DirectTastingWriter: TastingWriter {
    let api: Client

    func write(_ write: TastingWrite) async throws(PeatedError) -> Tasting {
        try await PeatedError.wrap {
            switch write {
            case .add(let tasting): try await api.addTasting(body: .json(tasting)).created.body.json
            case .addToast(let id): try await api.addToast(path: .init(tastingId: id)).ok.body.json
            case .removeToast(let id): try await api.removeToast(path: .init(tastingId: id)).ok.body.json
            }
        }
    }
}
