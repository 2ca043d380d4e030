import GRDB
public import MistKit
import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Typed records on this machine, in SQLite, synchronised with CloudKit.
///
/// Local work never waits for the network and never fails because of it. A change that a local call has stored reaches
/// the service, or the status says why not, even if the process dies meanwhile.
///
/// ```swift
/// let store = try MistStore(at: folder, records: [TodoList.self, Todo.self], service: service)
/// let todos = store.privateDatabase
/// let home = try await todos.add(TodoList(name: "Home"))
/// try await todos.add(Todo(list: home.reference(), title: "Milk"))
/// let open = try await todos.find(Query<Todo> { Filter(\.isDone == false); Sort(\.title) })
/// try await store.sync()
/// ```
///
/// ## Topics
///
/// ### Opening a store
/// - ``init(at:records:service:configuration:)``
/// - ``init(readingAt:records:configuration:)``
/// - ``StoreConfiguration``
/// - ``changeEncryptionKey(to:)``
/// - ``close()``
///
/// ### Records
/// - ``privateDatabase``
/// - ``publicDatabase``
/// - ``LocalDatabase``
///
/// ### Several people
/// - ``account``
/// - ``accountUpdates``
/// - ``currentUser(_:)``
/// - ``currentUserUpdates(of:)``
/// - ``signIn(_:)``
/// - ``openSignedInUser()``
/// - ``signOut(_:_:)``
/// - ``StoreAccount``
///
/// ### Synchronising
/// - ``sync()``
/// - ``run()``
/// - ``verify(_:comparing:progress:)``
/// - ``verification()``
/// - ``diagnostics()``
/// - ``SyncSummary``
/// - ``ScopeStatus``
/// - ``RecoveredValues``
public final class MistStore: Sendable {
    let folder: StoreFolder
    private let publicFile: StoreFile
    private let open: Mutex<OpenRecords>
    /// Held while the records of another user are opened.
    let switching = AsyncMutex()
    let service: (any SyncService)?
    let configuration: StoreConfiguration
    /// Whether the store opens the private records that its folder names as open. A tool stays with those that a person
    /// has chosen.
    private let followsFolder: Bool

    /// The private records that are open.
    private struct OpenRecords {
        var place: UserFile
        var file: StoreFile
        /// The loop that synchronises them; `nil` without a service.
        var loop: SyncLoop?
        var isClosed = false
    }

    /// Opens the store in a folder, and creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - folder: The folder of the files: `user.sqlite`, `public.sqlite`, and others for further users. It is created
    ///     when it does not exist.
    ///   - records: The record types that the store keeps.
    ///   - service: The service to synchronise with, usually a `CloudKitService`; `nil` for a store that is never
    ///     synchronised.
    ///   - configuration: The settings of the store.
    /// - Throws: A ``StoreError``: `schema` for record types that do not fit each other or the file, and for a trigger of
    ///   another program that changes records while versions of the service are stored; `value` for a zone name that
    ///   the service does not accept; `keyMissing` or `wrongKey` for files that are sealed; `otherService` for a store
    ///   that was synchronised with another container or environment, or with an emulator in place of Apple's service;
    ///   or a code about the file.
    public init(
        at folder: URL,
        records: [any CloudKitRecord.Type],
        service: (any SyncService)? = nil,
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws {
        let files = try StoreFolder(folder, of: records, configuration)
        try files.createFolder(folder)
        try files.checkKey()
        // The files are created in this order, and the first file has a note when both exist. A file that is empty
        // later was cut off. A first file that is gone was removed with its user.
        let hasPublic = StoreFile.hasContent(atPath: files.path(of: StoreFolder.publicPath))
        var first = try files.open(.first, isExpected: hasPublic)
        let common = try files.openPublic(isExpected: first.knowsOtherFile())
        first = try files.completeJoin(first, common)
        try first.noteOtherFile()
        if let service = service.flatMap(StoreService.init) { try common.note(service, isUsed: false) }
        try common.note(StoreDeclaration(records, configuration), at: configuration.clock().machineTime)
        let account = try common.wrapping { try common.database.read { db in try Accounts(db: db).row() } }
        var user = first
        if account.removing == .first || account.open != .first { try first.close(because: .storeIsClosed) }
        if let removing = account.removing {
            try files.remove(removing)
            try common.wrapping {
                try common.database.write { db in try Accounts(db: db).set(open: account.open, removing: nil) }
            }
        }
        if account.removing == .first || account.open != .first {
            user = try files.open(account.open, isExpected: account.open != account.removing)
            if account.open == .first { try user.noteOtherFile() }
        }
        try files.sealOthers(than: account.open)
        if let owner = try user.wrapping({ try user.database.read { db in try FileState(db).owner } }) {
            try common.note(author: owner, of: account.open)
        }
        self.folder = files
        publicFile = common
        self.service = service
        self.configuration = configuration
        let loop = try Self.loop(service, account.open, user, common, configuration)
        followsFolder = true
        open = Mutex(OpenRecords(place: account.open, file: user, loop: loop))
    }

    /// Opens the store in a folder for reading, beside the processes that write: for a command that shows the status, or
    /// an extension of an app.
    ///
    /// ```swift
    /// let store = try MistStore(readingAt: folder, records: [Todo.self])
    /// print(try await store.privateDatabase.status().pending)
    /// ```
    ///
    /// Records, their observation, the status and the recovery log are read as from any store. Every call that changes
    /// something, ``sync()`` and ``run()`` included, throws a ``StoreError`` with the code `readOnly`. Nothing is
    /// changed in the files: no table is added, and a copy of the folder is not noticed.
    ///
    /// SQLite needs the index of its log, a file beside the database, also for reading, and creates it where this
    /// process may write to the folder. Elsewhere the store can be read while another process has it open. On a file
    /// system that is read-only, a store that was closed is read as files that do not change. If it can be written to
    /// under another path meanwhile, a read may fail, or find records as they never were together.
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - records: The record types that are read: all types of the store, or a part of them.
    ///   - configuration: The settings of the store. Those about synchronisation have no effect.
    /// - Throws: A ``StoreError``: `noStore` when there is no store in the folder; `needsUpdate` when the files have no
    ///   table of a type, no column of a field, or an earlier format, or are not sealed yet; `keyMissing` or `wrongKey`
    ///   for files that are sealed; `schema` for record types that do not fit each other or the files; or a code about
    ///   the file.
    public init(
        readingAt folder: URL,
        records: [any CloudKitRecord.Type],
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws {
        let files = try StoreFolder(folder, of: records, configuration)
        let common = try files.openPublicForReading()
        let account = try common.wrapping { try common.database.read { db in try Accounts(db: db).row() } }
        let user = try files.openForReading(account.open)
        self.folder = files
        publicFile = common
        service = nil
        self.configuration = configuration
        followsFolder = true
        open = Mutex(OpenRecords(place: account.open, file: user, loop: nil))
    }

    /// Makes a store of files that are open, and stays with them.
    init(
        _ folder: StoreFolder,
        publicFile: StoreFile,
        place: UserFile,
        file: StoreFile,
        service: (any SyncService)?,
        loop: SyncLoop?
    ) {
        self.folder = folder
        self.publicFile = publicFile
        self.service = service
        configuration = folder.configuration
        followsFolder = false
        open = Mutex(OpenRecords(place: place, file: file, loop: loop))
    }

    /// The loop that synchronises the open files. Records of no one are sent by no one.
    private static func loop(
        _ service: (any SyncService)?,
        _ place: UserFile,
        _ file: StoreFile,
        _ publicFile: StoreFile,
        _ configuration: StoreConfiguration
    ) throws -> SyncLoop? {
        guard let service else { return nil }
        var engines = [SyncEngine(file: publicFile, scope: .public, configuration: configuration)]
        let isOfNoOne = try file.wrapping { try file.database.read { db in try FileState(db).owner == nil } }
        let isClaimed = place == .first && configuration.joinsRecordsMadeSignedOut
        if !isOfNoOne || isClaimed {
            engines.append(SyncEngine(file: file, scope: .private, configuration: configuration))
        }
        return try SyncLoop(
            engines: engines,
            place: place,
            publicFile: publicFile,
            service: service,
            configuration: configuration
        )
    }

    /// The private records that are open: those of ``StoreAccount/owner``, or those of no one yet.
    ///
    /// The value stays with these records. After ``signIn(_:)``, ``openSignedInUser()`` or ``signOut(_:_:)`` has opened
    /// others, its calls throw ``StoreError/Code-swift.struct/accountChanged``, and so do its observations: one user's
    /// records are never shown as, or mixed with, those of another. Get the new value from this property.
    ///
    /// If another process does this, ``sync()``, ``run()``, ``account`` and ``accountUpdates`` notice it, and open the
    /// same records in this process.
    public var privateDatabase: LocalDatabase {
        let (file, loop) = open.withLock { ($0.file, $0.loop) }
        return LocalDatabase(file: file, scope: .private, configuration: configuration, loop: loop)
    }

    /// The records that all users of the app share.
    public var publicDatabase: LocalDatabase {
        LocalDatabase(file: publicFile, scope: .public, configuration: configuration, loop: loop)
    }

    /// The records of a database.
    package func database(of scope: DatabaseScope) -> LocalDatabase {
        scope == .public ? publicDatabase : privateDatabase
    }

    /// The loop that synchronises the open records; `nil` without a service.
    var loop: SyncLoop? { open.withLock { $0.loop } }

    /// The file of a scope.
    package func file(of scope: DatabaseScope) -> StoreFile {
        scope == .public ? publicFile : open.withLock { $0.file }
    }

    /// Fetches the service's changes, merges them, and sends the changes of this machine.
    ///
    /// A call while another one runs joins it, and then synchronises once more: so what was there before the call, such as
    /// an added record or a change that a notification announced, is contained in its result. Cancelling the task of a
    /// call ends this call only. The work ends when no call waits for it.
    ///
    /// While another process synchronises the files, the call waits. It ends when a synchronisation that began after the
    /// call has ended, whichever process made it; if the other process dies or is stopped, the call goes on itself within
    /// five seconds. The counts of the result are those of this process.
    ///
    /// Before the first request for user data, the service is asked for the user. The records that are open belong to one
    /// user: see ``account``. In the public database, this concerns changes only; reading it needs no user.
    ///
    /// - Returns: The counts of records that were fetched, sent and so on, and for each database the reason why it waits.
    /// - Throws: A ``StoreError``: `noService` when the store has no service, and `readOnly` when it was opened for
    ///   reading; `otherUser` when another user is signed in, so that nothing of the owner was sent or fetched;
    ///   `otherService` when another process has synchronised the store with another service since this one opened it;
    ///   `accountChanged` when the records of another user were opened meanwhile; `closed` when the store is closed, also
    ///   meanwhile; or a code about the file, also where it has a trigger of another program that changes records.
    ///   `CancellationError` when the task is cancelled. A service that cannot be reached is not an error: the changes
    ///   stay, a later call sends them, and ``SyncSummary/scopes`` says so.
    @discardableResult
    public func sync() async throws -> SyncSummary {
        try await sync(by: .program)
    }

    package func sync(
        by asker: SyncEngine.Asker,
        of scopes: Set<DatabaseScope> = [.public, .private]
    ) async throws -> SyncSummary {
        _ = try startedLoop()
        try await followOtherProcesses()
        var summary = try await startedLoop().sync(by: asker, of: scopes)
        if scopes.contains(.private), summary.scopes[.private] == nil {
            summary.scopes[.private] = ScopeSummary()
            summary.scopes[.private]?.condition = .signedOut
        }
        return summary
    }

    /// The loop.
    ///
    /// - Throws: A ``StoreError`` with the code `noService` when the store has no service, or with `readOnly` when it was
    ///   opened for reading.
    func startedLoop() throws -> SyncLoop {
        let (file, loop, isClosed) = open.withLock { ($0.file, $0.loop, $0.isClosed) }
        try file.checkWritable()
        guard let loop else {
            if service != nil, isClosed { throw StoreError.storeIsClosed }
            throw StoreError(
                .noService,
                "The store was opened without a service. Give it one: MistStore(at:records:service:)."
            )
        }
        return loop
    }

    /// Closes the files. A synchronisation under way ends: its calls, and later calls of all kinds, throw
    /// ``StoreError/Code-swift.struct/closed``. What was stored before is in the files, and another store continues there.
    ///
    /// - Throws: A ``StoreError`` when a file cannot be closed.
    public func close() throws {
        let present = open.withLock { open in
            open.isClosed = true
            return open
        }
        present.loop?.close(because: .storeIsClosed)
        for file in [present.file, publicFile] { try file.close(because: .storeIsClosed) }
    }
}

// MARK: - Switching

extension MistStore {
    /// The private records that are open.
    var openPlace: UserFile { open.withLock { $0.place } }

    /// Opens the records of a user, or of no one, if they are not open. The caller holds ``switching``.
    ///
    /// The decision is one transaction of the file of the public database; before it, the former records are open after
    /// a crash, and after it the new ones. The former records stay, unless they are to be removed, or belong to no one
    /// and are added to those of the user. Then a transaction of their own file comes first, which withdraws it from other
    /// processes. A removal that a crash has ended is completed when the store is opened again.
    ///
    /// - Parameters:
    ///   - user: The user; `nil` for no one.
    ///   - check: Removes the former records, unless it throws. It reads them in the transaction that withdraws them.
    /// - Throws: A ``StoreError`` when a file fails, or what `check` throws. Then the former records are open.
    func openRecords(of user: String?, removingFormer check: ((Database) throws -> Void)?) async throws {
        let former = open.withLock { $0 }
        if former.isClosed { throw StoreError.storeIsClosed }
        let place: UserFile
        if let user {
            place = try folder.file(of: user, joining: folder.joinTarget(of: former.place, publicFile))
        } else {
            // A file of no one that a crash has left is used from the next sign-out on, so it is used now.
            let hasOthers = [UserFile.folder, UserFile.signedOut.path].contains {
                FileManager.default.fileExists(atPath: folder.path(of: $0))
            }
            place = check != nil && former.place == .first && !hasOthers ? .first : try folder.signedOutFile()
        }
        if place == former.place, check == nil {
            try note(open: place, removing: nil, user: user)
            return
        }
        // The new file is whole before anything names it.
        let file = place == former.place ? nil : try folder.open(place, isExpected: false)
        let isOfNoOne = try former.place == .signedOut || folder.ownerOfFirstFile() == nil && former.place == .first
        // A request under way gets an unknown outcome.
        _ = await former.loop?.close(because: .accountChanged)?.value
        var isRemoval = false
        do {
            if let check {
                try former.file.withdraw(check)
                isRemoval = true
            } else if let file, let user, isOfNoOne, configuration.joinsRecordsMadeSignedOut {
                isRemoval = try join(former, to: file, JoinTarget(place: place, user: user))
            }
            try note(open: place, removing: isRemoval ? former.place : nil, user: user)
        } catch {
            // Of several errors the first one says what is wrong.
            try? file?.close(because: .accountChanged)
            if let loop = try? Self.loop(service, former.place, former.file, publicFile, configuration) {
                open.withLock { $0.loop = loop }
            }
            throw error
        }
        try former.file.close(because: .accountChanged)
        if isRemoval {
            try folder.removeWithdrawn(former.place)
            try note(open: place, removing: nil, user: user)
        }
        let opened = try file ?? folder.open(place, isExpected: false)
        if place == .first { try opened.noteOtherFile() }
        try use(opened, at: place)
    }

    /// Adds the records of no one to those of a user, and withdraws their file. Where an earlier attempt has copied them
    /// to another user, they are those of that user.
    ///
    /// - Returns: Whether it was done. A file with what cannot be copied stays.
    /// - Throws: A ``StoreError`` when a file fails. Then the file of no one is as it was.
    private func join(_ former: OpenRecords, to file: StoreFile, _ target: JoinTarget) throws -> Bool {
        let earlier = try folder.joinTarget(of: former.place, publicFile) ?? target
        guard earlier != target else { return try folder.join(former.place, former.file, to: target, file, publicFile) }
        let other = try folder.open(earlier.place, isExpected: true)
        defer { try? other.close(because: .accountChanged) }
        return try folder.join(former.place, former.file, to: earlier, other, publicFile)
    }

    /// Opens the records that another process has opened in the folder since this one looked.
    ///
    /// The session of this process stays. If it is that of another user, the next synchronisation says so.
    ///
    /// - Throws: A ``StoreError`` when a file fails. Then the former records are open.
    func followOtherProcesses() async throws {
        guard followsFolder, try !isOpenAsNoted(open.withLock { $0 }) else { return }
        try await switching.lock()
        defer { switching.unlock() }
        let former = open.withLock { $0 }
        if former.isClosed { throw StoreError.storeIsClosed }
        guard try !isOpenAsNoted(former) else { return }
        let place = try notedPlace()
        let isReadOnly = publicFile.isReadOnly
        let file = try isReadOnly ? folder.openForReading(place) : folder.open(place, isExpected: false)
        _ = await former.loop?.close(because: .accountChanged)?.value
        try former.file.close(because: .accountChanged)
        try use(file, at: place)
    }

    /// Refuses what is meant for the open records while another process has opened others in the folder.
    func checkOpenRecords() throws {
        if try notedPlace() != openPlace { throw StoreError.accountChanged }
    }

    /// Whether a file is still the one that the folder names as open, and was not removed by another process.
    private func isOpenAsNoted(_ records: OpenRecords) throws -> Bool {
        guard try notedPlace() == records.place else { return false }
        return try records.file.wrapping {
            try records.file.database.read { db in try !FileState.isWithdrawn(db) }
        }
    }

    /// The private records that the folder names as open, which may be others than those of this process.
    private func notedPlace() throws -> UserFile {
        try publicFile.wrapping { try publicFile.database.read { db in try Accounts(db: db).row().open } }
    }

    /// Makes a file the open one, whose records are synchronised from now on.
    private func use(_ file: StoreFile, at place: UserFile) throws {
        let loop = try Self.loop(service, place, file, publicFile, configuration)
        let isClosed = open.withLock { open in
            (open.place, open.file, open.loop) = (place, file, loop)
            return open.isClosed
        }
        if isClosed {
            loop?.close(because: .storeIsClosed)
            try file.close(because: .storeIsClosed)
            throw StoreError.storeIsClosed
        }
    }

    /// Notes which records are open, and passes the public changes on to their user, in one transaction.
    private func note(open place: UserFile, removing: UserFile?, user: String?) throws {
        try publicFile.wrapping {
            try publicFile.database.write { db in
                try Accounts(db: db).set(open: place, removing: removing)
                if removing != nil { try PendingJoins(db: db).end() }
                try PublicAuthor(db: db).note(user)
            }
        }
    }
}

extension StoreError {
    /// The error of a database whose records are not open any more.
    static let accountChanged = StoreError(
        .accountChanged,
        """
        These records are those of a user who is not signed in any more. They stay in the folder, unless they were removed with the \
        sign-out. Nothing was changed. Get the records that are open now: store.privateDatabase.
        """
    )
}
