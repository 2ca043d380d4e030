import ArgumentParser
import Foundation
import Logging
import Testing

@testable import MistKitCLI

struct SettingsTests {
    /// Settings from flags, an environment and a configuration file in their own folder.
    private func settings(
        flags: [String] = [],
        environment: [String: String] = [:],
        file: String? = nil
    ) async throws -> Settings {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        if let file { try Data(file.utf8).write(to: folder.appendingPathComponent("mistkit.json")) }
        return try Settings.read(flags: .parse(flags), environment: environment, folder: folder.path)
    }

    @Test func takesFlagsBeforeTheEnvironmentBeforeTheFile() async throws {
        let settings = try await settings(
            flags: ["--container", "flag"],
            environment: ["MISTKIT_CONTAINER": "environment", "MISTKIT_API_TOKEN": "environment"],
            file: #"{"container": "file", "apiToken": "file", "serverURL": "http://file"}"#
        )
        #expect(settings.container == "flag")
        #expect(settings.apiToken == "environment")
        #expect(settings.serverURL == "http://file")
        #expect(settings.keyID == nil)
    }

    /// A profile is complete: settings of the environment and of the file are not used.
    @Test func aProfileReplacesEnvironmentAndFile() async throws {
        let file = #"{"container": "file", "profiles": {"local": {"container": "own"}, "empty": {}}}"#
        let environment = ["MISTKIT_CONTAINER": "environment", "MISTKIT_API_TOKEN": "environment"]
        let flag = try await settings(flags: ["--profile", "local"], environment: environment, file: file)
        #expect(flag.values == [.container: "own"])
        let overridden = try await settings(
            flags: ["--profile", "empty", "--key-id", "k"],
            environment: environment,
            file: file
        )
        #expect(overridden.values == [.keyID: "k"])
        let named = try await settings(environment: ["MISTKIT_PROFILE": "local"], file: file)
        #expect(named.container == "own")
        let unknown = await #expect(throws: CommandError.self) {
            try await settings(flags: ["--profile", "nope"], file: file)
        }
        #expect(unknown?.message == "There is no profile nope." && unknown?.remedy == "The profiles are empty, local.")
    }

    @Test func profilesAreKeptForTheUserAlone() throws {
        let commands = try CommandTests()
        let environment = ["XDG_CONFIG_HOME": commands.folder.appending(path: "settings").path]
        func mistkit(_ arguments: String...) throws -> CommandTests.Outcome {
            try commands.mistkit(arguments: arguments, environment: environment)
        }
        #expect(try mistkit("auth", "save-profile", "none").status == 64)
        let saved = try mistkit("auth", "save-profile", "local", "--data-folder", "data", "--container", "iCloud.c")
        #expect(saved.status == 0, "\(saved.errors)")
        #expect(try mistkit("auth", "save-profile", "local", "--container", "x").status == 64)
        #expect(try mistkit("auth", "save-profile", "key", "--api-token", "secret", "--container", "x").status == 0)
        let file = commands.folder.appending(path: "settings/mistkit/config.json").path
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let list = try mistkit("auth", "profiles", "-f", "csv")
        #expect(list.output.contains("key,x,,,API token,") && list.output.contains("local,iCloud.c,,,none,"))
        #expect(!list.output.contains("secret"))
        let status = try mistkit("auth", "status", "--profile", "local")
        #expect(status.output.contains("data in \(commands.folder.path)/data/"), "\(status.output)")
        #expect(status.output.contains("private       accepted") && status.output.contains("shared        accepted"))
        #expect(try mistkit("auth", "delete-profile", "local").status == 0)
        #expect(try mistkit("auth", "delete-profile", "local").status == 64)
        #expect(try mistkit("auth", "profiles", "-f", "csv").output.contains("key,"))
    }

    @Test func readsEverySettingFromTheEnvironment() async throws {
        let settings = try await settings(environment: [
            "MISTKIT_CONTAINER": "1", "MISTKIT_ENVIRONMENT": "2", "MISTKIT_DATABASE": "3", "MISTKIT_SERVER_URL": "4",
            "MISTKIT_API_TOKEN": "5", "MISTKIT_WEB_AUTH_TOKEN": "6", "MISTKIT_KEY_ID": "7", "MISTKIT_PRIVATE_KEY": "8",
            "MISTKIT_PRIVATE_KEY_FILE": "9", "MISTKIT_DATA_FOLDER": "10",
        ])
        #expect(
            [
                settings.container, settings.environment, settings.database, settings.serverURL, settings.apiToken,
                settings.webAuthToken, settings.keyID, settings.privateKey, settings.privateKeyFile,
                settings.dataFolder,
            ] == (1...10).map(String.init)
        )
    }

    @Test func aVariableWithoutTextIsNotSet() throws {
        let names = ["CONTAINER", "API_TOKEN", "WEB_AUTH_TOKEN", "KEY_ID", "PROFILE", "CONFIG"]
        let environment = Dictionary(uniqueKeysWithValues: names.map { ("MISTKIT_\($0)", "") })
        let settings = try Settings.read(flags: ConnectionOptions.parse([]), environment: environment, folder: "/")
        #expect(settings.container == nil && !settings.hasCredentials)
    }

    @Test func refusesAConfigurationFileThatIsMissingOrNoJSON() async throws {
        let missing = await #expect(throws: CommandError.self) {
            try await settings(flags: ["--config", "nowhere.json"])
        }
        #expect(missing?.message == "There is no configuration file nowhere.json.")
        let broken = await #expect(throws: CommandError.self) { try await settings(file: "{") }
        #expect(broken?.message.contains("mistkit.json cannot be read") == true)
    }

    @Test(arguments: [
        (#"{"contaner": "c"}"#, #"has the key "contaner", which is not a setting."#, "The settings are container,"),
        (#"{"api_token": "c"}"#, #"has the key "api_token", which is not a setting."#, #"Write "apiToken"."#),
        (#"{"container": 1}"#, "is not a string.", "Put its value in quotation marks."),
        (#"{"profiles": {"a": {"contaner": "c"}}}"#, #"has the key "contaner""#, "The settings are container,"),
        (#"{"profiles": {"a": 1}}"#, #""a" in "#, "Write profiles as "),
        (#"{"profiles": []}"#, #""profiles" in "#, "Write profiles as "),
    ]) func refusesAConfigurationFileWithAMistake(_ file: String, message: String, remedy: String) async throws {
        let error = await #expect(throws: CommandError.self) { try await settings(file: file) }
        #expect(error?.message.contains(message) == true)
        #expect(error?.remedy.contains(remedy) == true)
    }

    @Test(arguments: [
        (["MISTKIT_SERVER_URL": "http://h"], "The address of a service is set, but no credentials for it."),
        (["MISTKIT_API_TOKEN": "t"], "Credentials are set, but no container."),
        (["MISTKIT_KEY_ID": "k", "MISTKIT_CONTAINER": "c"], "A key ID is set, but no private key."),
        (["MISTKIT_PRIVATE_KEY": "k", "MISTKIT_CONTAINER": "c"], "A private key is set, but no key ID."),
        (
            ["MISTKIT_WEB_AUTH_TOKEN": "k", "MISTKIT_CONTAINER": "c"],
            "A web authentication token is set, but no API token."
        ),
        (
            ["MISTKIT_API_TOKEN": "t", "MISTKIT_CONTAINER": "c", "MISTKIT_SERVER_URL": "nowhere"],
            "\"nowhere\" is not the address of a service."
        ),
        (["MISTKIT_ENVIRONMENT": "staging"], "\"staging\" is not an environment."),
        (["MISTKIT_DATABASE": "mine"], "\"mine\" is not a database."),
    ]) func saysWhichSettingIsMissing(_ environment: [String: String], message: String) async throws {
        let settings = try await settings(environment: environment)
        let error = #expect(throws: CommandError.self) {
            try ServiceConnection.open(settings, logger: .init(label: "test"))
        }
        #expect(error?.message == message)
        #expect(error?.remedy.isEmpty == false)
    }
}
