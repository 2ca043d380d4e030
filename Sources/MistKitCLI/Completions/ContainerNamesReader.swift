import CloudKitEmulator
import CloudKitSchema
import Foundation
import Logging
import MistKit
import Synchronization

/// Finds the names in the container of a command line, quickly or not at all: a person has pressed a key and waits.
final class ContainerNamesReader: Sendable {
    /// How long a shell waits at most.
    static let limit = Duration.seconds(1)
    /// The number of zones in which record types are looked for.
    private static let zoneLimit = 10
    /// The number of records of a query that are looked at for their fields.
    private static let recordLimit = 10

    private let connection: ServiceConnection
    private let zone: ZoneID?
    /// The record type whose fields are asked for.
    private let recordType: String?
    /// What was found so far.
    private let found = Mutex(ContainerNames())

    private init(connection: ServiceConnection, zone: ZoneID?, recordType: String?) {
        self.connection = connection
        self.zone = zone
        self.recordType = recordType
    }

    /// The names in the container of a command line's settings.
    ///
    /// The names of the embedded emulator come from its data folder, if that exists already. The names of a service
    /// come from requests, or from the cache. Names that the service has not sent within a second are missing.
    ///
    /// - Returns: `nil` where the settings are wrong, which the command itself reports, and where there are no data
    ///   yet.
    static func names(for arguments: CompletionArguments) async -> ContainerNames? {
        guard let settings = try? Settings.read(flags: arguments.connection) else { return nil }
        guard settings.hasCredentials else {
            let folder = settings.dataFolder ?? EmbeddedEmulator.defaultFolder
            guard FileManager.default.fileExists(atPath: folder + "/emulator.sqlite") else { return nil }
            return await fetch(settings, arguments, recordType: nil)?.names
        }
        let cache = ContainerNamesCache(settings: settings, environment: ProcessInfo.processInfo.environment)
        let known = cache?.names(at: Date())
        let type = arguments.recordType(among: known?.recordTypes.keys.sorted() ?? [])
        if let known, type.map({ known.recordTypes[$0] != nil }) ?? true { return known }
        guard let fetched = await fetch(settings, arguments, recordType: type) else { return nil }
        var names = fetched.names
        names.recordTypes.merge(known?.recordTypes ?? [:]) { new, _ in new }
        cache?.store(names, at: Date(), isComplete: fetched.isComplete)
        return names
    }

    private static func fetch(
        _ settings: Settings,
        _ arguments: CompletionArguments,
        recordType: String?
    ) async -> (names: ContainerNames, isComplete: Bool)? {
        let silent = Logger(label: "mistkit") { _ in SwiftLogNoOpLogHandler() }
        guard let connection = try? ServiceConnection.open(settings, logger: silent) else { return nil }
        let zone = arguments.zone.map { ZoneID(zoneName: $0, ownerRecordName: arguments.zoneOwner) }
        let reader = ContainerNamesReader(connection: connection, zone: zone, recordType: recordType)
        let isComplete = await withinLimit { (try? await reader.read()) != nil }
        return (reader.found.withLock { $0 }, isComplete)
    }

    /// Whether the operation succeeds within the limit. An operation that takes longer is cancelled, and its end is not
    /// awaited.
    private static func withinLimit(_ operation: @escaping @Sendable () async -> Bool) async -> Bool {
        let (results, continuation) = AsyncStream<Bool>.makeStream()
        let work = Task.detached { continuation.yield(await operation()) }
        let timer = Task.detached {
            try? await Task.sleep(for: limit)
            continuation.yield(false)
        }
        defer {
            work.cancel()
            timer.cancel()
        }
        return await results.first { _ in true } ?? false
    }

    private func read() async throws {
        let zones = try await connection.database.fetchZones().map(\.zoneID)
        found.withLock { found in
            found.zones = zones.compactMap(\.zoneName)
            found.owners = Set(zones.compactMap(\.ownerRecordName)).sorted()
        }
        if case .embedded(let embedded) = connection.destination {
            let schema = try embedded.emulator.schema(of: embedded.container, in: connection.service.environment)
            found.withLock { found in
                for type in schema.recordTypes {
                    // In a schema, system fields that have an index have names of their own, which begin with `___`.
                    found.recordTypes[type.name] = type.fields.map(\.name).filter { !$0.hasPrefix("___") }
                }
            }
        } else {
            try await readRecords(of: zones)
        }
    }

    /// Finds record types and fields in records, since the service does not show its schema.
    private func readRecords(of zones: [ZoneID]) async throws {
        if let recordType {
            found.withLock { $0.recordTypes[recordType] = $0.recordTypes[recordType] ?? [] }
            let query = Query(recordType: recordType)
            let records = connection.database.records(matching: query, inZone: zone, pageSize: Self.recordLimit)
            var count = 0
            do {
                for try await record in records {
                    insert(record)
                    count += 1
                    if count == Self.recordLimit { break }
                }
            } catch let error as CloudKitError where error.code != .network && error.code != .cancelled {
                // The type has no index for such a query, or does not exist; the records of zones may still have its
                // fields.
            }
        }
        // The default zone has no change feed.
        let custom = zones.filter { $0.zoneName != ZoneID.default.zoneName }
        let first = zone.map { zone in custom.filter { $0.zoneName == zone.zoneName } } ?? []
        for zone in (first + custom.filter { !first.contains($0) }).prefix(Self.zoneLimit) {
            for try await page in connection.database.changes(inZone: zone, newestFirst: true) {
                for record in page.changedRecords { insert(record) }
                break
            }
        }
    }

    private func insert(_ record: Record) {
        guard let type = record.recordType else { return }
        found.withLock { found in
            for (field, _) in record.fields { found.insert(field: field, of: type) }
        }
    }
}
