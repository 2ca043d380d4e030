public import MistKit

/// What ``MistStore/verify(_:comparing:progress:)`` does about differences.
public enum VerificationMode: String, Hashable, Sendable, CaseIterable {
    /// Nothing: they are reported.
    case compare
    /// The service is right. Records that are missing here, or differ, are fetched; records that are here, were not
    /// edited, and do not exist at the service are removed. Each row that is replaced or removed is in the recovery log,
    /// whole, with the reason ``LossReason/verification``.
    case repair
    /// Like ``repair``, but no record is removed here: one that does not exist at the service is sent as a new one.
    case resync
}

/// What ``MistStore/verify(_:comparing:progress:)`` compares.
public enum VerificationDepth: String, Hashable, Sendable, CaseIterable {
    /// The names and the change tags of records. A page of the list has no fields, so that it is small.
    case versions
    /// The values as well: all fields are fetched. This also finds a value that another program changed while the
    /// triggers of its table were missing.
    case values
}

/// The result of ``MistStore/verify(_:comparing:progress:)``: whether this device has what the service has.
///
/// ```swift
/// print(try await store.verify(.repair))
/// // private, Records: 1,204 records compared, 1 difference
/// //   here   6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b
/// //   there  d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35
/// //   Todo milk: missing here; fetched
/// // Equal after the repair.
/// ```
public struct VerificationReport: Hashable, Sendable {
    /// The zones that were compared. The public database counts as one zone, if queries of it are followed.
    public var zones: [VerifiedZoneReport] = []
    /// The databases that could not be compared to the end, with the reason why they wait: offline, throttled, …
    public var unfinished: [DatabaseScope: SyncCondition?] = [:]

    /// Whether all databases and zones were compared.
    public var isComplete: Bool { unfinished.isEmpty && zones.allSatisfy { $0.failure == nil } }
    /// Whether everything was compared, and no difference was found.
    public var isEqual: Bool { isComplete && zones.allSatisfy { $0.differences.isEmpty } }
    /// Whether everything was compared, and no difference is left.
    public var isEqualNow: Bool { isComplete && zones.allSatisfy { $0.differences.allSatisfy(\.outcome.isResolved) } }
    /// The differences of all zones.
    public var differences: [VerificationDifference] { zones.flatMap(\.differences) }
}

/// The comparison of one zone with the service.
public struct VerifiedZoneReport: Hashable, Sendable {
    /// The database.
    public var scope: DatabaseScope
    /// The zone.
    public var zoneID: ZoneID
    /// The number of records that were compared.
    public var compared: Int
    /// The number of records that were not compared, because they changed again and again meanwhile, or because the
    /// service could not deliver them.
    public var skipped: Int
    /// The SHA-256 of this device's records, in hexadecimal digits: of a line for each record that was compared, in the
    /// order of their names, with the name, a tab and the change tag. Empty where the zone was not compared.
    public var digestHere: String
    /// The SHA-256 of the service's records. Two devices that were compared with the service at the same state have the
    /// same one.
    public var digestThere: String
    /// The differences, in the order of the names. Records with pending edits are not differences because of these.
    public var differences: [VerificationDifference]
    /// Why the zone could not be compared; `nil` where it was.
    public var failure: String?
}

/// A record that differs from the service.
public struct VerificationDifference: Hashable, Sendable {
    /// How a record differs.
    public enum Kind: String, Hashable, Sendable {
        /// The service has it, and this device does not.
        case missingHere
        /// This device has it as a record of the service, and the service does not. In the public database: or it
        /// matches no followed query at the service any more.
        case missingThere
        /// Both have it, with different change tags.
        case otherVersion
        /// Both have it with the same tag, and with different values.
        case otherValues
    }

    /// What was done about a difference.
    public enum Outcome: String, Hashable, Sendable {
        /// Nothing: see ``VerificationMode/compare``.
        case reported
        /// It is looked up with the next synchronisation.
        case waiting
        /// The service's version was fetched.
        case fetched
        /// The record does not exist at the service, and was removed here.
        case removed
        /// The record does not exist at the service, and is sent as a new one.
        case kept

        /// Whether the difference is gone.
        public var isResolved: Bool {
            switch self {
            case .reported, .waiting: false
            case .fetched, .removed, .kept: true
            }
        }
    }

    /// The record's type; `nil` where the service did not say it.
    public var recordType: String?
    /// The record's name.
    public var recordName: String
    /// How it differs.
    public var kind: Kind
    /// What was done about it.
    public var outcome: Outcome
}

/// How far a verification is.
public struct VerificationProgress: Hashable, Sendable {
    /// The records that the service has listed so far.
    public var listed = 0
    /// The zones that were compared, or that could not be.
    public var comparedZones = 0
    /// The zones to compare; 0 before they are known.
    public var zones = 0
}

// MARK: - Text

extension VerificationReport: CustomStringConvertible {
    /// A paragraph for each zone, and a last line with the result. It has the names of records that differ.
    public var description: String {
        let waits = unfinished.sorted { $0.key.number < $1.key.number }.map { scope, condition in
            "\(scope): not compared to the end" + (condition.map { ", because of: \($0)" } ?? "")
        }
        return (zones.map(\.description) + waits + [conclusion]).joined(separator: "\n")
    }

    private var conclusion: String {
        if isEqual { return "This device equals the service." }
        if isEqualNow { return "This device equals the service after the repair." }
        if !isComplete { return "Not everything was compared. Verify again." }
        return "This device differs from the service."
    }
}

extension VerifiedZoneReport: CustomStringConvertible {
    /// The counts, the digests where they differ, and a line for each difference.
    public var description: String {
        let name = "\(scope), \(zoneID.zoneName)"
        if let failure { return "\(name): not compared. \(failure)" }
        var counts = ["\(compared) \(compared == 1 ? "record" : "records") compared"]
        if skipped > 0 { counts.append("\(skipped) skipped") }
        counts.append(
            differences.isEmpty
                ? "no differences" : "\(differences.count) \(differences.count == 1 ? "difference" : "differences")"
        )
        let digests =
            digestHere == digestThere
            ? ["  both   \(digestHere)"] : ["  here   \(digestHere)", "  there  \(digestThere)"]
        return (["\(name): \(counts.joined(separator: ", "))"] + digests + differences.map { "  \($0)" })
            .joined(separator: "\n")
    }
}

extension VerificationDifference: CustomStringConvertible {
    /// The record, how it differs, and what was done.
    public var description: String {
        "\(recordType ?? "a record") \(recordName): \(kind)" + (outcome == .reported ? "" : "; \(outcome)")
    }
}

extension VerificationDifference.Kind: CustomStringConvertible {
    /// In words: `missing here`.
    public var description: String {
        switch self {
        case .missingHere: "missing here"
        case .missingThere: "missing at the service"
        case .otherVersion: "another version"
        case .otherValues: "other values"
        }
    }
}

extension VerificationDifference.Outcome: CustomStringConvertible {
    /// In words: `removed here`.
    public var description: String {
        switch self {
        case .reported: "reported"
        case .waiting: "waits for a lookup"
        case .fetched: "fetched"
        case .removed: "removed here"
        case .kept: "kept, and sent as a new record"
        }
    }
}

// MARK: - The tables

extension Verifications {
    /// The zones of the latest verification, as reports.
    func reports() throws -> [VerifiedZoneReport] {
        try zones().compactMap { zone in
            guard let stored = try StoredZone.fetch(zone.id, db) else { return nil }
            return VerifiedZoneReport(
                scope: scope,
                zoneID: stored.zoneID,
                compared: zone.result.compared,
                skipped: zone.result.skipped,
                digestHere: zone.result.here,
                digestThere: zone.result.there,
                differences: try differences(in: zone.id).map {
                    VerificationDifference(
                        recordType: $0.type,
                        recordName: $0.name,
                        kind: $0.kind,
                        outcome: $0.outcome
                    )
                },
                failure: zone.failure
            )
        }
    }

    /// How far the latest verification is.
    func progress() throws -> VerificationProgress {
        let zones = try zones()
        return VerificationProgress(
            listed: zones.map(\.listed).reduce(0, +),
            comparedZones: zones.count { $0.step == .compared || $0.step == .failed },
            zones: zones.count
        )
    }
}
