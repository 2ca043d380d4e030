import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitEmulatorServer
import Foundation
import MistKit
import Spelling

/// A user of an emulator on this machine, who can sign in without a browser.
struct LocalUser {
    var recordName: String
    var nameComponents: NameComponents?

    /// The given name and the family name; empty where the user has none.
    var name: String {
        [nameComponents?.givenName, nameComponents?.familyName].compactMap(\.self).joined(separator: " ")
    }

    /// The user in a message.
    var title: String { name.isEmpty ? recordName : name }

    /// The record name of the user with a name or record name. Upper and lower case do not matter in a name.
    ///
    /// - Throws: ``CommandError`` where no user, or more than one, has the name.
    static func recordName(of text: String, among users: [LocalUser]) throws(CommandError) -> String {
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
}

extension EmulatorAdministration {
    /// The users, in the order of their record names, also those who restricted the access to their data.
    func users() async throws -> [LocalUser] {
        try await call { try await $0.listUsers().ok.body.json.users }.map { LocalUser($0) }
    }

    /// Makes a user.
    ///
    /// - Throws: ``CommandError`` where a user has this name.
    func createUser(_ name: String?, emailAddress: String?, phoneNumber: String?) async throws -> LocalUser {
        let parts = (name ?? "").split(separator: " ", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        let account = Schemas.NewUser(
            givenName: parts.first,
            familyName: parts.count > 1 ? parts[1] : nil,
            emailAddress: emailAddress,
            phoneNumber: phoneNumber
        )
        let wanted = parts.joined(separator: " ").lowercased()
        if !wanted.isEmpty, let known = try await users().first(where: { $0.name.lowercased() == wanted }) {
            throw CommandError(
                code: .usage,
                message: "There is a user \(known.name) already: \(known.recordName).",
                remedy: "Act as this user with --as, or choose another name."
            )
        }
        return LocalUser(try await call { try await $0.createUser(body: .json(account)).ok.body.json })
    }

    /// Signs a user in.
    ///
    /// - Returns: The web authentication token, valid for two weeks.
    func webAuthToken(for recordName: String) async throws -> String {
        try await call { client in
            try await client.createSession(path: .init(userRecordName: recordName)).ok.body.json.webAuthToken
        }
    }
}

extension LocalUser {
    fileprivate init(_ user: Components.Schemas.User) {
        let hasName = user.givenName != nil || user.familyName != nil
        self.init(
            recordName: user.userRecordName,
            nameComponents: hasName ? NameComponents(givenName: user.givenName, familyName: user.familyName) : nil
        )
    }
}

// MARK: - Acting as a user

extension EmbeddedEmulator {
    /// The emulator of the settings, for the credentials of its users: the embedded one, or the one that listens on this
    /// machine and has its data in the data folder.
    ///
    /// - Throws: ``CommandError`` for a service elsewhere, and for an emulator with its data in another folder.
    static func ofThisMachine(_ settings: Settings) throws -> EmbeddedEmulator {
        let folder = settings.emulatorFolder
        if settings.namesService {
            let address = try settings.localAddress()
            guard EmulatorStart.running(in: folder).contains(where: { $0.isAt(address) }) else {
                throw CommandError.otherFolder(address, folder)
            }
        }
        return try EmbeddedEmulator(
            folder: folder,
            container: settings.container ?? defaultContainer,
            configuration: .init(logger: ServiceConnection.logger(verbose: false))
        )
    }

    /// The record name of the user with a name or record name.
    ///
    /// - Throws: ``CommandError`` where no user, or more than one, has the name.
    func user(named text: String) throws -> String { try LocalUser.recordName(of: text, among: users()) }

    /// The users, in the order of their record names.
    func users() throws -> [LocalUser] {
        try emulator.accounts().map {
            LocalUser(recordName: $0.userRecordName, nameComponents: $0.nameComponents)
        }
    }
}
