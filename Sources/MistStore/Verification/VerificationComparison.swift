import Crypto
import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Compares a record of this device with the list of the service.
///
/// The list and the tables are of the same state of the service: the zone was read to its end, and the list has not
/// changed from before that to after it, except for the records that are marked as moving.
enum VerificationComparison {
    /// A record that the service has listed.
    struct Listed: Hashable {
        var type: String?
        /// The tag; `nil` where the service listed an error in place of the record.
        var tag: String?
        var modified: ServiceTime?
        /// Whether it has changed since the tables were brought up to date.
        var isMoving = false
        var isDeleted = false
        /// Whether the row here had this tag, and other values.
        var hasOtherValues = false
    }

    /// A record of this device.
    struct Kept: Hashable {
        var type: String?
        /// The tag of the service's version; `nil` where the record was never acknowledged.
        var tag: String?
        var modified: ServiceTime?
        /// Whether it is a new record that was not acknowledged yet.
        var isNew = false
        /// Whether it is among the records that were listed, if it exists: in the public database it matches a followed
        /// query.
        var isExpected = true
    }

    /// What waits for a name: a delete that was not acknowledged, a refused change, or a lookup.
    struct Waiting: Hashable {
        /// Whether the record was deleted or moved to another zone.
        var isDeletedHere = false
        var isParked = false
        var isUndelivered = false
    }

    enum Finding: Hashable {
        case equal
        /// Changes of this device wait, or there is nothing to compare.
        case pending
        /// It cannot be told now.
        case skipped
        case different(VerificationDifference.Kind)
    }

    /// Compares one record: a pure decision.
    ///
    /// - Parameters:
    ///   - here: The record of this device; `nil` where it has none.
    ///   - there: The record of the service; `nil` where it was not listed.
    ///   - waiting: What waits for the name.
    ///   - since: When the list of a database without a feed was begun. Records with later versions are skipped. `nil`
    ///     for a feed.
    /// - Returns: The finding.
    static func compare(_ here: Kept?, _ there: Listed?, _ waiting: Waiting, since: ServiceTime? = nil) -> Finding {
        if waiting.isDeletedHere || waiting.isParked { return .pending }
        if waiting.isUndelivered || there?.isMoving == true { return .skipped }
        if let there, there.tag == nil, !there.isDeleted { return .skipped }
        if let since, let modified = here?.modified, modified >= since { return .skipped }
        let listed = there.flatMap { $0.isDeleted ? nil : $0 }
        switch (here, listed) {
        case (nil, nil): return .pending
        case (nil, _?): return .different(.missingHere)
        case (let here?, nil):
            return here.isNew || !here.isExpected ? .pending : .different(.missingThere)
        case (let here?, let there?):
            if here.isNew { return .pending }
            guard here.tag == there.tag else {
                // A list without a token may be older than the row.
                if since != nil, let own = here.modified, let listed = there.modified, own > listed { return .skipped }
                return .different(.otherVersion)
            }
            return there.hasOtherValues ? .different(.otherValues) : .equal
        }
    }
}

/// The SHA-256 of names and tags, in the order of the names.
struct VersionDigest {
    private var hash = SHA256()

    mutating func add(_ name: String, _ tag: String?) {
        hash.update(data: Data("\(name)\t\(tag ?? "")\n".utf8))
    }

    /// The digest in hexadecimal digits.
    var text: String { hash.finalize().hexadecimal }
}
