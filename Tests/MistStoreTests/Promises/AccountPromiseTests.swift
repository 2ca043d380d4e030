import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import GRDB
import MistKit
import MistTesting
import Synchronization
import TestSupport
import Testing

@testable import MistStore

/// Promises 28 and 29 over HTTP: several people, one after the other, on one folder.
@Suite(.timeLimit(.minutes(10)))
struct AccountPromiseTests {
    /// A device whose user changes: a store with the credentials of its service.
    private struct Device {
        let session: UserSession
        let folder: URL

        init(_ name: String, in folder: URL, _ emulator: RunningEmulator) {
            session = UserSession(emulator)
            self.folder = folder.appending(path: name)
        }

        func open() throws -> MistStore {
            try MistStore(at: folder, records: [Shelf.self, Book.self], service: session.service)
        }
    }

    private func titles(_ store: MistStore) async throws -> [String] {
        try await store.privateDatabase.find(Query<Book>()).compactMap(\.title)
    }

    private func withUsers(
        _ body: (_ emulator: RunningEmulator, _ folder: URL, _ mei: String, _ ben: String) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
                try await body(emulator, folder, emulator.userRecordName, ben)
            }
        }
    }

    @Test("28, 29, H1. Two users take turns on two devices: each has their own records and pending changes")
    func usersTakeTurns() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            var store = try phone.open()
            #expect(try await store.account == StoreAccount(owner: nil, session: .unknown))
            // Made before anyone signed in: it belongs to the first user who does.
            try await store.privateDatabase.add(Book(title: "early"), named: "e")
            #expect(try await store.sync().scopes[.private]?.condition == .signedOut)
            #expect(try await phone.session.signIn(mei, to: store) == StoreAccount(owner: mei, session: .owner))
            #expect(try await store.sync().sent == 1)
            try await store.privateDatabase.add(Book(title: "Mei's"), named: "m")

            #expect(try await phone.session.signIn(ben, to: store) == StoreAccount(owner: ben, session: .owner))
            #expect(try await titles(store) == [])
            try await store.privateDatabase.add(Book(title: "Ben's"), named: "b")
            #expect(try await store.sync().sent == 1)
            #expect(try emulator.contents(of: .private) == "Records\n  Book e: loans=0 tags=[] title=early")
            try await store.privateDatabase.add(Book(title: "Ben's second"), named: "c")
            try store.close()

            store = try phone.open()
            #expect(try await store.account.owner == ben)
            #expect(try await titles(store) == ["Ben's", "Ben's second"])
            try await phone.session.signOut(of: store)
            #expect(try await store.account == StoreAccount(owner: nil, session: .signedOut(signInPage: nil)))
            #expect(try await titles(store) == [])
            #expect(try await store.sync().scopes[.private]?.condition == .signedOut)

            try await phone.session.signIn(mei, to: store)
            #expect(try await titles(store) == ["early", "Mei's"])
            emulator.faults.forgetRequests()
            #expect(try await store.sync().sent == 1)
            // The tokens are those of before: the zone is not read from its start.
            #expect(try await store.privateDatabase.status().isSynchronised)
            try await phone.session.signIn(ben, to: store)
            #expect(try await store.sync().sent == 1)
            try store.close()

            #expect(
                try emulator.contents(of: .private)
                    == "Records\n  Book e: loans=0 tags=[] title=early\n  Book m: loans=0 tags=[] title=Mei's"
            )
            #expect(
                try emulator.contents(of: .private, ofUser: ben)
                    == "Records\n  Book b: loans=0 tags=[] title=Ben's\n  Book c: loans=0 tags=[] title=Ben's second"
            )
            // On a second device, Ben is the first user.
            let laptop = Device("laptop", in: folder, emulator)
            let second = try laptop.open()
            try await laptop.session.signIn(ben, to: second)
            try await second.sync()
            #expect(try await titles(second) == ["Ben's", "Ben's second"])
            try second.close()
        }
    }

    @Test(
        "29, H2. Records made after a sign-out are added to those of the user who signs in, or stay: a setting",
        arguments: [true, false]
    )
    func recordsMadeSignedOut(joins: Bool) async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            var configuration = StoreConfiguration()
            configuration.joinsRecordsMadeSignedOut = joins
            let store = try MistStore(
                at: phone.folder,
                records: [Shelf.self, Book.self],
                service: phone.session.service,
                configuration: configuration
            )
            try await store.privateDatabase.add(Book(title: "before"), named: "b")
            try await phone.session.signIn(mei, to: store)
            try await store.privateDatabase.add(Book(title: "known"), named: "k")
            try await store.sync()
            try await phone.session.signOut(of: store)
            #expect(try await titles(store) == (joins ? [] : ["before"]))
            let shelf = try await store.privateDatabase.add(Shelf(name: "S"), named: "s")
            try await store.privateDatabase.add(Book(shelf: shelf.reference(), title: "out"), named: "o")
            try await store.privateDatabase.add(Book(title: "other"), named: "k")
            try await phone.session.signIn(mei, to: store)
            #expect(try await titles(store) == (joins ? ["before", "known", "out"] : ["known"]))
            #expect(try await store.sync().sent == (joins ? 2 : 0))
            // They belong to one user: no further one gets them.
            try await phone.session.signIn(ben, to: store)
            #expect(try await titles(store) == [])
            try await phone.session.signOut(of: store)
            #expect(try await titles(store) == (joins ? [] : ["before", "other", "out"]))
            #expect(try emulator.contents(of: .private, ofUser: ben) == "")
            try store.close()
        }
    }

    @Test("3, 29. Records made signed out go to one user, wherever a crash ends the sign-in", arguments: [false, true])
    func recordsMadeSignedOutHaveOneUser(isFirstFileFree: Bool) async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            // The folder as it is after each commit of the sign-in.
            let moments = Mutex<Int?>(nil)
            var configuration = StoreConfiguration()
            configuration.onCommit { moment in
                moments.withLock { number in
                    guard let present = number, moment == .after else { return }
                    let copy = folder.appending(path: "moment\(present)")
                    do { try FileManager.default.copyItem(at: phone.folder, to: copy) } catch { return }
                    number = present + 1
                }
            }
            let store = try MistStore(
                at: phone.folder,
                records: [Shelf.self, Book.self],
                service: phone.session.service,
                configuration: configuration
            )
            try await phone.session.signIn(mei, to: store)
            if isFirstFileFree {
                // A crash in a sign-out has left a file of no one without records.
                let files = try StoreFolder(phone.folder, of: [Shelf.self, Book.self], StoreConfiguration())
                try files.open(.signedOut, isExpected: false).close(because: .storeIsClosed)
                try await phone.session.signOut(of: store, .removed(PendingChanges()))
            } else {
                try await phone.session.signIn(ben, to: store)
                try await phone.session.signOut(of: store)
            }
            try await store.privateDatabase.add(Book(title: "out"), named: "o")
            moments.withLock { $0 = 0 }
            try await phone.session.signIn(mei, to: store)
            let count = moments.withLock { number in
                defer { number = nil }
                return number ?? 0
            }
            try store.close()
            var isOfMei: [Bool] = []
            for number in 0..<count {
                let phone = Device("moment\(number)", in: folder, emulator)
                let isJoining = try StoreFile.read(atPath: phone.folder.appending(path: "public.sqlite").path) { db in
                    try PendingJoins(db: db).row() != nil
                }
                let store = try phone.open()
                try await phone.session.signIn(ben, to: store)
                let ofBen = try await titles(store)
                if isJoining { #expect(ofBen.isEmpty, "Ben has records that were joining Mei's.") }
                try await phone.session.signIn(mei, to: store)
                let ofMei = try await titles(store)
                #expect(ofBen + ofMei == ["out"], "Ben has \(ofBen) and Mei has \(ofMei) after commit \(number).")
                isOfMei.append(ofBen.isEmpty)
                try store.close()
            }
            // From the first commit that names Mei on, they are Mei's.
            #expect(isOfMei.contains(true))
            #expect(isOfMei == isOfMei.sorted { !$0 && $1 })
        }
    }

    @Test("28, 29. After a removal, the records of no one are the same for the next sign-out, too")
    func recordsOfNoOneAfterARemoval() async throws {
        try await withUsers { emulator, folder, mei, _ in
            let phone = Device("phone", in: folder, emulator)
            let store = try phone.open()
            try await phone.session.signIn(mei, to: store)
            // A crash in a sign-out has left a file of no one without records.
            let files = try StoreFolder(phone.folder, of: [Shelf.self, Book.self], StoreConfiguration())
            try files.open(.signedOut, isExpected: false).close(because: .storeIsClosed)
            try await phone.session.signOut(of: store, .removed(PendingChanges()))
            try await store.privateDatabase.add(Book(title: "out"), named: "o")
            try await phone.session.signOut(of: store)
            #expect(try await titles(store) == ["out"])
            try await phone.session.signIn(mei, to: store)
            #expect(try await titles(store) == ["out"])
            try store.close()
        }
    }

    @Test(
        "28, P4. A token that was replaced behind the store's back is an error, and one call opens that user's records"
    )
    func replacedTokens() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            let store = try phone.open()
            try await phone.session.signIn(mei, to: store)
            try await store.privateDatabase.add(Book(title: "Mei's"), named: "m")
            try await phone.session.begin(ben)
            let error = await #expect(throws: StoreError.self) { try await store.sync() }
            #expect(error?.code == .otherUser)
            #expect(try await store.account == StoreAccount(owner: mei, session: .otherUser(ben)))
            #expect(try await store.openSignedInUser() == StoreAccount(owner: ben, session: .owner))
            try await store.sync()
            #expect(try await titles(store) == [])
            #expect(try emulator.contents(of: .private, ofUser: ben) == "")
            try await phone.session.signIn(mei, to: store)
            #expect(try await store.sync().sent == 1)
            try store.close()
        }
    }

    @Test("28. A database value stays with its user: after a switch, calls and observations throw accountChanged")
    func valuesStayWithTheirUser() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            let store = try phone.open()
            try await phone.session.signIn(mei, to: store)
            let ofMei = store.privateDatabase
            try await ofMei.add(Book(title: "Mei's"), named: "m")
            var updates = ofMei.recordUpdates(of: Query<Book>()).makeAsyncIterator()
            #expect(try await updates.next(isolation: nil)?.count == 1)
            var accounts = store.accountUpdates.makeAsyncIterator()
            #expect(try await accounts.next(isolation: nil)?.owner == mei)
            try await phone.session.signIn(ben, to: store)
            for call in [
                { _ = try await ofMei.find(Query<Book>()) }, { try await ofMei.add(Book(title: "x"), named: "x") },
                { try await ofMei.remove(Book.self, named: "m") }, { _ = try await ofMei.status() },
            ] as [() async throws -> Void] {
                let error = await #expect(throws: StoreError.self) { try await call() }
                #expect(error?.code == .accountChanged)
            }
            let end = await #expect(throws: StoreError.self) { while try await updates.next(isolation: nil) != nil {} }
            #expect(end?.code == .accountChanged)
            while let account = try await accounts.next(isolation: nil), account.owner != ben {}
            try await phone.session.signIn(mei, to: store)
            #expect(try await titles(store) == ["Mei's"])
            try store.close()
        }
    }

    @Test("28, H1. Records are removed at sign-out only with the changes that were shown")
    func removalNeedsTheList() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            var store = try phone.open()
            try await phone.session.signIn(mei, to: store)
            try await store.privateDatabase.add(Book(title: "sent"), named: "s")
            try await store.privateDatabase.add(Book(title: "gone"), named: "g")
            try await store.sync()
            try await store.privateDatabase.remove(Book.self, named: "g")
            try await store.privateDatabase.add(Book(title: "pending"), named: "p")
            let pending = try await store.pendingChanges()
            #expect(pending == PendingChanges(edited: ["Book": ["p"]], deleted: ["Book": ["g"]]))
            #expect(pending.count == 2)
            try await store.privateDatabase.add(Book(title: "later"), named: "l")
            let error = await #expect(throws: StoreError.self) {
                try await phone.session.signOut(of: store, .removed(pending))
            }
            #expect(error?.code == .pendingChanges)
            #expect(try await store.account.owner == mei)
            #expect(try await titles(store) == ["later", "pending", "sent"])
            try await phone.session.signOut(of: store, .removed(try await store.pendingChanges()))
            #expect(try await titles(store) == [])
            #expect(try await store.account.owner == nil)
            try store.close()
            store = try phone.open()
            #expect(try await titles(store) == [])
            try await phone.session.signIn(mei, to: store)
            try await store.sync()
            #expect(try await titles(store).sorted() == ["gone", "sent"])
            // A further user's file is removed, too.
            try await phone.session.signIn(ben, to: store)
            let path = phone.folder.appending(path: UserFile.user(ben).path).path
            #expect(FileManager.default.fileExists(atPath: path))
            try await phone.session.signOut(of: store, .removed(PendingChanges()))
            #expect(!FileManager.default.fileExists(atPath: path))
            try store.close()
        }
    }

    @Test("28. A removal that a crash has ended is completed when the store is opened", arguments: [true, false])
    func removalsAreCompleted(isFirst: Bool) async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            var store = try phone.open()
            try await phone.session.signIn(mei, to: store)
            if !isFirst { try await phone.session.signIn(ben, to: store) }
            try await store.privateDatabase.add(Book(title: "x"), named: "x")
            let removed = isFirst ? UserFile.first : .user(ben)
            try await store.file(of: .public).database.write { db in
                try Accounts(db: db).set(open: isFirst ? .first : .signedOut, removing: removed)
            }
            try store.close()
            store = try phone.open()
            #expect(try await titles(store) == [])
            #expect(try await store.account.owner == nil)
            try store.close()
            store = try phone.open()
            #expect(try await titles(store) == [])
            try store.close()
        }
    }

    @Test("28. Public changes are sent in the name of the user who made them; the next user changes nothing meanwhile")
    func publicChangesWaitForTheirUser() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            let store = try phone.open()
            try await phone.session.signIn(mei, to: store)
            try await store.publicDatabase.add(Book(title: "Mei's"), named: "m")
            try await phone.session.signIn(ben, to: store)
            let error = await #expect(throws: StoreError.self) {
                try await store.publicDatabase.add(Book(title: "Ben's"), named: "b")
            }
            #expect(error?.code == .otherUser)
            try await store.privateDatabase.add(Book(title: "Ben's"), named: "b")
            let summary = try await store.sync()
            #expect(summary.scopes[.private]?.counts.sent == 1)
            #expect(summary.scopes[.public]?.condition == .otherUser)
            try await phone.session.signIn(mei, to: store)
            #expect(try await store.sync().sent == 1)
            try await phone.session.signIn(ben, to: store)
            try await store.publicDatabase.add(Book(title: "Ben's"), named: "b")
            #expect(try await store.sync().sent == 1)
            for (name, user) in [("m", mei), ("b", ben)] {
                let author = try await phone.session.service.publicDatabase.fetch(name).created?.userRecordName
                #expect(author == user)
            }
            try store.close()
        }
    }

    @Test("28. A public change is that of the user whose records are open, also where another user's session begins")
    func publicChangesAreThoseOfTheOpenRecords() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            let store = try phone.open()
            let session = phone.session
            func author(of name: String) async throws -> String? {
                try await session.service.publicDatabase.fetch(name).created?.userRecordName
            }
            // The first user signs in without a call of the store.
            try await session.begin(mei)
            try await store.sync()
            try await session.begin(ben)
            try await store.publicDatabase.add(Book(title: "Mei's"), named: "m")
            var error = await #expect(throws: StoreError.self) { try await store.sync() }
            #expect(error?.code == .otherUser)
            #expect(try emulator.contents(of: .public) == "")

            // The changes of one user are sent while the records of another one are open.
            try await session.signIn(ben, to: store)
            try await session.begin(mei)
            error = await #expect(throws: StoreError.self) { try await store.sync() }
            #expect(error?.code == .otherUser)
            #expect(try await author(of: "m") == mei)
            try await store.publicDatabase.add(Book(title: "Ben's"), named: "b")
            error = await #expect(throws: StoreError.self) { try await store.sync() }
            #expect(error?.code == .otherUser)
            #expect(try await store.publicDatabase.status().pending == 1)
            try await session.begin(ben)
            #expect(try await store.sync().sent == 1)
            #expect(try await author(of: "b") == ben)
            try store.close()
        }
    }

    @Test("28, 47. A tool that synchronises a user who is not open leaves the author of public changes alone")
    func recordsThatAreNotOpenHaveNoPublicChanges() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            let store = try phone.open()
            try await phone.session.signIn(mei, to: store)
            try await phone.session.signIn(ben, to: store)
            let closed = try #require(try StoreUser.all(ofStoreAt: phone.folder).first { !$0.isOpen })
            let tool = try MistStore(
                operatingStoreAt: phone.folder,
                of: closed,
                service: emulator.service(asUser: mei),
                key: nil
            )
            try await tool.sync()
            try await store.publicDatabase.add(Book(title: "Ben's"), named: "b")
            #expect(try await store.sync().scopes[.public]?.counts.sent == 1)
            let author = try await phone.session.service.publicDatabase.fetch("b").created?.userRecordName
            #expect(author == ben)
            for store in [tool, store] { try store.close() }
        }
    }

    @Test("28, 29. A public change made signed out waits for no other user's changes, and is that of the next user")
    func publicChangesMadeSignedOut() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            let store = try phone.open()
            let session = phone.session
            try await session.signIn(mei, to: store)
            try await store.publicDatabase.add(Book(title: "Mei's"), named: "m")
            try await session.signOut(of: store)
            let error = await #expect(throws: StoreError.self) {
                try await store.publicDatabase.add(Book(title: "no one's"), named: "n")
            }
            #expect(error?.code == .otherUser)
            #expect(error?.message.contains("changes of the user \(mei) that were not sent yet") == true)
            try await session.signIn(mei, to: store)
            #expect(try await store.sync().sent == 1)
            try await session.signOut(of: store)
            try await store.publicDatabase.add(Book(title: "no one's"), named: "n")
            try await session.signIn(ben, to: store)
            // The session of the other user takes nothing over.
            try await session.begin(mei)
            await #expect(throws: StoreError.self) { try await store.sync() }
            try await session.begin(ben)
            #expect(try await store.sync().sent == 1)
            for (name, user) in [("m", mei), ("n", ben)] {
                #expect(try await session.service.publicDatabase.fetch(name).created?.userRecordName == user)
            }
            try store.close()
        }
    }

    @Test("29, 36. The file of a record that was made signed out goes with it into the records of the user")
    func filesGoWithRecordsMadeSignedOut() async throws {
        try await withUsers { emulator, folder, mei, _ in
            let phone = Device("phone", in: folder, emulator)
            let store = try MistStore(
                at: phone.folder,
                records: [Album.self, Photo.self],
                service: phone.session.service
            )
            try await phone.session.signIn(mei, to: store)
            try await phone.session.signOut(of: store)
            let bytes = [UInt8]((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
            let image = try await store.privateDatabase.addFile(bytes)
            try await store.privateDatabase.add(Photo(title: "Beach", image: image), named: "beach")
            try await phone.session.signIn(mei, to: store)
            func file(of store: MistStore) async throws -> [UInt8]? {
                let photo = try await store.privateDatabase.fetch(Photo.self, named: "beach")
                let url = photo.image.flatMap { store.privateDatabase.file(of: $0) }
                return try url.map { [UInt8](try Data(contentsOf: $0)) }
            }
            #expect(try await file(of: store) == bytes)
            #expect(try await store.sync().sent == 1)
            let laptop = try MistStore(
                at: folder.appending(path: "laptop"),
                records: [Album.self, Photo.self],
                service: emulator.service(asUser: mei)
            )
            try await laptop.sync()
            #expect(try await file(of: laptop) == bytes)
            for store in [store, laptop] { try store.close() }
        }
    }

    @Test("28. A file that was swapped with that of another user is refused")
    func swappedFilesAreRefused() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            let store = try phone.open()
            try await phone.session.signIn(mei, to: store)
            try await phone.session.signIn(ben, to: store)
            try await store.privateDatabase.add(Book(title: "Ben's"), named: "b")
            try await phone.session.signIn(mei, to: store)
            let eve = try emulator.rules.createUser(emailAddress: "eve@example.com")
            try FileManager.default.copyItem(
                at: phone.folder.appending(path: UserFile.user(ben).path),
                to: phone.folder.appending(path: UserFile.user(eve).path)
            )
            let error = await #expect(throws: StoreError.self) { try await phone.session.signIn(eve, to: store) }
            #expect(error?.code == .otherUser)
            #expect(try await store.account.owner == mei)
            try store.close()
        }
    }

    @Test("28. A request is not sent in another session than the one that it was decided for")
    func requestsBelongToASession() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            try await phone.session.begin(mei)
            let session = phone.session.service.session
            try await phone.session.begin(ben)
            emulator.faults.forgetRequests()
            let response = try await phone.session.service.response(to: .caller, in: .private, ofSession: session)
            #expect(throws: CloudKitError.self) { try response.result.get() }
            #expect(emulator.faults.requests == [])
            let own = try await phone.session.service.response(
                to: .caller,
                in: .private,
                ofSession: phone.session.service.session
            )
            guard case .success(.caller(let user)) = own.result else {
                Issue.record("\(own.result)")
                return
            }
            #expect(user == ben)
        }
    }

    @Test("3, 28. A reply that arrives in another session is dropped, and its outcome is unknown")
    func repliesOfAnotherSession() async throws {
        try await withUsers { emulator, folder, mei, ben in
            let phone = Device("phone", in: folder, emulator)
            try await phone.session.begin(mei)
            let service = SwitchingService(service: phone.session.service) {
                try await phone.session.begin(ben)
            }
            let store = try MistStore(at: phone.folder, records: [Shelf.self, Book.self], service: service)
            try await store.openSignedInUser()
            try await store.privateDatabase.add(Book(title: "Mei's"), named: "m")
            let error = await #expect(throws: StoreError.self) { try await store.sync() }
            #expect(error?.code == .otherUser)
            #expect(try emulator.contents(of: .private) == "Records\n  Book m: loans=0 tags=[] title=Mei's")
            #expect(try emulator.contents(of: .private, ofUser: ben) == "")
            let status = try await store.privateDatabase.status()
            #expect(status.pending == 1)
            try await phone.session.signIn(mei, to: store)
            try await store.sync()
            #expect(try await store.privateDatabase.status().isSynchronised)
            #expect(try emulator.contents(of: .private) == "Records\n  Book m: loans=0 tags=[] title=Mei's")
            try store.close()
        }
    }

    /// A service in which another user signs in while the first push is under way.
    private struct SwitchingService: SyncService {
        let service: CloudKitService
        let signIn: @Sendable () async throws -> Void
        var session: UInt64 { service.session }

        func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
            try await service.send(request, to: scope)
        }

        func response(
            to request: SyncRequest,
            in scope: DatabaseScope,
            ofSession session: UInt64
        ) async throws -> SyncResponse {
            let response = try await service.response(to: request, in: scope, ofSession: session)
            if case .modify = request { try await signIn() }
            return response
        }
    }

    @Test(
        "28. A user's file has a name that leads nowhere else, and no other user's",
        arguments: [
            ("_0a1b", "users/_0a1b.sqlite"), ("A", "users/=41.sqlite"), ("a", "users/a.sqlite"),
            ("=41", "users/=3d41.sqlite"), ("../x", "users/=2e=2e=2fx.sqlite"), ("é", "users/=c3=a9.sqlite"),
            (
                String(repeating: "a", count: 255),
                "users/\(String(repeating: "a", count: 200))/\(String(repeating: "a", count: 55)).sqlite"
            ),
        ]
    )
    func filesOfUsers(name: String, path: String) {
        #expect(UserFile.user(name).path == path)
    }

    @Test("K7. The state of the session follows from what the file has")
    func sessions() {
        func session(
            _ place: UserFile = .first,
            owner: String? = "mei",
            visitor: String? = nil,
            _ condition: SyncCondition? = nil,
            _ detail: String? = nil
        ) -> StoreAccount.Session {
            StoreAccount.Session(place: place, owner: owner, visitor: visitor, condition: condition, detail: detail)
        }
        #expect(session(owner: nil) == .unknown)
        #expect(session() == .owner)
        #expect(session(visitor: "ben") == .otherUser("ben"))
        #expect(session(.signedOut, owner: nil) == .signedOut(signInPage: nil))
        #expect(session(.first, .signedOut, "https://example.com") == .signedOut(signInPage: "https://example.com"))
        #expect(session(.first, .signedOut, "no address") == .signedOut(signInPage: nil))
        #expect(session(.first, .offline) == .temporarilyUnavailable)
        #expect(session(.first, .throttled) == .temporarilyUnavailable)
        #expect(session(.first, .quotaExceeded) == .owner)
    }
}
