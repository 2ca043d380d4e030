package import Foundation

/// The folder of test data beside the package, which may be absent.
package enum SharedFolder {
    /// `MISTKIT_SHARED`, or `shared` beside the folder of the package.
    package static let url: URL = {
        if let path = ProcessInfo.processInfo.environment["MISTKIT_SHARED"] {
            return URL(filePath: path, directoryHint: .isDirectory)
        }
        var folder = URL(filePath: #filePath).deletingLastPathComponent()
        while folder.path != "/",
            !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path)
        {
            folder.deleteLastPathComponent()
        }
        return folder.deletingLastPathComponent().appending(path: "shared")
    }()

    package static func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: url.appending(path: name).path)
    }

    package static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: url.appending(path: name)))
    }

    package static let hasRecordedExchanges = exists("recorded-exchanges/README.md")

    /// The JSON of a recorded request or response: `recorded("modify-update.request")`.
    package static func recorded(_ name: String) throws -> [UInt8] {
        try bytes("recorded-exchanges/\(name).json")
    }
}
