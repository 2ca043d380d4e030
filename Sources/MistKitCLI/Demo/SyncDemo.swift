import CloudKitEmulatorServer
import Foundation
import MistStore

/// Two stores of one person that change the same records. The demo prints a line for each step.
struct SyncDemo {
    /// A device: a folder with a store, and its network to the service.
    private struct Device {
        let name: String
        let network: DemoNetwork
        var store: MistStore

        var database: LocalDatabase { store.privateDatabase }
    }

    private let folder: URL
    private let count: Int
    private let service: CloudKitService
    private var phone: Device
    private var laptop: Device

    /// Opens the emulator and both stores in a folder.
    init(in folder: URL, count: Int) throws {
        let emulator = try EmbeddedEmulator(
            folder: folder.appendingPathComponent("service").path,
            container: EmbeddedEmulator.defaultContainer,
            configuration: .init(logger: ServiceConnection.logger(verbose: false))
        )
        var configuration = CloudKitService.Configuration(transport: emulator.server)
        configuration.assetTransport = emulator.server
        let service = CloudKitService(
            containerIdentifier: emulator.container,
            environment: .development,
            tokenManager: WebAuthTokenManager(
                apiToken: emulator.account.apiToken,
                webAuthToken: try emulator.webAuthToken()
            ),
            configuration: configuration
        )
        func device(_ name: String) throws -> Device {
            let network = DemoNetwork(service)
            return Device(name: name, network: network, store: try Self.open(name, in: folder, over: network))
        }
        self.folder = folder
        self.count = count
        self.service = service
        phone = try device("phone")
        laptop = try device("laptop")
    }

    private static func open(_ name: String, in folder: URL, over network: DemoNetwork) throws -> MistStore {
        var configuration = StoreConfiguration()
        configuration.logger = ServiceConnection.logger(verbose: false)
        return try MistStore(
            at: folder.appendingPathComponent(name),
            records: [DemoList.self, DemoTodo.self],
            service: network,
            configuration: configuration
        )
    }

    /// The number of requests of this process that reached the service.
    var requests: Int { phone.network.requests + laptop.network.requests }

    mutating func run() async throws {
        Demo.tell("service", "embedded emulator; phone and laptop are two folders with a store each")
        try await addOffline()
        try await meetForTheFirstTime()
        try await editDifferentFields()
        try await editOneField()
        try await deleteAgainstEdit()
        try await loseReply()
        try await killProcess()
        try await compare()
    }

    // MARK: The steps

    private func addOffline() async throws {
        phone.network.failure = .offline
        laptop.network.failure = .offline
        var time = try await add(["Milk", "Bread", "Eggs"] + (4...count).map { "Errand \($0)" }, to: "Home", on: phone)
        Demo.tell("offline", "phone adds a list and \(count) to-dos in one transaction", time, count + 1)
        time = try await add(["Call Mei", "Write the report"], to: "Work", on: laptop)
        Demo.tell("", "laptop adds a list and 2 to-dos", time)
        let summary = try await phone.store.sync()
        Demo.tell("", "phone synchronises: \(summary.sent) sent, and no error; the changes wait for the network")
    }

    private func meetForTheFirstTime() async throws {
        phone.network.failure = nil
        laptop.network.failure = nil
        try await synchronise(phone, "online")
        for device in [laptop, phone] { try await synchronise(device) }
    }

    private func editDifferentFields() async throws {
        try await edit("milk", on: phone) { $0.title = "Oat milk" }
        try await edit("milk", on: laptop) { $0.isDone = true }
        Demo.tell(
            "conflict",
            "phone renames \"Milk\" to \"Oat milk\"; laptop, which has not heard of it, marks it as done"
        )
        for device in [laptop, phone, laptop] { try await synchronise(device) }
        try await tellState(of: "milk")
    }

    private func editOneField() async throws {
        try await edit("bread", on: phone) { $0.title = "Rye bread" }
        try await edit("bread", on: laptop) { $0.title = "Dark bread" }
        Demo.tell(
            "conflict",
            "phone writes \"Rye bread\", then laptop \"Dark bread\"; laptop is the first to synchronise"
        )
        for device in [laptop, phone] { try await synchronise(device) }
        try await tellState(of: "bread")
    }

    private func deleteAgainstEdit() async throws {
        try await phone.database.remove(DemoTodo.self, named: "eggs")
        try await edit("eggs", on: laptop) { $0.title = "Six eggs" }
        Demo.tell("delete", "phone removes \"Eggs\", then laptop writes \"Six eggs\": the delete wins")
        for device in [phone, laptop] { try await synchronise(device) }
        try await tellState(of: "eggs")
    }

    private func loseReply() async throws {
        try await add(["Candles", "Cake", "Cups"], to: "Party", on: phone)
        phone.network.failure = .lostReply
        let before = phone.network.changes
        try await phone.store.sync()
        let sent = phone.network.changes - before
        Demo.tell("reply", "phone sends \(sent) new records; the service stores them, and the reply is lost")
        try await synchronise(phone)
    }

    private mutating func killProcess() async throws {
        try await add((1...50).map { "Box \($0)" }, to: "Moving", on: laptop)
        try laptop.store.close()
        let time = try await Demo.timed { try runProcessThatDies() }.1
        Demo.tell("killed", "laptop's process sends 51 new records and gets SIGKILL before it reads the reply", time)
        laptop.store = try Self.open("laptop", in: folder, over: laptop.network)
        try await synchronise(laptop)
        try await synchronise(phone)
    }

    private func compare() async throws {
        let (expected, time) = try await Demo.timed { try await contentsOfService() }
        for device in [phone, laptop] {
            let contents = try await contents(of: device)
            if let difference = contents.firstDifference(from: expected) {
                throw CommandError(
                    code: .failure,
                    message: "The \(device.name)'s store and the service differ: \(difference).",
                    remedy: "This is a mistake in MistKit. Please report it, with the folder that --folder keeps."
                )
            }
        }
        let (records, fields) = (expected.records.count, expected.fieldCount)
        Demo.tell("compare", "phone, laptop and service agree: \(records) records, \(fields) fields", time)
    }

    // MARK: Their parts

    /// Adds a list and its to-dos in one transaction. The record name of a to-do is its title in lower case, with
    /// hyphens for spaces.
    @discardableResult
    private func add(_ titles: [String], to list: String, on device: Device) async throws -> Double {
        let names = titles.map { $0.lowercased().replacing(" ", with: "-") }
        return try await Demo.timed {
            try await device.database.write { writer in
                let list = try writer.add(DemoList(name: list), named: list.lowercased())
                for (title, name) in zip(titles, names) {
                    try writer.add(DemoTodo(list: list.reference(), title: title), named: name)
                }
            }
        }.1
    }

    private func edit(
        _ name: String,
        on device: Device,
        _ change: @Sendable @escaping (inout StoredRecord<DemoTodo>) -> Void
    ) async throws {
        // The times of edits are in milliseconds: after the pause, this edit is later than the one before.
        try await Task.sleep(for: .milliseconds(5))
        try await device.database.write { writer in
            var todo = try writer.fetch(DemoTodo.self, named: name)
            change(&todo)
            try writer.add(todo)
        }
    }

    /// Synchronises a device, and prints the result.
    private func synchronise(_ device: Device, _ step: String = "") async throws {
        let (requests, changes) = (device.network.requests, device.network.changes)
        let (summary, time) = try await Demo.timed { try await device.store.sync() }
        var parts: [String] = []
        for (number, what) in [
            (summary.fetched, "fetched"), (summary.removed, "removed"), (summary.merged, "merged"),
            (summary.lost, "lost to a later edit or a delete"),
            (summary.sent, "sent"), (summary.deleted, "deleted"), (summary.parked, "parked"),
        ] where number > 0 { parts.append("\(number) \(what)") }
        if device.network.changes == changes { parts.append("nothing to send") }
        let done = device.network.requests - requests
        Demo.tell(step, "\(device.name) synchronises: \(parts.joined(separator: ", ")); \(done) requests", time)
    }

    /// Prints the state of a to-do on each device.
    private func tellState(of name: String) async throws {
        func state(_ device: Device) async throws -> String {
            let todo = try await device.database.read { try $0.fetchIfPresent(DemoTodo.self, named: name) }
            return todo.map { "\"\($0.title)\"\($0.isDone ? ", done" : "")" } ?? "no such to-do"
        }
        Demo.tell("", "phone has \(try await state(phone)); laptop has \(try await state(laptop))")
    }

    /// Runs this command in another process, which dies in the middle of a synchronisation.
    private func runProcessThatDies() throws {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = ["demo", "sync", "--dies-while-sending", "--folder", folder.path]
        try process.run()
        process.waitUntilExit()
        guard process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL else {
            throw CommandError(
                code: .failure,
                message: "The process that was to die ended with the status \(process.terminationStatus).",
                remedy: "This is a mistake in MistKit. Please report it."
            )
        }
    }

    /// Synchronises the laptop's store, and dies while it does: the work of the other process.
    func dieWhileSending() async throws {
        laptop.network.failure = .killedProcess
        try await laptop.store.sync()
    }

    private func contentsOfService() async throws -> DemoContents {
        var contents = DemoContents()
        let zone = ZoneID(zoneName: "Records")
        for try await page in service.privateDatabase.changes(inZone: zone) {
            for record in page.changedRecords { contents.add(record.fields, named: record.recordName ?? "") }
        }
        return contents
    }

    private func contents(of device: Device) async throws -> DemoContents {
        try await device.database.read { reader in
            var contents = DemoContents()
            for list in try reader.find(Query<DemoList>()) {
                contents.add(try list.model.savedFields(), named: list.recordName)
            }
            for todo in try reader.find(Query<DemoTodo>()) {
                contents.add(try todo.model.savedFields(), named: todo.recordName)
            }
            return contents
        }
    }
}
