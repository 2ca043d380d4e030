import ArgumentParser
import MistKit

/// `mistkit shares`
struct SharesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shares",
        abstract: "Share records with other people, and take part in their shares.",
        discussion: """
            `mistkit zones share` shares a whole zone; the commands for shares then take its name with --zone, and no record.
            """,
        subcommands: [
            CreateShareCommand.self, ShowShareCommand.self, UpdateShareCommand.self, StopSharingCommand.self,
            ResolveShareCommand.self, AcceptShareCommand.self, LeaveShareCommand.self,
        ]
    )
}

/// What the holders of a share's link may do.
enum PublicPermission: String, CaseIterable, ExpressibleByArgument {
    case none
    case readOnly = "read-only"
    case readWrite = "read-write"

    var permission: SharePermission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

/// The people of a share on the command line.
struct InvitationOptions: ParsableArguments {
    @Option(
        name: .customLong("invite"),
        help: ArgumentHelp(
            "A person, who may read: an e-mail address, a phone number, a user record name. May be given more than once.",
            valueName: "person"
        )
    )
    var readers: [String] = []

    @Option(
        name: .customLong("invite-writer"),
        help: ArgumentHelp("A person who may read and write. May be given more than once.", valueName: "person")
    )
    var writers: [String] = []

    @Option(name: .customLong("public"), help: "What people with the link but without an invitation may do.")
    var publicPermission: PublicPermission?

    func invitations() throws(CommandError) -> [(LookupInfo, SharePermission)] {
        var invitations: [(LookupInfo, SharePermission)] = []
        for text in readers { invitations.append((try LookupInfo(argument: text), .readOnly)) }
        for text in writers { invitations.append((try LookupInfo(argument: text), .readWrite)) }
        return invitations
    }
}

extension ValueList<Participant> {
    fileprivate static let participants = ValueList(
        emptyNote: "No participants.",
        columns: [
            Column("participant") { participant in
                let identity = participant.userIdentity
                return identity?.lookupInfo?.emailAddress ?? identity?.lookupInfo?.phoneNumber
                    ?? identity?.userRecordName
            },
            Column("type") { $0.type?.rawValue },
            Column("status") { $0.acceptanceStatus?.rawValue },
            Column("permission") { $0.permission?.rawValue },
        ]
    )
}

/// Writes a share: for people its link and its participants, for programs its record.
private func write(_ share: Share, as output: OutputOptions) throws {
    guard output.format == .table else {
        var records = RecordPrinter(output)
        try records.append(share.record)
        return records.finish(emptyNote: nil)
    }
    if let url = share.url { Terminal.writeLine("link    \(url)") }
    if let title = share.title { Terminal.writeLine("title   \(title)") }
    Terminal.writeLine("public  \(share.publicPermission.rawValue)")
    try ValueList.participants.write(share.participants, as: output)
}

/// The item that is shared: a record with the records below it, or a whole zone.
struct SharedItemOptions: ParsableArguments {
    @Argument(
        help:
            "The name of the shared record, or for `leave` the share's link. For a zone that is shared as a whole, leave it out and name the zone with --zone."
    )
    var name: String?

    @OptionGroup var zone: ZoneOptions

    func validate() throws {
        guard name != nil || zone.zone != nil else {
            throw ValidationError("Neither a record nor a zone is given.\nName the record, or a zone with --zone.")
        }
    }

    /// The item as messages show it: `record list-1` or `zone Lists`.
    var title: String { name.map { "record \($0)" } ?? "zone \(zone.zone ?? "")" }

    func fetchShare(from database: CloudKitDatabase) async throws -> Share {
        let zoneID = try await zone.zoneID(in: database)
        if let name {
            let record = try await database.fetch(name, inZone: zoneID, desiredKeys: [])
            guard record.share != nil else {
                throw CommandError(
                    code: .usage,
                    message: "The record \(name) is not the root of a share.",
                    remedy: "Name the record that was shared, or share this one with `mistkit shares create`."
                )
            }
            return try await database.fetchShare(of: record, inZone: zoneID)
        }
        do {
            return try await database.fetchShare(ofZone: zoneID ?? .default)
        } catch let error as CloudKitError where error.code == .notFound {
            throw CommandError(
                code: .usage,
                message: "The zone \(zone.zone ?? "") is not shared as a whole.",
                remedy: "Name the record that was shared, or share the zone with `mistkit zones share`."
            )
        }
    }
}

/// `mistkit shares create`
struct CreateShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Share a record of a custom zone, with all records below it.",
        discussion: """
            The service sends no invitations: give people the link that the command prints.

            Examples:
              mistkit shares create list-1 --zone Lists --invite-writer ben@example.com
              mistkit shares create list-1 --zone Lists --public read-only --title 'Shopping'
            """
    )

    @Argument(help: "The record's name.")
    var name: String

    @Option(help: ArgumentHelp("The title that people see.", valueName: "text"))
    var title: String?

    @OptionGroup var invitations: InvitationOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let participants = try invitations.invitations().map { Participant.invited($0.0, permission: $0.1) }
        let database = try ServiceConnection.open(connection).database
        let zoneID = try await zone.zoneID(in: database)
        let record = try await database.fetch(name, inZone: zoneID, desiredKeys: [])
        let share = try await database.share(
            record,
            title: title,
            publicPermission: invitations.publicPermission?.permission ?? .none,
            participants: participants,
            inZone: zoneID
        )
        try write(share, as: output)
    }
}

/// `mistkit zones share`
struct ShareZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Share a zone with other people, with all records that it has and will have.",
        discussion: """
            The service sends no invitations: give people the link that the command prints. `mistkit shares show`, `update` and `stop` \
            take the zone with --zone.

            Examples:
              mistkit zones share Family --invite-writer ben@example.com
              mistkit zones share Family --public read-only --title 'Plans'
            """
    )

    @Argument(help: "The zone's name.", completion: .zone)
    var name: String

    @Option(help: ArgumentHelp("The title that people see.", valueName: "text"))
    var title: String?

    @OptionGroup var invitations: InvitationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let participants = try invitations.invitations().map { Participant.invited($0.0, permission: $0.1) }
        let database = try ServiceConnection.open(connection).databaseOfZones()
        do {
            let share = try await database.shareZone(
                ZoneID(zoneName: name),
                title: title,
                publicPermission: invitations.publicPermission?.permission ?? .none,
                participants: participants
            )
            try write(share, as: output)
        } catch let error as CloudKitError where error.code == .exists {
            throw CommandError(
                code: .failure,
                message: "The zone \(name) is shared already, or a record of it is.",
                remedy: "`mistkit shares update --zone \(name)` changes the share of the zone."
            )
        }
    }
}

/// `mistkit shares show`
struct ShowShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print the link and the participants of a shared record.",
        discussion: """
            Examples:
              mistkit shares show list-1 --zone Lists
              mistkit shares show --zone Family --format json
            """
    )

    @OptionGroup var item: SharedItemOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try write(try await item.fetchShare(from: ServiceConnection.open(connection).database), as: output)
    }
}

/// `mistkit shares update`
struct UpdateShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Invite people to a share, remove them from it, or change what they may do.",
        discussion: """
            Examples:
              mistkit shares update list-1 --zone Lists --invite eva@example.com --remove ben@example.com
              mistkit shares update list-1 --zone Lists --public none
            """
    )

    @OptionGroup var item: SharedItemOptions

    @Option(
        name: .customLong("remove"),
        help: ArgumentHelp("A participant to remove. May be given more than once.", valueName: "person")
    )
    var removed: [String] = []

    @Option(help: ArgumentHelp("The title that people see.", valueName: "text"))
    var title: String?

    @OptionGroup var invitations: InvitationOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).database
        var share = try await item.fetchShare(from: database)
        for text in removed {
            let person = try LookupInfo(argument: text)
            guard share[person] != nil else {
                throw CommandError(
                    code: .usage,
                    message: "\(text) is not a participant of the share.",
                    remedy: "`mistkit shares show` prints the participants."
                )
            }
            share[person] = nil
        }
        for (person, permission) in try invitations.invitations() { share.invite(person, permission: permission) }
        if let permission = invitations.publicPermission { share.publicPermission = permission.permission }
        if let title { share.title = title }
        try write(try await database.update(share), as: output)
    }
}

/// `mistkit shares stop`
struct StopSharingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "End a share. The records stay; the participants no longer see them.",
        discussion: """
            Examples:
              mistkit shares stop list-1 --zone Lists
              mistkit shares stop --zone Family
            """
    )

    @OptionGroup var item: SharedItemOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).database
        try await database.stopSharing(try await item.fetchShare(from: database))
        Terminal.writeError("The \(item.title) is no longer shared.")
    }
}

/// A link to a share on the command line, and the format in which the share is printed.
struct ShareLinkOptions: ParsableArguments {
    @Argument(help: "The link to the share, or the last part of its path.")
    var link: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    /// Sends a request with the link, and prints the share that it leads to.
    ///
    /// - Returns: The share.
    /// - Throws: A `CloudKitError`, also for a text that is not a link to a share.
    @discardableResult
    func write(
        _ request: (CloudKitService, ShareLink) async throws -> ShareMetadata
    ) async throws -> ShareMetadata {
        let metadata = try await request(ServiceConnection.open(connection).service, ShareLink(link))
        try ValueList.metadata.write([metadata], as: output)
        return metadata
    }
}

extension ValueList<ShareMetadata> {
    fileprivate static let metadata = ValueList(
        emptyNote: "No shares.",
        columns: [
            Column("container") { $0.containerIdentifier },
            Column("zone") { $0.zoneID?.zoneName },
            Column("owner") { $0.zoneID?.ownerRecordName },
            Column("record") { $0.rootRecordName },
            Column("status") { $0.participantStatus?.rawValue },
            Column("permission") { $0.participantPermission?.rawValue },
        ]
    )
}

/// `mistkit shares resolve`
struct ResolveShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Print what a link to a share leads to.",
        discussion: """
            Examples:
              mistkit shares resolve https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw
              mistkit shares resolve 02aPe3Jgy3COgyPaWfUJPyfFw --format json
            """
    )

    @OptionGroup var link: ShareLinkOptions

    func run() async throws {
        try await link.write { service, link in try await service.resolve(link) }
    }
}

/// `mistkit shares accept`
struct AcceptShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Take part in a share. Its records appear in the shared database.",
        discussion: """
            Examples:
              mistkit shares accept https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw
              mistkit shares accept 02aPe3Jgy3COgyPaWfUJPyfFw --format json
            """
    )

    @OptionGroup var link: ShareLinkOptions

    func run() async throws {
        let metadata = try await link.write { service, link in try await service.accept(link) }
        guard let zone = metadata.zoneID?.zoneName else { return }
        Terminal.writeError("Its records are in the shared database: --database shared --zone \(zone)")
    }
}

/// `mistkit shares leave`
struct LeaveShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "End taking part in another user's share.",
        discussion: """
            The share is named by its link, or by its record and zone.

            Examples:
              mistkit shares leave https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw
              mistkit shares leave list-1 --zone Lists --zone-owner _2f1c8e
            """
    )

    @OptionGroup var item: SharedItemOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let service = try ServiceConnection.open(connection).service
        let database = service.sharedDatabase
        var item = item
        if let name = item.name, item.zone.zone == nil {
            let metadata = try await service.resolve(try ShareLink(name))
            guard let zone = metadata.zoneID else {
                throw CommandError(
                    code: .failure,
                    message: "The service does not say which zone the link leads to.",
                    remedy: "Name the zone with --zone; `mistkit zones list --database shared` lists the zones."
                )
            }
            item.name = metadata.rootRecordName
            item.zone.zone = zone.zoneName
            item.zone.zoneOwner = zone.ownerRecordName
        }
        try await database.leave(try await item.fetchShare(from: database))
        Terminal.writeError("You no longer take part in the share of the \(item.title).")
    }
}
