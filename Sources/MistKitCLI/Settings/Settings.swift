import Configuration
import Foundation

/// The settings of the flags, the environment and the configuration file, in this order of precedence.
///
/// With a profile, only the flags and the profile count.
struct Settings: Sendable {
    /// The settings that are given.
    let values: [Key: String]
    /// The file that was read, nil where there was none.
    var configurationFile: String?

    var container: String? { values[.container] }
    var environment: String? { values[.environment] }
    var database: String? { values[.database] }
    var serverURL: String? { values[.serverURL] }
    var apiToken: String? { values[.apiToken] }
    var webAuthToken: String? { values[.webAuthToken] }
    var keyID: String? { values[.keyID] }
    var privateKey: String? { values[.privateKey] }
    var privateKeyFile: String? { values[.privateKeyFile] }
    var dataFolder: String? { values[.dataFolder] }
    /// The user as whom a command acts, of an emulator on this machine.
    var user: String? { values[.user] }

    /// The folder of the emulator's data.
    var emulatorFolder: String { dataFolder ?? EmbeddedEmulator.defaultFolder }

    init(_ values: [Key: String], configurationFile: String? = nil) {
        self.values = values
        self.configurationFile = configurationFile
    }

    /// The names of the settings: in the file as written here, in the environment in upper case after `MISTKIT_`.
    enum Key: String, CaseIterable {
        case container, environment, database, serverURL, apiToken, webAuthToken, keyID, privateKey, privateKeyFile
        case dataFolder, user

        /// The name of the setting in the environment.
        var environmentVariable: String {
            // A capital begins a word, unless the character before it is a capital too.
            var words = ""
            for character in rawValue {
                if character.isUppercase, words.last?.isUppercase != true { words += "_" }
                words.append(character)
            }
            return "MISTKIT_" + words.uppercased()
        }

        var isSecret: Bool { [.apiToken, .webAuthToken, .keyID, .privateKey].contains(self) }
    }

    /// Reads the settings of the flags, the environment and the files.
    ///
    /// A variable without text counts as not set: CI systems set a secret that is missing to an empty text.
    ///
    /// With a profile, the environment and the other settings of files do not count: what a profile leaves out is not
    /// set.
    ///
    /// - Throws: ``CommandError`` when a file is named but missing, or is not a JSON object, and for a profile that no
    ///   file has.
    static func read(
        flags: ConnectionOptions,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        folder: String = FileManager.default.currentDirectoryPath
    ) throws -> Settings {
        let environment = SettingsFile.withoutEmptyVariables(environment)
        let path = try SettingsFile.path(named: flags.configurationFile ?? environment["MISTKIT_CONFIG"], in: folder)
        let file = try path.map { path throws(CommandError) in try SettingsFile(readingFrom: path) }
        var providers: [any ConfigProvider] = [InMemoryProvider(name: "flags", values: flags.values)]
        let source: SettingsFile?
        if let profile = flags.profile ?? environment["MISTKIT_PROFILE"] {
            let (found, settings) = try self.profile(profile, in: file, environment)
            providers.append(provider(profile, settings))
            source = found
        } else {
            providers.append(
                KeyMappingProvider(upstream: EnvironmentVariablesProvider(environmentVariables: environment)) { key in
                    AbsoluteConfigKey(["mistkit"] + key.components, context: key.context)
                }
            )
            if let file { providers.append(provider(file.path, file.settings)) }
            source = file
        }
        let reader = ConfigReader(providers: providers)
        var values: [Key: String] = [:]
        for key in Key.allCases {
            values[key] = reader.string(forKey: ConfigKey([key.rawValue]), isSecret: key.isSecret)
        }
        return Settings(values, configurationFile: source?.path)
    }

    /// Looks for a profile in the file of the folder, and then in the user's own file.
    private static func profile(
        _ name: String,
        in file: SettingsFile?,
        _ environment: [String: String]
    ) throws(CommandError) -> (SettingsFile, [Key: String]) {
        let user = try SettingsFile.user(environment)
        for file in [file, user] {
            if let file, let settings = file.profiles[name] { return (file, settings) }
        }
        let known = Set([file, user].flatMap { $0?.profiles.keys.sorted() ?? [] }).sorted()
        throw CommandError(
            code: .usage,
            message: "There is no profile \(name).",
            remedy: known.isEmpty
                ? "Make it with `mistkit auth save-profile \(name) --container …`."
                : "The profiles are \(known.joined(separator: ", "))."
        )
    }

    private static func provider(_ name: String, _ settings: [Key: String]) -> InMemoryProvider {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (key, text) in settings {
            values[AbsoluteConfigKey([key.rawValue])] = ConfigValue(.string(text), isSecret: key.isSecret)
        }
        return InMemoryProvider(name: name, values: values)
    }
}

extension ConnectionOptions {
    fileprivate var values: [AbsoluteConfigKey: ConfigValue] {
        let given: [(Settings.Key, String?)] = [
            (.container, container), (.environment, environment), (.database, database), (.serverURL, serverURL),
            (.apiToken, apiToken), (.webAuthToken, webAuthToken), (.keyID, keyID), (.privateKeyFile, privateKeyFile),
            (.dataFolder, dataFolder), (.user, user),
        ]
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for case (let key, let value?) in given {
            values[AbsoluteConfigKey([key.rawValue])] = ConfigValue(.string(value), isSecret: key.isSecret)
        }
        return values
    }
}
