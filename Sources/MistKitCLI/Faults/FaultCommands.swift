import ArgumentParser
import CloudKitEmulatorAdministration
import StreamingJSON

/// `mistkit faults`
struct FaultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "faults",
        abstract: "Order throttling, lost replies and other faults of an emulator that runs.",
        discussion: """
            The commands reach the emulator that `mistkit emulator` runs with the same data folder, or the one at --server-url if its data \
            folder is given. `mistkit emulator --faults` starts one with faults.
            """,
        subcommands: [ListFaultsCommand.self, SetFaultsCommand.self, ClearFaultsCommand.self]
    )
}

/// `mistkit faults list`
struct ListFaultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the faults of the running emulator, and how many requests each has matched.",
        discussion: """
            Examples:
              mistkit faults list
              mistkit faults list --format json
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let administration = try await EmulatorAdministration.withFaults(connection)
        let states = try await administration.callFaults { try await $0.listFaultRules().ok.body.json }
        try ValueList.faultRules.write(states.rules, as: output)
    }
}

/// `mistkit faults set`
struct SetFaultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Replace the faults of the running emulator by those of a file.",
        discussion: """
            The file is that of `mistkit emulator --faults`: an array of rules in JSON, such as \
            [{"fault":"throttle","retryAfter":3,"on":"records/modify","calls":{"first":2}}]. The rules count requests from now on.

            Examples:
              mistkit faults set faults.json
              mistkit faults set - < faults.json
            """
    )

    @Argument(help: "The file of rules; - is standard input.", completion: .file(extensions: ["json"]))
    var file: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let rules = try FaultFile(path: file).values
        let administration = try await EmulatorAdministration.withFaults(connection)
        let states = try await administration.callFaults {
            try await $0.replaceFaultRules(body: .json(rules)).ok.body.json
        }
        try ValueList.faultRules.write(states.rules, as: output)
    }
}

/// `mistkit faults clear`
struct ClearFaultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove all faults of the running emulator.",
        discussion: """
            Examples:
              mistkit faults clear
              mistkit faults clear --data-folder other
            """
    )

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let administration = try await EmulatorAdministration.withFaults(connection)
        _ = try await administration.callFaults { try await $0.removeFaultRules().noContent }
        Terminal.writeLine("No faults.")
    }
}

extension EmulatorAdministration {
    /// The administration of the emulator that runs. The embedded one ends with the command, and its faults with it.
    fileprivate static func withFaults(_ options: ConnectionOptions) async throws -> EmulatorAdministration {
        let settings = try Settings.read(flags: options)
        guard let running = try await ofRunning(settings) else {
            throw CommandError(
                code: .unavailable,
                message: "No emulator of this version runs with its data in \(settings.emulatorFolder).",
                remedy: "Start it with `mistkit emulator`, or name its data folder with --data-folder."
            )
        }
        return running
    }

    fileprivate func callFaults<Result>(_ body: (Client) async throws -> Result) async throws -> Result {
        do { return try await call(body) } catch let problem as AdministrationProblem { throw CommandError(problem) }
    }
}

extension ValueList<Components.Schemas.FaultRuleState> {
    fileprivate static let faultRules = ValueList(
        emptyNote: "No faults.",
        columns: [
            Column("fault") { $0.rule["fault"]?.stringValue },
            Column("options") { $0.options },
            Column("on") { $0.rule["on"]?.stringValue ?? "every request" },
            Column("database") { $0.rule["in"]?.stringValue },
            Column("by") { $0.rule["by"]?.stringValue },
            Column("calls") { $0.calls },
            Column("matched") { "\($0.matchedRequests)" },
            Column("fired") { "\($0.firedRequests)" },
        ]
    )
}

extension Components.Schemas.FaultRuleState {
    /// The options of the fault: `code ZONE_BUSY, status 409`.
    fileprivate var options: String {
        guard case .object(let members) = rule else { return "" }
        return members.filter { !["fault", "on", "in", "by", "calls"].contains($0.key) }.sorted { $0.key < $1.key }
            .map { "\($0.key) \(Self.text($0.value))" }.joined(separator: ", ")
    }

    /// The requests that the rule affects: `first 2`.
    fileprivate var calls: String {
        guard case .object(let members)? = rule["calls"] else { return rule["calls"]?.stringValue ?? "first 1" }
        return members.map { "\($0.key) \(Self.text($0.value))" }.joined()
    }

    private static func text(_ value: JSONValue) -> String {
        if let text = value.stringValue { return text }
        return String(decoding: (try? JSONWriter.bytes(of: value)) ?? [], as: UTF8.self)
    }
}
