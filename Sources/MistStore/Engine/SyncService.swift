public import CloudKitModel
public import MistKit

/// What the engine of synchronisation asks of a service: one request at a time for each database.
///
/// A store is usually given a `CloudKitService`. Simulations give it one that calls the rules of an emulator and loses replies on the way.
public protocol SyncService: Sendable {
    /// Sends one request, once.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    /// - Returns: The reply, with a result for each item in the order of the request.
    /// - Throws: A `CloudKitError`. Its `mayHaveBeenDone` tells whether the service may have carried out what failed.
    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply
}

/// A request of the engine.
public enum SyncRequest: Hashable, Sendable {
    /// `changes/database`: which zones were changed since a token; all zones without one.
    case databaseChanges(since: String?)
    /// `changes/zone`: a page of what was changed in each zone.
    case zoneChanges([ZoneCursor])
    /// `zones/modify`: creates zones.
    case createZones([ZoneID])
    /// `records/lookup`
    case lookup([String], zone: ZoneID)
    /// `records/modify`
    case modify([RecordOperation], zone: ZoneID, isAtomic: Bool)
    /// `records/query`: a page of a query.
    case query(RecordQuery, continuation: String?, desiredKeys: [String]?)

    /// Where a zone was read to.
    public struct ZoneCursor: Hashable, Sendable {
        /// The zone.
        public var zoneID: ZoneID
        /// The token of the last page; `nil` begins at the start.
        public var token: String?

        /// Makes a cursor.
        public init(zoneID: ZoneID, token: String?) {
            self.zoneID = zoneID
            self.token = token
        }
    }

    /// The most zones of a `changes/zone` request.
    static let zonesPerRequest = 20

    /// Whether the request changes something at the service.
    public var isWrite: Bool {
        switch self {
        case .databaseChanges, .zoneChanges, .lookup, .query: false
        case .createZones, .modify: true
        }
    }

    /// The kind of a request, as the tables and the reports name it.
    enum Kind: String {
        case databaseChanges, zoneChanges, createZones, lookup, modify, query
    }

    var kind: Kind {
        switch self {
        case .databaseChanges: .databaseChanges
        case .zoneChanges: .zoneChanges
        case .createZones: .createZones
        case .lookup: .lookup
        case .modify: .modify
        case .query: .query
        }
    }

    /// Whether it is a `modify` of which the service does all or nothing.
    var isAtomic: Bool {
        if case .modify(_, _, let isAtomic) = self { isAtomic } else { false }
    }
}

/// The reply to a ``SyncRequest``.
public enum SyncReply: Sendable {
    /// Of `databaseChanges`.
    case databaseChanges(DatabasePage)
    /// Of `zoneChanges`: a page or a failure for each zone, in the order of the request.
    case zoneChanges([Result<ZonePage, CloudKitError>])
    /// Of `createZones`, in the order of the request.
    case zones([Result<ZoneID, CloudKitError>])
    /// Of `lookup` and `modify`, in the order of the request. A record that was deleted has `isDeleted`.
    case records([Result<CloudKitModel.Record, CloudKitError>])
    /// Of `query`.
    case query(records: [Result<CloudKitModel.Record, CloudKitError>], continuation: String?)

    /// The zones that were changed.
    public struct DatabasePage: Hashable, Sendable {
        /// Zones with changes.
        public var changed: [ZoneID]
        /// Zones that are gone.
        public var deleted: [ZoneID]
        /// The token of the next request.
        public var token: String
        /// Whether there is another page.
        public var moreComing: Bool

        /// Makes a page.
        public init(changed: [ZoneID], deleted: [ZoneID], token: String, moreComing: Bool) {
            self.changed = changed
            self.deleted = deleted
            self.token = token
            self.moreComing = moreComing
        }
    }

    /// What was changed in a zone.
    public struct ZonePage: Sendable {
        /// Records with their values, and deleted ones with `isDeleted`.
        public var records: [CloudKitModel.Record]
        /// Records that the service could not give.
        public var failures: [CloudKitError]
        /// The token of the next request.
        public var token: String
        /// Whether there is another page.
        public var moreComing: Bool

        /// Makes a page.
        public init(records: [CloudKitModel.Record], failures: [CloudKitError] = [], token: String, moreComing: Bool) {
            self.records = records
            self.failures = failures
            self.token = token
            self.moreComing = moreComing
        }
    }
}
