package import GRDB
public import Logging
public import MistKit
import Tracing

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

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

    /// How many deletes are sent without a permission; `nil` lets all be sent.
    ///
    /// Deletes above the limit wait, with the condition ``SyncCondition/massDeletion``, until
    /// ``LocalDatabase/allowMassDeletion()`` or ``LocalDatabase/undoMassDeletion()`` is called, whichever program made
    /// them. The same limit decides whether deletes of other devices are announced, with the values of the records in the
    /// recovery log: ``MassRemoval``.
    public var massDeletionLimit: MassDeletionLimit? = MassDeletionLimit()

    /// The record types that are fetched first, before everything else of a zone, so that a program has its first screen
    /// early.
    ///
    /// A device that has nothing yet, or whose change token has expired, fetches a zone from its start. With types here it
    /// reads the zone for them alone before, which costs a second copy of their records:
    ///
    /// ```swift
    /// configuration.fetchFirst = [TodoList.self]
    /// // {"zones":[{"zoneID":{"zoneName":"Records"},"desiredRecordTypes":["TodoList"]}]}, as often as more is coming
    /// // {"zones":[{"zoneID":{"zoneName":"Records"}}]}, from the start
    /// ```
    ///
    /// ``ScopeStatus/completeTypes`` says when they are here. In the public database the queries that are followed
    /// decide what is fetched.
    public var fetchFirst: [any CloudKitRecord.Type] = []

    /// The key with which the values of encrypted fields are sealed in the files of the store; `nil` keeps them as plain
    /// values.
    ///
    /// ```swift
    /// configuration.encryptionKey = try StoreEncryptionKey(bytes: keychain.data(named: "key"))
    /// // UPDATE "Note" SET "secret" = x'4d534c31…' WHERE _id = …
    /// ```
    ///
    /// Fields with `@CloudKitField(.encrypted)` are sealed wherever the files have their values, the recovery log and
    /// backups included. Everything else is readable: names of records, other fields, files of records.
    ///
    /// The first opening with a key seals what the files have, and takes as long as copying them. Name all record types
    /// of the store then: the store does not know which fields of other types are encrypted. From then on the files need
    /// the key, in all processes. A store that was opened without it before is refused every write and synchronisation.
    /// An encrypted field cannot be a counter, a reference or a file then: opening a store fails, with the code
    /// ``StoreError/Code-swift.struct/schema``.
    ///
    /// SQL of other programs reads and writes the sealed fields no more, except to clear them.
    ///
    /// A lost key is not replaced: remove the folder, and fetch the records again.
    public var encryptionKey: StoreEncryptionKey?

    /// Whether records that were made while no one was signed in are added to those of the user who signs in.
    ///
    /// Records that the user has already, by their names, stay as the user has them. With `false`, the records stay in a
    /// file of their own, and ``MistStore/privateDatabase`` has them while no one is signed in. They are not synchronised
    /// then; ``MistStore/openSignedInUser()`` opens the records of the user who is signed in.
    public var joinsRecordsMadeSignedOut = true

    /// The logger for the store's log lines.
    ///
    /// The default logs warnings and errors alone, so that notices do not appear in the output of programs that set up
    /// no logging. ``ScopeStatus`` has what the notices say.
    public var logger = Self.quietLogger

    /// Is called with the time for which each transaction of the engine held the file's write lock, for the benchmarks.
    @_spi(Benchmarks) public var onEngineTransaction: (@Sendable (Duration) -> Void)?

    /// The tracer for spans; `nil` is the tracer of the process.
    var tracer: (any Tracer)?

    /// The merge closures by record type and field.
    package var closures: [String: [String: MergeClosure]] = [:]

    /// The types whose records have no field for edit times.
    package internal(set) var typesWithoutEditTimes: Set<String> = []

    /// When the files of fields are downloaded, by record type and field.
    var downloads: [String: [String: FileDownload]] = [:]

    func download(of field: String, _ recordType: String) -> FileDownload {
        downloads[recordType]?[field] ?? .withRecord
    }

    // MARK: For tests of the engine

    /// Is notified of every commit of the files, for tests that stop the process there.
    package var transactionObserver: (any TransactionObserver & Sendable)?

    /// Whether the user who is signed in is compared with the owner of the file. Tests of single steps leave it out.
    package var checksUser = true

    /// The most records of a request: 200, or fewer.
    package var batchSize: Int64 = 200

    /// The most bytes of a request: the service accepts 2 MB.
    package var bytesOfRequest = 1_900_000

    /// The shortest time between two searches for deletes in the public database, in milliseconds: a quarter of an
    /// hour.
    package var sweepInterval: Int64 = 15 * 60 * 1000

    /// The shortest time between two automatic requests of a followed query, in milliseconds: half a minute.
    package var pollInterval: Int64 = 30 * 1000

    /// Gives the number of a copy of a file that is noticed.
    package var newDevice: @Sendable () -> Int64 = { Int64.random(in: 1...Int64.max) }

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

    /// Chooses when the files of a field are downloaded.
    ///
    /// ```swift
    /// var configuration = StoreConfiguration()
    /// configuration.setDownload(.onDemand, of: \.original, in: Photo.self)
    /// ```
    ///
    /// - Parameters:
    ///   - download: When. The default is ``FileDownload/withRecord``.
    ///   - field: The field.
    ///   - type: The record type.
    public mutating func setDownload<Model: CloudKitRecord>(
        _ download: FileDownload,
        of field: KeyPath<Model.Fields, RecordField<Asset>>,
        in type: Model.Type
    ) {
        downloads[Model.recordType, default: [:]]["\(Model.fields[keyPath: field].key)"] = download
    }

    /// Checks that the choices fit the record types.
    func check(_ schemas: [RecordSchema]) throws(StoreError) {
        try massDeletionLimit?.check()
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

    private static var quietLogger: Logger {
        var logger = Logger(label: "MistStore")
        logger.logLevel = .warning
        return logger
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

/// When the file of a field is downloaded.
public struct FileDownload: Hashable, Sendable {
    private enum Kind: String {
        case withRecord, onDemand
    }

    private let kind: Kind

    private init(_ kind: Kind) {
        self.kind = kind
    }

    /// In the synchronisation that fetches the record.
    public static let withRecord = Self(.withRecord)

    /// After ``LocalDatabase/requestFile(_:of:named:)``. A file that is never asked for is never downloaded.
    public static let onDemand = Self(.onDemand)
}

extension FileDownload: CustomStringConvertible {
    /// The name of the choice.
    public var description: String { kind.rawValue }
}
