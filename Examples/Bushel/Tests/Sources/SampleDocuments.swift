/// Documents in the shapes of the sources, with made-up releases.
enum SampleDocuments {
    static let sha1 = String(repeating: "0a", count: 20)
    static let sha256 = String(repeating: "5b", count: 32)

    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// A firmware of ipsw.me.
    static func firmware(_ build: String = "24B83", _ changes: [String: String] = [:]) -> String {
        var members = [
            "identifier": "\"VirtualMac2,1\"", "version": "\"15.1\"", "buildid": "\"\(build)\"",
            "sha1sum": "\"\(sha1)\"",
            "md5sum": "\"\"", "sha256sum": "\"\(sha256)\"", "filesize": "15772829127",
            "url": "\"https://updates.example/UniversalMac_15.1_\(build)_Restore.ipsw\"",
            "releasedate": "\"2024-10-28T17:04:37Z\"", "uploaddate": "\"2024-10-24T05:19:30Z\"", "signed": "true",
        ]
        members.merge(changes) { $1 }
        return object(members)
    }

    static func device(_ firmwares: String...) -> String {
        "{\"name\": \"Virtual Mac\", \"identifier\": \"VirtualMac2,1\", \"firmwares\": [\(firmwares.joined(separator: ","))]}"
    }

    /// A build of AppleDB.
    static func build(_ build: String = "24B5055e", _ changes: [String: String] = [:]) -> String {
        let devices = "[\"Mac14,2\", \"VirtualMac2,1\"]"
        var members = [
            "osStr": "\"macOS\"", "version": "\"15.1 beta 5\"", "build": "\"\(build)\"", "released": "\"2024-09-23\"",
            "beta": "true", "deviceMap": devices,
            "sources": """
            [{"type": "ota", "deviceMap": \(devices), "links": [{"url": "https://updates.example/a.zip", "active": true}], "size": 7},
             {"type": "ipsw", "deviceMap": \(devices), "size": 15734924985,
              "links": [{"url": "https://old.example/a.ipsw", "active": false}, {"url": "https://updates.example/a.ipsw"}],
              "hashes": {"sha1": "\(sha1)", "sha2-256": "\(sha256)"}}]
            """,
        ]
        members.merge(changes) { $1 }
        return object(members)
    }

    /// Apple's catalog with an entry below the build of a virtual Mac, and the same entry below `Unknown`.
    static func catalog(
        build: String = "24B83",
        version: String = "15.1",
        url: String = "https://updates.example/a.ipsw"
    )
        -> String
    {
        let restore = """
            <key>Restore</key><dict><key>BuildVersion</key><string>\(build)</string>
            <key>FirmwareSHA1</key><string>\(sha1.uppercased())</string><key>FirmwareURL</key><string>\(url)</string>
            <key>ProductVersion</key><string>\(version)</string></dict>
            """
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict><key>MobileDeviceSoftwareVersionsByVersion</key><dict><key>1</key><dict>
            <key>MobileDeviceSoftwareVersions</key><dict><key>VirtualMac2,1</key><dict>
            <key>\(build)</key><dict>\(restore)</dict>
            <key>Unknown</key><dict><key>Universal</key><dict>\(restore)</dict></dict>
            <key>24A335</key><dict><key>SameAs</key><string>\(build)</string></dict>
            </dict></dict></dict></dict></dict></plist>
            """
    }

    /// A table of Mr. Macintosh.
    static func images(_ rows: String...) -> String {
        """
        <html><body><table><tr><td>Home</td><td>About</td></tr></table>
        <table><tbody><tr><th>Version</th><th>Build</th><th>Date</th><th>Download</th><th>Signed</th></tr>
        \(rows.joined(separator: "\n"))
        </table></body></html>
        """
    }

    static func imageRow(
        _ version: String = "15.1 Beta 5",
        _ build: String = "24B5055e",
        _ date: String = "09/23/24",
        signed: String = "N/A"
    ) -> String {
        """
        <tr><td>\(version)<td>\(build)</td><td>\(date)</td>
        <td><a href="https://updates.example/UniversalMac_15.1_\(build)_Restore.ipsw">Download</a></td><td>\(signed)</td></tr>
        """
    }

    /// A release of xcodereleases.com.
    static func xcode(_ build: String = "16B40", _ changes: [String: String] = [:]) -> String {
        var members = [
            "name": "\"Xcode\"",
            "version": "{\"number\": \"16.1\", \"build\": \"\(build)\", \"release\": {\"release\": true}}",
            "date": "{\"year\": 2024, \"month\": 10, \"day\": 28}", "requires": "\"14.5\"",
            "sdks": "{\"macOS\": [{\"number\": \"15.1\", \"build\": \"24B75\"}], \"iOS\": [{\"build\": \"22B74\"}]}",
            "compilers":
                "{\"clang\": [{\"number\": \"16.0.0\"}], \"swift\": [{\"number\": \"3.0\"}, {\"number\": \"6.0.2\"}]}",
            "links":
                "{\"download\": {\"url\": \"https://x.example/16.1.xip\"}, \"notes\": {\"url\": \"https://x.example/16.1\"}}",
            "checksums": "{\"sha1\": \"\(sha1)\"}",
        ]
        members.merge(changes) { $1 }
        return object(members)
    }

    /// Apple's feed of releases.
    static func releases(_ titles: String...) -> String {
        let items = titles.map {
            "<item><title>\($0)</title><link>https://developer.example/\($0.count)</link><pubDate>Mon, 28 Oct 2024 10:00:00 PDT</pubDate></item>"
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Releases</title>\(items.joined())</channel></rss>
            """
    }

    /// A release of swift.org.
    static func toolchain(_ name: String = "6.0.3", _ changes: [String: String] = [:]) -> String {
        var members = [
            "name": "\"\(name)\"", "tag": "\"swift-\(name)-RELEASE\"", "date": "\"2024-12-11\"",
            "xcode": "\"Xcode 16.2\"",
            "xcode_release": "true",
            "platforms": "[{\"name\": \"Ubuntu 24.04\", \"platform\": \"Linux\", \"archs\": [\"x86_64\"]}]",
        ]
        members.merge(changes) { $1 }
        return object(members)
    }

    static func swiftTable(_ rows: (String, String, String)...) -> String {
        let rows = rows.map {
            "<tr class=\"table-entry\"><td>\($0.0)</td><td><b>\($0.1)</b></td><td><a href=\"/x\">\($0.2)</a></td></tr>"
        }
        return
            "<table><thead><tr><th>Date</th><th>Swift</th><th>Xcode</th></tr></thead><tbody>\(rows.joined())</tbody></table>"
    }

    /// A JSON object without the members whose text is empty.
    private static func object(_ members: [String: String]) -> String {
        let texts = members.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }
        return "{" + texts.joined(separator: ", ") + "}"
    }
}
