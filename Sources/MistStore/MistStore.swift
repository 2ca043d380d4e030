import GRDB
public import MistKit

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
/// - ``StoreConfiguration``
/// - ``close()``
///
/// ### Records
/// - ``privateDatabase``
/// - ``publicDatabase``
/// - ``LocalDatabase``
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
    private let userFile: StoreFile
    private let publicFile: StoreFile
    let service: (any SyncService)?
    let configuration: StoreConfiguration
    let loop: SyncLoop?

    /// Opens the store in a folder, and creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - folder: The folder of the files `user.sqlite` and `public.sqlite`. It is created when it does not exist.
    ///   - records: The record types that the store keeps.
    ///   - service: The service to synchronise with, usually a `CloudKitService`; `nil` for a store that is never
    ///     synchronised.
    ///   - configuration: The settings of the store.
    /// - Throws: A ``StoreError``: `schema` for record types that do not fit each other or the file, and for a trigger of
    ///   another program that changes records while versions of the service are stored; `value` for a zone name that
    ///   the service does not accept; or a code about the file.
    public init(
        at folder: URL,
        records: [any CloudKitRecord.Type],
        service: (any SyncService)? = nil,
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws {
        let schemas = records.map { $0.schema }
        try configuration.check(schemas)
        try configuration.zones.check()
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw StoreError(
                .readOnly,
                "The folder \(folder.path) cannot be created: \(error). Check the path and its permissions."
            )
        }
        func open(
            _ name: String,
            _ zones: [DatabaseScope: ZoneID],
            perRoot: Bool,
            isExpected: Bool
        ) throws -> StoreFile {
            let path = folder.appendingPathComponent(name).path
            do {
                try StoreFile.check(atPath: path, isExpected: isExpected)
                let pool = try StoreError.wrapping { try StoreFile.open(atPath: path) }
                if let observer = configuration.transactionObserver {
                    pool.add(transactionObserver: observer, extent: .databaseLifetime)
                }
                let file = try StoreFile(
                    pool,
                    schemas: schemas,
                    models: records,
                    scopes: zones,
                    hasZonePerRoot: perRoot,
                    newDevice: configuration.newDevice
                )
                try file.note(
                    FileIdentity(ofFileAtPath: path),
                    newDevice: configuration.newDevice,
                    at: configuration.clock().machineTime
                )
                return file
            } catch var error as StoreError where error.code.isAboutFile {
                error.message = "\(path): \(error.message)"
                throw error
            }
        }
        let layout = configuration.zones
        // The files are created in this order, and the first file has a note when both exist. A file that is empty
        // later was cut off.
        let user = try open(
            "user.sqlite",
            [.private: layout.homeZone],
            perRoot: layout.isPerRoot,
            isExpected: StoreFile.hasContent(atPath: folder.appendingPathComponent("public.sqlite").path)
        )
        let common = try open(
            "public.sqlite",
            [.public: .default],
            perRoot: false,
            isExpected: user.knowsOtherFile()
        )
        try user.noteOtherFile()
        userFile = user
        publicFile = common
        self.service = service
        self.configuration = configuration
        loop = try service.map { service in
            try SyncLoop(
                engines: [(.public, common), (.private, user)].map { scope, file in
                    SyncEngine(file: file, scope: scope, configuration: configuration)
                },
                service: service,
                configuration: configuration
            )
        }
    }

    /// The records of the signed-in user.
    public var privateDatabase: LocalDatabase {
        LocalDatabase(file: userFile, scope: .private, configuration: configuration)
    }

    /// The records that all users of the app share.
    public var publicDatabase: LocalDatabase {
        LocalDatabase(file: publicFile, scope: .public, configuration: configuration)
    }

    /// The file of a scope.
    package func file(of scope: DatabaseScope) -> StoreFile {
        scope == .public ? publicFile : userFile
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
    /// Before the first request for user data, the service is asked for the user. A folder has the records of one user,
    /// the first who was signed in. In the public database, this concerns changes only; reading it needs no user.
    ///
    /// - Returns: The counts of records that were fetched, sent and so on, and for each database the reason why it waits.
    /// - Throws: A ``StoreError``: `noService` when the store has no service; `otherUser` when another user is signed in,
    ///   so that nothing of the owner was sent or fetched; `closed` when the store is closed, also meanwhile; or a code about
    ///   the file, also where it has a trigger of another program that changes records. `CancellationError` when the task is cancelled. A service that cannot be reached is not an error: the
    ///   changes stay, a later call sends them, and ``SyncSummary/scopes`` says so.
    @discardableResult
    public func sync() async throws -> SyncSummary {
        try await sync(by: .program)
    }

    func sync(by asker: SyncEngine.Asker) async throws -> SyncSummary {
        try await startedLoop().sync(by: asker)
    }

    /// The loop.
    ///
    /// - Throws: A ``StoreError`` with the code `noService` when the store has no service.
    func startedLoop() throws -> SyncLoop {
        guard let loop else {
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
        loop?.close()
        for file in [userFile, publicFile] { try file.close() }
    }
}
