import Foundation
import MistKit
import Synchronization
import TestSupport
import Testing

/// The content of a token file, and the errors for files with other content.
struct TokenStorageTests {
    @Test func aTokenIsKeptReplacedAndForgotten() async throws {
        try await inTemporaryFolder { folder in
            let path = folder.appending(path: "new/folder/session.json").path
            for storage in [.memory, FileTokenStorage(path)] as [any TokenStorage] {
                #expect(try await storage.webAuthToken() == nil)
                for token in ["54__a+b/c=", "54__\"quoted\"\\"] {
                    try await storage.store(webAuthToken: token)
                    #expect(try await storage.webAuthToken() == token)
                }
                try await storage.store(webAuthToken: nil)
                try await storage.store(webAuthToken: nil)
                #expect(try await storage.webAuthToken() == nil)
            }
        }
    }

    @Test func theFileIsForItsOwnerAloneAndStandsAlone() async throws {
        try await inTemporaryFolder { folder in
            let path = folder.appending(path: "sessions/mei.json").path
            let storage = FileTokenStorage(path)
            try await storage.store(webAuthToken: "one")
            try await storage.store(webAuthToken: "two")
            #expect(try permissions(of: path) == 0o600)
            #expect(try permissions(of: folder.appending(path: "sessions").path) == 0o700)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "{\"webAuthToken\":\"two\"}\n")
            // The temporary file beside it is gone.
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/sessions") == ["mei.json"])
        }
    }

    @Test func aLinkStaysALink() async throws {
        try await inTemporaryFolder { folder in
            let (real, link) = (folder.path + "/real.json", folder.path + "/link.json")
            try await FileTokenStorage(real).store(webAuthToken: "one")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: real)
            try await FileTokenStorage(link).store(webAuthToken: "two")
            #expect(try await FileTokenStorage(real).webAuthToken() == "two")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == real)
        }
    }

    @Test func aFileThatHoldsNoTokenIsAnErrorThatSaysWhatItHolds() async throws {
        try await inTemporaryFolder { folder in
            let path = folder.path + "/session.json"
            let cases: [(contents: String, problem: String)] = [
                ("", "is empty."),
                ("54__secret", "holds no token: "),
                ("{\"webAuthToken\":\"54__secret", "holds no token: "),
                ("{\"webAuthToken\":\"\"}", "holds no token: webAuthToken is missing or empty (byte 19)."),
                ("{\"token\":\"54__secret\"}", "holds no token: webAuthToken is missing or empty (byte 22)."),
                ("[]", "holds no token: "),
                (
                    String(repeating: " ", count: 2 << 20),
                    "is longer than any token can be. Check that it is the right file."
                ),
            ]
            for (contents, problem) in cases {
                try contents.write(toFile: path, atomically: false, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
                let error = try await failure(reading: path)
                #expect(error.code == .tokenStorage)
                #expect(error.message.hasPrefix("The token file \(path) \(problem)"), "\(error.message)")
                #expect(!"\(error)".contains("secret"))
            }
        }
    }

    @Test func aFileThatOthersMayReadIsRefused() async throws {
        try await inTemporaryFolder { folder in
            let path = folder.path + "/session.json"
            try await FileTokenStorage(path).store(webAuthToken: "54__secret")
            for (mode, text) in [(0o640, "640"), (0o604, "604"), (0o602, "602")] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
                let error = try await failure(reading: path)
                #expect(error.message.contains("can be read or written by other users (mode \(text))"))
                #expect(error.message.hasSuffix("chmod 600 \(path)"))
            }
            // Signing in again repairs the permissions.
            try await FileTokenStorage(path).store(webAuthToken: "54__other")
            #expect(try await FileTokenStorage(path).webAuthToken() == "54__other")
        }
    }

    @Test func placesThatCannotHoldAFileAreNamed() async throws {
        try await inTemporaryFolder { folder in
            let file = folder.path + "/file"
            try "x".write(toFile: file, atomically: false, encoding: .utf8)
            #expect(try await failure(reading: folder.path).message.contains("is a folder or a device"))
            for path in [folder.path, file + "/below.json"] {
                do {
                    try await FileTokenStorage(path).store(webAuthToken: "54__secret")
                    Issue.record("\(path) was written")
                } catch let error as CloudKitError {
                    #expect(error.code == .tokenStorage)
                    #expect(error.message.contains(folder.path))
                    #expect(!"\(error)".contains("secret"))
                }
            }
            // No incomplete file is left.
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.deletingLastPathComponent().path)
            #expect(!left.contains { $0.hasPrefix(folder.lastPathComponent + ".") })
        }
    }

    @Test func readersSeeWholeTokensWhileOthersWrite() async throws {
        try await inTemporaryFolder { folder in
            let storage = FileTokenStorage(folder.path + "/session.json")
            let tokens = (0..<4).map { String(repeating: "\($0)", count: 20_000) }
            try await storage.store(webAuthToken: tokens[0])
            try await withThrowingTaskGroup { group in
                for token in tokens {
                    group.addTask { for _ in 0..<20 { try await storage.store(webAuthToken: token) } }
                    group.addTask {
                        for _ in 0..<50 {
                            let read = try await storage.webAuthToken()
                            #expect(tokens.contains(read ?? ""))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    // MARK: - Support

    private func permissions(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func failure(reading path: String) async throws -> CloudKitError {
        do {
            _ = try await FileTokenStorage(path).webAuthToken()
        } catch let error as CloudKitError {
            return error
        }
        throw UnexpectedSuccess()
    }
}
