import GRDB
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `mist_queue.id`
struct QueueRowID: TypedNumber {
    let rawValue: Int64
}

/// `mist_mutation.number`: later mutations have larger numbers.
package struct MutationNumber: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A mutation, as the file has it.
struct MutationRow: Hashable, Sendable {
    let number: MutationNumber
    let queue: QueueRowID
    let id: MutationID
    let entity: String
    let version: Int
    let json: String
    let created: MachineTime
    let isReady: Bool
    /// The lease in whose epoch it is being sent.
    let epoch: Int64?
    let progress: MutationProgress
}

extension MutationState {
    /// The number of the state in the file.
    var number: Int64 {
        switch self {
        case .waiting: 0
        case .sending: 1
        case .failed: 2
        case .unreadable: 3
        }
    }

    init?(number: Int64) {
        guard let state = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = state
    }
}

extension MachineTime {
    init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        // A date that 64 bits of milliseconds do not have is not a time of a clock.
        self.init(rawValue: Int64(exactly: milliseconds) ?? 0)
    }

    var date: Date { Date(timeIntervalSince1970: Double(rawValue) / 1000) }
}
