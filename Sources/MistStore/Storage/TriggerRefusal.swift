import GRDB

/// The refusals of the store's triggers.
///
/// A trigger ends a statement with a message that begins with the code of its refusal:
///
/// ```sql
/// SELECT RAISE(ABORT, 'mist.unknownZone: there is no such zone') WHERE …
/// ```
///
/// Programs that write with SQL see the message, and the store recognises the code. A code does not change later, since a
/// file may have the triggers of another version.
enum TriggerRefusal: String, CaseIterable {
    /// `_zone` is not the number of a zone of the file.
    case unknownZone
    /// A record of another type has the name, in the same zone.
    case nameTaken
    /// A record of the same type has the name, in another zone, and the row does not name its zone.
    case nameTakenInOtherZone
    /// A reference leads to a record in another zone.
    case linkToOtherZone
    /// Several zones have a record with the name of the parent, and the row does not name its zone.
    case parentInSeveralZones
    /// The row needs a new zone, and the database has as many as it may have.
    case tooManyZones
    /// The store needs the row of one of its own tables.
    case rowIsNeeded
    /// The row has sealed values, and would get another name.
    case sealedName

    private static let prefix = "mist."

    /// An SQL expression that ends the statement of the trigger with this refusal.
    ///
    /// - Parameter text: What is wrong, for programs that write with SQL.
    /// - Returns: The expression.
    func raise(_ text: String) -> String {
        "RAISE(ABORT, '\(Self.prefix)\(rawValue): \(text.replacing("'", with: "''"))')"
    }

    /// The refusal that an error reports; `nil` for an error of SQLite, or of another program's trigger.
    init?(_ error: DatabaseError) {
        guard error.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER, let message = error.message,
            message.hasPrefix(Self.prefix)
        else { return nil }
        self.init(rawValue: String(message.dropFirst(Self.prefix.count).prefix { $0 != ":" }))
    }

    /// The error that programs get.
    ///
    /// - Parameter message: The message of the trigger.
    /// - Returns: The error, with what to do.
    func error(_ message: String) -> StoreError {
        switch self {
        case .unknownZone:
            StoreError(
                .value,
                "The file has no zone of this number. Leave _zone out, or use a number of \(Zones.numbers)."
            )
        case .nameTaken:
            StoreError(.nameTaken, "A record of another type has this name. Record names are unique in a zone.")
        case .nameTakenInOtherZone:
            StoreError(
                .nameTaken,
                "Another zone has a record of this type with this name. Change that record, or name a zone in _zone."
            )
        case .linkToOtherZone, .parentInSeveralZones:
            StoreError(
                .link,
                """
                SQLite reported: \(message). References stay in a zone: keep the name of the record in a field of type \
                String.
                """
            )
        case .tooManyZones: .tooManyZones()
        case .sealedName:
            StoreError(
                .value,
                """
                Sealed values belong to the name of their record. Add a record of the new name with the values, and remove \
                this one.
                """
            )
        case .rowIsNeeded:
            StoreError(
                .value,
                """
                SQLite reported: \(message). The row belongs to the store: without it, changes would not be recorded. \
                Nothing was deleted.
                """
            )
        }
    }
}
