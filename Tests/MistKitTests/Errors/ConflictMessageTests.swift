import CloudKitEmulatorServer
import Foundation
import MistTesting
import Testing

@testable import MistKit

/// What the message of a conflict says about the user who changed the record.
@Suite(.serialized)
struct ConflictMessageTests {
    @Test(arguments: [
        (
            RecordOperation.OperationType.update, CloudKitError.ConflictingWriter.sameUser, false,
            """
            The record was changed since it was fetched, by the user of this client: on another device, or by an earlier update whose \
            result was discarded. Each update gives the record a new change tag; update(&record) takes it. Merge the change into \
            serverRecord, and send that with its change tag.
            """
        ),
        (
            .replace, .anotherUser, false,
            """
            The record was changed by another user since it was fetched. Merge the change into serverRecord, and send that with its \
            change tag.
            """
        ),
        (
            .delete, .unknown, false,
            """
            The record was changed since it was fetched: by another client, or by an earlier update whose result was discarded. Each \
            update gives the record a new change tag; update(&record) takes it. Merge the change into serverRecord, and send that with \
            its change tag.
            """
        ),
        (
            .update, .anotherUser, true,
            """
            The record was changed by another user since it was fetched. The reply to an earlier attempt of this write was lost, so \
            serverRecord may already hold it. Merge the change into serverRecord, and send that with its change tag.
            """
        ),
        (
            .create, .unknown, false,
            """
            A record of this name exists already. Update serverRecord, choose another name, or use upsert to overwrite its fields.
            """
        ),
        (
            .create, .sameUser, false,
            """
            A record of this name exists already, last written by the user of this client. Update serverRecord, choose another name, or \
            use upsert to overwrite its fields.
            """
        ),
    ])
    func theMessageSaysWhoseChangeItWas(
        operation: RecordOperation.OperationType,
        writer: CloudKitError.ConflictingWriter,
        mayHaveBeenDone: Bool,
        message: String
    ) {
        #expect(
            CloudKitError.conflictMessage(of: operation, lastWriter: writer, mayHaveBeenDone: mayHaveBeenDone)
                == message
        )
    }

    @Test func anUpdateWhoseResultWasDiscardedIsTheCallersOwnChange() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).publicDatabase
            let other = emulator.service(as: .serverKey).publicDatabase
            let stored = try await database.save(Memo(title: "A"), named: "memo")

            var memo = stored
            memo.title = "B"
            let second = memo
            let theirs = try await database.update(second)
            let own = try #require(await #expect(throws: CloudKitError.self) { try await database.update(second) })
            #expect(own.code == .conflict)
            #expect(own.message.contains("by the user of this client"))

            var foreign = theirs
            foreign.title = "C"
            let third = foreign
            try await other.create(Record.note("note", "theirs"))
            let error = try #require(
                await #expect(throws: CloudKitError.self) { try await database.create(Record.note("note", "mine")) }
            )
            #expect(error.message.hasPrefix("A record of this name exists already. Update serverRecord"))
            try await database.update(third)

            // A client that has not written yet does not know the name of its user.
            let fresh = emulator.service(as: .user).publicDatabase
            let unknown = try #require(await #expect(throws: CloudKitError.self) { try await fresh.update(second) })
            #expect(unknown.message.contains("by another client, or by an earlier update"))
        }
    }
}
