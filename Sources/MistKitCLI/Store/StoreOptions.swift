import ArgumentParser
import Foundation
import MistKit
import MistStore

/// The folder of a store, as an argument.
struct StoreFolderArgument: ParsableArguments {
    @Argument(help: "The folder of the store, with the files user.sqlite and public.sqlite.", completion: .directory)
    var folder: String

    var url: URL { URL(fileURLWithPath: folder) }
}

/// The key of a store whose encrypted fields are sealed.
struct StoreKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with the key of a store whose encrypted fields are sealed: 32 bytes, or their base64.",
            valueName: "path"
        ),
        completion: .file()
    )
    var keyFile: String?

    /// The key in the file; `nil` without the option.
    func key() throws -> StoreEncryptionKey? {
        guard let keyFile else { return nil }
        let bytes = try Data(InputFile(path: keyFile).bytes())
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        let key = bytes.count == StoreEncryptionKey.byteCount ? bytes : Data(base64Encoded: text)
        guard let key, key.count == StoreEncryptionKey.byteCount else {
            throw CommandError(
                code: .usage,
                message: "\(keyFile) has no key.",
                remedy: "It must have the \(StoreEncryptionKey.byteCount) bytes of the key, or their base64."
            )
        }
        return try StoreEncryptionKey(bytes: key)
    }
}

/// Whose private records of a store a command works on.
struct StoreUserOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The user, where the store has records of several.", valueName: "name"))
    var user: String?

    @Flag(help: "The records that were made while no one was signed in, where the store has records of users as well.")
    var signedOut = false

    func validate() throws {
        guard user == nil || !signedOut else {
            throw ValidationError("--user and --signed-out cannot be combined.\nLeave one of them out.")
        }
    }

    /// The file that the options choose.
    ///
    /// - Parameter folder: The folder of the store.
    /// - Returns: The file of private records.
    /// - Throws: A ``CommandError`` where the store does not have it, or has several and the options choose none; a
    ///   `StoreError` for a folder that is no store.
    func choose(in folder: URL) throws -> StoreUser {
        let all = try StoreUser.all(ofStoreAt: folder)
        if user == nil, !signedOut, all.count > 1 {
            throw CommandError(
                code: .usage,
                message: "The store has private records of several users: \(Self.list(all)).",
                remedy: "Name one of them with --user, or those of no one with --signed-out."
            )
        }
        let chosen = all.first { file in signedOut ? file.name == nil : user == nil || file.name == user }
        guard let chosen else {
            let whose = user.map { "of the user \($0)" } ?? "of no one"
            throw CommandError(
                code: .usage,
                message: "The store has no private records \(whose).",
                remedy: all.isEmpty ? "It has public records alone." : "It has those of: \(Self.list(all))."
            )
        }
        return chosen
    }

    /// The chosen files: all of them where the options choose none.
    func chooseAny(in folder: URL) throws -> [StoreUser] {
        user == nil && !signedOut ? try StoreUser.all(ofStoreAt: folder) : [try choose(in: folder)]
    }

    private static func list(_ files: [StoreUser]) -> String {
        files.map { ($0.name ?? "no one") + ($0.isOpen ? " (open)" : "") }.joined(separator: ", ")
    }
}

/// One of the databases of a store.
struct StoreDatabaseOptions: ParsableArguments {
    /// A database that a store keeps.
    enum Name: String, CaseIterable, ExpressibleByArgument {
        case `private`, `public`

        var scope: DatabaseScope {
            switch self {
            case .private: .private
            case .public: .public
            }
        }
    }

    @Option(help: "The database of the store; private if it is left out.")
    var database = Name.private

    @OptionGroup var user: StoreUserOptions

    /// Calls a closure with the database, opened for reading.
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - key: Its key, where it has one.
    ///   - body: A closure that gets the database.
    /// - Throws: A ``CommandError`` or a `StoreError`, or the error of `body`.
    func reading(
        _ folder: URL,
        _ key: StoreKeyOptions,
        _ body: (LocalDatabase) async throws -> Void
    ) async throws {
        try await using(MistStore(readingStoreAt: folder, of: fileOfUser(in: folder), key: key.key()), body)
    }

    /// Calls a closure with the database, opened for writing.
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - key: Its key, where it has one.
    ///   - body: A closure that gets the database.
    /// - Throws: A ``CommandError`` or a `StoreError`, or the error of `body`.
    func writing(
        _ folder: URL,
        _ key: StoreKeyOptions,
        _ body: (LocalDatabase) async throws -> Void
    ) async throws {
        try await using(MistStore(operatingStoreAt: folder, of: fileOfUser(in: folder), key: key.key()), body)
    }

    private func using(_ store: MistStore, _ body: (LocalDatabase) async throws -> Void) async throws {
        defer { try? store.close() }
        try await body(store.database(of: database.scope))
    }

    /// The file of private records. For the public database, any file will do: the open one.
    func fileOfUser(in folder: URL) throws -> StoreUser {
        guard database == .public, user.user == nil, !user.signedOut else { return try user.choose(in: folder) }
        guard let open = try StoreUser.all(ofStoreAt: folder).first else { return try user.choose(in: folder) }
        return open
    }
}
