public import CloudKitModel
public import MistKit
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
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
        let noted = NotedDate()
        let service = withoutRepetition { seconds in noted.seconds.withLock { $0 = seconds } }
        let result: Result<SyncReply, CloudKitError>
        do {
            result = .success(try await service.replyOnce(to: request, in: scope))
        } catch let error as CloudKitError {
            result = .failure(error)
        }
        let date = noted.seconds.withLock(\.self).map { Date(timeIntervalSince1970: TimeInterval($0)) }
        return SyncResponse(result, date: date)
    }
}

/// The time of the last response, in seconds since 1970.
private final class NotedDate: Sendable {
    let seconds = Mutex<Int?>(nil)
}

extension CloudKitService {
    fileprivate func replyOnce(
        to request: SyncRequest,
        in scope: DatabaseScope
    ) async throws -> SyncReply {
        let database = database(scope)
        switch request {
        case .caller:
            guard let user = try await fetchCaller().userRecordName else {
                throw CloudKitError(code: .unexpectedResponse, message: "The reply of users/caller names no user.")
            }
            return .caller(user)
        case .databaseChanges(let token):
            return .databaseChanges(
                try await database.fetchDatabaseChanges(since: token.flatMap(DatabaseChangeToken.init))
            )
        case .zoneChanges(let cursors):
            return .zoneChanges(
                try await database.fetchZoneChanges(cursors.map { ($0.zoneID, $0.token.flatMap(ZoneChangeToken.init)) })
            )
        case .createZones(let zones):
            return .zones(try await database.createZonesOnce(zones).map { $0.map(\.zoneID) })
        case .lookup(let names, let zone):
            return .records(try await database.lookUpOnce(names, inZone: zone))
        case .modify(let operations, let zone, let isAtomic):
            return .records(try await database.modifyOnce(operations, inZone: zone, atomic: isAtomic))
        case .query(let query, let continuation, let desiredKeys):
            let page = try await database.queryOnce(
                query,
                inZone: nil,
                continuing: continuation,
                desiredKeys: desiredKeys
            )
            return .query(records: page.results, continuation: page.marker)
        }
    }
}
