import Crypto
import Foundation
import StreamingJSON

/// The names in a container that a command line can mention.
struct ContainerNames: Hashable, Sendable {
    /// The zones of the database.
    var zones: [String] = []
    /// The owners of zones, where the database has zones of other users.
    var owners: [String] = []
    /// The fields of the record types.
    var recordTypes: [String: [String]] = [:]

    /// The fields of a record type; those of all types where the type is not known.
    func fields(of type: String?) -> [String] {
        if let type, let fields = recordTypes[type] { return fields }
        return Set(recordTypes.values.joined()).sorted()
    }

    /// Adds a field that a record of the type has.
    mutating func insert(field: String, of type: String) {
        if recordTypes[type, default: []].contains(field) == false { recordTypes[type]?.append(field) }
    }
}

/// A cache of names that were fetched from a service, so that not every press of the tab key waits for requests.
struct ContainerNamesCache {
    /// How long complete names are valid, in seconds.
    static let lifetime = 300.0
    /// How long incomplete names are valid, in seconds: the time was too short, or the service refused.
    static let incompleteLifetime = 30.0

    let path: String

    /// The file for these settings: in the data folder, if one is set, else in the user's folder of caches.
    ///
    /// - Returns: `nil` where there is neither folder.
    init?(settings: Settings, environment: [String: String]) {
        let identity = [
            settings.serverURL, settings.container, settings.environment, settings.database, settings.apiToken,
            settings.webAuthToken,
            settings.keyID,
        ]
        let digest = SHA256.hash(data: Data(identity.map { $0 ?? "" }.joined(separator: "\n").utf8))
        let name =
            "completions-" + digest.prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            + ".json"
        let dataFolder = settings.dataFolder ?? EmbeddedEmulator.defaultFolder
        if FileManager.default.fileExists(atPath: dataFolder) {
            path = "\(dataFolder)/\(name)"
        } else if let caches = environment["XDG_CACHE_HOME"] ?? environment["HOME"].map({ $0 + "/.cache" }),
            caches.hasPrefix("/")
        {
            path = "\(caches)/mistkit/\(name)"
        } else {
            return nil
        }
    }

    /// The names in the file; `nil` where there are none, or they are too old.
    func names(at time: Date) -> ContainerNames? {
        guard
            let data = FileManager.default.contents(atPath: path),
            let value = try? JSONReader.read(JSONValue.self, from: [UInt8](data)),
            let expires = value["expires"]?.doubleValue, expires > time.timeIntervalSince1970,
            expires <= time.timeIntervalSince1970 + Self.lifetime
        else { return nil }
        func texts(_ value: JSONValue?) -> [String] { value?.arrayValue?.compactMap(\.stringValue) ?? [] }
        return ContainerNames(
            zones: texts(value["zones"]),
            owners: texts(value["owners"]),
            recordTypes: value["recordTypes"]?.objectValue?.mapValues { texts($0) } ?? [:]
        )
    }

    /// Writes names to the file. Errors are ignored.
    func store(_ names: ContainerNames, at time: Date, isComplete: Bool) {
        func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
        let expires = time.timeIntervalSince1970 + (isComplete ? Self.lifetime : Self.incompleteLifetime)
        let value: JSONValue = [
            "expires": .double(expires), "zones": list(names.zones), "owners": list(names.owners),
            "recordTypes": .object(names.recordTypes.mapValues(list)),
        ]
        guard let bytes = try? JSONWriter.bytes(of: value) else { return }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        try? FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        _ = FileManager.default.createFile(atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
    }
}
