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
/// Local work never waits for the network and never fails because of it. What was acknowledged locally reaches the service, or the
/// program is told why not, whatever crashes in between.
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
    private let loop: SyncLoop?

    /// Opens the store of a folder, and creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - folder: Where the files are kept: `user.sqlite` and `public.sqlite`. It is created when it does not exist.
    ///   - records: The record types that the store keeps.
    ///   - service: What the store is synchronised with, usually a `CloudKitService`; `nil` for a store that is never synchronised.
    ///   - configuration: Choices.
    ///   - logger: Takes the store's log lines.
    /// - Throws: A ``StoreError``.
    public init(
        at folder: URL,
        records: [any CloudKitRecord.Type],
        service: (any SyncService)? = nil,
        configuration: StoreConfiguration = StoreConfiguration(),
        logger: Logger = Logger(label: "MistStore")
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
                return try StoreFile(pool, schemas: schemas, scopes: zones, hasZonePerRoot: perRoot)
            } catch var error as StoreError where error.code.isAboutFile {
                error.message = "\(path): \(error.message)"
                throw error
            }
        }
        let layout = configuration.zones
        // The files are made in this order, and the first notes when both are there: one that is empty later was cut off.
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

    /// Fetches the service's changes, merges, and sends what was changed here.
    ///
    /// A second call while one runs joins it.
    ///
    /// - Returns: What was done.
    /// - Throws: A ``StoreError`` when the file fails, or when the store has no service. A service that cannot be reached is no
    ///   error: the changes stay, and the next call sends them.
    @discardableResult
    public func sync() async throws -> SyncSummary {
        try await sync(isAutomatic: false)
    }

    func sync(isAutomatic: Bool) async throws -> SyncSummary {
        guard let loop else {
            throw StoreError(
                .closed,
                "The store was opened without a service. Give it one: MistStore(at:records:service:)."
            )
        }
        return try await loop.sync(isAutomatic: isAutomatic)
    }

    /// Closes the files. Calls that come later fail.
    public func close() throws {
        try StoreError.wrapping {
            for file in [userFile, publicFile] {
                // What is in the log goes into the file, which can be copied alone then. A log that stays is no loss.
                _ = try? file.database.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
                try file.database.close()
            }
        }
    }
}

/// What tells when the fields of a record were edited.
public enum EditTimeSource: Hashable, Sendable {
    /// The field `mist_edits` of the record, of the type `BYTES`, which the store writes: the latest edit of each field wins.
    case ofFields
    /// The record's modification time: no field is needed, and arrival decides.
    ///
    /// A field that has another value at the service than the one that this device began with counts as edited when the service stored that
    /// version. An edit that was made on this device after that wins, an earlier one loses. Edits of different fields are all kept.
    case ofRecord
}

/// Choices of a store.
public struct StoreConfiguration: Sendable {
    /// The zones of the private database that the records are kept in: one zone, or one for each record without a parent.
    public var zones = ZoneLayout.single("Records")

    /// What time it is.
    public var clock: @Sendable () -> Date = { Date() }

    /// A number from 0 to 1, for waiting times.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// How often ``MistStore/run()`` asks the service for changes after something happened.
    public var syncInterval = Duration.seconds(30)

    /// How seldom it asks while nothing happens.
    public var longestSyncInterval = Duration.seconds(15 * 60)

    /// How many days values that lost are kept in the recovery log.
    public var recoveryDays = 30

    /// How many bytes the recovery log may have; the oldest entries go first.
    public var recoveryBytes: Int64 = 100_000_000

    /// Gets how long each transaction of the engine held the file's write lock, for the benchmarks.
    @_spi(Benchmarks) public var onEngineTransaction: (@Sendable (Duration) -> Void)?

    /// Where spans go; the process' tracer when `nil`.
    var tracer: (any Tracer)?

    /// What follows every commit of the files, for tests that stop the process there.
    package var transactionObserver: (any TransactionObserver & Sendable)?

    private(set) var closures: [String: [String: MergeClosure]] = [:]
    private(set) var typesWithoutEditTimes: Set<String> = []

    /// Makes the usual choices.
    public init() {}

    /// Merges a field by a closure where both sides changed it.
    ///
    /// ```swift
    /// var configuration = StoreConfiguration()
    /// configuration.merge("note", of: Todo.self) { base, local, remote in
    ///     .string([local?.stringValue, remote?.stringValue].compactMap(\.self).sorted().joined(separator: "\n"))
    /// }
    /// ```
    ///
    /// All devices must come to the same value in the end: the result may depend on the three values alone. It is a new edit of this
    /// device. When the closure throws, the record waits as parked, and no other does.
    ///
    /// - Parameters:
    ///   - field: The field's name.
    ///   - type: The record type.
    ///   - closure: Gets the value that both sides began with, that of this device and that of the service.
    public mutating func merge<Model: CloudKitRecord>(
        _ field: String,
        of type: Model.Type,
        _ closure:
            @escaping @Sendable (_ base: FieldValue?, _ local: FieldValue?, _ remote: FieldValue?) throws -> FieldValue?
    ) {
        closures[Model.recordType, default: [:]][field] = closure
    }

    /// Chooses what tells when the fields of a type's records were edited.
    ///
    /// ```swift
    /// var configuration = StoreConfiguration()
    /// configuration.setEditTimes(.ofRecord, of: Todo.self)
    /// ```
    ///
    /// All devices must make the same choice. It is part of the configuration and not of the type, because a client without a store knows
    /// nothing of edit times.
    ///
    /// - Parameters:
    ///   - source: The source. A type with a counter needs ``EditTimeSource/ofFields``: opening a store fails otherwise, with the code
    ///     ``StoreError/Code-swift.struct/schema``.
    ///   - type: The record type.
    public mutating func setEditTimes<Model: CloudKitRecord>(_ source: EditTimeSource, of type: Model.Type) {
        switch source {
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
        settings.closures = closures
        settings.typesWithoutEditTimes = typesWithoutEditTimes
        settings.random = random
        settings.onTransaction = onEngineTransaction
        settings.recoveryDays = recoveryDays
        settings.recoveryBytes = recoveryBytes
        return settings
    }
}
