import ArgumentParser
import Foundation
import MistKit
import StreamingJSON

/// The folder of an export or an import for the files that records hold.
struct FileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of the files that records hold. Without it, an export has only their descriptions, and an import refuses them.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var assets: String?

    /// The folder.
    var files: RecordFiles? { assets.map { RecordFiles(folder: $0) } }
}

/// The files that records hold, in a folder of this machine.
///
/// In a file of records, an asset dictionary names its file by the member `file`, a path within the folder: zone,
/// record and field.
///
///     {"recordName":"mei","fields":{"photo":{"value":{"file":"_defaultZone/mei/photo","size":9,…},"type":"ASSETID"}}}
struct RecordFiles {
    /// The member of an asset dictionary that names the file.
    private static let member = "file"

    let folder: String

    /// The path of a file within the folder.
    ///
    /// - Parameters:
    ///   - record: The record that holds it.
    ///   - field: The field's name.
    ///   - index: Its index in a list; `nil` where the field is not a list.
    /// - Returns: A path with three parts.
    static func path(of record: Record, field: String, index: Int?) -> String {
        let zone = component(record.zoneID?.zoneName ?? ZoneID.default.zoneName)
        let name = component(record.recordName ?? "")
        return "\(zone)/\(name)/\(component(field))" + (index.map { "-\($0)" } ?? "")
    }

    /// A name as a part of a path. Characters that file systems refuse, or give another meaning, are escaped as in
    /// URLs.
    private static func component(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !text.isEmpty: text += "."
            default: text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        // File systems accept names of 255 bytes. A hash of the whole name replaces the end of a longer name.
        return text.count <= 200 ? text : text.prefix(180) + "~" + String(hash(of: name), radix: 16)
    }

    /// FNV-1a, which gives the same number on every machine.
    private static func hash(of text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }

    /// The asset that names a file in a file of records.
    static func asset(at path: String) throws(JSONError) -> Asset {
        var asset = Asset()
        asset.otherKeys[member] = try JSONRawValue(path)
        return asset
    }

    // MARK: Export

    /// Downloads the files of some records.
    ///
    /// - Parameters:
    ///   - records: The records as they were just fetched, since the addresses of files are valid for about an hour.
    ///   - database: The database of the records.
    /// - Returns: The records, whose assets name their files.
    /// - Throws: The first `CloudKitError` of a download, or a ``CommandError`` where the folder cannot be written.
    func download(_ records: [Record], from database: CloudKitDatabase) async throws -> [Record] {
        var records = records
        var files: [(download: AssetDownload, field: AssetField, url: URL)] = []
        for index in records.indices {
            let record = records[index]
            for (name, value) in record.fields {
                records[index][name] = try value.mappingAssets { asset, position in
                    let path = Self.path(of: record, field: name, index: position)
                    try makeFolder(for: path)
                    let field = AssetField(name, of: record, at: position ?? 0)
                    files.append((AssetDownload(asset, to: url(of: path)), field, url(of: path)))
                    var local = try Self.asset(at: path)
                    (local.fileChecksum, local.size) = (asset.fileChecksum, asset.size)
                    return local
                }
            }
        }
        for (file, result) in zip(files, await database.download(files.map(\.download))) {
            guard case .failure(let error) = result else { continue }
            guard error.code == .assetAddressExpired else { throw error }
            // The downloads before took more than an hour: a new address is fetched.
            try await database.download(file.field, to: file.url)
        }
        return records
    }

    private func url(of path: String) -> URL { URL(fileURLWithPath: folder).appending(path: path) }

    private func makeFolder(for path: String) throws(CommandError) {
        let parent = url(of: path).deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        } catch {
            throw CommandError.unwritable(parent.path, error)
        }
    }

    // MARK: Import

    /// The files that have to be uploaded for a record.
    ///
    /// - Throws: ``CommandError`` for an asset that names no file, and for a file that is not there.
    func uploads(of record: Record) throws(CommandError) -> [AssetUpload] {
        var uploads: [AssetUpload] = []
        for (name, value) in record.fields {
            for asset in value.assets {
                uploads.append(
                    AssetUpload(
                        .file(try file(named: asset, in: name)),
                        for: name,
                        of: record.recordType ?? "",
                        named: record.recordName
                    )
                )
            }
        }
        return uploads
    }

    /// The file that an asset names.
    private func file(named asset: Asset, in field: String) throws(CommandError) -> URL {
        guard let path = try? asset.otherKeys[Self.member]?.read(String.self) else {
            throw CommandError(
                code: .data,
                message: "The field \(field) is a file without a name.",
                remedy: "Export with --assets, or write {\"file\":\"photo.jpg\"} as the value."
            )
        }
        // A file of records may come from anyone. It must not reach files outside of the folder.
        guard !path.hasPrefix("/"), !path.split(separator: "/").contains("..") else {
            throw CommandError(
                code: .data,
                message: "The file \(path) of the field \(field) is outside of the folder of files.",
                remedy: "Name a file within the folder of --assets."
            )
        }
        let url = url(of: path)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), !isFolder.boolValue else {
            throw CommandError(
                code: .data,
                message: "The file \(path) of the field \(field) is not in \(folder).",
                remedy: "Put it there, or remove the field."
            )
        }
        return url
    }

    /// Uploads the files of some records.
    ///
    /// - Parameters:
    ///   - records: The records. Their names are those under which they are saved.
    ///   - database: Where they are to be saved.
    ///   - zone: Their zone.
    /// - Returns: For each record, the record with the uploaded assets in its fields, or the error why it cannot be
    ///   saved.
    /// - Throws: A `CloudKitError` that concerns all of them, such as a lost network.
    func upload(
        _ records: [Record],
        to database: CloudKitDatabase,
        inZone zone: ZoneID?
    ) async throws -> [Result<Record, CommandError>] {
        let uploads = records.map { record in Result { () throws(CommandError) in try self.uploads(of: record) } }
        let all = uploads.flatMap { (try? $0.get()) ?? [] }
        guard !all.isEmpty else { return zip(records, uploads).map { record, uploads in uploads.map { _ in record } } }
        var results = await database.upload(all, inZone: zone).makeIterator()
        return try zip(records, uploads).map { record, uploads in
            guard case .success(let files) = uploads else { return uploads.map { _ in record } }
            var assets: [Asset] = []
            var failure: CommandError?
            for _ in files {
                switch results.next() {
                case .success(let upload)?: assets.append(upload.asset)
                case .failure(let error)?:
                    guard error.refusesOneFile else { throw error }
                    failure = failure ?? CommandError(error)
                case nil: break
                }
            }
            if let failure { return .failure(failure) }
            var saved = record
            var next = assets.makeIterator()
            for (name, value) in record.fields {
                saved[name] = value.mappingAssets { asset, _ in next.next() ?? asset }
            }
            return .success(saved)
        }
    }
}

extension FieldValue {
    /// The files of the value.
    var assets: [Asset] {
        switch plain {
        case .asset(let asset): [asset]
        case .assetList(let assets): assets
        default: []
        }
    }

    /// The value with other assets.
    ///
    /// `body` makes each new asset from the old one and its index, which is `nil` where the value is not a list.
    fileprivate func mappingAssets<Failure>(
        _ body: (Asset, Int?) throws(Failure) -> Asset
    ) throws(Failure) -> FieldValue {
        let mapped: FieldValue
        switch plain {
        case .asset(let asset): mapped = .asset(try body(asset, nil))
        case .assetList(let assets):
            var list: [Asset] = []
            for (index, asset) in assets.enumerated() { list.append(try body(asset, index)) }
            mapped = .assetList(list)
        default: return self
        }
        return isEncrypted ? .encrypted(mapped) : mapped
    }
}
