import Foundation
import MistKit
import TestSupport
import Testing

@testable import MistStore

/// Promise 43: what a store creates is for its owner alone.
struct PermissionPromiseTests {
    @Test("43. The folder of a store and its files have the permissions 0700 and 0600, whatever the umask is")
    func newFilesAreForTheirOwner() async throws {
        try await inTemporaryFolder { parent in
            let folder = parent.appending(path: "data/store")
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self])
            try await store.privateDatabase.add(Book(title: "Garden"))
            try await store.publicDatabase.add(Shelf(name: "Public"))
            let picture = parent.appending(path: "picture")
            try Data("picture".utf8).write(to: picture)
            _ = try await store.privateDatabase.addFile(at: picture)
            let backup = parent.appending(path: "backup")
            try await store.backup(to: backup)
            var seen: Set<String> = []
            for top in [parent.appending(path: "data"), backup] {
                for path in [""] + (try FileManager.default.subpathsOfDirectory(atPath: top.path)) {
                    let attributes = try FileManager.default.attributesOfItem(atPath: top.appending(path: path).path)
                    let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
                    // The folder of the files keeps others out of it.
                    if !isFolder, path.contains("-files/") { continue }
                    seen.insert((path as NSString).lastPathComponent)
                    #expect(attributes[.posixPermissions] as? Int == (isFolder ? 0o700 : 0o600), "\(top.path)/\(path)")
                }
            }
            #expect(
                seen.isSuperset(of: [
                    "store", "user.sqlite", "user.sqlite-wal", "user.sqlite-shm", "public.sqlite", "user.sqlite-files",
                    "manifest.json",
                ])
            )
            try store.close()
        }
    }

    @Test("43. A folder and a file that exist keep their permissions: others may need them")
    func existingFilesKeepTheirPermissions() async throws {
        try await inTemporaryFolder { folder in
            try MistStore(at: folder, records: [Shelf.self]).close()
            let file = folder.appending(path: "user.sqlite").path
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
            let store = try MistStore(at: folder, records: [Shelf.self])
            try await store.privateDatabase.add(Shelf(name: "Garden"))
            for (path, permissions) in [(folder.path, 0o755), (file, 0o640), (file + "-wal", 0o640)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == permissions)
            }
            try store.close()
        }
    }
}
