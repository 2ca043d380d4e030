import ArgumentParser
import MistKit

/// `mistkit subscriptions`
struct SubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "List, create and delete subscriptions, which make the service send notifications.",
        subcommands: [
            ListSubscriptionsCommand.self, CreateSubscriptionCommand.self, DeleteSubscriptionsCommand.self,
        ]
    )
}

extension ValueList<Subscription> {
    fileprivate static let subscriptions = ValueList(
        emptyNote: "No subscriptions.",
        columns: [
            Column("subscription") { $0.subscriptionID },
            Column("type") { $0.subscriptionType?.rawValue },
            Column("records") { $0.query?.recordType },
            Column("zone") { $0.zoneID?.zoneName ?? ($0.zoneWide == true ? "all" : nil) },
            Column("fires on") { $0.firesOn?.map(\.rawValue).joined(separator: ", ") },
        ]
    )
}

/// `mistkit subscriptions list`
struct ListSubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the subscriptions of the database.",
        discussion: """
            Examples:
              mistkit subscriptions list
              mistkit subscriptions list --format json
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let subscriptions = try await ServiceConnection.open(connection).database.fetchSubscriptions()
        try ValueList.subscriptions.write(subscriptions, as: output)
    }
}

/// `mistkit subscriptions create`
struct CreateSubscriptionCommand: AsyncParsableCommand {
    enum Event: String, CaseIterable, ExpressibleByArgument {
        case create, update, delete

        var event: Subscription.Event { Subscription.Event(rawValue: rawValue) }
    }

    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Subscribe to the records of a query, or to a zone.",
        discussion: """
            With --type, the service notifies about records that meet all conditions of --filter; --on chooses the kinds of changes. Without --type, it \
            notifies about each change in the zone. A subscription of the same name is replaced.

            Examples:
              mistkit subscriptions create new-notes --type Note --filter 'rating > 3' --on create --message 'A new note'
              mistkit subscriptions create all-notes --zone Notes
            """
    )

    @Argument(help: "The subscription's name.")
    var name: String

    @Option(help: ArgumentHelp("The record type of a query.", valueName: "name"), completion: .recordType)
    var type: String?

    @Option(help: "A kind of change to notify about; may be given more than once. The default is all three.")
    var on: [Event] = []

    @Flag(help: "Watch all zones.")
    var zoneWide = false

    @Flag(help: "End the subscription with its first notification.")
    var once = false

    @Option(help: ArgumentHelp("The text that the notification shows.", valueName: "text"))
    var message: String?

    @OptionGroup var filters: FilterOptions
    @OptionGroup var fields: FieldOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard type != nil || zone.zone != nil else {
            throw ValidationError(
                "The subscription watches nothing.\nName a record type with --type, or a zone with --zone."
            )
        }
        guard type != nil || (filters.expressions.isEmpty && on.isEmpty && !zoneWide && !once) else {
            throw ValidationError(
                "--filter, --on, --zone-wide and --once need a record type.\nName it with --type, or leave them out."
            )
        }
        guard !zoneWide || zone.zone == nil else {
            throw ValidationError("--zone-wide and --zone cannot be combined.\nName one zone, or watch all of them.")
        }
    }

    func run() async throws {
        var info: NotificationInfo?
        if message != nil || fields.desiredKeys != nil {
            info = NotificationInfo(alertBody: message, additionalFields: fields.desiredKeys)
        }
        let database = try ServiceConnection.open(connection).database
        let zoneID = try await zone.zoneID(in: database)
        let subscription: Subscription
        if let type {
            subscription = Subscription(
                name,
                to: Query(recordType: type, filters: try filters.filters()),
                firesOn: (on.isEmpty ? Event.allCases : on).map(\.event),
                inZone: zoneID,
                zoneWide: zoneWide ? true : nil,
                firesOnce: once ? true : nil,
                notificationInfo: info
            )
        } else {
            subscription = Subscription(name, toZone: zoneID ?? .default, notificationInfo: info)
        }
        let saved = try await database.save(subscription)
        try ValueList.subscriptions.write([saved], as: output)
    }
}

/// `mistkit subscriptions delete`
struct DeleteSubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete subscriptions.",
        discussion: """
            Examples:
              mistkit subscriptions delete new-notes
              mistkit subscriptions delete new-notes all-notes
            """
    )

    @Argument(help: "The subscriptions' names.")
    var names: [String]

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let results = try await ServiceConnection.open(connection).database.deleteSubscriptions(names)
        var failures: [CloudKitError] = []
        for (name, result) in zip(names, results) {
            switch result {
            case .success: Terminal.writeError("Deleted the subscription \(name).")
            case .failure(let error): failures.append(error)
            }
        }
        try CommandError.check(failures, of: names.count, noun: "subscriptions")
    }
}
