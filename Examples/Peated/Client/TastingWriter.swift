import OpenAPISwiftRuntime

/// A change to tastings, as a value: it can be written down and sent later.
public enum TastingWrite: Codable, Hashable, Sendable {
    case add(NewTasting)
    case addToast(tastingID: String)
    case removeToast(tastingID: String)
}

/// What every change to tastings goes through.
///
/// The client's own writer sends at once. One that is to work without a network stands before it: it keeps what cannot be
/// sent, returns the tasting as it will be, and hands the change on when there is a network again.
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
