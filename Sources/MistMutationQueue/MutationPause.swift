#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Why a queue sends nothing at present.
///
/// A pause is in the file: it lasts when the process ends, and holds for all processes.
public struct MutationPause: Hashable, Sendable {
    /// The reason of a pause. A program may have reasons of its own.
    public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the reason, which is also a dimension of metrics, so choose few.
        public let rawValue: String

        /// Makes a reason of a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The machine has no connection to the service.
        public static let offline = Reason(rawValue: "offline")
        /// No user is signed in, or the session has ended.
        public static let signedOut = Reason(rawValue: "signedOut")
        /// The program has paused the queue.
        public static let program = Reason(rawValue: "program")

        /// The name.
        public var description: String { rawValue }
    }

    /// The reason.
    public let reason: Reason
    /// The error that led to the pause, as text; `nil` where the program has paused the queue.
    public let message: String?
    /// When the pause began, by the machine's clock.
    public let since: Date
    /// When the queue goes on by itself; `nil` when it waits for ``MutationQueue/resume(_:in:)``.
    public let until: Date?
}
