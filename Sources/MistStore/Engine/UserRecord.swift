import CloudKitSchema
import GRDB
import MistKit
import SQLiteTables

/// Fetches the record of the user from the public database, where the program has the type `Users`.
///
/// The service makes a record for each user, named by the user record name, and takes its fields from that user only. It
/// answers no query about users, so the record comes by its name.
struct UserRecord: EngineProcedure {
    let transaction: EngineTransaction

    /// Marks the record of the user for a lookup. The store's own loop asks for it as rarely as for deletes.
    func beginLookup(by asker: SyncEngine.Asker) throws {
        guard let table = file.tables[ContainerSchema.userType], let home = file.homeZones[.public],
            let user = try fileState.signedInUser
        else { return }
        let isKnown = try knownVersions.isAcknowledged(user, in: home)
        guard asker == .program || !isKnown || isDue else { return }
        transaction.userCheck.recordAsked = now
        try knownVersions.markForLookup(user, in: home, of: table.id)
    }

    private var isDue: Bool {
        guard let asked = transaction.userCheck.recordAsked else { return true }
        return now - asked >= configuration.sweepInterval || now < asked
    }
}

extension SyncEngine {
    /// Whether the scope has the records of users.
    var keepsUsers: Bool { scope == .public && file.tables[ContainerSchema.userType] != nil }

    /// The user whose records the file has.
    var owner: String? { get throws { try read { db in try FileState(db).owner } } }

    /// The owner of the private records, if the service has said that this user is signed in.
    var confirmedUser: String? {
        get throws {
            guard scope == .private, case .passed = userCheck.state else { return nil }
            return try owner
        }
    }

    /// Notes the user who is signed in, in the file of the public database.
    func note(user: String) throws {
        try file.wrapping {
            try file.database.write { db in
                let state = FileState(db)
                if try state.signedInUser != user { try state.passOn(to: user) }
            }
        }
    }
}

extension [SyncEngine] {
    /// The engines in the order in which they run: where the public database has the record of the user, it comes after
    /// the private one, which finds out who that is.
    var inOrderOfUsers: [SyncEngine] {
        contains(where: \.keepsUsers) ? filter { $0.scope != .public } + filter { $0.scope == .public } : self
    }
}

extension RecordTable {
    /// Refuses to make a record of a user.
    func checkMaking(of name: String) throws {
        guard holdsUsers else { return }
        throw StoreError(
            .userRecord,
            """
            The service makes the records of users, one for each. Nothing was changed. Synchronise, and change the record of the present \
            user: store.currentUser(_:).
            """,
            recordType: recordType,
            recordName: name
        )
    }

    /// Refuses to remove a record of a user.
    func checkRemoval(of name: String) throws {
        guard holdsUsers else { return }
        throw StoreError(
            .userRecord,
            "The service keeps the records of users. Nothing was removed. To clear the record, set its fields to nil.",
            recordType: recordType,
            recordName: name
        )
    }
}
