import Configuration
import Foundation

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

    /// Names of the settings: in the file as written here, in the environment in upper case behind `MISTKIT_`.
    private enum Key {
        static let container = ConfigKey(["container"])
        static let environment = ConfigKey(["environment"])
        static let database = ConfigKey(["database"])
        static let serverURL = ConfigKey(["serverURL"])
        static let apiToken = ConfigKey(["apiToken"])
        static let webAuthToken = ConfigKey(["webAuthToken"])
        static let keyID = ConfigKey(["keyID"])
        static let privateKey = ConfigKey(["privateKey"])
        static let privateKeyFile = ConfigKey(["privateKeyFile"])
        static let dataFolder = ConfigKey(["dataFolder"])
    }

    /// Reads the settings behind the flags.
    ///
    /// - Throws: ``CommandError`` when the file is named but missing, or is no JSON object.
    static func read(
        flags: ConnectionOptions,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        folder: String = FileManager.default.currentDirectoryPath
    ) async throws -> Settings {
        let file = try configurationFile(flags.configurationFile ?? environment["MISTKIT_CONFIG"], folder: folder)
        var providers: [any ConfigProvider] = [
            InMemoryProvider(name: "flags", values: flags.values),
            KeyMappingProvider(upstream: EnvironmentVariablesProvider(environmentVariables: environment)) { key in
                AbsoluteConfigKey(["mistkit"] + key.components, context: key.context)
            },
        ]
        if let file {
            do {
                let path = ConfigReader(
                    provider: InMemoryProvider(values: [
                        AbsoluteConfigKey(["filePath"]): ConfigValue(.string(file), isSecret: false)
                    ])
                )
                providers.append(try await FileProvider<JSONSnapshot>(config: path))
            } catch {
                throw CommandError(
                    code: .usage,
                    message: "The configuration file \(file) cannot be read: \(error).",
                    remedy: "It has to be one JSON object, such as {\"container\": \"iCloud.com.example.app\"}."
                )
            }
        }
        let reader = ConfigReader(providers: providers)
        return Settings(
            container: reader.string(forKey: Key.container),
            environment: reader.string(forKey: Key.environment),
            database: reader.string(forKey: Key.database),
            serverURL: reader.string(forKey: Key.serverURL),
            apiToken: reader.string(forKey: Key.apiToken, isSecret: true),
            webAuthToken: reader.string(forKey: Key.webAuthToken, isSecret: true),
            keyID: reader.string(forKey: Key.keyID, isSecret: true),
            privateKey: reader.string(forKey: Key.privateKey, isSecret: true),
            privateKeyFile: reader.string(forKey: Key.privateKeyFile),
            dataFolder: reader.string(forKey: Key.dataFolder),
            configurationFile: file
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
        let given: [(String, String?, Bool)] = [
            ("container", container, false),
            ("environment", environment, false),
            ("database", database, false),
            ("serverURL", serverURL, false),
            ("apiToken", apiToken, true),
            ("webAuthToken", webAuthToken, true),
            ("keyID", keyID, true),
            ("privateKeyFile", privateKeyFile, false),
            ("dataFolder", dataFolder, false),
        ]
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for case (let name, let value?, let isSecret) in given {
            values[AbsoluteConfigKey([name])] = ConfigValue(.string(value), isSecret: isSecret)
        }
        return values
    }
}
