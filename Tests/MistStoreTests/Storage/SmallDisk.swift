import Foundation
import TestSupport

/// A file system of a few kilobytes in memory.
enum SmallDisk {
    struct Failure: Error { let command: [String] }

    /// Whether this process may mount a file system.
    static let isAvailable: Bool = {
        #if os(Linux)
            let folder = FileManager.default.temporaryDirectory.appending(path: "disk-\(UUID().uuidString)")
            guard (try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)) != nil
            else {
                return false
            }
            defer { try? FileManager.default.removeItem(at: folder) }
            guard (try? run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder.path)) != nil else {
                return false
            }
            return (try? run("umount", folder.path)) != nil
        #else
            return false
        #endif
    }()

    static func with(kilobytes: Int, _ body: (URL) async throws -> Void) async throws {
        try await inTemporaryFolder { folder in
            try run("mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k", "tmpfs", folder.path)
            do {
                try await body(folder)
            } catch {
                try? run("umount", "-l", folder.path)
                throw error
            }
            try run("umount", "-l", folder.path)
        }
    }

    static func resize(_ disk: URL, kilobytes: Int) throws {
        try run("mount", "-o", "remount,size=\(kilobytes)k", disk.path)
    }

    static func remount(_ disk: URL, _ mode: String) throws {
        try run("mount", "-o", "remount,\(mode)", disk.path)
    }

    private static func run(_ command: String...) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(command: command) }
    }
}
