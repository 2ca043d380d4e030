import ArgumentParser
import MistKit
import StreamingJSON

/// Zones in a format.
private func write(_ zones: [Zone], as format: OutputFormat) throws {
    switch format {
    case .table:
        guard !zones.isEmpty else { return Terminal.writeLine("No zones.") }
        var table = TextTable([
            .init(title: "zone"), .init(title: "owner"), .init(title: "atomic"), .init(title: "syncToken"),
        ])
        for zone in zones {
            table.append([
                zone.zoneID.zoneName, zone.zoneID.ownerRecordName ?? "", zone.isAtomic.map { $0 ? "yes" : "no" } ?? "",
                zone.syncToken ?? "",
            ])
        }
        Terminal.write(table)
    case .json:
        Terminal.writeLine(String(decoding: try JSONWriter.bytes(of: zones, options: [.prettyPrinted]), as: UTF8.self))
    case .ndjson:
        for zone in zones { Terminal.writeLine(String(decoding: try JSONWriter.bytes(of: zone), as: UTF8.self)) }
    case .csv:
        Terminal.write(CommaSeparatedValues.line(["zoneName", "ownerRecordName", "atomic", "syncToken"]))
        for zone in zones {
            Terminal.write(
                CommaSeparatedValues.line([
                    zone.zoneID.zoneName, zone.zoneID.ownerRecordName ?? "", zone.isAtomic.map { String($0) } ?? "",
                    zone.syncToken ?? "",
                ])
            )
        }
    }
}

/// `mistkit zones list`
struct ListZonesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the zones of the database.")

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try write(try await Connection.open(connection).database.fetchZones(), as: output.format)
    }
}

/// `mistkit zones create`
struct CreateZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a zone in the private database."
    )

    @Argument(help: "The zone's name.")
    var name: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try Connection.open(connection).databaseOfZones()
        try write([try await database.createZone(name)], as: output.format)
    }
}

/// `mistkit zones delete`
struct DeleteZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a zone and all its records. They cannot be restored."
    )

    @Argument(help: "The zone's name.")
    var name: String

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await Connection.open(connection).databaseOfZones().deleteZone(ZoneID(zoneName: name))
        Terminal.writeError("Deleted the zone \(name) and its records.")
    }
}
