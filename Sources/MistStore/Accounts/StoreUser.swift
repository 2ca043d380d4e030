import GRDB
import SQLiteTables

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A file of private records in the folder of a store.
package struct StoreUser: Sendable {
    let file: UserFile
    /// The path in the folder.
    package let path: String
    /// The user record name of the user; `nil` for records of no one.
    package let name: String?
    /// Whether programs that open the folder open this file.
    package let isOpen: Bool
}

extension StoreUser {
    /// The files of private records in the folder of a store, the open one first.
    ///
    /// - Parameter folder: The folder.
    /// - Returns: The files, of users and of no one.
    /// - Throws: A ``StoreError``: `notAStore` for a folder that is no store, with what it has; or a code about a file.
    package static func all(ofStoreAt folder: URL) throws -> [StoreUser] {
        try check(folder)
        let path = folder.appendingPathComponent(StoreFolder.publicPath).path
        let open = try StoreError.naming(path) {
            try StoreFile.check(atPath: path, isExpected: true)
            return try StoreFile.read(atPath: path) { db in
                try Accounts.exist(in: db) ? try Accounts(db: db).row().open : .first
            }
        }
        return try UserFile.present(in: folder).map { file in
            let path = folder.appendingPathComponent(file.path).path
            let owner = try StoreError.naming(path) {
                try StoreFile.check(atPath: path, isExpected: true)
                return try StoreFile.read(atPath: path) { db in try FileState(db).owner }
            }
            return StoreUser(file: file, path: file.path, name: owner ?? file.user, isOpen: file == open)
        }.sorted { $0.isOpen && !$1.isOpen }
    }

    /// Refuses a folder that is no store, and names what it has.
    private static func check(_ folder: URL) throws {
        let found = FolderContent(folder)
        guard let problem = found.problem else { return }
        throw StoreError(.notAStore, "\(folder.path): \(problem)")
    }
}

/// What is at a path that should be the folder of a store.
enum FolderContent: Equatable {
    case nothing
    case file
    case names([String])

    init(_ folder: URL) {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        self =
            names.map { .names($0.sorted()) }
            ?? (FileManager.default.fileExists(atPath: folder.path) ? .file : .nothing)
    }

    /// Why it is no store; `nil` for a store.
    var problem: String? {
        let files = "\(UserFile.first.path) and \(StoreFolder.publicPath)"
        switch self {
        case .nothing: return "There is no such folder. Name the folder of a store, with the files \(files)."
        case .file: return "This is no folder that can be read. Name the folder of a store, with the files \(files)."
        case .names(let names):
            guard !names.contains(StoreFolder.publicPath) else { return nil }
            let shown = names.prefix(5).joined(separator: ", ")
            let more = names.count > 5 ? " and \(names.count - 5) more" : ""
            let content = names.isEmpty ? "It is empty." : "It has \(shown)\(more)."
            return "This folder is no store, which has the files \(files). \(content)"
        }
    }
}
