import CloudKitModel
import Crypto
import GRDB
import StreamingJSON
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The rules of CloudKit Web Services over an SQLite database. It knows no HTTP.
///
/// Its methods do what happens outside of requests: the work of the console, signing in, and the hosts of files and
/// pushes. `CloudKitEmulatorServer` answers requests by its rules, over a socket or in the same process.
///
/// ```swift
/// let emulator = try CloudKitEmulator(storage: .memory)
/// let user = try emulator.createUser(NameComponents(givenName: "Mei", familyName: "Chen"))
/// let server = try CloudKitEmulatorServer(emulator)
/// ```
///
/// The methods are synchronous: each is one transaction on a local database, and the longest (200 writes) takes
/// milliseconds. Any number of threads may call them. A write has reached the database when the method returns.
///
/// A file of the storage can be read by its owner only, and is not encrypted: the value of an encrypted field is in it as
/// it was saved, with the mark that replies need.
///
/// ## Topics
///
/// ### The schema
/// - ``schema(of:in:)``
/// - ``importSchema(_:into:)``
/// - ``deploySchema(of:)``
/// - ``resetSchema(of:)``
/// - ``setRoles(_:of:in:_:)``
///
/// ### The contents
/// - ``recordCounts()``
/// - ``resetContents(of:in:)``
///
/// ### Pushes
/// - ``nextPush(forCourier:)``
/// - ``takePush(forCourier:)``
/// - ``takePushes(forDeviceToken:)``
/// - ``revokeDeviceTokens(of:)``
///
/// ### The host of files
/// - ``beginAssetUpload(_:length:at:)``
/// - ``openAsset(_:at:)``
///
/// ### Credentials and users
/// - ``registerContainer(_:)``
/// - ``registerAPIToken(_:for:in:)``
/// - ``registerServerKey(_:for:in:)``
/// - ``registeredServerKeyIDs(for:in:)``
/// - ``createUser(_:emailAddress:phoneNumber:isDiscoverable:userRecordName:)``
/// - ``issueWebAuthToken(for:container:environment:keepsSignedIn:)``
/// - ``setSignInCallback(_:ofAPIToken:for:)``
/// - ``makeSignInTicket(apiToken:for:in:origin:)``
/// - ``redeemSignInTicket(_:)``
/// - ``signInRequest(ofTicket:)``
/// - ``listSignInCandidates(limit:)``
public final class CloudKitEmulator: Sendable {
    /// The limits and switches of the emulator's behaviour.
    public let configuration: EmulatorConfiguration
    package let identifiers: IdentifierSource
    private let clock: @Sendable () -> Date
    let schemas = SchemaCache()
    let knownTokens = KnownValues<Bool>()
    let knownKeys = KnownValues<P256.Signing.PublicKey>()
    let knownVisitors = KnownValues<Bool>()
    let webTokenKey: WebAuthTokenKey
    let tokenKey: SyncTokenKey
    let pushSignal = PushSignal()
    let pushHistory = PushHistory()
    /// Where the data are kept.
    package let storage: EmulatorStorage
    /// Whether other processes may write to the storage. ``pushSignal`` does not notice their writes.
    var isStorageShared: Bool { storage.isShared }
    let assetKey: AssetKey
    private let database: any DatabaseWriter
    /// The number of calls that are under way, and whether the emulator is closed.
    private let use = Mutex((calls: 0, isClosed: false))

    /// Opens the storage, or creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - storage: Where the data are kept.
    ///   - configuration: The limits and switches of the emulator's behaviour.
    ///   - identifiers: Where record names and tokens come from.
    ///   - clock: The present time. Timestamps, signatures and the expiry of tokens depend on it.
    /// - Throws: An ``EmulatorError``: an `INTERNAL_ERROR` when the file cannot be opened.
    public init(
        storage: EmulatorStorage = .memory,
        configuration: EmulatorConfiguration = EmulatorConfiguration(),
        identifiers: IdentifierSource = .random,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        self.configuration = configuration
        self.identifiers = identifiers
        self.clock = clock
        self.storage = storage
        do {
            let database = try storage.open()
            self.database = database
            (webTokenKey, tokenKey, assetKey) = try database.write { db in
                (
                    try WebAuthTokenKey.load(from: db, identifiers: identifiers),
                    try SyncTokenKey.load(from: db, identifiers: identifiers),
                    try AssetKey.load(from: db, identifiers: identifiers)
                )
            }
        } catch {
            throw EmulatorError(.internalError, "the emulator's storage cannot be opened: \(error)")
        }
    }

    /// Closes the storage.
    ///
    /// An emulator that is released without this call loses no data either.
    ///
    /// Calls that are under way end normally, and the last of them closes the storage. Every later call fails with
    /// `INTERNAL_ERROR`.
    ///
    /// - Throws: An ``EmulatorError``: `INTERNAL_ERROR` when the storage cannot be closed.
    public func close() throws {
        let isIdle = use.withLock { use in
            use.isClosed = true
            return use.calls == 0
        }
        guard isIdle else { return }
        do {
            try database.close()
        } catch {
            throw EmulatorError(.internalError, "the emulator's storage cannot be closed: \(error)")
        }
    }

    /// Uses the storage, which stays open until `body` returns.
    private func withDatabase<Value>(_ body: (any DatabaseWriter) throws -> Value) throws -> Value {
        try use.withLock { (use) throws(EmulatorError) in
            guard !use.isClosed else { throw EmulatorError(.internalError, "the emulator is closed") }
            use.calls += 1
        }
        defer {
            let isLast = use.withLock { use in
                use.calls -= 1
                return use.isClosed && use.calls == 0
            }
            if isLast { try? database.close() }
        }
        return try body(database)
    }
}

// MARK: - Transactions

extension CloudKitEmulator {
    /// The time by the emulator's clock.
    package var present: Date { clock() }

    /// The time by the emulator's clock, in whole milliseconds since 1970.
    var now: Int64 { clock().milliseconds }

    /// Reads from one state of the database.
    func read<Value>(_ body: (Database) throws -> Value) throws(EmulatorError) -> Value {
        do {
            return try withDatabase { database in
                // A queue reads with `PRAGMA query_only`, and SQLite compiles all statements again after that. A
                // queue has one connection, to which no other thread writes meanwhile.
                if let queue = database as? DatabaseQueue { return try queue.unsafeRead(body) }
                return try database.read(body)
            }
        } catch {
            throw EmulatorError(wrapping: error)
        }
    }

    /// Writes in one transaction, which is undone when `body` throws.
    func write<Value>(_ body: (Database) throws -> Value) throws(EmulatorError) -> Value {
        do {
            return try writeUnwrapped(body)
        } catch {
            throw EmulatorError(wrapping: error)
        }
    }

    /// Writes in one transaction, which is undone in any case.
    func tryOut<Value>(_ body: (Database) throws -> Value) throws(EmulatorError) -> Value {
        do {
            return try withDatabase { database in
                try database.writeWithoutTransaction { db in
                    var value: Value?
                    try db.inTransaction {
                        value = try body(db)
                        return .rollback
                    }
                    guard let value else { throw EmulatorError(.internalError, "the transaction had no result") }
                    return value
                }
            }
        } catch {
            throw EmulatorError(wrapping: error)
        }
    }

    /// Uses the storage for work on all tables.
    func withStorage<Value>(_ body: (any DatabaseWriter) throws -> Value) throws -> Value { try withDatabase(body) }

    /// Writes in one transaction, and throws the error of `body` as it is.
    func writeUnwrapped<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try withDatabase { try $0.write(body) }
    }
}

extension CloudKitEmulator {
    /// Registers a container. This is needed only with ``EmulatorConfiguration/Containers/registeredOnly``.
    ///
    /// - Throws: An ``EmulatorError``: `INTERNAL_ERROR` when the storage fails.
    public func registerContainer(_ identifier: String) throws {
        try write { db in
            try db.run("INSERT OR IGNORE INTO registered_container VALUES (?)", [identifier])
        }
    }
}

extension EmulatorError {
    init(wrapping error: any Error) {
        self = error as? EmulatorError ?? EmulatorError(.internalError, "the emulator's storage failed: \(error)")
    }
}
