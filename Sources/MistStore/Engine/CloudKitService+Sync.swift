public import CloudKitModel
public import MistKit
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension CloudKitService: SyncService {
    /// A number that changes with each sign-in and sign-out of the service's token manager.
    public var session: UInt64 { signIns }

    /// Sends one request, once: the engine of the store decides what is sent again.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    /// - Returns: The reply.
    /// - Throws: A `CloudKitError`.
    public func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        try await response(to: request, in: scope).result.get()
    }

    /// Sends one request, once.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    /// - Returns: The reply or the failure, with the header field `Date` of the response.
    /// - Throws: No error of the service: it is the result.
    public func response(to request: SyncRequest, in scope: DatabaseScope) async throws -> SyncResponse {
        try await response(to: request, in: scope, ofSession: session)
    }

    /// Sends one request, once, with the credentials of a session.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    ///   - session: The session. When another one has begun, the request is not sent.
    /// - Returns: The reply or the failure, with the header field `Date` of the response.
    /// - Throws: No error of the service: it is the result.
    public func response(
        to request: SyncRequest,
        in scope: DatabaseScope,
        ofSession session: UInt64
    ) async throws -> SyncResponse {
        let noted = NotedDate()
        let service = inSession(session).withoutRepetition { seconds in noted.seconds.withLock { $0 = seconds } }
        let result: Result<SyncReply, CloudKitError>
        do {
            result = .success(try await service.reply(to: request, in: scope))
        } catch let error as CloudKitError {
            result = .failure(error)
        }
        let date = noted.seconds.withLock(\.self).map { Date(timeIntervalSince1970: TimeInterval($0)) }
        return SyncResponse(result, date: date)
    }
}

extension CloudKitService {
    /// Uploads a file for a field of a record, and repeats what failed by the service's retry policy.
    ///
    /// - Parameters:
    ///   - upload: The file, with the field and the name of the record.
    ///   - zone: The zone of the record.
    ///   - scope: The database.
    ///   - session: The session. When another one has begun, nothing is sent.
    ///   - progress: Called after each piece.
    /// - Returns: The asset with its receipt.
    /// - Throws: A `CloudKitError`.
    public func upload(
        _ upload: AssetUpload,
        inZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws -> Asset {
        try await inSession(session).database(scope).upload(
            upload.source,
            for: upload.fieldName,
            of: upload.recordType,
            named: upload.recordName,
            inZone: zone,
            progress: progress
        ).asset
    }

    /// Makes the file of a record usable in another one, without sending its bytes: `assets/rereference`.
    ///
    /// - Parameters:
    ///   - field: The record that has the file, and its field.
    ///   - zone: The zone of the other record.
    ///   - scope: The database.
    ///   - session: The session. When another one has begun, nothing is sent.
    /// - Returns: The asset with its receipt.
    /// - Throws: A `CloudKitError`.
    public func rereference(
        _ field: AssetField,
        forZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64
    ) async throws -> Asset {
        try await inSession(session).database(scope).rereference(field, forZone: zone == field.zoneID ? nil : zone)
    }

    /// Downloads the file of a record's field, and goes on after an interruption by the service's retry policy. What was
    /// downloaded before the process ended is kept beside the file, and is not downloaded again.
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - file: The file to write.
    ///   - scope: The database.
    ///   - session: The session. When another one has begun, no address is looked up.
    ///   - progress: Called after each piece.
    /// - Throws: A `CloudKitError`.
    public func download(
        _ field: AssetField,
        to file: URL,
        from scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws {
        try await inSession(session).database(scope).resumeDownload(of: field, to: file, progress: progress)
    }
}

/// The time of the last response, in seconds since 1970.
private final class NotedDate: Sendable {
    let seconds = Mutex<Int?>(nil)
}

extension CloudKitService {
    fileprivate func reply(to request: SyncRequest, in scope: DatabaseScope) async throws -> SyncReply {
        let database = database(scope)
        let call = begin()
        return switch request {
        case .caller: .caller(try await fetchNameOfCaller())
        case .databaseChanges(let token): .databaseChanges(try await database.requestDatabaseChanges(since: token))
        case .zoneChanges(let zones):
            .zoneChanges(
                try await database.requestZoneChanges(
                    zones.map {
                        ($0.zoneID, $0.token, ZoneChangesOptions(desiredRecordTypes: $0.desiredRecordTypes))
                    }
                )
            )
        case .zoneListing(let cursor, let desiredKeys):
            .zoneChanges(
                try await database.requestZoneChanges(
                    [(cursor.zoneID, cursor.token)],
                    ZoneChangesOptions(desiredKeys: desiredKeys)
                )
            )
        case .createZones(let zones):
            .zones(
                try await database.requestModifyZones(zones.map { .init(.create, zone: Zone(zoneID: $0)) }, in: call)
                    .results(for: zones)
            )
        case .lookup(let names, let zone):
            .records(try await database.requestLookup(names, inZone: zone, in: call).results(for: names))
        case .modify(let operations, let zone, let isAtomic):
            .records(
                try await database.requestModify(operations, inZone: zone, atomic: isAtomic, in: call)
                    .results(for: operations.map(\.record.recordName))
            )
        case .query(let query, let marker, let desiredKeys):
            .query(try await database.requestQuery(query, startingAt: marker, desiredKeys: desiredKeys))
        }
    }

    private func fetchNameOfCaller() async throws -> String {
        if let name = try await fetchCaller().userRecordName { return name }
        throw CloudKitError(code: .unexpectedResponse, message: "The reply of users/caller names no user.")
    }
}
