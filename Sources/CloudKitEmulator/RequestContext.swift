import CloudKitModel

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One request, or a series of requests, of one caller to one database.
///
/// Each endpoint of the service is a method: a rule. It takes the request as the document describes it, and returns
/// the response, both as types that are generated from the document. A failure of the whole request is thrown as an
/// ``EmulatorError``; the failure of one item is that item's result.
///
/// ```swift
/// let ann = try emulator.request(in: notes, as: .user(user))
/// try ann.modifyRecords(.init(operations: [RecordOperation(.create, record: Record(recordType: "Note"))]))
/// try ann.queryRecords(.init(query: RecordQuery(recordType: "Note"))).records
/// ```
///
/// A context is a value. It can be kept, copied and changed, and used from any number of threads.
/// ``CloudKitEmulator/request(in:as:)`` makes a context, and decides once whether the caller may use the database. The
/// caller's permissions there are decided for each record.
package struct RequestContext: Sendable {
    /// The form of the records of a reply.
    package enum ReplyForm: Sendable {
        /// The caller reads them: records have their fields.
        case values
        /// They are only written as JSON. A record whose reply is its stored form is not parsed: it is a
        /// `StoredRecordOutput`.
        case written
    }

    let emulator: CloudKitEmulator
    /// The caller of the request.
    package private(set) var caller: Caller
    /// The database that the request is for.
    package private(set) var database: DatabaseAddress
    /// When the request is made; `nil` reads the emulator's clock at each call.
    package var time: Date?
    /// Where files are uploaded to and downloaded from, without a slash at the end. The addresses of replies begin with
    /// it.
    package var assetHostAddress = "http://assets.cloudkit.test"
    /// The address of the server, as the client knows it, without a slash at the end.
    package var serverAddress = "http://cloudkit.test"
    package var replyForm = ReplyForm.values
    /// Ends the reads of the request when its client has left; `nil` where they always run to their end.
    package var interruption: ReadInterruption?
    /// The failure for records of the request that a test orders.
    package var itemFault: ItemFault?
    /// Records that are not delivered: they have an error in place of their fields.
    package var deliveryFault: ItemFault?
    /// Where failures of single items are noted; `nil` where they are not asked for.
    package var refusals: RefusalNotes?

    init(_ emulator: CloudKitEmulator, _ database: DatabaseAddress, _ caller: Caller) {
        self.emulator = emulator
        self.database = database
        self.caller = caller
    }
}

/// A failure for records of `records/modify` and `records/lookup`, which a test of a client orders.
package struct ItemFault: Sendable {
    /// The names of the records; `nil` for all.
    package var names: Set<String>?
    package var error: EmulatorError

    package init(names: Set<String>?, error: EmulatorError) {
        self.names = names
        self.error = error
    }

    /// Throws the failure of a record, if it has one.
    func check(_ name: String?) throws(EmulatorError) {
        if names.map({ names in name.map(names.contains) ?? false }) ?? true { throw error }
    }
}

extension CloudKitEmulator {
    /// Begins a request, or a series of requests, of a caller to a database.
    ///
    /// ```swift
    /// let notes = DatabaseAddress("iCloud.com.example.notes", .development, .private)
    /// let ann = try emulator.request(in: notes, as: .user(user))
    /// try ann.listZones().zones   // the zone _defaultZone
    /// ```
    ///
    /// Every caller may use public databases. Private and shared databases need a user.
    ///
    /// - Parameters:
    ///   - database: The database. For endpoints below `/device`, which name no database, pass the public database.
    ///   - caller: Who makes the request.
    /// - Returns: The context of the request. Its methods are the endpoints.
    /// - Throws: An ``EmulatorError``: for a private or shared database, `AUTHENTICATION_REQUIRED` for an anonymous
    ///   caller, and for a server-to-server key the code
    ///   ``EmulatorConfiguration/Unsettled/serverKeyOnPrivateDatabase``; `BAD_REQUEST` for a container identifier with
    ///   a control character; ``EmulatorConfiguration/Unsettled/restrictedUser`` for a user who restricted the access to
    ///   their data.
    package func request(in database: DatabaseAddress, as caller: Caller) throws -> RequestContext {
        let context = try unrestrictingRequest(in: database, as: caller)
        if case .user(let user) = caller { try checkIsNotRestricted(user, in: database) }
        return context
    }

    /// Begins a request that a user may also make whose data are restricted, such as
    /// ``RequestContext/unrestrictUser()``.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - caller: Who makes the request.
    /// - Returns: The context of the request.
    /// - Throws: The same errors as ``request(in:as:)``, without that for restricted users.
    package func unrestrictingRequest(in database: DatabaseAddress, as caller: Caller) throws -> RequestContext {
        guard !database.container.hasControlCharacters else {
            throw EmulatorError.controlCharacter(in: "a container identifier")
        }
        switch caller {
        case .anonymous where database.scope != .public:
            throw EmulatorError.authenticationRequired
        case .serverKey where database.scope != .public:
            let code = configuration.unsettled.serverKeyOnPrivateDatabase
            throw EmulatorError(code, EmulatorError.authenticationFailed.reason)
        case .anonymous, .serverKey, .user:
            return RequestContext(self, database, caller)
        }
    }
}

extension RequestContext {
    package var configuration: EmulatorConfiguration { emulator.configuration }
    var identifiers: IdentifierSource { emulator.identifiers }
    /// The time of the request, in whole milliseconds since 1970.
    var now: Int64 { time?.milliseconds ?? emulator.now }
    /// The user record name that the caller writes records by.
    var user: String? { caller.userRecordName }

    /// The same request to another database of the container. The caller is not checked again.
    func inDatabase(_ scope: DatabaseScope) -> RequestContext {
        var context = self
        context.database.scope = scope
        return context
    }

    /// The same request by another caller. The caller is not checked again.
    func acting(as caller: Caller) -> RequestContext {
        var context = self
        context.caller = caller
        return context
    }

    /// The user who is signed in.
    func signedInUser() throws(EmulatorError) -> String {
        switch caller {
        case .anonymous: throw .authenticationRequired
        case .serverKey: throw .authenticationFailed
        case .user(let name): return name
        }
    }

    /// Refuses a whole request to write to the public database without a user, where the configuration says so.
    func checkCallerMayWrite() throws(EmulatorError) {
        guard database.scope == .public, user == nil, configuration.unsettled.anonymousWrite == .refusesRequest else {
            return
        }
        throw .authenticationRequired
    }

    // MARK: Transactions

    /// Reads within the database. Container and database are created when they are first named.
    func read<Value>(_ body: (DatabaseContext) throws -> Value) throws(EmulatorError) -> Value {
        try noteVisit()
        let value = try emulator.read { db in
            guard let interruption else { return try DatabaseContext(self, db).map(body) }
            return try interruption.run(on: db) { try DatabaseContext(self, db).map(body) }
        }
        if let value { return value }
        return try emulator.write { db in try body(try DatabaseContext.create(self, db)) }
    }

    /// Writes within the database, in one transaction. Container and database are created when they are first named.
    func write<Value>(_ body: (DatabaseContext) throws -> Value) throws(EmulatorError) -> Value {
        do {
            return try writeUnwrapped(body)
        } catch {
            throw EmulatorError(wrapping: error)
        }
    }

    /// Writes within the database, in one transaction, and throws the error of `body` as it is.
    func writeUnwrapped<Value>(_ body: (DatabaseContext) throws -> Value) throws -> Value {
        try noteVisit()
        return try emulator.writeUnwrapped { db in
            try body(try DatabaseContext(self, db) ?? DatabaseContext.create(self, db))
        }
    }
}
