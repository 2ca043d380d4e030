public import CloudKitModel
public import MistKit

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A service as the engine of synchronisation uses it: one request at a time for each database.
///
/// Usually a store uses a `CloudKitService`. Simulations use a service that calls the rules of an emulator and loses
/// replies. Tests can wrap a service to make requests fail.
public protocol SyncService: Sendable {
    /// Sends one request, once.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    /// - Returns: The reply, with a result for each item in the order of the request.
    /// - Throws: A `CloudKitError`. Its `mayHaveBeenDone` says whether the service may have carried out the request. An
    ///   error of another type ends the synchronisation.
    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply

    /// Sends one request, once, and passes the service's time on.
    ///
    /// The store corrects the times of edits with it, before it sends them: a clock that is a day ahead must not win
    /// with older edits. Without this function, the time is unknown, and the store learns it only from records: from
    /// their modification times, and from its own writes.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    /// - Returns: The reply or the failure, with the time.
    /// - Throws: An error that ends the synchronisation.
    func response(to request: SyncRequest, in scope: DatabaseScope) async throws -> SyncResponse

    /// Sends one request, once, with the credentials of one session.
    ///
    /// The engine has decided on the request for the user of this session. Sent in the name of another user, it would
    /// write one user's records into the database of another. Without this function, requests are sent in the session of
    /// the moment.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    ///   - session: The value of ``session`` when the engine decided on the request. If it has changed before the request
    ///     gets its credentials, the request must not be sent, and fails with `CloudKitError.Code.cancelled`.
    /// - Returns: The reply or the failure, with the time.
    /// - Throws: An error that ends the synchronisation.
    func response(to request: SyncRequest, in scope: DatabaseScope, ofSession session: UInt64) async throws
        -> SyncResponse

    /// Uploads a file for a field of a record. Unless you implement it, the service takes no files.
    ///
    /// - Parameters:
    ///   - upload: The file, with the field and the name of the record.
    ///   - zone: The zone of the record.
    ///   - scope: The database.
    ///   - session: The value of ``session`` when the engine decided on the upload. If it has changed before a request
    ///     gets its credentials, the file must not be sent, and the upload fails with `CloudKitError.Code.cancelled`.
    ///   - progress: Called after each piece.
    /// - Returns: The asset with its receipt.
    /// - Throws: A `CloudKitError`.
    func upload(
        _ upload: AssetUpload,
        inZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws -> Asset

    /// Makes the file of a record usable in another one, without sending its bytes. Unless you implement it, they are
    /// sent.
    ///
    /// - Parameters:
    ///   - field: The record that has the file, and its field.
    ///   - zone: The zone of the other record.
    ///   - scope: The database.
    ///   - session: The value of ``session`` when the engine decided on it, as for an upload.
    /// - Returns: The asset with its receipt.
    /// - Throws: A `CloudKitError`. After a refusal, the store uploads the file.
    func rereference(_ field: AssetField, forZone zone: ZoneID, of scope: DatabaseScope, ofSession session: UInt64)
        async throws -> Asset

    /// Downloads the file of a record's field. Unless you implement it, the service has no files.
    ///
    /// - Parameters:
    ///   - field: The field. Its asset is known; an address that has expired is replaced.
    ///   - file: The file to write. It has the same name in each attempt to download the same file, also in later
    ///     processes, so what was downloaded before a break may be kept beside it.
    ///   - scope: The database.
    ///   - session: The value of ``session`` when the engine decided on the download, as for an upload.
    ///   - progress: Called after each piece.
    /// - Throws: A `CloudKitError`, also for a file that is not complete. Then the file was not written.
    func download(
        _ field: AssetField,
        to file: URL,
        from scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws

    /// A number that changes whenever another user may have signed in; 0 unless you implement it.
    ///
    /// The store does not apply a reply if the number changed while the request was under way. After each change, the
    /// engine asks for the user (``SyncRequest/caller``) before it sends or fetches user data.
    var session: UInt64 { get }
}

extension SyncService {
    /// Sends one request, once. The service's time is unknown.
    public func response(to request: SyncRequest, in scope: DatabaseScope) async throws -> SyncResponse {
        do {
            return SyncResponse(.success(try await send(request, to: scope)))
        } catch let error as CloudKitError {
            return SyncResponse(.failure(error))
        }
    }

    /// Sends one request, once, in the session of the moment.
    public func response(
        to request: SyncRequest,
        in scope: DatabaseScope,
        ofSession session: UInt64
    ) async throws -> SyncResponse {
        try await response(to: request, in: scope)
    }

    /// Takes no files.
    public func upload(
        _ upload: AssetUpload,
        inZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws -> Asset {
        throw CloudKitError(code: .invalidArgument, message: "This service takes no files.")
    }

    /// Cannot do this: the file is uploaded.
    public func rereference(
        _ field: AssetField,
        forZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64
    ) async throws -> Asset {
        throw CloudKitError(code: .invalidArgument, message: "This service does not use a file again.")
    }

    /// Has no files.
    public func download(
        _ field: AssetField,
        to file: URL,
        from scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws {
        throw CloudKitError(code: .invalidArgument, message: "This service has no files.")
    }

    /// The same session all the time.
    public var session: UInt64 { 0 }
}

/// The reply to a request or its failure, with the time of the service.
public struct SyncResponse: Sendable {
    /// The reply, or the failure.
    public var result: Result<SyncReply, CloudKitError>
    /// When the service sent the response, by its clock, in whole seconds or exactly: the header field `Date`. It is
    /// `nil` where it is unknown.
    public var date: Date?

    /// Makes a response.
    public init(_ result: Result<SyncReply, CloudKitError>, date: Date? = nil) {
        self.result = result
        self.date = date
    }
}

/// A request of the engine.
public enum SyncRequest: Hashable, Sendable {
    /// `users/caller`: the user who is signed in.
    case caller
    /// `changes/database`: the zones that were changed since a token; without a token, all zones.
    case databaseChanges(since: DatabaseChangeToken?)
    /// `changes/zone`: a page of changes for each zone, for at most 20 zones.
    case zoneChanges([ZoneCursor])
    /// `changes/zone`: a page of the records of one zone, of which only some fields are needed, to compare them with those
    /// of this device; all fields when `nil`, none when empty.
    case zoneListing(ZoneCursor, desiredKeys: [String]?)
    /// `zones/modify`: creates zones, at most 200.
    case createZones([ZoneID])
    /// `records/lookup`: fetches the records of some names in a zone, at most 200.
    case lookup([String], zone: ZoneID)
    /// `records/modify`: changes records of one zone, at most 200.
    case modify([RecordOperation], zone: ZoneID, isAtomic: Bool)
    /// `records/query`: a page of a query.
    case query(RecordQuery, continuation: String?, desiredKeys: [String]?)

    /// The position up to which a zone was read.
    public struct ZoneCursor: Hashable, Sendable {
        /// The zone.
        public var zoneID: ZoneID
        /// The token of the last page; `nil` begins at the start.
        public var token: ZoneChangeToken?
        /// The types of the records to fetch; all when `nil`. Records of other types may come as well.
        public var desiredRecordTypes: [String]?

        /// Makes a cursor.
        public init(zoneID: ZoneID, token: ZoneChangeToken?, desiredRecordTypes: [String]? = nil) {
            self.zoneID = zoneID
            self.token = token
            self.desiredRecordTypes = desiredRecordTypes
        }
    }

    /// The most zones of a `changes/zone` request.
    static let zonesPerRequest = 20

    /// Whether the request changes something at the service.
    public var isWrite: Bool {
        switch self {
        case .caller, .databaseChanges, .zoneChanges, .zoneListing, .lookup, .query: false
        case .createZones, .modify: true
        }
    }

    /// The kind of a request, as the tables and the reports name it.
    enum Kind: String {
        case caller, databaseChanges, zoneChanges, createZones, lookup, modify, query
        /// The records of a zone or of a followed query are listed for a verification.
        case listing
    }

    var kind: Kind {
        switch self {
        case .caller: .caller
        case .databaseChanges: .databaseChanges
        case .zoneChanges: .zoneChanges
        case .zoneListing: .listing
        case .createZones: .createZones
        case .lookup: .lookup
        case .modify: .modify
        case .query: .query
        }
    }

    /// Whether it is a `modify` of which the service carries out all operations or none.
    var isAtomic: Bool {
        if case .modify(_, _, let isAtomic) = self { isAtomic } else { false }
    }
}

/// The reply to a ``SyncRequest``.
public enum SyncReply: Sendable {
    /// The reply to `caller`: the user record name of the user who is signed in.
    case caller(String)
    /// The reply to `databaseChanges`: a page of the list.
    case databaseChanges(DatabaseChanges)
    /// The reply to `zoneChanges` and `zoneListing`: a page or a failure for each zone, in the order of the request.
    case zoneChanges([Result<ZoneChanges, CloudKitError>])
    /// The reply to `createZones`: a zone or a failure for each, in the order of the request.
    case zones([Result<Zone, CloudKitError>])
    /// The reply to `lookup` and `modify`: a record or a failure for each, in the order of the request. A record that
    /// was deleted has `isDeleted`.
    case records([Result<CloudKitModel.Record, CloudKitError>])
    /// The reply to `query`: a page of records, with the marker of the next page.
    case query(RecordPage<CloudKitModel.Record>)

    /// The latest modification of the records in the reply.
    var latestModification: ServiceTime? {
        func latest(_ results: [Result<CloudKitModel.Record, CloudKitError>]) -> ServiceTime? {
            results.compactMap { try? $0.get().modified?.time }.max()
        }
        return switch self {
        case .caller, .databaseChanges, .zones: nil
        case .zoneChanges(let pages): pages.compactMap { latest((try? $0.get().results) ?? []) }.max()
        case .records(let results): latest(results)
        case .query(let page): latest(page.results)
        }
    }

    /// Whether it is a page of the list of changed zones, and not the last one.
    var isPartOfList: Bool {
        guard case .databaseChanges(let page) = self else { return false }
        return page.moreComing
    }

    /// Whether a list of zones has errors in place of some of them.
    var lacksZones: Bool {
        guard case .databaseChanges(let page) = self else { return false }
        return !page.failures.isEmpty
    }
}
