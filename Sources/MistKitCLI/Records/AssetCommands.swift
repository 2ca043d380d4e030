import ArgumentParser
import Foundation
import MistKit

/// `mistkit assets`
struct AssetsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assets",
        abstract: "Upload and download the files of records.",
        subcommands: [UploadAssetCommand.self, DownloadAssetCommand.self]
    )
}

/// `mistkit assets upload`
struct UploadAssetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Upload a file, and save it in a field of a record.",
        discussion: """
            The field of the record is replaced, even if another client changed the record; a record that does not exist is created.

            Examples:
              mistkit assets upload photo.jpg --type Person --name mei --field photo
              mistkit assets upload photo.jpg --type Person --name mei --field photo --zone Notes
            """
    )

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Option(help: ArgumentHelp("The record type.", valueName: "name"), completion: .recordType)
    var type: String

    @Option(help: ArgumentHelp("The field's name.", valueName: "name"), completion: .field)
    var field: String

    @Option(help: ArgumentHelp("The record's name; without it the service makes one.", valueName: "name"))
    var name: String?

    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).database
        let zoneID = try await zone.zoneID(in: database)
        let upload = try await database.upload(
            .file(URL(fileURLWithPath: file)),
            for: field,
            of: type,
            named: name,
            inZone: zoneID
        )
        var outcome = BatchOutcome(output)
        try outcome.append(.success(try await database.forceUpdate(upload.record(), inZone: zoneID)))
        try outcome.finish()
    }
}

/// `mistkit assets download`
struct DownloadAssetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download",
        abstract: "Download the file in a field of a record.",
        discussion: """
            The file is written when the download is complete. A file that exists is replaced only with --force.

            Examples:
              mistkit assets download copy.jpg --name mei --field photo
              mistkit assets download copy.jpg --name mei --field photo --zone Notes --force
            """
    )

    @Argument(help: "Where to put the file.", completion: .file())
    var file: String

    @Option(help: ArgumentHelp("The record's name.", valueName: "name"))
    var name: String

    @Option(help: ArgumentHelp("The field's name.", valueName: "name"), completion: .field)
    var field: String

    @Option(help: ArgumentHelp("Which of the files, from 0, where the field is a list.", valueName: "number"))
    var index = 0

    @OptionGroup var replacement: ReplacementOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try replacement.check(file)
        let database = try ServiceConnection.open(connection).database
        let asset = try await AssetField(field, of: name, inZone: zone.zoneID(in: database), at: index)
        try await database.download(asset, to: URL(fileURLWithPath: file))
    }
}
