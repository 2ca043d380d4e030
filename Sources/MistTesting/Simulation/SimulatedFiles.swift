import CloudKitModel
import GRDB
import MistKit
import MistStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SimulatedWorld {
    /// A file of a simulation, which its size identifies.
    struct SimulatedFile {
        let number: Int

        init(number: Int) { self.number = number }

        init(size: Int64) { number = Int(size) - 100 }

        var bytes: [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number + 100) }
    }

    /// Lets a transfer of a device end, or files be collected, or some time pass.
    ///
    /// - Returns: Whether one of these happened.
    mutating func handleFiles(of device: SimulatedDevice) throws -> Bool {
        if generator.chance(0.01) {
            tell("an hour passes")
            advance(3_600_000...7_200_000)
            // The processes show first that they live.
            return true
        }
        if generator.chance(0.04) {
            counts.collections += 1
            try device.engine.collectFiles(at: now(of: device))
            tell("\(device.name) collects files")
            try checkFiles(of: device)
            return true
        }
        guard !device.transfers.isEmpty, generator.chance(0.5) else { return false }
        let transfer = device.transfers.remove(at: Int.random(in: 0..<device.transfers.count, using: &generator))
        let faults = simulation.faults
        if generator.chance(faults.lostRequest) {
            counts.lostRequests += 1
            try end(transfer, of: device, .failed(.broken(mayHaveBeenDone: false)))
            return true
        }
        var result = try perform(transfer, on: device)
        if generator.chance(faults.lostReply) {
            counts.lostReplies += 1
            result = .failed(.broken(mayHaveBeenDone: true))
        } else if case .downloaded = result, generator.chance(faults.lostReply) {
            // The connection ended early, and the client did not notice it.
            tell("\(device.name) gets a part of a file")
            result = try device.file.received(Array(SimulatedFile(number: 7).bytes.prefix(50)))
        }
        try end(transfer, of: device, result)
        if generator.chance(faults.duplicate), case .uploaded = result { try end(transfer, of: device, result) }
        return true
    }

    mutating func beginTransfers(of device: SimulatedDevice) throws {
        guard simulation.hasFiles else { return }
        device.transfers += try nextTransfers(3 - device.transfers.count, of: device)
    }

    /// The transfers that the device begins now. It fetches no file that it has.
    func nextTransfers(_ limit: Int, of device: SimulatedDevice) throws -> [FileTransfer] {
        let begun = try device.engine.nextTransfers(limit, besides: Set(device.transfers), at: now(of: device))
        for transfer in begun where transfer.key.direction == .download {
            guard try !device.read({ db in try device.hasFile(of: transfer.asset, db) }) else {
                throw failure(
                    "\(device.name) fetches the file of \(transfer.key.name), which it has: \(transfer.asset)."
                )
            }
        }
        return begun
    }

    mutating func end(
        _ transfer: FileTransfer,
        of device: SimulatedDevice,
        _ result: FileTransferEnd
    ) throws {
        counts.transfers += 1
        let kind: String
        switch result {
        case .uploaded: kind = "uploaded"
        case .downloaded: kind = "downloaded"
        case .failed(let error): kind = "not transferred, \(error.code)"
        }
        tell("\(device.processName) has \(kind): \(transfer.fieldName) of \(transfer.key.name)")
        try device.engine.endTransfer(transfer, result, at: now(of: device))
        try checkFiles(of: device)
    }

    /// Makes a transfer at the service, without faults.
    mutating func perform(_ transfer: FileTransfer, on device: SimulatedDevice) throws -> FileTransferEnd {
        let field = AssetField(transfer.fieldName, of: transfer.key.name, inZone: transfer.zoneID)
        do throws(CloudKitError) {
            switch transfer.key.direction {
            case .upload:
                if let source = transfer.source {
                    let from = AssetField(source.fieldName, of: source.recordName, inZone: source.zoneID)
                    let asset = try? service.asset(of: from, forZone: transfer.zoneID, of: simulation.scope)
                    if let asset, source.isFile(of: asset) {
                        counts.rereferences += 1
                        return .uploaded(asset)
                    }
                }
                guard let bytes = transfer.content.flatMap({ device.file.bytes(of: $0) }) else {
                    throw CloudKitError(code: .localData, message: "The file is not there.")
                }
                let asset = try service.upload(
                    bytes,
                    for: transfer.fieldName,
                    of: transfer.recordType,
                    named: transfer.key.name,
                    inZone: transfer.zoneID,
                    of: simulation.scope
                )
                return .uploaded(asset)
            case .download:
                let bytes = try service.bytes(of: field, from: simulation.scope)
                guard Int64(bytes.count) == transfer.asset.size else {
                    throw CloudKitError(code: .conflict, message: "The record has another file by now.")
                }
                return .downloaded(try received(bytes, on: device))
            }
        } catch {
            return .failed(error)
        }
    }

    private func received(_ bytes: [UInt8], on device: SimulatedDevice) throws(CloudKitError) -> IncomingFile {
        do {
            if case .downloaded(let file) = try device.file.received(bytes) { return file }
        } catch {
            throw CloudKitError(code: .localData, message: "\(error)")
        }
        throw CloudKitError(code: .localData, message: "The file was not written.")
    }

    /// Checks that the files are there to which the device refers, and that they have the right bytes.
    func checkFiles(of device: SimulatedDevice) throws {
        try device.read { db in
            let (_, known, onDisk) = try device.file.contents(db)
            let lost = try device.usedFiles(db).subtracting(known.intersection(onDisk))
            guard lost.isEmpty else { throw failure("\(device.name) has lost the files \(lost).") }
            for held in device.added where time.withLock({ $0 }) - held.time < 55 * 60 * 1000 {
                guard let content = held.asset.content, onDisk.contains(content) else {
                    throw failure("\(device.name) has lost a file that the program has just added: \(held.asset).")
                }
            }
            for table in device.file.orderedTables {
                for row in try table.allRows(db) {
                    for asset in row.fields.values.compactMap(\.assetValue) {
                        guard let content = asset.content else { continue }
                        guard device.file.bytes(of: content) == SimulatedFile(size: asset.size ?? 0).bytes else {
                            throw failure("\(device.name) has another file in \(row.name): \(asset).")
                        }
                    }
                }
            }
        }
    }

    /// Checks that all devices have the files of all records, and that the service has the right bytes.
    func checkFiles(of records: [CloudKitModel.Record]) throws {
        guard simulation.hasFiles else { return }
        for device in devices {
            try checkFiles(of: device)
            try device.read { db in
                for table in device.file.orderedTables {
                    for row in try table.allRows(db) {
                        for asset in row.fields.values.compactMap(\.assetValue) where asset.content == nil {
                            throw failure("\(device.name) does not have the file of \(row.name): \(asset).")
                        }
                    }
                }
            }
        }
        for record in records {
            for (name, value) in record.fields.map({ ($0.name, $0.value) }) {
                guard let asset = value.plain.assetValue else { continue }
                let field = AssetField(name, of: record.recordName ?? "", inZone: record.zoneID)
                guard try service.bytes(of: field, from: simulation.scope) == SimulatedFile(size: asset.size ?? 0).bytes
                else { throw failure("The service has another file in \(record.recordName ?? ""): \(asset).") }
            }
        }
    }

    /// Two hours later, the devices have the files to which something refers, and no others.
    mutating func checkCollection() throws {
        guard simulation.hasFiles else { return }
        for device in devices {
            for _ in 0..<2 {
                try device.engine.collectFiles(at: now(of: device))
                time.withLock { $0 += 7_200_000 }
            }
            try device.engine.collectFiles(at: now(of: device))
            try checkFiles(of: device)
            let receipts = try device.read { db in try Int64.fetchOne(db, sql: "SELECT count(*) FROM mist_transfer") }
            guard receipts == 0 else { throw failure("\(device.name) keeps receipts that it does not use.") }
            let (_, known, onDisk) = try device.read(device.file.contents)
            let used = try device.read(device.usedFiles)
            guard used == known, known == onDisk else {
                throw failure("\(device.name) refers to \(used.count) files, and has \(known.count), \(onDisk.count).")
            }
        }
    }

    func removeFiles() {
        if let folder { try? FileManager.default.removeItem(at: folder) }
    }
}
