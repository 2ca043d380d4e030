import CloudKitEmulator
import CloudKitEmulatorServer
import FilePermissions
import Foundation
import MistKit
import StreamingJSON

/// The emulator inside the command, without a socket. Its data and its credentials are in a folder.
struct EmbeddedEmulator {
    static let defaultFolder = ".mistkit"
    static let defaultContainer = "iCloud.example.mistkit"

    /// The API token and the user of the folder, made on first use.
    struct Account: Hashable, JSONReadable, JSONWritable {
        var apiToken: String
        var userRecordName: String
        /// The user who signed in with `mistkit auth sign-in --user`; `nil` for the user of the folder.
        var signedInUser: String?

        /// The user as whom commands act.
        var currentUser: String { signedInUser ?? userRecordName }
    }

    let folder: String
    let container: String
    private(set) var account: Account
    private let use: FolderUse
    let emulator: CloudKitEmulator
    let server: CloudKitEmulatorServer
    /// The administration of the server, with the secret of this process.
    let administration: CloudKitEmulatorServer.Administration

    /// Opens the folder's emulator, and makes folder, data and account where there are none.
    ///
    /// - Throws: ``CommandError`` when the folder cannot be written or its files cannot be read.
    init(
        folder: String,
        container: String,
        configuration: CloudKitEmulatorServer.Configuration,
        rules: EmulatorConfiguration = EmulatorConfiguration()
    ) throws {
        self.folder = folder
        self.container = container
        do {
            try DataFolder.prepare(folder)
            use = try FolderUse(folder)
            emulator = try CloudKitEmulator(
                storage: .file(path: folder + "/emulator.sqlite"),
                configuration: rules
            )
            account = try Self.account(in: folder, of: emulator)
            // Both environments accept the same token; Apple's service has a token for each.
            for environment in ContainerEnvironment.allCases {
                try emulator.registerAPIToken(account.apiToken, for: container, in: environment)
            }
            administration = .init(container: container, version: MistKitCommand.version)
            var configuration = configuration
            configuration.administration = administration
            configuration.page?.profileUser = account.currentUser
            server = try CloudKitEmulatorServer(emulator, configuration: configuration)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(
                code: CommandError.meansUnwritable(error) ? .cannotWrite : .data,
                message: "The embedded emulator cannot use the folder \(folder): \(CommandError.reason(of: error)).",
                remedy: "Check its permissions, or name another folder with --data-folder."
            )
        }
    }

    /// Issues a web authentication token, valid for two weeks.
    ///
    /// - Parameter user: The user record name; `nil` for the folder's user.
    /// - Returns: The token.
    /// - Throws: An `EmulatorError` where there is no such user.
    func webAuthToken(for user: String? = nil) throws -> String {
        try emulator.issueWebAuthToken(for: user ?? account.userRecordName, keepsSignedIn: true)
    }

    /// Lets commands without credentials act as a user from now on.
    ///
    /// - Parameter user: The user record name; `nil` for the folder's user.
    /// - Throws: A ``CommandError`` where the folder's account cannot be written.
    mutating func signIn(_ user: String?) throws {
        let path = Self.accountPath(in: folder)
        try FileLock.withLock(atPath: path + "-lock") {
            account.signedInUser = user == account.userRecordName ? nil : user
            // The new file gets the name of the old one when it is complete.
            let bytes = try JSONWriter.bytes(of: account, options: [.prettyPrinted])
            do {
                try Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
                try OwnerPermissions.restrict(atPath: path)
            } catch {
                throw CommandError.unwritable(path, error)
            }
        }
    }

    private static func accountPath(in folder: String) -> String { folder + "/account.json" }

    /// The folder's account, which is made where there is none.
    ///
    /// If several processes find none, one of them makes it, and the others read it.
    private static func account(in folder: String, of emulator: CloudKitEmulator) throws -> Account {
        let path = accountPath(in: folder)
        return try FileLock.withLock(atPath: path + "-lock") { try account(at: path, in: folder, of: emulator) }
    }

    private static func account(at path: String, in folder: String, of emulator: CloudKitEmulator) throws -> Account {
        if let data = FileManager.default.contents(atPath: path) {
            do {
                return try JSONReader.read(Account.self, from: [UInt8](data))
            } catch {
                throw CommandError(
                    code: .data,
                    message: "\(path) cannot be read: \(error)",
                    remedy:
                        "Repair the file, since the records belong to its user; or name another folder with --data-folder."
                )
            }
        }
        let account = Account(
            apiToken: (0..<8).map { _ in String(UInt32.random(in: .min ... .max), radix: 16).leftPadded(to: 8) }
                .joined(),
            userRecordName: try emulator.createUser(NameComponents(givenName: "Local", familyName: "User"))
        )
        let bytes = try JSONWriter.bytes(of: account, options: [.prettyPrinted])
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        // The file gets its name when it is complete, so that a process that is killed here leaves no partial file.
        let draft = path + ".new"
        guard
            FileManager.default.createFile(atPath: draft, contents: Data(bytes), attributes: attributes),
            (try? FileManager.default.moveItem(atPath: draft, toPath: path)) != nil
        else {
            throw CommandError(
                code: .cannotWrite,
                message: "\(path) cannot be written.",
                remedy: "Name another folder with --data-folder."
            )
        }
        return account
    }
}

extension EmbeddedEmulator.Account {
    private static let keys = JSONKeys("apiToken", "userRecordName", "signedInUser")

    init(json reader: inout JSONReader) throws(JSONError) {
        var apiToken: String?
        var userRecordName: String?
        var signedInUser: String?
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: apiToken = try reader.readString()
            case 1: userRecordName = try reader.readString()
            case 2: signedInUser = try reader.readString()
            default: try reader.skipValue()
            }
        }
        guard let apiToken, let userRecordName else {
            throw reader.error(.missingKey, "an account needs \"apiToken\" and \"userRecordName\"")
        }
        self.init(apiToken: apiToken, userRecordName: userRecordName, signedInUser: signedInUser)
    }

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("apiToken")
        writer.write(apiToken)
        writer.key("userRecordName")
        writer.write(userRecordName)
        if let signedInUser {
            writer.key("signedInUser")
            writer.write(signedInUser)
        }
        writer.endObject()
    }
}

extension String {
    fileprivate func leftPadded(to width: Int) -> String {
        String(repeating: "0", count: max(0, width - count)) + self
    }
}
