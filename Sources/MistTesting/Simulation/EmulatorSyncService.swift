public import CloudKitEmulator
public import CloudKitModel
import CloudKitWebServices
public import MistKit
public import MistStore

/// A service for stores that calls the rules of an emulator directly, without a socket, HTTP or waiting.
///
/// ```swift
/// let emulator = try CloudKitEmulator()
/// let user = try emulator.createUser()
/// let service = EmulatorSyncService(emulator, container: "iCloud.com.example.todos", user: user)
/// let store = try MistStore(at: folder, records: [Todo.self], service: service)
/// ```
public struct EmulatorSyncService: SyncService {
    private let emulator: CloudKitEmulator
    private let container: String
    private let environment: ContainerEnvironment
    private let user: String

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - emulator: The rules.
    ///   - container: The container's identifier.
    ///   - environment: The environment.
    ///   - user: The user record name of the user who is signed in.
    public init(
        _ emulator: CloudKitEmulator,
        container: String,
        environment: ContainerEnvironment = .development,
        user: String
    ) {
        self.emulator = emulator
        self.container = container
        self.environment = environment
        self.user = user
    }

    /// Carries out a request.
    public func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        try reply(to: request, in: scope)
    }

    /// Carries out a request.
    ///
    /// - Returns: The reply or the failure, with the time by the emulator's clock.
    public func response(to request: SyncRequest, in scope: DatabaseScope) async -> SyncResponse {
        let result: Result<SyncReply, CloudKitError>
        do throws(CloudKitError) {
            result = .success(try reply(to: request, in: scope))
        } catch {
            result = .failure(error)
        }
        return SyncResponse(result, date: emulator.present)
    }

    /// Carries out a request, without suspending.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    /// - Returns: The reply.
    /// - Throws: A `CloudKitError`, as the client would throw it.
    public func reply(to request: SyncRequest, in scope: DatabaseScope) throws(CloudKitError) -> SyncReply {
        do {
            let context = try emulator.request(
                in: DatabaseAddress(container, environment, scope),
                as: .user(user)
            )
            return try context.reply(to: request)
        } catch let error as EmulatorError {
            throw CloudKitError(error.response)
        } catch {
            throw CloudKitError(code: .unexpectedResponse, message: "\(error)", cause: error)
        }
    }
}

extension RequestContext {
    fileprivate func reply(to request: SyncRequest) throws -> SyncReply {
        switch request {
        case .caller:
            guard let user = caller.userRecordName else {
                throw EmulatorError(.authenticationRequired, "There is no user.")
            }
            return .caller(user)
        case .databaseChanges(let token):
            let page = try fetchDatabaseChanges(.init(syncToken: token))
            guard let next = DatabaseChangeToken(page.syncToken ?? "") else { throw EmulatorError.noToken }
            var changes = DatabaseChanges(token: next, moreComing: page.moreComing ?? false)
            for case .success(let zone) in page.zones ?? [] {
                if zone.isDeleted {
                    changes.deletedZones.append(zone.zoneID)
                } else {
                    changes.changedZones.append(zone)
                }
            }
            return .databaseChanges(changes)
        case .zoneChanges(let cursors):
            let zones = cursors.map { Components.Schemas.ZoneChangesRequest(zoneID: $0.zoneID, syncToken: $0.token) }
            let pages = try fetchZoneChanges(.init(zones: zones)).zones ?? []
            return .zoneChanges(try pages.map(ZoneChangesPage.result))
        case .createZones(let zones):
            let operations = zones.map { ZoneOperation(.create, zone: Zone(zoneID: $0)) }
            let results = try modifyZones(.init(operations: operations)).zones
            return .zones(
                zip(zones, results ?? []).map { zoneID, result in
                    switch result {
                    case .success(let zone): .success(zone.zoneID)
                    case .failure(let error):
                        .failure(CloudKitError(error.response, item: .zone(name: zoneID.zoneName)))
                    }
                }
            )
        case .lookup(let names, let zone):
            let found = try lookupRecords(.init(records: names.map { .init(recordName: $0) }, zoneID: zone))
            return .records((found.records ?? []).map(\.result.result))
        case .modify(let operations, let zone, let isAtomic):
            let reply = try modifyRecords(.init(operations: operations, zoneID: zone, atomic: isAtomic))
            return .records((reply.records ?? []).map(\.result.result))
        case .query(let query, let continuation, let desiredKeys):
            let page = try queryRecords(
                .init(query: query, desiredKeys: desiredKeys, continuationMarker: continuation)
            )
            return .query(records: (page.records ?? []).map(\.result.result), continuation: page.continuationMarker)
        }
    }
}

extension EmulatorError {
    fileprivate static let noToken = EmulatorError(.internalError, "The page has no token.")
}

extension ZoneChangesPage {
    fileprivate static func result(
        _ page: Components.Schemas.ZoneChanges
    ) throws -> Result<ZoneChangesPage, CloudKitError> {
        if let code = page.serverErrorCode {
            let error = ErrorResponse(
                serverErrorCode: ServerErrorCode(rawValue: code),
                reason: page.reason,
                retryAfter: page.retryAfter
            )
            return .failure(CloudKitError(error, item: page.zoneID.map { .zone(name: $0.zoneName) }))
        }
        guard let next = ZoneChangeToken(page.syncToken ?? "") else { throw EmulatorError.noToken }
        return .success(
            ZoneChangesPage(
                results: (page.records ?? []).map(\.result.result),
                token: next,
                moreComing: page.moreComing ?? false
            )
        )
    }
}

extension RecordResult {
    fileprivate var result: Result<Record, CloudKitError> {
        switch self {
        case .success(let record): .success(record)
        case .failure(let error):
            .failure(CloudKitError(error.response, item: error.id.map { .record(name: $0) }))
        }
    }
}
