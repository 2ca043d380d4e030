import Foundation
import MistKit
import StreamingJSON

/// A configuration file: settings, and profiles, which are settings under a name.
///
///     {
///       "container": "iCloud.com.example.app",
///       "profiles": {"production": {"container": "iCloud.com.example.app", "environment": "production", …}}
///     }
struct SettingsFile {
    let path: String
    private(set) var settings: [Settings.Key: String] = [:]
    private(set) var profiles: [String: [Settings.Key: String]] = [:]

    /// The member of the file with its profiles.
    private static let profilesKey = "profiles"

    /// The user's own file, which has profiles for all folders: `mistkit/config.json` in `XDG_CONFIG_HOME`, or else in
    /// `~/.config`.
    ///
    /// - Returns: Its path; `nil` without a home.
    static func userPath(_ environment: [String: String]) -> String? {
        if let folder = environment["XDG_CONFIG_HOME"], !folder.isEmpty { return folder + "/mistkit/config.json" }
        return environment["HOME"].map { $0 + "/.config/mistkit/config.json" }
    }

    /// The configuration file that a command in a folder reads, if any.
    ///
    /// - Parameters:
    ///   - named: The path that the user gave.
    ///   - folder: The folder in which the command runs.
    /// - Returns: Its path.
    /// - Throws: ``CommandError`` when the file is named but missing.
    static func path(named: String?, in folder: String) throws(CommandError) -> String? {
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

    /// The user's own file, which is empty before its first profile; `nil` without a home folder.
    ///
    /// - Throws: ``CommandError`` when it cannot be read.
    static func user(_ environment: [String: String]) throws(CommandError) -> SettingsFile? {
        guard let path = userPath(environment) else { return nil }
        return FileManager.default.fileExists(atPath: path)
            ? try SettingsFile(readingFrom: path) : SettingsFile(emptyAt: path)
    }

    /// The files that can have profiles: the file of the folder, and the user's own file.
    ///
    /// - Parameter named: The path of the folder's file, if the user gave one.
    /// - Returns: The folder's file, if it exists, and the user's own file, which may be empty.
    /// - Throws: ``CommandError`` when a file cannot be read.
    static func withProfiles(named: String? = nil) throws(CommandError) -> [SettingsFile] {
        let environment = withoutEmptyVariables(ProcessInfo.processInfo.environment)
        let folder = FileManager.default.currentDirectoryPath
        let path = try path(named: named ?? environment["MISTKIT_CONFIG"], in: folder)
        let own = try path.map { path throws(CommandError) in try SettingsFile(readingFrom: path) }
        return [own, try user(environment)].compactMap(\.self)
    }

    /// The environment without variables of the command that have no text.
    static func withoutEmptyVariables(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, text in !(name.hasPrefix("MISTKIT_") && text.isEmpty) }
    }

    /// An empty file.
    init(emptyAt path: String) {
        self.path = path
    }

    /// Reads a file.
    ///
    /// - Throws: ``CommandError`` when it is not a JSON object, or has a key that is not a setting or a value that is
    ///   not a string.
    init(readingFrom path: String) throws(CommandError) {
        self.path = path
        guard let data = FileManager.default.contents(atPath: path) else { throw .unreadable(path) }
        var members: [String: JSONValue]
        do {
            members = try JSONReader.read([String: JSONValue].self, from: [UInt8](data))
        } catch {
            throw CommandError(
                code: .usage,
                message: "The configuration file \(path) cannot be read: \(error)",
                remedy: "Write one JSON object, such as {\"container\": \"iCloud.com.example.app\"}."
            )
        }
        let named = members.removeValue(forKey: Self.profilesKey) ?? .object([:])
        settings = try Self.settings(members, in: path)
        guard case .object(let list) = named else { throw Self.notAnObject(Self.profilesKey, in: path) }
        for (name, value) in list.sorted(by: { $0.key < $1.key }) {
            guard case .object(let members) = value else { throw Self.notAnObject(name, in: path) }
            profiles[name] = try Self.settings(members, in: path)
        }
    }

    private static func settings(
        _ members: [String: JSONValue],
        in path: String
    ) throws(CommandError) -> [Settings.Key: String] {
        var settings: [Settings.Key: String] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let key = Settings.Key(rawValue: name) else { throw unknownKey(name, in: path) }
            guard case .string(let text) = value else {
                throw CommandError(
                    code: .usage,
                    message: "The setting \"\(name)\" in \(path) is not a string.",
                    remedy: "Put its value in quotation marks."
                )
            }
            settings[key] = text
        }
        return settings
    }

    private static func notAnObject(_ name: String, in path: String) -> CommandError {
        CommandError(
            code: .usage,
            message: "\"\(name)\" in \(path) is not an object.",
            remedy: "Write profiles as {\"profiles\": {\"production\": {\"container\": \"iCloud.com.example.app\"}}}."
        )
    }

    private static func unknownKey(_ name: String, in file: String) -> CommandError {
        let plain = name.lowercased().filter { $0 != "_" && $0 != "-" }
        let meant = Settings.Key.allCases.first { $0.rawValue.lowercased() == plain }
        let all = Settings.Key.allCases.map(\.rawValue).joined(separator: ", ")
        return CommandError(
            code: .usage,
            message: "The configuration file \(file) has the key \"\(name)\", which is not a setting.",
            remedy: meant.map { "Write \"\($0.rawValue)\"." } ?? "The settings are \(all)."
        )
    }

    // MARK: Changing profiles

    /// Sets a profile, or removes it where `settings` is `nil`, and writes the file, which only the user can read.
    ///
    /// - Throws: ``CommandError`` where it cannot be written.
    mutating func setProfile(_ name: String, to settings: [Settings.Key: String]?) throws(CommandError) {
        profiles[name] = settings
        func object(_ settings: [Settings.Key: String]) -> [String: JSONValue] {
            Dictionary(uniqueKeysWithValues: settings.map { ($0.key.rawValue, .string($0.value)) })
        }
        var members = object(self.settings)
        members[Self.profilesKey] = .object(profiles.mapValues { .object(object($0)) })
        do {
            let bytes = try JSONWriter.bytes(of: JSONValue.object(members), options: [.prettyPrinted, .sortedKeys])
            try PrivateFile(path, noun: "configuration file").replace(with: bytes + [UInt8(ascii: "\n")])
        } catch {
            throw .unwritable(path, error)
        }
    }
}
