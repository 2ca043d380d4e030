import ArgumentParser
import Foundation
import MistKit
import MistStore
import StreamingJSON

/// `mistkit store sync`
struct StoreSyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Synchronise a store with the service, in place of its program or beside it.",
        discussion: """
            Fetches the changes of the service, merges them as the program has declared for each field, and sends the changes of this \
            machine. While the program synchronises, the command waits for it. It needs a session of the user whose records they are.

            The container and the environment are those that the program last used; others are refused. A program stores them, its merge \
            policies and its settings when it opens the store; without them, the command changes nothing.

            The exit code is 0 when everything was fetched and sent.

            Examples:
              mistkit store sync notes
              mistkit store sync notes --format json

            Without credentials, the service is the embedded emulator of this folder.
            """
    )

    @OptionGroup var folder: StoreFolderArgument
    @OptionGroup var user: StoreUserOptions
    @OptionGroup var key: StoreKeyOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await StoreSession.with(folder, user, key, connection) { session in
            let summary = try await session.store.sync(by: .program, of: session.scopes)
            let results = session.scopes.sorted { $0.rawValue < $1.rawValue }.map { scope in
                ScopeResult(scope: scope, summary: summary.scopes[scope] ?? ScopeSummary())
            }
            try ValueList.results.write(results, as: output)
            if let failure = results.lazy.compactMap(\.failure).first { throw failure }
            let waiting = try await session.waitingRecords()
            guard waiting == 0 else {
                throw CommandError(
                    code: .failure,
                    message:
                        "\(String.counting(waiting, "record")) cannot be sent; everything else was fetched and sent.",
                    remedy: "`mistkit store status \(folder.folder)` prints them with their reasons."
                )
            }
        }
    }
}

/// `mistkit store verify`
struct StoreVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare a store with the service, and repair it if asked to.",
        discussion: """
            First everything is synchronised, as by `mistkit store sync`. Then the names and versions of all records are compared; --values \
            compares their fields as well. Records that other devices change meanwhile are compared again.

            --repair follows the service: what is missing or differs is fetched, and what the service does not have is removed here. \
            --resync removes nothing here, and sends such records again. What is replaced or removed is in the recovery log.

            The exit code is 0 when the store equals the service in the end.

            Examples:
              mistkit store verify notes
              mistkit store verify notes --values --repair
              mistkit store verify notes --format json
            """
    )

    @OptionGroup var folder: StoreFolderArgument
    @Flag(help: "Compare the values of all fields, too.")
    var values = false
    @Flag(help: "Repair differences: the service is right.")
    var repair = false
    @Flag(help: "Repair differences, and remove no record here.")
    var resync = false
    @OptionGroup var user: StoreUserOptions
    @OptionGroup var key: StoreKeyOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard !repair || !resync else {
            throw ValidationError("--repair and --resync cannot be combined.\nLeave one of them out.")
        }
        guard connection.database == nil else {
            throw ValidationError("A verification is of all databases of the store.\nLeave out --database.")
        }
    }

    func run() async throws {
        try await StoreSession.with(folder, user, key, connection) { session in
            let report = try await session.store.verify(
                repair ? .repair : resync ? .resync : .compare,
                comparing: values ? .values : .versions
            )
            switch output.format {
            case .table: Terminal.writeLine("\(report)")
            case .json, .ndjson, .csv: try ValueList.comparisons.write(ComparisonResult.all(of: report), as: output)
            }
            guard !report.isEqualNow else { return }
            guard report.isComplete else {
                throw CommandError(
                    code: .tryAgain,
                    message: "Not everything was compared.",
                    remedy: "Run the command again; `mistkit store status` says what the store waits for."
                )
            }
            throw CommandError(
                code: .failure,
                message: "The store differs from the service.",
                remedy: "--repair follows the service; --resync keeps the records that the service does not have."
            )
        }
    }
}

/// The store of a program, opened with a session of the user to whom it belongs.
struct StoreSession {
    let store: MistStore
    let scopes: Set<DatabaseScope>

    /// The number of records that the service refused, or that cannot be sent.
    func waitingRecords() async throws -> Int {
        var count = 0
        for scope in scopes {
            count += try await store.database(of: scope).status().parked.count
        }
        return count
    }

    /// Opens the store, and closes it in the end. The user of the session is compared before anything is written: a
    /// session of another user would stop the public changes of the running program.
    static func with(
        _ folder: StoreFolderArgument,
        _ options: StoreUserOptions,
        _ key: StoreKeyOptions,
        _ connection: ConnectionOptions,
        _ body: (StoreSession) async throws -> Void
    ) async throws {
        let user = try options.choose(in: folder.url)
        guard let owner = user.name else {
            throw CommandError(
                code: .usage,
                message: "The private records of the store do not belong to a user yet.",
                remedy: "Let the program synchronise once, while a user is signed in."
            )
        }
        let settings = try settings(connection, ofStoreAt: folder.url)
        let logger = ServiceConnection.logger(verbose: connection.verbose)
        let opened = try ServiceConnection.open(settings, logger: logger)
        try await check(opened, isOf: owner)
        for change in try MistStore.policyChanges(ofStoreAt: folder.url, since: Date() - 30 * 24 * 60 * 60) {
            Terminal.writeHint(change)
        }
        let store = try MistStore(operatingStoreAt: folder.url, of: user, service: opened.service, key: key.key())
        defer { try? store.close() }
        if let process = try await store.privateDatabase.status().synchroniser, !process.isSilent(at: Date()) {
            Terminal.writeHint(
                "Waiting for \(process.programName), process \(process.processIdentifier), which synchronises."
            )
        }
        let present: Set<DatabaseScope> = user.isOpen ? [.private, .public] : [.private]
        let asked = try settings.databaseScope().map { [$0] as Set } ?? present
        guard asked.isSubset(of: present) else {
            throw CommandError(
                code: .usage,
                message: "The \(asked.map(\.rawValue).joined()) database is not synchronised with this file.",
                remedy: user.isOpen
                    ? "Write --database private or public, or leave it out."
                    : "Public records are synchronised with the file that programs open; `mistkit store status` names it."
            )
        }
        try await body(StoreSession(store: store, scopes: asked))
    }

    /// The settings, with the container and the environment of the program.
    private static func settings(_ options: ConnectionOptions, ofStoreAt folder: URL) throws -> Settings {
        let settings = try Settings.read(flags: options)
        guard let service = try MistStore.service(ofStoreAt: folder) else {
            guard settings.container != nil, settings.environment != nil else {
                throw CommandError(
                    code: .usage,
                    message: "The store does not say with which container and environment its program synchronises.",
                    remedy:
                        "Name both with --container and --environment; with others, all records are fetched from there again."
                )
            }
            return settings
        }
        var values = settings.values
        for (key, declared) in [(Settings.Key.container, service.container), (.environment, service.environment)] {
            if let given = values[key], given.lowercased() != declared.lowercased() {
                throw CommandError(
                    code: .usage,
                    message:
                        "The program synchronises with the \(key.rawValue) \(declared), and the settings have \(given).",
                    remedy: "Leave out the \(key.rawValue), or name that of the program."
                )
            }
            values[key] = declared
        }
        return Settings(values, configurationFile: settings.configurationFile)
    }

    /// What to do where another user is signed in. Without settings, the service is an emulator on this machine, which
    /// may not be the service that was meant.
    private static func remedy(forUserOf connection: ServiceConnection) -> String {
        switch connection.destination {
        case .embedded:
            """
            Without credentials, the service is the \(connection.title). Name its user with --as, another folder with \
            --data-folder, or set MISTKIT_API_TOKEN and MISTKIT_WEB_AUTH_TOKEN.
            """
        case .address:
            "Sign in as that user with `mistkit auth sign-in`; of the emulator on this machine, name one with --as."
        }
    }

    /// Refuses a session of no user, or of another user than the owner of the records.
    private static func check(_ connection: ServiceConnection, isOf owner: String) async throws {
        guard connection.identity == .user else {
            throw CommandError(
                code: .permission,
                message: "The store belongs to the user \(owner), and the credentials are those of no user.",
                remedy: "Run `mistkit auth sign-in`, or set MISTKIT_WEB_AUTH_TOKEN."
            )
        }
        let caller = try await connection.service.fetchCaller().userRecordName ?? ""
        guard caller == owner else {
            throw CommandError(
                code: .permission,
                message:
                    "The store belongs to the user \(owner), and \(caller) is signed in. Nothing was sent or fetched.",
                remedy: remedy(forUserOf: connection)
            )
        }
    }
}

/// What a synchronisation has done in one database, as a command shows it.
struct ScopeResult {
    var scope: DatabaseScope
    var summary: ScopeSummary

    /// Why not everything was done; `nil` where it was.
    var failure: CommandError? {
        guard let condition = summary.condition else { return nil }
        let detail = summary.detail.map { " \($0)" } ?? ""
        let code: CommandError.Code =
            switch condition {
            case .offline, .throttled, .undelivered: .tryAgain
            case .signedOut, .otherUser: .permission
            default: .failure
            }
        return CommandError(
            code: code,
            message: "The \(scope.rawValue) database waits: \(condition).\(detail)",
            remedy: "`mistkit store status` prints what waits, and why. No change is lost."
        )
    }
}

extension ScopeResult: JSONWritable {
    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("database")
        writer.write(scope.rawValue)
        let counts = summary.counts
        for (key, count) in [
            ("fetched", counts.fetched), ("removed", counts.removed), ("sent", counts.sent),
            ("deleted", counts.deleted), ("merged", counts.merged), ("lost", counts.lost), ("parked", counts.parked),
        ] {
            writer.key(key)
            writer.write(count)
        }
        writer.member("condition", summary.condition?.rawValue)
        writer.member("detail", summary.detail)
        writer.endObject()
    }
}

extension ValueList<ScopeResult> {
    fileprivate static let results = ValueList(
        emptyNote: "",
        columns: [
            Column("database") { $0.scope.rawValue },
            Column("fetched") { "\($0.summary.counts.fetched)" },
            Column("removed") { "\($0.summary.counts.removed)" },
            Column("sent") { "\($0.summary.counts.sent)" },
            Column("deleted") { "\($0.summary.counts.deleted)" },
            Column("merged") { "\($0.summary.counts.merged)" },
            Column("lost") { "\($0.summary.counts.lost)" },
            Column("parked") { "\($0.summary.counts.parked)" },
            Column("waits") { $0.summary.condition?.rawValue },
        ]
    )
}

/// What a verification has found in one zone, as programs read it.
enum ComparisonResult {
    case zone(VerifiedZoneReport)
    /// A database that was not compared to the end, with the reason why it waits.
    case unfinished(DatabaseScope, SyncCondition?)

    static func all(of report: VerificationReport) -> [ComparisonResult] {
        report.zones.map(ComparisonResult.zone)
            + report.unfinished.sorted { $0.key.rawValue < $1.key.rawValue }.map(ComparisonResult.unfinished)
    }

    fileprivate var scope: DatabaseScope {
        switch self {
        case .zone(let zone): zone.scope
        case .unfinished(let scope, _): scope
        }
    }

    fileprivate var zone: VerifiedZoneReport? {
        guard case .zone(let zone) = self else { return nil }
        return zone
    }

    fileprivate var condition: SyncCondition? {
        guard case .unfinished(_, let condition) = self else { return nil }
        return condition
    }
}

extension ComparisonResult: JSONWritable {
    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("database", scope.rawValue)
        writer.member("isComplete", zone.map { $0.failure == nil } ?? false)
        writer.member("condition", condition?.rawValue)
        if let zone {
            writer.member("zone", zone.zoneID.zoneName)
            writer.member("compared", zone.compared)
            writer.member("skipped", zone.skipped)
            writer.member("digestHere", zone.digestHere)
            writer.member("digestThere", zone.digestThere)
            writer.key("differences")
            writer.beginArray()
            for difference in zone.differences {
                writer.beginObject()
                writer.member("recordType", difference.recordType)
                writer.member("recordName", difference.recordName)
                writer.member("kind", difference.kind.rawValue)
                writer.member("outcome", difference.outcome.rawValue)
                writer.endObject()
            }
            writer.endArray()
            writer.member("failure", zone.failure)
        }
        writer.endObject()
    }
}

extension ValueList<ComparisonResult> {
    fileprivate static let comparisons = ValueList(
        emptyNote: "",
        columns: [
            Column("database") { $0.scope.rawValue },
            Column("zone") { $0.zone?.zoneID.zoneName },
            Column("compared") { $0.zone.map { "\($0.compared)" } },
            Column("skipped") { $0.zone.map { "\($0.skipped)" } },
            Column("differences") { $0.zone.map { "\($0.differences.count)" } },
            Column("digestHere") { $0.zone?.digestHere },
            Column("digestThere") { $0.zone?.digestThere },
            Column("failure") { $0.zone?.failure },
            Column("waits") { $0.condition?.rawValue },
        ]
    )
}
