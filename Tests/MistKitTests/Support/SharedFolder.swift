import Foundation

/// The folder of recorded data that stands beside the package.
enum SharedFolder {
    static let url: URL = {
        if let path = ProcessInfo.processInfo.environment["MISTKIT_SHARED"] {
            return URL(fileURLWithPath: path)
        }
        var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path)
        {
            folder.deleteLastPathComponent()
        }
        return folder.deletingLastPathComponent().appending(path: "shared")
    }()

    static let hasRecordedExchanges = FileManager.default.fileExists(
        atPath: url.appending(path: "recorded-exchanges/README.md").path
    )

    static func recorded(_ name: String) throws -> String {
        try String(contentsOf: url.appending(path: "recorded-exchanges/\(name).json"), encoding: .utf8)
    }
}
