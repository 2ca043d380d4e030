import Configuration
import Foundation
import StreamingJSON

/// What the flags, the environment and the configuration file say together: flags first, then the environment, then the file.
struct Settings: Sendable {
    var container: String?
    var environment: String?
    var database: String?
    var serverURL: String?
    var apiToken: String?
    var webAuthToken: String?
    var keyID: String?
    var privateKey: String?
    var privateKeyFile: String?
    var dataFolder: String?
    /// The file that was read, nil where there was none.
    var configurationFile: String?

    /// The names of the settings: in the file as written here, in the environment in upper case behind `MISTKIT_`.
    fileprivate enum Key: String, CaseIterable {
        case container, environment, database, serverURL, apiToken, webAuthToken, keyID, privateKey, privateKeyFile
        case dataFolder

        var isSecret: Bool { [.apiToken, .webAuthToken, .keyID, .privateKey].contains(self) }
    }

    /// Reads the settings behind the flags.
    ///
    /// - Throws: ``CommandError`` when the file is named but missing, or is no JSON object.
    static func read(
        flags: ConnectionOptions,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        folder: String = FileManager.default.currentDirectoryPath
    ) throws -> Settings {
        let file = try configurationFile(flags.configurationFile ?? environment["MISTKIT_CONFIG"], folder: folder)
        var providers: [any ConfigProvider] = [
            InMemoryProvider(name: "flags", values: flags.values),
            KeyMappingProvider(upstream: EnvironmentVariablesProvider(environmentVariables: environment)) { key in
                AbsoluteConfigKey(["mistkit"] + key.components, context: key.context)
            },
        ]
        if let file { providers.append(try provider(of: file)) }
        let reader = ConfigReader(providers: providers)
        func value(_ key: Key) -> String? {
            reader.string(forKey: ConfigKey([key.rawValue]), isSecret: key.isSecret)
        }
        return Settings(
            container: value(.container),
            environment: value(.environment),
            database: value(.database),
            serverURL: value(.serverURL),
            apiToken: value(.apiToken),
            webAuthToken: value(.webAuthToken),
            keyID: value(.keyID),
            privateKey: value(.privateKey),
            privateKeyFile: value(.privateKeyFile),
            dataFolder: value(.dataFolder),
            configurationFile: file
        )
    }

    /// Reads a configuration file.
    ///
    /// - Throws: ``CommandError`` when it is not a JSON object, or has a key that is not a setting or a value that is not a string.
    private static func provider(of file: String) throws(CommandError) -> InMemoryProvider {
        guard let data = FileManager.default.contents(atPath: file) else { throw .unreadable(file) }
        let members: [String: JSONValue]
        do {
            members = try JSONReader.read([String: JSONValue].self, from: [UInt8](data))
        } catch {
            throw CommandError(
                code: .usage,
                message: "The configuration file \(file) cannot be read: \(error)",
                remedy: "Write one JSON object, such as {\"container\": \"iCloud.com.example.app\"}."
            )
        }
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let key = Key(rawValue: name) else { throw unknownKey(name, in: file) }
            guard case .string(let text) = value else {
                throw CommandError(
                    code: .usage,
                    message: "The setting \"\(name)\" in \(file) is not a string.",
                    remedy: "Put its value in quotation marks."
                )
            }
            values[AbsoluteConfigKey([name])] = ConfigValue(.string(text), isSecret: key.isSecret)
        }
        return InMemoryProvider(name: file, values: values)
    }

    private static func unknownKey(_ name: String, in file: String) -> CommandError {
        let plain = name.lowercased().filter { $0 != "_" && $0 != "-" }
        let meant = Key.allCases.first { $0.rawValue.lowercased() == plain }
        let all = Key.allCases.map(\.rawValue).joined(separator: ", ")
        return CommandError(
            code: .usage,
            message: "The configuration file \(file) has the key \"\(name)\", which is not a setting.",
            remedy: meant.map { "Write \"\($0.rawValue)\"." } ?? "The settings are \(all)."
        )
    }

    private static func configurationFile(_ named: String?, folder: String) throws -> String? {
        func path(_ name: String) -> String {
            name.hasPrefix("/") ? name : URL(fileURLWithPath: folder).appendingPathComponent(name).path
        }
        if let named {
            guard FileManager.default.fileExists(atPath: path(named)) else {
                throw CommandError(
                    code: .usage,
                    message: "There is no configuration file \(named).",
                    remedy: "Check the path behind --config or in MISTKIT_CONFIG."
                )
            }
            return path(named)
        }
        return ["mistkit.json", ".mistkit/config.json"].map(path).first { FileManager.default.fileExists(atPath: $0) }
    }
}

extension ConnectionOptions {
    fileprivate var values: [AbsoluteConfigKey: ConfigValue] {
        let given: [(Settings.Key, String?)] = [
            (.container, container), (.environment, environment), (.database, database), (.serverURL, serverURL),
            (.apiToken, apiToken), (.webAuthToken, webAuthToken), (.keyID, keyID), (.privateKeyFile, privateKeyFile),
            (.dataFolder, dataFolder),
        ]
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for case (let key, let value?) in given {
            values[AbsoluteConfigKey([key.rawValue])] = ConfigValue(.string(value), isSecret: key.isSecret)
        }
        return values
    }
}
