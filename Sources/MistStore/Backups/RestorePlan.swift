public import MistKit

/// What a restore of a backup changes, or has changed: the result of
/// ``LocalDatabase/restorePlan(from:removesOthers:encryptionKey:)`` and of
/// ``LocalDatabase/restore(from:removesOthers:encryptionKey:)``.
public struct RestorePlan: Hashable, Sendable {
    /// A record that changes.
    public struct Change: Hashable, Sendable {
        /// What happens to the record.
        public let kind: ChangeKind
        /// The record's type.
        public let recordType: String
        /// The record's name.
        public let recordName: String
        /// The zone that the record has, or had in the backup.
        public let zoneID: ZoneID
        /// The fields that get other values, in the order of the type. Of a record that is removed, none.
        public let fields: [String]
    }

    /// What happens to a record. Later versions may add kinds, so a `switch` over them has a `default`.
    public struct ChangeKind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let rawValue: String

        /// Makes the kind with a name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The record was deleted since the backup, and is created again under its name.
        public static let created = Self(rawValue: "created")
        /// Fields of the record get the values of the backup.
        public static let changed = Self(rawValue: "changed")
        /// The record is not in the backup, and is removed.
        public static let removed = Self(rawValue: "removed")

        /// The name of the kind.
        public var description: String { rawValue }
    }

    /// A value or a record of the backup that cannot be brought back. Everything else is.
    public struct Obstacle: Hashable, Sendable {
        /// The record's type.
        public let recordType: String
        /// The record's name; `nil` where it concerns all records of the type.
        public let recordName: String?
        /// The field; `nil` where it concerns the whole record.
        public let fieldName: String?
        /// Why, and what to do.
        public let reason: String
    }

    /// The records that change, in the order of the types.
    public internal(set) var changes: [Change] = []
    /// What cannot be brought back.
    public internal(set) var obstacles: [Obstacle] = []
    /// The number of records of the backup that are as they were then.
    public internal(set) var unchanged = 0

    /// The number of changes of a kind.
    public func count(of kind: ChangeKind) -> Int { changes.count { $0.kind == kind } }
}

extension RestorePlan: CustomStringConvertible {
    /// The counts in a line: `2 created, 1 changed, 0 removed, 14 unchanged, 0 not restored`.
    public var description: String {
        let kinds = [ChangeKind.created, .changed, .removed].map { "\(count(of: $0)) \($0)" }
        return (kinds + ["\(unchanged) unchanged", "\(obstacles.count) not restored"]).joined(separator: ", ")
    }
}

/// What is written of a record of a backup: a pure decision.
struct RestoredFields {
    /// The values to write. A null clears the field.
    var values: [String: FieldValue] = [:]
    /// The values that they replace, for the recovery log. A field without a value is a null.
    var replaced: [String: FieldValue?] = [:]
    /// The fields that cannot be brought back, with the reason.
    var obstacles: [(field: String, reason: String)] = []

    /// Compares a record of a backup with the present one.
    ///
    /// - Parameters:
    ///   - row: The record in the backup. Its assets have a content where the file is here or in the backup.
    ///   - table: Its table in the backup.
    ///   - present: The record as it is now; `nil` where it is gone.
    ///   - own: The table of the type now.
    init(_ row: LocalRow, of table: RecordTable, over present: LocalRow?, in own: RecordTable) {
        for field in own.fields {
            // The backup may be older than the field. A field that was renamed is written with its successor.
            guard let then = table[field.name], field.successor == nil || table[successor(of: field, in: own)] == nil
            else { continue }
            if let misfit = row.misfits[field.name] {
                refuse(field, "The backup has a value that no field of the type can have: \(misfit.reason).")
                continue
            }
            let value = row.fields[field.name]
            let current = present?.fields[field.name]
            let isMisfit = present?.misfits[field.name] != nil
            guard isMisfit || !value.isSameContent(as: current) else { continue }
            if then.type != field.type {
                refuse(field, "The field is \(then.type) in the backup, and \(field.type) now.")
            } else if value?.present?.lacksFile == true {
                refuse(field, "The backup does not have the file. Add the file to the record again.")
            } else if field.schema.merge.putsBack(value, beside: current) {
                refuse(
                    field,
                    "The field's policy, \(field.schema.merge), does not let this value replace the present one."
                )
            } else {
                values[field.name] = value ?? .null
                if let misfit = present?.misfits[field.name] {
                    replaced[field.name] = .string(misfit.value.receipt)
                } else if present != nil {
                    replaced[field.name] = .some(current)
                }
            }
        }
    }

    /// Names the fields of a record that is created again and that the program does not know. A record that exists keeps
    /// those that it has.
    mutating func addObstacles(for names: some Sequence<String>, in table: RecordTable) {
        for name in names.sorted() where table[name] == nil {
            obstacles.append(
                (name, "The program does not know the field. Restore the backup with a newer version of it.")
            )
        }
    }

    private func successor(of field: StoredField, in table: RecordTable) -> String {
        table.fields.first { $0.id == field.successor }?.name ?? ""
    }

    private mutating func refuse(_ field: StoredField, _ reason: String) {
        obstacles.append((field.name, reason))
    }
}

extension FieldValue {
    /// Whether the value is a file that is neither on this machine nor in the backup.
    fileprivate var lacksFile: Bool { assetValue.map { $0.content == nil } ?? false }
}

extension FieldValue? {
    /// Whether both values are the same, where a file counts by its content: its address changes with each reading.
    fileprivate func isSameContent(as other: FieldValue?) -> Bool {
        guard let own = self?.assetValue, let other = other?.assetValue else { return isSame(as: other) }
        if let own = own.content, let other = other.content { return own == other }
        return own.fileChecksum != nil && own.fileChecksum == other.fileChecksum && own.size == other.size
    }
}
