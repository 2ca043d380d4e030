import Foundation
import MistModels

/// Reads the firmwares of a device from the API of ipsw.me, version 4: `/v4/device/VirtualMac2,1?type=ipsw`.
///
/// ```json
/// {"identifier": "VirtualMac2,1", "firmwares": [{"version": "15.1", "buildid": "24B83", "sha1sum": "…", "sha256sum": "…",
///   "filesize": 15772829127, "url": "https://…", "releasedate": "2024-10-28T17:04:37Z", "signed": true}]}
/// ```
///
/// For each image, it says whether Apple signs it. It does not say which images are betas.
public enum IPSWMe {
    private struct Device: Decodable {
        var firmwares: [ListEntry<Firmware>]
    }

    private struct Firmware: Decodable {
        var version: String
        var buildid: String
        var sha1sum: String?
        var sha256sum: String?
        var filesize: Int?
        var url: String?
        var releasedate: String?
        var signed: Bool?
    }

    /// Reads the body of a response.
    ///
    /// - Throws: ``SourceError`` if the body is not such a document.
    public static func parse(_ body: [UInt8]) throws(SourceError) -> SourceContents {
        let device = try JSONDocument.decode(Device.self, from: body, of: .ipswMe)
        var (entries, problems) = JSONDocument.entries(device.firmwares, in: "firmwares")
        var images: [RestoreImage] = []
        for (place, firmware) in entries {
            var reader = EntryReader(place)
            defer { problems += reader.problems }
            guard let build = reader.build(firmware.buildid, "buildid"),
                let version = reader.version(firmware.version, "version")
            else { continue }
            var image = RestoreImage(key: build)
            image.version = version.version.text
            image.stage = version.stage
            image.sha1 = reader.hash(firmware.sha1sum, digits: 40, "sha1sum")
            image.sha256 = reader.hash(firmware.sha256sum, digits: 64, "sha256sum")
            image.fileSize = reader.size(firmware.filesize, "filesize")
            image.downloadURL = reader.address(firmware.url, "url")
            image.releaseDate = reader.date(firmware.releasedate, "releasedate")
            image.isSigned = firmware.signed
            images.append(image)
        }
        return try SourceContents(of: .ipswMe, images: images, problems: problems)
    }
}
