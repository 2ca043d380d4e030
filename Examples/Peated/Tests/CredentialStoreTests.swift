import Foundation
import Peated
import Testing

struct CredentialStoreTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "peated-\(UUID())")
    private let credentials = Credentials(accessToken: "a", refreshToken: "r")

    private func withFile(_ test: (FileCredentialStore) throws -> Void) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try test(FileCredentialStore(file: folder.appending(path: "deeper/credentials.json")))
    }

    private func mode(of file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    @Test func memoryKeepsReplacesAndForgets() {
        let store = MemoryCredentialStore()
        #expect(store.load() == nil)
        store.save(credentials)
        #expect(store.load() == credentials)
        store.save(nil)
        #expect(store.load() == nil)
    }

    @Test func aFileOutlivesTheStoreAndIsForgotten() throws {
        try withFile { store in
            #expect(try store.load() == nil)
            try store.save(nil)
            try store.save(credentials)
            #expect(try FileCredentialStore(file: store.file).load() == credentials)
            try store.save(nil)
            #expect(try store.load() == nil)
        }
    }

    @Test func onlyItsOwnerReadsTheFile() throws {
        try withFile { store in
            try store.save(credentials)
            #expect(try mode(of: store.file) == 0o600)
        }
    }

    @Test func aFileThatOthersCouldReadIsReplacedByOneThatTheyCannot() throws {
        try withFile { store in
            let parent = store.file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            try Data("{}".utf8).write(to: store.file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: store.file.path)
            let open = try FileHandle(forReadingFrom: store.file)

            try store.save(credentials)

            #expect(try mode(of: store.file) == 0o600)
            // A reader that had opened the old file still reads the old content, because the new content is in another
            // file.
            #expect(try open.readToEnd() == Data("{}".utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: parent.path) == ["credentials.json"])
        }
    }

    @Test func nothingIsLeftBehindWhereTheFileCannotBeReplaced() throws {
        try withFile { store in
            // At the path of the file, there is a folder that is not empty.
            try FileManager.default.createDirectory(
                at: store.file.appending(path: "x"),
                withIntermediateDirectories: true
            )
            #expect(throws: POSIXError.self) { try store.save(credentials) }
            let parent = store.file.deletingLastPathComponent()
            #expect(try FileManager.default.contentsOfDirectory(atPath: parent.path) == ["credentials.json"])
        }
    }

    @Test func aDamagedFileIsAnErrorAndNotAnEndedSession() throws {
        try withFile { store in
            try store.save(credentials)
            try Data("{\"access".utf8).write(to: store.file)
            #expect(throws: DecodingError.self) { try store.load() }
        }
    }
}
