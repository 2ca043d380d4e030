import CloudKitModel
import GRDB
public import MistKit
public import MistStore
import ProcessLeases

/// Devices that change records offline, synchronise, crash and lose replies, all in one process and in virtual time.
///
/// One seed decides everything: the operations, the order of steps, the faults and the clocks. At the end all faults
/// stop. Then the devices must agree with the service in every field, have nothing left to send, and have a recovery
/// record for each edit that was lost.
///
/// ```swift
/// @Test(arguments: UInt64(0)..<1000)
/// func todosConverge(seed: UInt64) throws {
///     try SyncSimulation(records: [TodoList.self, Todo.self]).run(seed: seed)
/// }
/// ```
///
/// Records and values are chosen at random, by the types of the fields. The same seed gives the same run.
public struct SyncSimulation: Sendable {
    /// The number of devices.
    public var devices = 3
    /// The most processes that a device has on its file; each device has at least one.
    public var processes = 3
    /// The number of operations that the programs of all devices make together.
    public var operations = 60
    /// The faults.
    public var faults = SimulationFaults.network
    /// The database that the devices synchronise: the private database, or the public database, of which they follow
    /// all records of all types.
    public var scope = DatabaseScope.private
    /// The zones in which the devices keep the records of a private database.
    public var zones = ZoneLayout.single("Records")
    /// The probability from 0 to 1 that an operation moves a record, with the records below it, to another place, which
    /// is often in another zone. Use it with the zones `perRoot`, a private database and types that have a parent, and
    /// without `SimulationFaults/massDeletion`: deletes of moved records that are taken back leave the old records.
    public var moves = 0.0
    let schemas: [RecordSchema]
    let configuration: StoreConfiguration

    /// Whether the types have files. Then they are transferred, with the faults of the network, and collected; a
    /// simulation without files has the same runs as before.
    var hasFiles: Bool { schemas.contains { $0.fields.contains { $0.type == .asset } } }

    /// Makes a simulation.
    ///
    /// - Parameters:
    ///   - records: The record types.
    ///   - configuration: The configuration of the devices' stores.
    public init(records: [any CloudKitRecord.Type], configuration: StoreConfiguration = StoreConfiguration()) {
        schemas = records.map { $0.schema }
        self.configuration = configuration
    }

    /// Runs the simulation.
    ///
    /// - Parameter seed: Decides everything.
    /// - Returns: Counts of what happened.
    /// - Throws: A ``SimulationFailure`` that describes the broken condition, with the seed and the steps of the run.
    @discardableResult
    public func run(seed: UInt64) throws -> SimulationCounts {
        var world = try SimulatedWorld(self, seed: seed)
        defer { world.removeFiles() }
        do {
            try world.runFaulty()
            try world.heal()
            try world.check()
            try world.verify()
            try world.checkCollection()
        } catch let failure as SimulationFailure {
            throw failure
        } catch {
            throw world.failure("\(error)")
        }
        return world.counts
    }
}

/// A condition that is broken during or at the end of a simulation.
public struct SimulationFailure: Error, CustomStringConvertible {
    /// The seed that repeats the run.
    public let seed: UInt64
    /// The broken condition.
    public let message: String
    /// The steps of the run, one line each.
    public let story: [String]

    /// The message, the seed, and the last 400 lines of the story.
    public var description: String {
        "\(message)\nseed \(seed), \(story.count) steps:\n" + story.suffix(400).joined(separator: "\n")
    }
}

extension SyncSimulation {
    /// Opens the file of a device.
    ///
    /// - Parameters:
    ///   - database: The file.
    ///   - filesPath: The path beside which the files of records are kept.
    ///   - newDevice: The device's identifier, for a new file.
    /// - Returns: The opened file.
    /// - Throws: A `StoreError`.
    func open(
        _ database: DatabaseQueue,
        filesPath: String?,
        newDevice: @escaping () -> Int64
    ) throws -> StoreFile {
        var timing = LeaseTiming()
        // The steps of a simulation are up to two seconds long.
        timing.longestGap = .seconds(2)
        return try StoreFile(
            database,
            schemas: schemas,
            scopes: [scope: scope == .public ? .default : zones.homeZone],
            hasZonePerRoot: scope != .public && zones.isPerRoot,
            leaseTiming: timing,
            filesPath: filesPath,
            newDevice: newDevice
        )
    }
}
