public import CloudKitEmulator
public import CloudKitModel
import CloudKitWebServices
public import MistKit
public import MistStore
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

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
    /// - Returns: The reply, read from the response as the client reads it.
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

// MARK: - Files

extension EmulatorSyncService {
    /// Uploads a file, without a socket.
    public func upload(
        _ upload: AssetUpload,
        inZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws -> Asset {
        var incoming = try beginUpload(
            for: upload.fieldName,
            of: upload.recordType,
            named: upload.recordName,
            inZone: zone,
            of: scope
        )
        for try await chunk in try upload.source.body() {
            try Self.mappingErrors { try incoming.append(chunk) }
        }
        return try Self.mappingErrors { try incoming.finish() }
    }

    /// Uses the file of a record again, without a socket.
    public func rereference(
        _ field: AssetField,
        forZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64
    ) async throws -> Asset {
        try asset(of: field, forZone: zone, of: scope)
    }

    /// Downloads a file, without a socket.
    public func download(
        _ field: AssetField,
        to file: URL,
        from scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws {
        let bytes = try bytes(of: field, from: scope)
        do {
            try Data(bytes).write(to: file)
        } catch {
            throw CloudKitError(code: .localData, message: "\(error)", cause: error)
        }
    }

    /// Uploads bytes, without suspending.
    func upload(
        _ bytes: [UInt8],
        for fieldName: String,
        of recordType: String,
        named recordName: String,
        inZone zone: ZoneID,
        of scope: DatabaseScope
    ) throws(CloudKitError) -> Asset {
        var incoming = try beginUpload(for: fieldName, of: recordType, named: recordName, inZone: zone, of: scope)
        return try Self.mappingErrors {
            try incoming.append(bytes[...])
            return try incoming.finish()
        }
    }

    /// Uses the file of a record again, without suspending.
    func asset(of field: AssetField, forZone zone: ZoneID, of scope: DatabaseScope) throws(CloudKitError) -> Asset {
        let response = try Self.mappingErrors {
            let context = try emulator.request(in: DatabaseAddress(container, environment, scope), as: .user(user))
            return try context.rereferenceAssets(
                .init(
                    zoneID: field.zoneID ?? .default,
                    assets: [.init(recordName: field.recordName, fieldName: field.fieldName)],
                    targetZoneID: zone
                )
            )
        }
        switch response.assets?.first {
        case .Asset(let asset): return asset
        case .AssetError(let error):
            throw CloudKitError(
                ErrorResponse(
                    serverErrorCode: ServerErrorCode(rawValue: error.serverErrorCode),
                    reason: error.reason,
                    retryAfter: error.retryAfter
                ),
                item: .record(name: field.recordName)
            )
        case nil: throw CloudKitError(code: .unexpectedResponse, message: "The response has no asset.")
        }
    }

    /// The bytes of a file, without suspending. The record is looked up, so that the address is a new one.
    func bytes(of field: AssetField, from scope: DatabaseScope) throws(CloudKitError) -> [UInt8] {
        guard
            case .records(let results) = try reply(
                to: .lookup([field.recordName], zone: field.zoneID ?? .default),
                in: scope
            ), let record = try results.first?.get(), let asset = record.fields[field.fieldName]?.plain.assetValue
        else {
            throw CloudKitError(code: .notFound, message: "The record has no such file.")
        }
        if let checksum = field.asset?.fileChecksum, checksum != asset.fileChecksum {
            throw CloudKitError(code: .conflict, message: "The record has another file by now.")
        }
        return try Self.mappingErrors {
            let outgoing = try emulator.openAsset(asset.downloadURL ?? "")
            var bytes: [UInt8] = []
            while bytes.count < outgoing.size { bytes += try outgoing.read(at: Int64(bytes.count)) }
            return bytes
        }
    }

    private func beginUpload(
        for fieldName: String,
        of recordType: String,
        named recordName: String?,
        inZone zone: ZoneID,
        of scope: DatabaseScope
    ) throws(CloudKitError) -> IncomingAsset {
        try Self.mappingErrors {
            let context = try emulator.request(in: DatabaseAddress(container, environment, scope), as: .user(user))
            let addresses = try context.requestAssetUploads(
                .init(
                    tokens: [.init(recordName: recordName, recordType: recordType, fieldName: fieldName)],
                    zoneID: zone
                )
            )
            let token = addresses.tokens?.first?.url?.split(separator: "/").last ?? ""
            return try emulator.beginAssetUpload(String(token))
        }
    }

    private static func mappingErrors<Value>(_ body: () throws -> Value) throws(CloudKitError) -> Value {
        do {
            return try body()
        } catch let error as EmulatorError {
            throw CloudKitError(error.response)
        } catch let error as AssetHostError {
            let code: CloudKitError.Code = error == .tooLarge ? .limitExceeded : .assetAddressExpired
            throw CloudKitError(code: code, message: "The asset host refused the request: \(error).", cause: error)
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
            let response = try fetchDatabaseChanges(.init(syncToken: token?.text))
            let origin = ResponseOrigin(operation: Operations.FetchDatabaseChanges.id)
            return .databaseChanges(try DatabaseChanges(response, since: token, in: origin))
        case .zoneChanges(let zones):
            let requests = zones.map {
                Components.Schemas.ZoneChangesRequest(
                    zoneID: $0.zoneID,
                    syncToken: $0.token?.text,
                    desiredRecordTypes: $0.desiredRecordTypes
                )
            }
            let origin = ResponseOrigin(operation: Operations.FetchZoneChanges.id)
            return .zoneChanges(
                zip(zones, try fetchZoneChanges(.init(zones: requests)).zones ?? []).map { zone, changes in
                    Result { () throws(CloudKitError) in
                        try ZoneChanges(changes, of: zone.zoneID, since: zone.token, in: origin)
                    }
                }
            )
        case .zoneListing(let cursor, let desiredKeys):
            let request = Components.Schemas.ZoneChangesRequest(
                zoneID: cursor.zoneID,
                syncToken: cursor.token?.text,
                desiredKeys: desiredKeys
            )
            let origin = ResponseOrigin(operation: Operations.FetchZoneChanges.id)
            return .zoneChanges(
                (try fetchZoneChanges(.init(zones: [request])).zones ?? []).map { changes in
                    Result { () throws(CloudKitError) in
                        try ZoneChanges(changes, of: cursor.zoneID, since: cursor.token, in: origin)
                    }
                }
            )
        case .createZones(let zones):
            let operations = zones.map { ZoneOperation(.create, zone: Zone(zoneID: $0)) }
            let results = try modifyZones(.init(operations: operations)).zones ?? []
            return .zones(Reply(results, operation: Operations.ModifyZones.id).results(for: zones))
        case .lookup(let names, let zone):
            let found = try lookupRecords(.init(records: names.map { .init(recordName: $0) }, zoneID: zone))
            let results = (found.records ?? []).map(\.result)
            return .records(Reply(results, operation: Operations.LookupRecords.id).results(for: names))
        case .modify(let operations, let zone, let isAtomic):
            let reply = try modifyRecords(.init(operations: operations, zoneID: zone, atomic: isAtomic))
            let results = (reply.records ?? []).map(\.result)
            return .records(
                Reply(results, operation: Operations.ModifyRecords.id).results(for: operations.map(\.record.recordName))
            )
        case .query(let query, let marker, let desiredKeys):
            let page = try queryRecords(.init(query: query, desiredKeys: desiredKeys, continuationMarker: marker))
            return .query(RecordPage(page, in: ResponseOrigin(operation: Operations.QueryRecords.id)))
        }
    }
}
