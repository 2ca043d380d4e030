import Foundation
import MistModels

/// Reads the builds of macOS from AppleDB's `/ios/macOS/main.json`, a list of all builds.
///
/// ```json
/// [{"osStr": "macOS", "version": "15.1 beta 5", "build": "24B5055e", "released": "2024-09-23", "beta": true,
///   "deviceMap": ["VirtualMac2,1"], "sources": [{"type": "ipsw", "deviceMap": ["VirtualMac2,1"], "size": 15734924985,
///   "links": [{"url": "https://…", "active": true}], "hashes": {"sha1": "…", "sha2-256": "…"}}], "signed": true}]
/// ```
///
/// Builds without an image are left out: they are updates only, or builds for Intel. A date that is only a year or a
/// month is left out, too.
public enum AppleDB {
    private struct Build: Decodable {
        var osStr: String
        var version: String
        var build: String?
        var released: String?
        var beta: Bool?
        var rc: Bool?
        var `internal`: Bool?
        var sources: [ListEntry<File>]?
        var signed: Signed?
    }

    private struct File: Decodable {
        struct Link: Decodable {
            var url: String
            var active: Bool?
            var preferred: Bool?
        }

        var type: String
        var deviceMap: [String]?
        var links: [Link]?
        var hashes: [String: String]?
        var size: Int?
    }

    /// Whether Apple signs a build: for all devices or for none, or for the devices of a list.
    private enum Signed: Decodable {
        case all(Bool)
        case devices([String])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Bool.self) {
                self = .all(value)
            } else {
                self = .devices(try container.decode([String].self))
            }
        }

        func includes(_ device: String) -> Bool {
            switch self {
            case .all(let value): value
            case .devices(let devices): devices.contains(device)
            }
        }
    }

    /// The device whose image is read for all Macs: a virtual Mac.
    static let device = "VirtualMac2,1"

    /// Reads the body of a response.
    ///
    /// - Throws: ``SourceError`` if the body is not such a document.
    public static func parse(_ body: [UInt8]) throws(SourceError) -> SourceContents {
        let builds = try JSONDocument.decode([ListEntry<Build>].self, from: body, of: .appleDB)
        var (entries, problems) = JSONDocument.entries(builds)
        var images: [RestoreImage] = []
        for (place, build) in entries where build.osStr == "macOS" && build.internal != true {
            let (files, fileProblems) = JSONDocument.entries(build.sources ?? [], in: place + ".sources")
            problems += fileProblems
            guard let file = image(of: files.map(\.value)) else { continue }
            var reader = EntryReader(place)
            defer { problems += reader.problems }
            guard let number = reader.build(build.build, "build"),
                let version = reader.version(build.version, "version")
            else { continue }
            var image = RestoreImage(key: number)
            image.version = version.version.text
            image.stage = version.stage ?? (build.beta == true ? "beta" : build.rc == true ? "RC" : Stage.release)
            image.releaseDate = build.released?.utf8.count == 10 ? reader.date(build.released, "released") : nil
            image.downloadURL = reader.address(link(of: file), "sources.links.url")
            image.fileSize = reader.size(file.size, "sources.size")
            image.sha1 = reader.hash(file.hashes?["sha1"], digits: 40, "sources.hashes.sha1")
            image.sha256 = reader.hash(file.hashes?["sha2-256"], digits: 64, "sources.hashes.sha2-256")
            image.isSigned = build.signed?.includes(device)
            images.append(image)
        }
        return try SourceContents(of: .appleDB, images: images, problems: problems)
    }

    /// The image of a build: the image for virtual Macs, or else the image for all Macs.
    private static func image(of files: [File]) -> File? {
        let images = files.filter { $0.type == "ipsw" }
        return images.first { $0.deviceMap?.contains(device) == true }
            ?? images.first { $0.links?.contains { $0.url.contains("/UniversalMac_") } == true }
    }

    /// The address of a file, or `nil` if it can no longer be fetched.
    private static func link(of file: File) -> String? {
        let links = (file.links ?? []).filter { $0.active != false }
        return (links.first { $0.preferred == true } ?? links.first)?.url
    }
}
