package import GRDB
public import Logging
public import MistKit
import Synchronization
import Tracing

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
/// - ``init(at:records:service:configuration:logger:)``
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
/// - ``SyncSummary``
/// - ``ScopeStatus``
/// - ``RecoveredValues``
public final class MistStore: Sendable {
    private let userFile: StoreFile
    private let publicFile: StoreFile
    let service: (any SyncService)?
    let configuration: StoreConfiguration
    let logger: Logger
    let loop: SyncLoop?

    /// The logger of a store that is given none. It logs warnings and errors alone, so that notices do not appear in the
    /// output of a program that has set up no logging. ``ScopeStatus`` has what the notices say.
    public static var defaultLogger: Logger {
        var logger = Logger(label: "MistStore")
        logger.logLevel = .warning
        return logger
    }

    /// Opens the store in a folder, and creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - folder: The folder of the files `user.sqlite` and `public.sqlite`. It is created when it does not exist.
    ///   - records: The record types that the store keeps.
    ///   - service: The service to synchronise with, usually a `CloudKitService`; `nil` for a store that is never
    ///     synchronised.
    ///   - configuration: The settings of the store.
    ///   - logger: The logger for the store's log lines; by default, one for warnings and errors.
    /// - Throws: A ``StoreError``: `schema` for record types that do not fit each other or the file, and for a trigger of
    ///   another program that changes records while versions of the service are stored; `value` for a zone name that
    ///   the service does not accept; or a code about the file.
    public init(
        at folder: URL,
        records: [any CloudKitRecord.Type],
        service: (any SyncService)? = nil,
        configuration: StoreConfiguration = StoreConfiguration(),
        logger: Logger = MistStore.defaultLogger
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
                return try StoreFile(
                    pool,
                    schemas: schemas,
                    models: records,
                    scopes: zones,
                    hasZonePerRoot: perRoot
                )
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
        self.logger = logger
        loop = try service.map { service in
            try SyncLoop(
                engines: [(.public, common), (.private, user)].map { scope, file in
                    SyncEngine(file: file, scope: scope, settings: configuration.settings)
                },
                service: service,
                logger: logger,
                tracer: configuration.tracer,
                clock: configuration.clock
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
        try await sync(isAutomatic: false)
    }

    func sync(isAutomatic: Bool) async throws -> SyncSummary {
        try await startedLoop().sync(isAutomatic: isAutomatic)
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

/// The source of the times at which the fields of a record were edited.
public struct EditTimeSource: Hashable, Sendable {
    fileprivate enum Kind: String {
        case ofFields, ofRecord
    }

    fileprivate let kind: Kind

    private init(_ kind: Kind) {
        self.kind = kind
    }

    /// The field `mist_edits` of the record, of the type `BYTES`, which the store writes. The latest edit of each field
    /// wins.
    public static let ofFields = Self(.ofFields)

    /// The record's modification time. No field is needed, and the order of arrival at the service decides.
    ///
    /// If the service has another value of a field than the one that this device began with, the field counts as edited
    /// when the service stored that version. A later edit on this device wins, an earlier one loses. Edits of different
    /// fields are all kept.
    public static let ofRecord = Self(.ofRecord)
}

extension EditTimeSource: CustomStringConvertible {
    /// The name of the source.
    public var description: String { kind.rawValue }
}

/// The settings of a store.
public struct StoreConfiguration: Sendable {
    /// The zones of the private database that the records are kept in: one zone, or one for each record without a
    /// parent.
    public var zones = ZoneLayout.single("Records")

    /// Gives the machine's time. Tests replace it.
    ///
    /// The store's own calls give this time to the triggers that record edits. Changes by other programs are recorded at
    /// the machine's time.
    public var clock: @Sendable () -> Date {
        get { ownClock ?? { Date() } }
        set { ownClock = newValue }
    }

    /// The clock that the program has set; `nil` for that of the machine, which the triggers read themselves.
    var ownClock: (@Sendable () -> Date)?

    /// Gives a random number from 0 up to, but not including, 1, for waiting times. Tests replace it.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// The time between two synchronisations of ``MistStore/run()`` while there are changes.
    public var syncInterval = Duration.seconds(30)

    /// The longest time between two synchronisations of ``MistStore/run()`` while nothing changes.
    public var longestSyncInterval = Duration.seconds(15 * 60)

    /// The number of days for which the recovery log keeps values that lost.
    public var recoveryDays = 30

    /// The most bytes of the recovery log. When it has more, the oldest entries are removed.
    public var recoveryBytes: Int64 = 100_000_000

    /// Is called with the time for which each transaction of the engine held the file's write lock, for the benchmarks.
    @_spi(Benchmarks) public var onEngineTransaction: (@Sendable (Duration) -> Void)?

    /// The tracer for spans; `nil` is the tracer of the process.
    var tracer: (any Tracer)?

    /// Is notified of every commit of the files, for tests that stop the process there.
    package var transactionObserver: (any TransactionObserver & Sendable)?

    private(set) var closures: [String: [String: MergeClosure]] = [:]
    private(set) var typesWithoutEditTimes: Set<String> = []

    /// Makes the default settings.
    public init() {}

    /// Merges a field with a closure where both sides changed it.
    ///
    /// ```swift
    /// var configuration = StoreConfiguration()
    /// configuration.merge("note", of: Todo.self) { base, local, remote in
    ///     .string([local?.stringValue, remote?.stringValue].compactMap(\.self).sorted().joined(separator: "\n"))
    /// }
    /// ```
    ///
    /// All devices must come to the same value in the end, so the result may depend on the three values only. It is a
    /// new edit of this device. When the closure throws, this record is parked, and no other.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - type: The record type.
    ///   - closure: A closure that gets the value that both sides began with, the value of this device and the value of
    ///     the service, and returns the merged value. A value is `nil` where the field is absent.
    public mutating func merge<Model: CloudKitRecord>(
        _ field: String,
        of type: Model.Type,
        _ closure:
            @escaping @Sendable (_ base: FieldValue?, _ local: FieldValue?, _ remote: FieldValue?) throws -> FieldValue?
    ) {
        closures[Model.recordType, default: [:]][field] = closure
    }

    /// Chooses the source of the times at which the fields of a type's records were edited.
    ///
    /// ```swift
    /// var configuration = StoreConfiguration()
    /// configuration.setEditTimes(.ofRecord, of: Todo.self)
    /// ```
    ///
    /// All devices must make the same choice. It is part of the configuration and not of the type, because a client
    /// without a store knows nothing of edit times.
    ///
    /// - Parameters:
    ///   - source: The source. A type with a counter needs ``EditTimeSource/ofFields``: opening a store fails
    ///     otherwise, with the code ``StoreError/Code-swift.struct/schema``.
    ///   - type: The record type.
    public mutating func setEditTimes<Model: CloudKitRecord>(_ source: EditTimeSource, of type: Model.Type) {
        switch source.kind {
        case .ofFields: typesWithoutEditTimes.remove(Model.recordType)
        case .ofRecord: typesWithoutEditTimes.insert(Model.recordType)
        }
    }

    /// Checks that the choices fit the record types.
    func check(_ schemas: [RecordSchema]) throws(StoreError) {
        for schema in schemas where typesWithoutEditTimes.contains(schema.recordType) {
            guard let counter = schema.fields.first(where: { $0.merge == .counter }) else { continue }
            throw StoreError(
                .schema,
                """
                A counter needs the edit times of fields, in which each device notes what it has added. Choose .ofFields for the type, or \
                another merge policy for the field.
                """,
                recordType: schema.recordType,
                fieldName: counter.name
            )
        }
    }

    package var settings: SyncSettings {
        var settings = SyncSettings()
        settings.checksUser = true
        settings.closures = closures
        settings.typesWithoutEditTimes = typesWithoutEditTimes
        settings.random = random
        settings.onTransaction = onEngineTransaction
        settings.recoveryDays = recoveryDays
        settings.recoveryBytes = recoveryBytes
        return settings
    }
}
