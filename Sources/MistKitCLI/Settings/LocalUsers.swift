import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import MistKit
import Spelling

/// The users of an emulator on this machine, whose data folder the command may read.
extension EmbeddedEmulator {
    /// A user who can sign in.
    struct User {
        var recordName: String
        var nameComponents: NameComponents?

        /// The given name and the family name; empty where the user has none.
        var name: String {
            [nameComponents?.givenName, nameComponents?.familyName].compactMap(\.self).joined(separator: " ")
        }

        /// The user in a message.
        var title: String { name.isEmpty ? recordName : name }
    }

    /// The emulator of the settings: the embedded one, or the one that listens on this machine and has its data in the
    /// data folder.
    ///
    /// - Throws: ``CommandError`` for a service elsewhere, and for an emulator with its data in another folder.
    static func ofThisMachine(_ settings: Settings) throws -> EmbeddedEmulator {
        let folder = settings.emulatorFolder
        if settings.hasCredentials || settings.serverURL != nil {
            let address = try settings.address()
            guard let host = address.host, HostName.isLocal(listeningOn: host) else {
                throw CommandError(
                    code: .usage,
                    message:
                        "\(address.absoluteString) is not an emulator on this machine, so its users sign in themselves.",
                    remedy: "Leave the user out, and run `mistkit auth sign-in`."
                )
            }
            guard FileManager.default.fileExists(atPath: folder + "/emulator.sqlite") else {
                throw otherFolder(address, folder)
            }
        }
        let embedded = try EmbeddedEmulator(
            folder: folder,
            container: settings.container ?? defaultContainer,
            configuration: .init(logger: Connection.logger(verbose: false))
        )
        if let apiToken = settings.apiToken, apiToken != embedded.account.apiToken {
            throw otherFolder(try settings.address(), folder)
        }
        return embedded
    }

    private static func otherFolder(_ address: URL, _ folder: String) -> CommandError {
        CommandError(
            code: .usage,
            message: "The emulator at \(address.absoluteString) does not have its data in \(folder).",
            remedy: "Name its data folder with --data-folder, as it was given to `mistkit emulator`."
        )
    }

    /// The users, in the order of their record names, also those who restricted the access to their data.
    func users() throws -> [User] {
        let database = DatabaseAddress(container, .development, .public)
        return try emulator.listUsers().map { name in
            User(
                recordName: name,
                nameComponents: try emulator.unrestrictingRequest(in: database, as: .user(name)).fetchCaller()
                    .nameComponents
            )
        }
    }

    /// The record name of the user with a name or record name. Upper and lower case do not matter in a name.
    ///
    /// - Throws: ``CommandError`` where no user, or more than one, has the name.
    func user(named text: String) throws -> String {
        let users = try users()
        if let exact = users.first(where: { $0.recordName == text }) { return exact.recordName }
        let wanted = text.lowercased()
        let whole = users.filter { $0.name.lowercased() == wanted }
        let found = whole.isEmpty ? users.filter { $0.name.lowercased().hasPrefix(wanted + " ") } : whole
        if found.count == 1 { return found[0].recordName }
        let names = users.map { "\($0.title)" + ($0.name.isEmpty ? "" : " (\($0.recordName))") }
        guard found.isEmpty else {
            throw CommandError(
                code: .usage,
                message: "\(found.count) users have the name \(text).",
                remedy: "Give the user record name: \(found.map(\.recordName).joined(separator: ", "))."
            )
        }
        throw CommandError(
            code: .usage,
            message: "There is no user \(text).",
            remedy: NearestName.hint(for: text, among: users.map(\.name))
                + "`mistkit users create \(text)` makes one. The users are \(names.joined(separator: ", "))."
        )
    }

    /// Makes a user.
    ///
    /// - Throws: ``CommandError`` where a user has this name.
    func createUser(_ name: String?, emailAddress: String?, phoneNumber: String?) throws -> User {
        let parts = (name ?? "").split(separator: " ", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        let components =
            parts.isEmpty
            ? nil : NameComponents(givenName: parts[0], familyName: parts.count > 1 ? parts[1] : nil)
        let user = User(recordName: "", nameComponents: components)
        if let known = try users().first(where: { !user.name.isEmpty && $0.name.lowercased() == user.name.lowercased() }
        ) {
            throw CommandError(
                code: .usage,
                message: "There is a user \(known.name) already: \(known.recordName).",
                remedy: "Act as this user with --as, or choose another name."
            )
        }
        let recordName = try emulator.createUser(components, emailAddress: emailAddress, phoneNumber: phoneNumber)
        return User(recordName: recordName, nameComponents: components)
    }
}
