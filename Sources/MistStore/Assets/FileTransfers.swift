import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

/// A file to send to the service, or to fetch from it.
package struct FileTransfer: Hashable, Sendable {
    package let key: TransferKey
    let type: TableID
    package let zoneID: ZoneID
    package let recordType: String
    package let fieldName: String
    /// The asset of the record: that to be uploaded has a content, that to be downloaded has an address, which may have
    /// expired.
    package let asset: Asset
    package let content: ContentHash?
    /// The record that has the file to be uploaded at the service already; `nil` where none is known.
    package var source: FileSource?

    /// Whether the transfer is that of a row, and not of another file of the field.
    func isTransfer(of row: TransferRow) -> Bool {
        let file =
            switch key.direction {
            case .upload: content?.rawValue
            case .download: asset.fileChecksum
            }
        return key == row.key && file == row.file
    }

    /// Whether the transfer is that of a row, or the download of the same file.
    func hasFile(of row: TransferRow) -> Bool {
        key == row.key
            || key.direction == .download && row.key.direction == .download && asset.fileChecksum == row.file
    }
}

/// The field of a record that has a file at the service.
package struct FileSource: Hashable, Sendable {
    package let recordName: String
    package let fieldName: String
    package let zoneID: ZoneID
    /// The service's signature of the file.
    let checksum: String
    let size: Int64

    /// Whether an asset of the service is this file.
    package func isFile(of asset: Asset) -> Bool {
        asset.fileChecksum == checksum && asset.size == size && asset.receipt != nil
    }
}

/// The end of a transfer.
package enum FileTransferEnd: Sendable {
    /// The file was uploaded. The asset has a receipt.
    case uploaded(Asset)
    /// The file was downloaded.
    case downloaded(IncomingFile)
    /// It failed.
    case failed(CloudKitError)
}

/// What happens to a transfer after a failure: a pure function of the error.
enum TransferOutcome: Hashable {
    /// It is tried again after a wait.
    case later
    /// The record waits for an edit: the file cannot be sent as it is, or a copy cannot get it.
    case park
    /// The record has no such file any more. Its changes are fetched anyway.
    case drop

    /// Decides on a failure.
    ///
    /// - Parameters:
    ///   - error: The failure.
    ///   - direction: The direction of the transfer.
    ///   - isOfCopy: Whether the file is that of a record which was moved, and whose copy waits for it.
    /// - Returns: The decision.
    static func of(_ error: CloudKitError, _ direction: TransferKey.Direction, isOfCopy: Bool) -> TransferOutcome {
        switch (direction, error.code) {
        case (.download, .notFound) where isOfCopy: .park
        // The changes that are fetched anyway name the other file.
        case (.download, .conflict) where isOfCopy: .later
        case (.upload, .localData), (.upload, .limitExceeded), (.upload, .badRequest), (.upload, .invalidArgument),
            (.upload, .accessDenied):
            .park
        case (.download, .notFound), (.download, .conflict): .drop
        default: .later
        }
    }
}

extension TransferOutcome {
    /// Whether a file is uploaded because the service does not let it be used again. After other errors an upload would
    /// fail, too.
    static func uploadsInstead(after error: CloudKitError) -> Bool {
        switch error.code {
        case .network, .serviceUnavailable, .throttled, .tryAgainLater, .zoneBusy, .misdirectedRequest, .cancelled,
            .authenticationRequired, .authenticationFailed:
            false
        default: true
        }
    }
}

/// Decides which files are transferred, and applies the end of a transfer.
///
/// Transfers are made beside the requests of the scope, a few at a time, so that a long one holds up no record. Nothing
/// that they do depends on the order of requests: an upload changes no record, and a downloaded file has the name of
/// its content. So they check no lease. Only the process that synchronises begins them.
struct FileTransfers: EngineProcedure {
    let transaction: EngineTransaction

    // MARK: Choosing

    /// Whether files of the scope may be transferred now in a direction: no person has to sign in, and the user who is
    /// signed in is the owner of the file.
    private func isOpen(_ direction: TransferKey.Direction) throws -> Bool {
        try scope == .public && direction == .download || ownerIsSignedIn()
    }

    /// The next transfers.
    ///
    /// - Parameters:
    ///   - limit: The most transfers.
    ///   - underWay: Those that are under way.
    /// - Returns: The transfers.
    /// - Throws: A ``StoreError`` when the file fails.
    func next(_ limit: Int, besides underWay: Set<FileTransfer>) throws -> [FileTransfer] {
        guard limit > 0, let folder = file.folder else { return [] }
        let state = try scopeState.row()
        guard state.condition != .signedOut, state.end(at: now) == nil else { return [] }
        let directions = try TransferKey.Direction.allCases.filter(isOpen)
        try forgetUnneeded(besides: directions)
        var chosen: [FileTransfer] = []
        while true {
            var hasChanged = false
            for row in try transfers.due(directions, at: now, limit: limit + underWay.count)
            where chosen.count < limit && !underWay.contains(where: { $0.hasFile(of: row) }) {
                // The second download of the same file ends with the first one.
                guard !chosen.contains(where: { $0.hasFile(of: row) }) else { continue }
                if let transfer = try transfer(row, folder) {
                    chosen.append(transfer)
                } else {
                    hasChanged = true
                }
            }
            // Rows without an effect must not hide others.
            guard hasChanged, chosen.isEmpty else { return chosen }
        }
    }

    /// Forgets transfers of records that are gone, in directions that are not open. The others are forgotten when they are
    /// chosen.
    private func forgetUnneeded(besides open: [TransferKey.Direction]) throws {
        let closed = TransferKey.Direction.allCases.filter { !open.contains($0) }
        guard !closed.isEmpty else { return }
        for row in try transfers.due(closed, at: now, limit: 100) where try asset(of: row) == nil {
            try transfers.forget(row.key)
        }
    }

    /// A row as a transfer; `nil` where it was forgotten, because the record has another file by now, or because the file
    /// is here.
    private func transfer(_ row: TransferRow, _ folder: ContentFolder) throws -> FileTransfer? {
        guard let (present, field, table, zone) = try asset(of: row) else {
            try transfers.forget(row.key)
            return nil
        }
        let former = row.key.direction == .download ? try formerZone(of: row, table) : nil
        var transfer = FileTransfer(
            key: row.key,
            type: row.type,
            zoneID: former?.zoneID ?? zone.zoneID,
            recordType: table.recordType,
            fieldName: field.name,
            asset: present,
            content: ContentHash(rawValue: row.file)
        )
        switch row.key.direction {
        case .upload:
            guard let content = transfer.content, folder.size(of: content) != nil else {
                try park(row, "The file is not in the folder of files any more. Set the field again.")
                return nil
            }
            // After the record was refused, its file is uploaded.
            if try parking.attempts(of: row.key.name, in: zone.id) == 0 { transfer.source = try source(of: content) }
        case .download:
            if let content = try contents.content(of: present) {
                try setContent(content, of: row, present)
                try transfers.forget(row.key)
                return nil
            }
        }
        return transfer
    }

    /// A record that has a file at the service: one without an edit of the field.
    private func source(of content: ContentHash) throws -> FileSource? {
        for name in try contents.names(of: content) {
            guard let checksum = name.fileChecksum, let size = name.size else { continue }
            for table in file.orderedTables {
                for field in table.assetFields {
                    guard let row = try table.row(with: name, in: field, scope, db),
                        let zone = try zones.fetch(row.zone)
                    else { continue }
                    return FileSource(
                        recordName: row.name,
                        fieldName: field.name,
                        zoneID: zone.zoneID,
                        checksum: checksum,
                        size: size
                    )
                }
            }
        }
        return nil
    }

    /// The asset that the field has now, if it still is the one of the transfer.
    private func asset(of row: TransferRow) throws -> (Asset, StoredField, RecordTable, StoredZone)? {
        guard let table = file.tablesByID[row.type], let field = table.field(row.key.field),
            let zone = try zones.fetch(row.key.zone), let record = try table.row(named: row.key.name, in: zone.id, db),
            let asset = record.fields[field.name]?.assetValue
        else { return nil }
        switch row.key.direction {
        case .upload:
            guard try asset.content?.rawValue ?? contents.content(of: asset)?.rawValue == row.file else { return nil }
        case .download:
            guard asset.fileChecksum == row.file, asset.content == nil else { return nil }
        }
        return (asset, field, table, zone)
    }

    /// The zone in which the service has the record, if that is not the one of the row: the copy of a moved record has to
    /// be sent first.
    private func formerZone(of row: TransferRow, _ table: RecordTable) throws -> StoredZone? {
        guard try !knownVersions.isAcknowledged(row.key.name, in: row.key.zone),
            let record = try table.row(named: row.key.name, in: row.key.zone, db)
        else { return nil }
        return try movedRecords.former(of: record, table).flatMap { try zones.fetch($0.zone) }
    }

    /// Notes in the record's row which file of this machine it has. That is not an edit.
    private func setContent(_ content: ContentHash?, of row: TransferRow, _ asset: Asset) throws {
        guard let table = file.tablesByID[row.type], let zone = try zones.fetch(row.key.zone),
            let field = table.field(row.key.field),
            let record = try table.row(named: row.key.name, in: zone.id, db)
        else { return }
        let pair = try ColumnPair(.asset(asset.stored(with: content)), of: field, in: zone.zoneID)
        try table.update(record.id, [field.name: pair], at: nil, db)
    }

    /// Forgets the receipts of records that have gone, or that have nothing to send any more: another device's value won.
    func forgetUnusedReceipts() throws {
        for row in try transfers.receipts() {
            if let (_, _, table, zone) = try asset(of: row),
                let record = try table.row(named: row.key.name, in: zone.id, db),
                try !pendingEdits.edits(of: record.id, table).isEmpty
            {
                continue
            }
            try transfers.forget(row.key)
        }
    }

    private func park(_ row: TransferRow, _ message: String) throws {
        try parking.park(row.key.name, because: .file, message, in: row.key.zone, since: now)
        try transfers.forget(row.key)
        summary.parked += 1
    }

    // MARK: Ends

    /// Applies the end of a transfer.
    func end(_ transfer: FileTransfer, _ end: FileTransferEnd) throws {
        let key = transfer.key
        guard let row = try transfers.row(key) else { return }
        // Another process has taken over meanwhile, and transfers another file of the field.
        guard transfer.isTransfer(of: row) else { return }
        // The record may have another file by now.
        guard let (asset, _, table, _) = try asset(of: row) else { return try transfers.forget(key) }
        switch end {
        case .uploaded(let uploaded):
            guard let content = ContentHash(rawValue: row.file) else { return try transfers.forget(key) }
            try contents.name(content, as: uploaded)
            try setContent(content, of: row, uploaded)
            try transfers.setUploaded(uploaded, key)
        case .downloaded(let incoming):
            let received = incoming.file
            guard asset.size == nil || asset.size == received.size else {
                let message = "The file has \(received.size) bytes, and should have \(asset.size ?? 0)."
                return try transfers.delay(key, until: now + backoff(after: row.attempts), because: message)
            }
            try file.folder?.keep(received, at: now, db)
            try contents.name(received.content, as: asset)
            try setContent(received.content, of: row, asset)
            try transfers.forget(key)
        case .failed(let error):
            let isOfCopy = try key.direction == .download && formerZone(of: row, table) != nil
            switch TransferOutcome.of(error, key.direction, isOfCopy: isOfCopy) {
            case .later:
                let wait = delay(after: row.attempts, error)
                try transfers.delay(key, until: now + wait, because: error.description)
            case .park: try park(row, error.description)
            case .drop: try transfers.forget(key)
            }
        }
    }
}

/// A file that was downloaded, and has no row yet.
package struct IncomingFile: Sendable {
    let file: ContentFolder.Incoming
}

// MARK: - Records that are sent

extension FileTransfers {
    /// Whether a record can be sent, as to its files.
    enum Readiness: Hashable {
        case ready, waiting
    }

    /// Replaces the files of this machine in the fields that are to be sent by the uploaded assets.
    ///
    /// - Parameters:
    ///   - row: The record's row.
    ///   - table: Its table.
    ///   - edits: The edits to be sent.
    ///   - isCreate: Whether all fields are sent.
    ///   - zone: Its zone.
    /// - Returns: Whether all files are uploaded. Of those that are not, the upload is noted, or the download of a file
    ///   that is not here.
    /// - Throws: A `DatabaseError` when the file fails.
    func prepare(
        _ row: inout LocalRow,
        of table: RecordTable,
        _ edits: [EditRow],
        isCreate: Bool,
        in zone: StoredZone
    ) throws -> Readiness {
        var readiness = Readiness.ready
        for field in table.assetFields {
            let edit = edits.first { $0.field?.id == field.id }
            guard isCreate || edit != nil, let asset = row.fields[field.name]?.assetValue else { continue }
            // The service has the file in this field already.
            if !isCreate, asset.fileChecksum != nil, edit?.base.isSame(as: .asset(asset)) == true { continue }
            guard asset.receipt == nil else { continue }
            guard let content = try asset.content ?? contents.content(of: asset) else {
                // A record that follows a moved one has its file in the former zone, and perhaps not here.
                if isCreate, try movedRecords.former(of: row, table) != nil,
                    try transfers.wantDownload(of: field, row, table)
                {
                    readiness = .waiting
                }
                continue
            }
            let key = TransferKey(direction: .upload, zone: zone.id, name: row.name, field: field.id)
            if let uploaded = try transfers.uploaded(key, content) {
                row.fields[field.name] = .asset(uploaded)
            } else {
                try transfers.want(key, of: table.id, content.rawValue, size: asset.size)
                readiness = .waiting
            }
        }
        return readiness
    }
}

// MARK: - Records that arrive

extension FileTransfers {
    /// A version of the service, with the files that are on this machine already.
    func adopted(_ record: Record, _ table: RecordTable) throws -> Record {
        var record = record
        for field in table.assetFields {
            guard let asset = record.fields[field.name]?.plain.assetValue else { continue }
            record.fields[field.name] = .asset(asset.stored(with: try contents.content(of: asset)))
        }
        return record
    }

    /// Lets the files of a record be downloaded whose fields say so.
    func wantDownloads(of name: String, _ table: RecordTable, in zone: StoredZone) throws {
        guard let row = try table.row(named: name, in: zone.id, db) else { return }
        for field in table.assetFields
        where configuration.download(of: field.name, table.recordType) == .withRecord {
            try transfers.wantDownload(of: field, row, table)
        }
    }
}

extension Transfers {
    /// Lets a file be downloaded, unless it is here.
    ///
    /// - Returns: Whether it is to be downloaded.
    @discardableResult
    func wantDownload(of field: StoredField, _ row: LocalRow, _ table: RecordTable) throws -> Bool {
        guard let asset = row.fields[field.name]?.assetValue, asset.content == nil, let checksum = asset.fileChecksum
        else { return false }
        let key = TransferKey(direction: .download, zone: row.zone, name: row.name, field: field.id)
        try want(key, of: table.id, checksum, size: asset.size)
        return true
    }
}

extension RecordTable {
    /// The contents that the rows refer to, as queries of one column. The column has a JSON object.
    var contentQueries: [String] {
        assetFields.map {
            "SELECT json_extract(\($0.column), '$.\(Asset.contentKey)') FROM \(name) WHERE \($0.column) IS NOT NULL"
        }
    }

    /// A record that has a file of the service in a field, without an edit of it that was not acknowledged.
    fileprivate func row(with asset: Asset, in field: StoredField, _ scope: DatabaseScope, _ db: Database) throws
        -> LocalRow?
    {
        let edits = PendingEdits.rows(where: "type = \(id) AND field IN (\(FieldID.insert), \(field.id))")
        return try rows(
            """
            json_extract(\(field.column), '$.fileChecksum') = ? AND json_extract(\(field.column), '$.size') = ?
            AND _zone IN (\(Zones.ids(in: "?"))) AND _id NOT IN (\(edits)) LIMIT 1
            """,
            [ColumnValue(asset.fileChecksum ?? ""), ColumnValue(asset.size ?? 0), ColumnValue(scope.number)],
            db
        ).first
    }
}
