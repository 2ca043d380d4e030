import Foundation
import MistMutationQueue
import Peated

/// A change that waits for the service.
public enum PeatedMutation: Codable, Hashable, Sendable {
    /// Uploads the picture with this SHA-256.
    case upload(digest: String)
    /// Adds a tasting, which has this identifier until the service chooses one.
    case taste(ProvisionalID, TastingContent)
    /// Toasts to a tasting, or takes the toast back.
    case toast(ProvisionalID, isOn: Bool)

    /// What the user wrote about a bottle.
    public struct TastingContent: Codable, Hashable, Sendable {
        /// The bottle.
        public var bottle: String
        /// From 0 to 5.
        public var rating: Double?
        /// What the user found in the glass.
        public var notes: String?
        /// When.
        public var createdAt: Date
        /// The picture: its SHA-256, and the service's identifier as soon as the service has it.
        public var picture: ProvisionalID?
    }

    /// What the queue keeps in order.
    var entity: String {
        switch self {
        case .upload(let digest): "picture \(digest)"
        case .taste(let id, _), .toast(let id, _): id.rawValue
        }
    }

    /// A toast and its removal annihilate each other; a choice that is made twice is sent once.
    static func join(_ earlier: PeatedMutation, _ later: PeatedMutation) -> MutationJoin<PeatedMutation> {
        guard case .toast(let first, let wasOn) = earlier, case .toast(let second, let isOn) = later, first == second
        else { return .separate }
        return wasOn == isOn ? .replaced(by: later) : .annihilated
    }
}

/// The picture of a tasting is not on this machine any more.
struct MissingPicture: Error {}

extension MutationDecision {
    /// How long the queue waits for a connection before it tries again by itself.
    static let offlinePause = Duration.seconds(15)

    /// What the queue does after an error of the client.
    static func after(_ error: any Error) -> MutationDecision {
        guard let error = error as? PeatedError else {
            return error is MissingPicture
                ? .refused("The picture is not on this machine any more.") : .again("\(error)")
        }
        let sentence = error.sentence
        return switch error {
        case .unauthorized: .wait(.signedOut, sentence)
        case .validation: .refused(sentence)
        // 408 and 429 are about the moment, and 5xx about the service.
        case .server(let status, _, let retryAfter) where status >= 500 || [408, 429].contains(status):
            .again(after: retryAfter, sentence)
        case .server: .refused(sentence)
        case .network(let error) where error.code == .connectionFailed:
            .wait(.offline, for: offlinePause, sentence)
        case .network, .decoding, .local, .cancelled: .again(sentence)
        }
    }
}
