import ArgumentParser
import Foundation
import MistKit

extension ValueList<Zone> {
    fileprivate static let zones = ValueList(
        emptyNote: "No zones.",
        columns: [
            Column("zone") { $0.zoneID.zoneName },
            Column("owner") { $0.zoneID.ownerRecordName },
            Column("atomic") { $0.isAtomic.map { $0 ? "yes" : "no" } },
            Column("syncToken") { $0.syncToken },
        ]
    )

    fileprivate static let changes = ValueList(
        emptyNote: "No changes.",
        columns: [
            Column("change") { $0.deleted == true ? "deleted" : "changed" },
            Column("zone") { $0.zoneID.zoneName },
            Column("owner") { $0.zoneID.ownerRecordName },
        ]
    )
}

/// `mistkit zones list`
struct ListZonesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the zones of the database.",
        discussion: """
            Examples:
              mistkit zones list
              mistkit zones list --database shared
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try ValueList.zones.write(try await ServiceConnection.open(connection).database.fetchZones(), as: output)
    }
}

/// `mistkit zones create`
struct CreateZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a zone in the private database.",
        discussion: """
            Examples:
              mistkit zones create Notes
              mistkit zones create Notes --format json
            """
    )

    @Argument(help: "The zone's name.")
    var name: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).databaseOfZones()
        try ValueList.zones.write([try await database.createZone(name)], as: output)
    }
}

/// `mistkit zones delete`
struct DeleteZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a zone and all its records. They cannot be restored.",
        discussion: """
            The command asks first.

            Examples:
              mistkit zones delete Notes --yes
              mistkit zones delete Notes --yes --verbose
            """
    )

    @Argument(help: "The zone's name.", completion: .zone)
    var name: String

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).databaseOfZones()
        guard try confirmation.confirms("Delete the zone \(name) with all its records?") else { return }
        try await database.deleteZone(ZoneID(zoneName: name))
        Terminal.writeError("Deleted the zone \(name) and its records.")
    }
}

/// `mistkit zones purge`
struct PurgeZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Delete all records of a zone, and keep the zone. They cannot be restored.",
        discussion: """
            The command says how many records these are and asks first. Change tokens of the zone stay valid: other devices see the deletes.

            Examples:
              mistkit zones purge Notes
              mistkit zones purge Notes --yes
            """
    )

    @Argument(help: "The zone's name.", completion: .zone)
    var name: String

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).databaseOfZones()
        let zone = ZoneID(zoneName: name)
        var names: [String] = []
        for try await page in database.changes(inZone: zone, desiredKeys: []) {
            names += page.changedRecords.compactMap(\.recordName)
        }
        let records = String.counting(names.count, "record")
        guard try names.isEmpty || confirmation.confirms("Delete \(records) of the zone \(name)?") else { return }
        var failures: [CloudKitError] = []
        for case .failure(let error) in try await database.forceDelete(names, inZone: zone) { failures.append(error) }
        Terminal.writeError("Deleted \(names.count - failures.count) of \(records) of the zone \(name).")
        try CommandError.check(failures, of: names.count, noun: "records")
    }
}

/// `mistkit zones changes`
struct ZoneListChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "List the zones in which records were changed, and those that were deleted, since a token.",
        discussion: """
            Without a token, every custom zone is listed. The token for the next run is written to standard error, or to the file of \
            --token-file. With that file, the next run of the same command lists only new changes.

            Examples:
              mistkit zones changes
              mistkit zones changes --token-file zones.token
            """
    )

    @OptionGroup var token: TokenOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).database
        var last = try token.start { DatabaseChangeToken($0) }
        var zones: [Zone] = []
        for try await page in database.changes(since: last) {
            zones += page.changedZones
            zones += page.deletedZones.map { Zone(zoneID: $0, deleted: true) }
            for failure in page.failures { Terminal.writeError(CommandError(failure)) }
            last = page.token
        }
        try ValueList.changes.write(zones, as: output)
        if let last { try token.keep(last.text) }
    }
}
