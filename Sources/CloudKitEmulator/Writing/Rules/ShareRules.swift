import CloudKitModel
import CloudKitRuleIDs

/// The facts for the rules about a new share.
struct ShareFacts {
    /// The name of the share's own record.
    let name: String
    let zone: ZoneRow
    /// The version of the record that is shared; `nil` for the share of a whole zone.
    let version: RecordVersion?
    /// The record that is shared.
    let root: RecordRow?
    /// The change tag that the root had before this batch wrote it. A client that saves the root in the same request
    /// knows only this tag.
    let tagBeforeBatch: String?
    let isWrittenByBatch: Bool
    /// Whether anything of the zone is shared already.
    let isZoneShared: Bool
    /// The reason why the root cannot be shared.
    let obstacle: Obstacle?
    let scope: DatabaseScope
    let configuration: EmulatorConfiguration

    /// Another share. A record is in one share at most (native framework).
    enum Obstacle {
        case shareOfRoot
        case shareAbove
        case shareBelow(name: String)
    }
}

/// The rules about a new share. ``ShareTerms`` decides about its participants.
enum ShareRules {
    static let all: [WriteRule<ShareFacts>] = [
        WriteRule("a participant creates no shares", tests: "ShareTests") {
            $0.scope == .shared ? .denied("CREATE") : nil
        },
        // As in the native framework.
        WriteRule("shares are in custom zones of private databases", tests: "ShareTests") {
            guard $0.scope != .private || $0.zone.isDefault else { return nil }
            return .badRequest("Cannot share - records of zone '\($0.zone.name)' cannot be shared")
        },
        WriteRule(.shareOfMissingRecord) {
            if $0.version == nil ? $0.name == Record.zoneShareName : $0.root != nil { return nil }
            return .shareOfMissingRecord($0.configuration)
        },
        WriteRule("a zone is shared once", tests: "ShareTests") {
            guard $0.version == nil, $0.isZoneShared else { return nil }
            return EmulatorError(.exists, "zone '\($0.zone.name)' is shared already")
        },
        WriteRule(.shareOfOldVersion) {
            guard let version = $0.version, let root = $0.root else { return nil }
            guard let tag = version.recordChangeTag else {
                return $0.isWrittenByBatch ? nil : .badRequest("forRecord needs the recordChangeTag of the record")
            }
            return tag == root.changeTag || tag == $0.tagBeforeBatch ? nil : .staleChangeTag
        },
        WriteRule("a record is in one share at most", tests: "ShareTests") {
            guard let root = $0.root else { return nil }
            switch $0.obstacle {
            case nil: return nil
            case .shareOfRoot: return EmulatorError(.exists, "record '\(root.name)' is shared already")
            case .shareAbove: return .badRequest("Cannot share - record '\(root.name)' is part of another share")
            case .shareBelow(let name): return .badRequest("Cannot share - record '\(name)' below is shared already")
            }
        },
    ]
}
