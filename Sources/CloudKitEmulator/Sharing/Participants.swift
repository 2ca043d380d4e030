import CloudKitModel
import GRDB

/// What participants may do, in the words in which the service refuses (observed live for the public database).
extension RecordWriter {
    private static func denied(_ operation: String) -> EmulatorError {
        EmulatorError(.accessDenied, "\(operation) operation not permitted")
    }

    /// The live record of a row, as far as the caller sees it.
    ///
    /// - Throws: `ACCESS_DENIED` where a record was to be made that exists out of the caller's sight.
    func seen(_ row: RecordRow?, createsOtherwise: Bool) throws -> RecordRow? {
        guard let row, !row.isDeleted else { return nil }
        guard let access, try !access.sees(row.id) else { return row }
        guard !createsOtherwise else { throw Self.denied("CREATE") }
        return nil
    }

    /// Refuses changes by those who may only read. A share is changed by its owner, and by administrators.
    func checkChange(of row: RecordRow, isShare: Bool) throws {
        guard let access else { return }
        if isShare {
            let own = try row.content().participants?.first { $0.userIdentity?.userRecordName == access.user }
            guard own?.type == .administrator else { throw Self.denied("WRITE") }
            return
        }
        guard try access.permission(on: row.id) == .readWrite else { throw Self.denied("WRITE") }
    }

    /// Refuses deletions by those who may only read, and by anybody but its owner of the record that is shared. Everybody
    /// may leave a share.
    func checkDeletion(of row: RecordRow, isShare: Bool) throws {
        guard let access, !isShare else { return }
        guard
            try access.permission(on: row.id) == .readWrite,
            try ShareRow.fetch(ofRoot: row.name, zone: zone.id, db) == nil
        else { throw Self.denied("WRITE") }
    }

    /// What a participant writes must be, and stay, below what is shared with them.
    func checkHierarchy(of content: Record, as name: String, over present: RecordRow?, _ old: Record?) throws {
        guard let access else { return }
        let isMoved = content.parent?.recordName != old?.parent?.recordName
        guard present == nil || isMoved else { return }
        let denied = Self.denied(present == nil ? "CREATE" : "WRITE")
        if try ShareRow.fetch(ofRoot: name, zone: zone.id, db) != nil { throw denied }
        guard
            let share = try share(ofRecord: name, parent: content.parent?.recordName),
            access.shares[share] == .readWrite
        else { throw denied }
    }
}
