package import CloudKitModel
import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CloudKitService {
    /// The same service for a caller with its own retries: each request is sent once, and does not wait for the
    /// throttle.
    ///
    /// - Parameter noteDate: Gets the header field `Date` of each response, also of a failure, in seconds since 1970.
    /// - Returns: The service.
    package func withoutRepetition(noteDate: @escaping @Sendable (Int) -> Void) -> CloudKitService {
        var service = self
        service.connection = connection.withoutRepetition(noteDate: noteDate)
        return service
    }
}

/// Notes the time at which the service has sent each response.
struct DateNotingTransport: ClientTransport {
    let transport: any ClientTransport
    let noteDate: @Sendable (Int) -> Void

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let reply = try await transport.send(request, body: body, baseURL: baseURL, operationID: operationID)
        if let seconds = reply.0.headerFields[.date].flatMap(secondsOfHTTPDate) { noteDate(seconds) }
        return reply
    }
}

extension CloudKitService {
    /// A number that changes with each sign-in and sign-out, as ``TokenManager/signIns``.
    package var signIns: UInt64 { connection.pipeline.tokenManager.signIns }
}

/// Calls of one request each, for the engine of a local store: no batches, no retries, no lookups after lost replies.
extension CloudKitDatabase {
    /// One request of `records/modify`.
    ///
    /// - Returns: One result per operation, in their order.
    package func modifyOnce(
        _ operations: [RecordOperation],
        inZone zone: ZoneID,
        atomic: Bool
    ) async throws(CloudKitError) -> [Result<Record, CloudKitError>] {
        let reply = try await service.reply(to: Operations.ModifyRecords.id) { client in
            let response = try await client.modifyRecords(
                path: path,
                body: .json(.init(operations: operations, zoneID: zone, atomic: atomic))
            ).ok
            return (try response.body.json.records?.map(\.result) ?? [], response.headers.xAppleRequestUUID)
        }
        return BatchResults.align(reply, with: operations.map(\.record.recordName))
    }

    /// One request of `records/lookup`.
    ///
    /// - Returns: One result per name, in their order.
    package func lookUpOnce(
        _ names: [String],
        inZone zone: ZoneID
    ) async throws(CloudKitError) -> [Result<Record, CloudKitError>] {
        let reply = try await service.reply(to: Operations.LookupRecords.id) { client in
            let response = try await client.lookupRecords(
                path: path,
                body: .json(.init(records: names.map { .init(recordName: $0) }, zoneID: zone))
            ).ok
            return (try response.body.json.records?.map(\.result) ?? [], response.headers.xAppleRequestUUID)
        }
        return BatchResults.align(reply, with: names)
    }

    /// One request of `zones/modify` that creates zones.
    package func createZonesOnce(_ zones: [ZoneID]) async throws(CloudKitError) -> [Result<Zone, CloudKitError>] {
        let reply = try await service.reply(to: Operations.ModifyZones.id) { client in
            let response = try await client.modifyZones(
                path: path,
                body: .json(.init(operations: zones.map { ZoneOperation(.create, zone: Zone(zoneID: $0)) }))
            ).ok
            return (try response.body.json.zones ?? [], response.headers.xAppleRequestUUID)
        }
        return BatchResults.align(reply, with: zones)
    }

    /// One page of `records/query`.
    ///
    /// - Returns: The records, and the marker of the next page.
    package func queryOnce(
        _ query: RecordQuery,
        inZone zone: ZoneID?,
        continuing marker: String?,
        desiredKeys: [String]?
    ) async throws(CloudKitError) -> (results: [Result<Record, CloudKitError>], marker: String?) {
        let reply = try await service.reply(to: Operations.QueryRecords.id) { client in
            let response = try await client.queryRecords(
                path: path,
                body: .json(.init(query: query, zoneID: zone, desiredKeys: desiredKeys, continuationMarker: marker))
            ).ok
            return (try response.body.json, response.headers.xAppleRequestUUID)
        }
        return (
            (reply.body.records ?? []).map { $0.result.result(requested: nil, in: reply.origin) },
            reply.body.continuationMarker
        )
    }
}
