import CloudKitModel
import GRDB
public import MistKit

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Values of this device that lost, with the reason: an entry of ``LocalDatabase/recoveryLog(limit:)``.
public struct RecoveredValues: Hashable, Sendable, Identifiable {
    /// The number of the entry; larger ones are later.
    public let id: Int64
    /// When the values lost, by this machine's clock.
    public let time: Date
    /// The record's type.
    public let recordType: String
    /// The record's name.
    public let recordName: String
    /// The record's zone.
    public let zoneID: ZoneID
    /// The reason why the values lost.
    public let reason: LossReason
    /// The values. A field that was cleared is a null, and ``LocalDatabase/restore(_:)`` clears it again.
    ///
    /// After a later edit (``LossReason/laterEdit``) these are the values that lost. After a delete, a new record of
    /// the name or the end of the zone these are all values of the record, since the record is gone. A value that no
    /// field of the type can have, which another program wrote, is a text.
    public let fields: CloudKitModel.Record.Fields
}

/// The reason why values are in the recovery log.
///
/// Later versions may add reasons, so a `switch` over them has a `default`. A reason that a later version wrote into
/// the file is kept as it is.
public struct LossReason: RawRepresentable, Hashable, Sendable {
    /// The name of the reason, as the file has it.
    public let rawValue: String

    /// Makes the reason with a name, known to this version or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A later edit of the same field won.
    public static let laterEdit = Self(rawValue: "laterEdit")

    /// The record was deleted on another device.
    public static let deleted = Self(rawValue: "deleted")

    /// The record was deleted, and another record with the same name was created.
    public static let replaced = Self(rawValue: "replaced")

    /// The parent of the record was deleted, or a record that it refers to with the action `deleteSelf`.
    public static let deletedWithTarget = Self(rawValue: "deletedWithTarget")

    /// The zone was deleted.
    public static let zoneDeleted = Self(rawValue: "zoneDeleted")

    /// The value of a counter, of which the store cannot tell whether the service's value contains it: the reply to the
    /// request was lost, and then another copy of the file has counted, or many other devices. It was not added again.
    public static let unclearCount = Self(rawValue: "unclearCount")

    /// A restore of a backup replaced the values, or removed the record:
    /// ``LocalDatabase/restore(from:removesOthers:encryptionKey:)``.
    public static let restored = Self(rawValue: "restored")

    /// The policy of the field put another value back: a field that is the greatest value was lowered, or elements were
    /// removed from a list that only grows.
    public static let policy = Self(rawValue: "policy")

    /// Two devices moved each of two records below the other. The later move was undone: the parent that the record was
    /// moved below.
    public static let moveUndone = Self(rawValue: "moveUndone")

    /// A record that the record refers to with the action `deleteSelf` was moved to another zone: the reference. It was
    /// cleared, because with it the service would delete the record together with the old one.
    public static let targetMoved = Self(rawValue: "targetMoved")

    /// A verification found that the service has other values, or does not have the record or one above it: the whole
    /// row, as it was before the repair. See ``MistStore/verify(_:comparing:progress:)``.
    public static let verification = Self(rawValue: "verification")
}

extension LossReason: CustomStringConvertible {
    /// The name of the reason.
    public var description: String { rawValue }
}

extension LocalDatabase {
    /// The values of this device that lost to another edit, a delete or a deleted zone, the latest first.
    ///
    /// Entries are kept for ``StoreConfiguration/recoveryDays`` days, and up to ``StoreConfiguration/recoveryBytes``
    /// bytes in each file.
    ///
    /// - Parameter limit: The most entries.
    /// - Returns: The entries.
    /// - Throws: A ``StoreError`` when the file fails.
    public func recoveryLog(limit: Int = 100) async throws -> [RecoveredValues] {
        try await read { reader in
            try RecoveryEntries(scope: scope, db: reader.db, sealer: file.sealer).latest(limit)
        }
    }

    /// Writes the values of an entry back, as a new edit. A record that was deleted is created again, with all values
    /// that it had.
    ///
    /// Values that no field of the type can have are left out: ``RecoveredValues/fields`` has them as text.
    ///
    /// - Parameter entry: The entry. It stays in the log.
    /// - Throws: A ``StoreError``: `unknownRecordType` when the store was opened without the type; also for values that
    ///   cannot be stored any more.
    public func restore(_ entry: RecoveredValues) async throws {
        try await write { writer in
            let table = try file.table(of: entry.recordType)
            var fields = Dictionary(entry.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
            for (name, value) in fields where value.type == .string && table[name].map({ $0.type != .string }) == true {
                fields[name] = nil
            }
            _ = try save(fields, named: entry.recordName, in: entry.zoneID, table, writer.db)
        }
    }
}
