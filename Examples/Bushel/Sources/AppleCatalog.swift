import Foundation
import MistModels
import WebText

/// Reads Apple's catalog of restore images for Macs, an XML property list: `com_apple_macOSIPSW.xml`.
///
/// ```xml
/// <dict><key>MobileDeviceSoftwareVersionsByVersion</key><dict><key>1</key><dict>
///   <key>MobileDeviceSoftwareVersions</key><dict><key>VirtualMac2,1</key><dict><key>24B83</key><dict>
///     <key>Restore</key><dict><key>BuildVersion</key><string>24B83</string> … </dict></dict>
///     <key>Unknown</key><dict><key>Universal</key><dict><key>Restore</key> … </dict></dict></dict></dict></dict></dict></dict>
/// ```
///
/// It has the newest final image of each model, and no history. Each image in it is signed; an image that is not in it
/// may be signed, too.
public enum AppleCatalog {
    /// Reads the body of a response.
    ///
    /// - Throws: ``SourceError`` if the body is not such a document.
    public static func parse(_ body: [UInt8]) throws(SourceError) -> SourceContents {
        guard body.contains(where: { !$0.isXMLSpace }) else {
            throw SourceError(.appleCatalog, "the response is empty")
        }
        let list: Any
        do {
            list = try PropertyListSerialization.propertyList(from: Data(body), options: [], format: nil)
        } catch {
            throw SourceError(.appleCatalog, "the response is not a property list")
        }
        let root = "MobileDeviceSoftwareVersionsByVersion"
        guard let catalog = list as? [String: Any], let versions = catalog[root] as? [String: Any] else {
            throw SourceError(.appleCatalog, at: root, "is missing")
        }
        var images: [RestoreImage] = []
        var problems: [SourceProblem] = []
        for (version, contents) in versions.sorted(by: { $0.key < $1.key }) {
            let place = "\(root).\(version).MobileDeviceSoftwareVersions"
            guard let models = (contents as? [String: Any])?["MobileDeviceSoftwareVersions"] as? [String: Any] else {
                problems.append(SourceProblem(place, "is missing"))
                continue
            }
            for (model, builds) in models.sorted(by: { $0.key < $1.key }) {
                guard let builds = builds as? [String: Any] else {
                    problems.append(SourceProblem("\(place).\(model)", "is not a dictionary"))
                    continue
                }
                for (build, entry) in builds.sorted(by: { $0.key < $1.key }) {
                    read(entry, at: "\(model).\(build)", images: &images, problems: &problems)
                }
            }
        }
        return try SourceContents(of: .appleCatalog, images: images, problems: problems)
    }

    /// Reads the entry of a build: an image, a group of entries such as `Universal`, or the name of another build.
    private static func read(
        _ entry: Any,
        at place: String,
        images: inout [RestoreImage],
        problems: inout [SourceProblem]
    ) {
        guard let entry = entry as? [String: Any] else {
            problems.append(SourceProblem(place, "is not a dictionary"))
            return
        }
        if let group = entry["Universal"] {
            read(group, at: place + ".Universal", images: &images, problems: &problems)
        }
        guard let restore = entry["Restore"] as? [String: Any] else {
            if entry["Universal"] == nil, entry["SameAs"] == nil {
                problems.append(SourceProblem(place + ".Restore", "is missing"))
            }
            return
        }
        var reader = EntryReader(place + ".Restore")
        defer { problems += reader.problems }
        guard let build = reader.build(restore["BuildVersion"] as? String, "BuildVersion"),
            let version = reader.version(restore["ProductVersion"] as? String, "ProductVersion")
        else { return }
        var image = RestoreImage(key: build)
        image.version = version.version.text
        image.stage = Stage.release
        image.downloadURL = reader.address(restore["FirmwareURL"] as? String, "FirmwareURL")
        image.sha1 = reader.hash(restore["FirmwareSHA1"] as? String, digits: 40, "FirmwareSHA1")
        image.isSigned = true
        images.append(image)
    }
}
