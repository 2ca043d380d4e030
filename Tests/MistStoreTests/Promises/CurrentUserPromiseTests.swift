import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import MistKit
import MistModels
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// The record of the present user, over HTTP: of the type `Users` in the public database, with the program's fields.
@Suite(.timeLimit(.minutes(10)))
struct CurrentUserPromiseTests {
    @CloudKitRecord("Users")
    struct Person {
        var nickname: String?
        var city: String?
    }

    private func open(_ name: String, in folder: URL, _ service: CloudKitService) throws -> MistStore {
        try MistStore(at: folder.appending(path: name), records: [Book.self, Person.self], service: service)
    }

    @Test("28. A user's record comes with the first synchronisation, and its changes go to the user's other devices")
    func recordOfTheUser() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let phone = try open("phone", in: folder, emulator.service(as: .user))
                let laptop = try open("laptop", in: folder, emulator.service(as: .user))
                #expect(try await phone.currentUser(Person.self) == nil)
                try await phone.sync()
                let me = try #require(try await phone.currentUser(Person.self))
                #expect(me.recordName == emulator.userRecordName)
                #expect(me.nickname == nil)
                try await phone.publicDatabase.update(Person.self, named: me.recordName) { $0.nickname = "Mei" }
                #expect(try await phone.sync().sent == 1)
                try await laptop.sync()
                #expect(try await laptop.currentUser(Person.self)?.nickname == "Mei")

                // Both change other fields at once, and both changes stay.
                try await laptop.publicDatabase.update(Person.self, named: me.recordName) { $0.city = "Oslo" }
                try await phone.publicDatabase.update(Person.self, named: me.recordName) { $0.nickname = "M." }
                for store in [laptop, phone, laptop] { try await store.sync() }
                for store in [laptop, phone] {
                    let record = try #require(try await store.currentUser(Person.self))
                    #expect([record.nickname, record.city] == ["M.", "Oslo"])
                }
                for store in [laptop, phone] { try store.close() }
            }
        }
    }

    @Test("28, 29. Each user has a record of their own, and no one has none")
    func recordsOfSeveralUsers() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
                let session = UserSession(emulator)
                let store = try open("phone", in: folder, session.service)
                func signIn(_ user: String) async throws { try await session.signIn(user, to: store) }
                var names = store.currentUserUpdates(of: Person.self).makeAsyncIterator()
                let first = try await names.next()
                #expect(first.map { $0 == nil } == true)
                // No one is signed in: the rest of the public database is read without the record.
                #expect(try await store.sync().scopes[.public]?.condition == nil)

                try await signIn(emulator.userRecordName)
                try await store.sync()
                var shown = try await names.next()
                while shown??.recordName != emulator.userRecordName { shown = try await names.next() }
                let mei = emulator.userRecordName
                try await store.publicDatabase.update(Person.self, named: mei) { $0.nickname = "Mei" }
                try await store.sync()

                try await signIn(ben)
                #expect(try await store.currentUser(Person.self) == nil)
                try await store.sync()
                #expect(try await store.currentUser(Person.self)?.recordName == ben)
                #expect(try await store.currentUser(Person.self)?.nickname == nil)
                while shown??.recordName != ben {
                    shown = try await names.next()
                    #expect(shown != nil)
                }
                try await session.signOut(of: store)
                #expect(try await store.currentUser(Person.self) == nil)
                while case .some(.some) = shown { shown = try await names.next() }
                try await signIn(emulator.userRecordName)
                #expect(try await store.currentUser(Person.self)?.nickname == "Mei")
                try store.close()
            }
        }
    }

    @Test("28. The service makes and keeps the records of users: adding, removing and following them is refused")
    func recordsAreTheServices() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let store = try open("phone", in: folder, emulator.service(as: .user))
                try await store.sync()
                for database in [store.publicDatabase, store.privateDatabase] {
                    let error = await #expect(throws: StoreError.self) {
                        try await database.add(Person(nickname: "Ben"), named: "ben")
                    }
                    #expect(error?.code == .userRecord)
                    #expect(error?.recordName == "ben")
                }
                let removal = await #expect(throws: StoreError.self) {
                    try await store.publicDatabase.remove(Person.self, named: emulator.userRecordName)
                }
                #expect(removal?.code == .userRecord)
                let query = await #expect(throws: StoreError.self) {
                    try await store.publicDatabase.follow(Query<Person>())
                }
                #expect(query?.code == .query)
                #expect(try await store.publicDatabase.status().isSynchronised)
                // A synchronisation asks for the record once.
                emulator.faults.forgetRequests()
                try await store.sync()
                #expect(emulator.faults.requests.filter { $0.hasSuffix("records/lookup") }.count == 1)
                try store.close()
            }
        }
    }
}
