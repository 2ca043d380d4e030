import ArgumentParser
import Foundation
import MistKit
import StreamingJSON

/// A profile in a list, with the kind of its credentials and never their values.
private struct Profile: JSONWritable {
    var name: String
    var settings: [Settings.Key: String]
    /// The file that has the profile.
    var file: String

    /// The kind of credentials.
    var credentials: String {
        if settings[.keyID] != nil { return ServiceConnection.Identity.serverKey.rawValue }
        if settings[.webAuthToken] != nil { return ServiceConnection.Identity.user.rawValue }
        return settings[.apiToken] != nil ? ServiceConnection.Identity.apiToken.rawValue : "none"
    }

    func write(json writer: inout JSONWriter) {
        let members = [
            ("name", name), ("container", settings[.container]), ("environment", settings[.environment]),
            ("database", settings[.database]), ("serverURL", settings[.serverURL]), ("credentials", credentials),
            ("file", file),
        ]
        writer.beginObject()
        for case (let key, let value?) in members {
            writer.key(key)
            writer.write(value)
        }
        writer.endObject()
    }
}

extension ValueList<Profile> {
    fileprivate static let profiles = ValueList(
        emptyNote: "No profiles.",
        columns: [
            Column("profile") { $0.name },
            Column("container") { $0.settings[.container] },
            Column("environment") { $0.settings[.environment] },
            Column("database") { $0.settings[.database] },
            Column("credentials") { $0.credentials },
            Column("file") { $0.file },
        ]
    )
}

/// `mistkit auth profiles`
struct ProfilesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profiles",
        abstract: "List the profiles: settings under a name, for --profile.",
        discussion: """
            Profiles are in the configuration file of the folder, and in the user's own, ~/.config/mistkit/config.json. If both \
            files have a profile of the same name, the profile of the folder is used.

            Examples:
              mistkit auth profiles
              mistkit auth profiles --format csv
            """
    )

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("The configuration file of the folder.", valueName: "file"),
        completion: .file(extensions: ["json"])
    )
    var configurationFile: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        var known: Set<String> = []
        let profiles = try SettingsFile.withProfiles(named: configurationFile).flatMap { file in
            file.profiles.sorted { $0.key < $1.key }.filter { known.insert($0.key).inserted }.map { name, settings in
                Profile(name: name, settings: settings, file: file.path)
            }
        }
        try ValueList.profiles.write(profiles, as: output)
    }
}

/// `mistkit auth save-profile`
struct SaveProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "save-profile",
        abstract: "Save the current settings under a name.",
        discussion: """
            The settings of the options, the environment and the configuration file are written into the user's own file, \
            ~/.config/mistkit/config.json, which no other user can read. `--profile name` uses them from then on, in any folder.

            Examples:
              mistkit auth save-profile local --container iCloud.com.example.app --data-folder /tmp/local
              mistkit auth save-profile production --container iCloud.com.example.app --environment production
            """
    )

    @Argument(help: "The profile's name.")
    var name: String

    @Flag(help: "Replace the profile where it exists.")
    var force = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        var file = try Self.userFile()
        guard force || file.profiles[name] == nil else {
            throw CommandError(
                code: .usage,
                message: "The profile \(name) exists already.",
                remedy: "Choose another name, or replace it with --force."
            )
        }
        var values = try Settings.read(flags: connection).values
        guard !values.isEmpty else {
            throw CommandError(
                code: .usage,
                message: "No settings are given.",
                remedy: "Give options such as --container and --key-id, or set the environment."
            )
        }
        // A profile is for all folders, so its paths are absolute.
        for key in [Settings.Key.privateKeyFile, .dataFolder] {
            values[key] = values[key].map { URL(fileURLWithPath: $0).path }
        }
        try file.setProfile(name, to: values)
        Terminal.writeError("Saved the profile \(name) in \(file.path).")
    }

    /// The user's own configuration file.
    static func userFile() throws(CommandError) -> SettingsFile {
        guard let file = try SettingsFile.user(ProcessInfo.processInfo.environment) else {
            throw CommandError(
                code: .usage,
                message: "There is no home folder for the configuration file.",
                remedy: "Set HOME or XDG_CONFIG_HOME."
            )
        }
        return file
    }
}

/// `mistkit auth delete-profile`
struct DeleteProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-profile",
        abstract: "Forget a profile of the user's own configuration file.",
        discussion: """
            Examples:
              mistkit auth delete-profile production
              mistkit auth delete-profile local
            """
    )

    @Argument(help: "The profile's name.", completion: .profile)
    var name: String

    func run() async throws {
        var file = try SaveProfileCommand.userFile()
        guard file.profiles[name] != nil else {
            throw CommandError(
                code: .usage,
                message: "\(file.path) has no profile \(name).",
                remedy: "`mistkit auth profiles` lists the profiles and their files."
            )
        }
        try file.setProfile(name, to: nil)
        Terminal.writeError("Deleted the profile \(name) from \(file.path).")
    }
}
