import Foundation
import TestSupport
import Testing

@testable import MistKitCLI

struct DataFolderTests {
    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func aFolderThatExistsBecomesPrivateIfItIsTheCommandsAlone() async throws {
        try await inTemporaryFolder { parent in
            let manager = FileManager.default
            for (index, (names, mode)) in [
                ([], 0o700),
                (["emulator.sqlite", "emulator.sqlite-wal", "emulator.in-use", "account.json", "config.json"], 0o700),
                (["session-x.json", "completions-x.json", "account.json-lock"], 0o700),
                (["emulator.sqlite", "Package.swift"], 0o755),
                (["emulator.sqlite", "emulator.swift"], 0o755),
                ([".ssh"], 0o755),
            ].enumerated() {
                let folder = parent.path + "/\(index)"
                try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
                for name in names {
                    #expect(manager.createFile(atPath: folder + "/" + name, contents: Data()))
                    try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder + "/" + name)
                }
                try DataFolder.prepare(folder)
                #expect(try permissions(folder) == mode, "\(names)")
                for name in names {
                    #expect(try permissions(folder + "/" + name) == (DataFolder.isOwn(name) ? 0o600 : 0o644), "\(name)")
                }
            }
        }
    }

    @Test func theTargetOfALinkStaysAsItIs() async throws {
        try await inTemporaryFolder { parent in
            let manager = FileManager.default
            let (folder, target) = (parent.path + "/data", parent.path + "/settings.json")
            try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
            #expect(manager.createFile(atPath: target, contents: Data(), attributes: [.posixPermissions: 0o644]))
            try manager.createSymbolicLink(atPath: folder + "/config.json", withDestinationPath: target)
            try DataFolder.prepare(folder)
            #expect(try permissions(target) == 0o644)
        }
    }

    @Test func aFolderForAllUsersStaysOne() async throws {
        try await inTemporaryFolder { parent in
            let folder = parent.path + "/shared"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: folder)
            try DataFolder.prepare(folder)
            #expect(try permissions(folder) == 0o1777)
        }
    }

    @Test func aNewFolderIsPrivate() async throws {
        try await inTemporaryFolder { parent in
            try DataFolder.prepare(parent.path + "/a/b")
            #expect(try permissions(parent.path + "/a/b") == 0o700)
        }
    }
}
