import CloudKitModel
import CloudKitWebServices
import GRDB
import MistKit
import MistStore
import ProcessLeases

/// Requests of which one item is refused.
extension SimulatedWorld {
    /// Lets the service carry out a request except for one operation, which fails. Of an atomic request, nothing is done.
    mutating func answer(
        _ request: SyncRequest,
        from device: SimulatedDevice,
        failing index: Int,
        with error: CloudKitError
    ) -> Result<SyncReply, CloudKitError> {
        guard let rest = request.leavingOut(index) else { return .failure(error) }
        if request.isAtomic { counts.atomicFailures += 1 }
        // Sometimes the service does not even report which item of an atomic request failed.
        let isReported = !request.isAtomic || !generator.chance(0.3)
        let error = isReported ? error : .atomic(rest.name)
        guard let others = rest.request else { return .success(.records(rest.results([], index, error))) }
        switch answer(others, from: device) {
        case .success(.records(let results)): return .success(.records(rest.results(results, index, error)))
        case let other: return other
        }
    }
}

/// A request that changes records, without one of its operations.
struct PartialRequest {
    /// The request that the service carries out; `nil` where it carries out nothing.
    let request: SyncRequest?
    /// The name of the record that is left out.
    let name: String
    private let otherNames: [String?]

    fileprivate init(_ operations: [RecordOperation], without index: Int, in zone: ZoneID, isAtomic: Bool) {
        var others = operations
        name = others.remove(at: index).record.recordName ?? ""
        otherNames = others.map(\.record.recordName)
        request = isAtomic || others.isEmpty ? nil : .modify(others, zone: zone, isAtomic: false)
    }

    /// The results of all operations: those of the others, and the error of the one that was left out.
    func results(
        _ results: [Result<CloudKitModel.Record, CloudKitError>],
        _ index: Int,
        _ error: CloudKitError
    ) -> [Result<CloudKitModel.Record, CloudKitError>] {
        var all = request == nil ? otherNames.map { .failure(.atomic($0)) } : results
        all.insert(.failure(error), at: index)
        return all
    }
}

extension SyncRequest {
    /// The request without one of its operations; `nil` for a request that changes no records.
    func leavingOut(_ index: Int) -> PartialRequest? {
        guard case .modify(let operations, let zone, let isAtomic) = self else { return nil }
        return PartialRequest(operations, without: index, in: zone, isAtomic: isAtomic)
    }
}

/// Receipts of uploaded files that the service has refused.
extension SimulatedWorld {
    /// A receipt that was refused must not be sent again.
    func checkReceipts(in request: SyncRequest, of device: SimulatedDevice) throws {
        for (_, record) in request.savedRecords {
            guard device.refusedReceipts.isDisjoint(with: record.receipts) else {
                throw failure("\(device.name) sends a receipt of \(record.recordName ?? "") that was refused.")
            }
        }
    }

    /// Notes the receipts of the records that a reply refuses, if the device applies the reply.
    func noteRefusedReceipts(
        in reply: Result<SyncReply, CloudKitError>,
        to request: SyncRequest,
        _ number: RequestNumber,
        on device: SimulatedDevice
    ) throws {
        guard simulation.hasFiles, case .success(.records(let results)) = reply, device.file.lease.isHeld else {
            return
        }
        let isUnderWay = try device.read { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM mist_request WHERE number = ?)",
                arguments: [number]
            )
        }
        guard isUnderWay == true else { return }
        for (index, record) in request.savedRecords where index < results.count {
            guard case .failure(let error) = results[index], error.code == .badRequest else { continue }
            device.refusedReceipts.formUnion(record.receipts)
        }
    }

    /// A person lets records be sent again whose files were refused more than once.
    func retryRefusedFiles(of device: SimulatedDevice) throws {
        guard !device.refusedReceipts.isEmpty else { return }
        let local = LocalDatabase(file: device.file, scope: simulation.scope, configuration: configuration)
        try device.database.write { db in
            let isParked = try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM mist_parked WHERE until IS NULL AND message LIKE '%receipt%')"
            )
            if isParked == true { try local.retryParked(db) }
        }
    }
}

/// Files that a device has.
extension SimulatedWorld {
    /// The fields of a device that have a file of the service which is here, and do not say so.
    func filesToTakeOver(of device: SimulatedDevice) throws -> Set<String> {
        guard simulation.hasFiles else { return [] }
        return try device.read { db in
            var found: Set<String> = []
            for table in device.file.orderedTables {
                for row in try table.allRows(db) {
                    for (name, value) in row.fields {
                        guard let asset = value.assetValue, asset.content == nil, try device.hasFile(of: asset, db)
                        else { continue }
                        found.insert("\(name) of \(row.name), \(asset)")
                    }
                }
            }
            return found
        }
    }

    /// A record that arrives has the files that are here already.
    func checkFilesToTakeOver(of device: SimulatedDevice, besides earlier: Set<String>) throws {
        let left = try filesToTakeOver(of: device).subtracting(earlier)
        guard left.isEmpty else { throw failure("\(device.name) has the files of records that lack them: \(left).") }
    }
}

extension SimulatedDevice {
    /// Whether the device has the file with the service's signature of an asset.
    func hasFile(of asset: Asset, _ db: Database) throws -> Bool {
        let hash = try String.fetchOne(
            db,
            sql: """
                SELECT name.hash FROM mist_content_name AS name JOIN mist_content AS content ON content.hash = name.hash
                WHERE name.checksum = ? AND name.size = ?
                """,
            arguments: [asset.fileChecksum, asset.size]
        )
        return hash.flatMap(ContentHash.init(rawValue:)).flatMap(file.bytes) != nil
    }

    /// The files to which records and the recovery log refer. The engine finds them with SQL of its own.
    func usedFiles(_ db: Database) throws -> Set<ContentHash> {
        let rows = try file.orderedTables.flatMap { try $0.allRows(db).map(\.fields) }
        let receipts = try String.fetchAll(db, sql: "SELECT fields FROM mist_recovery").map(OtherFields.read)
        return Set((rows + receipts).flatMap(\.values).compactMap { $0.plain.assetValue?.content })
    }
}

extension SyncRequest {
    /// The records that it creates or changes, with their positions.
    fileprivate var savedRecords: [(index: Int, record: CloudKitModel.Record)] {
        guard case .modify(let operations, _, _) = self else { return [] }
        return operations.enumerated().map { ($0, $1.record) }
    }

    /// The positions and names of the records that have a file which was uploaded for them.
    var newFiles: [(index: Int, name: String)] {
        savedRecords.filter { !$0.record.receipts.isEmpty }.map { ($0.index, $0.record.recordName ?? "") }
    }
}

extension CloudKitModel.Record {
    fileprivate var receipts: Set<String> { Set(fields.compactMap { $0.value.plain.assetValue?.receipt }) }
}
