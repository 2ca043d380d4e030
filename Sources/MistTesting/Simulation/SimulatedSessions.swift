import CloudKitModel
import CloudKitWebServices
import GRDB
import MistKit
import MistStore

/// The user whose session a simulated device has.
enum SimulatedSession: CaseIterable {
    /// The user to whom the records of the device belong.
    case owner
    /// Another user, who has a zone and records of the same names.
    case other
    case none
}

extension SimulatedWorld {
    private static let otherZone = ZoneID(zoneName: "Records")

    /// Gives the other user records, in a zone that has the name of that of the owner.
    func addRecordsOfOtherUser() throws {
        _ = try otherService.reply(to: .createZones([Self.otherZone]), in: simulation.scope)
        let operations = simulation.schemas.map { schema in
            RecordOperation(
                .create,
                record: CloudKitModel.Record(recordType: schema.recordType, recordName: "other\(schema.recordType)")
            )
        }
        let request = SyncRequest.modify(operations, zone: Self.otherZone, isAtomic: false)
        _ = try otherService.reply(to: request, in: simulation.scope)
    }

    /// The other user has the records from the beginning, and no others.
    func checkRecordsOfOtherUser() throws {
        let scope = simulation.scope
        guard case .databaseChanges(let list) = try otherService.reply(to: .databaseChanges(since: nil), in: scope)
        else { return }
        let zones = list.changedZones.map(\.zoneID)
        let cursors = zones.map { SyncRequest.ZoneCursor(zoneID: $0, token: nil) }
        guard case .zoneChanges(let pages) = try otherService.reply(to: .zoneChanges(cursors), in: scope)
        else { return }
        let names = try pages.flatMap { try $0.get().results }.compactMap { try $0.get().recordName }.sorted()
        let expected = simulation.schemas.map { "other\($0.recordType)" }.sorted()
        guard names == expected, zones.map(\.zoneName) == [Self.otherZone.zoneName] else {
            throw failure("The other user has the records \(names) in the zones \(zones.map(\.zoneName)).")
        }
    }

    /// A user signs out, or another one signs in, maybe while a request is under way.
    mutating func changeSession(of device: SimulatedDevice) throws {
        // The records of a file belong to the first user who is signed in.
        let owner = try device.read { db in try String.fetchOne(db, sql: "SELECT owner FROM mist_state") }
        let others = SimulatedSession.allCases.filter { $0 != device.session }
        guard owner != nil, let session = others.randomElement(using: &generator) else { return }
        counts.sessions += 1
        tell("\(device.name) has another session: \(session)")
        signIn(session, on: device)
    }

    func signIn(_ session: SimulatedSession, on device: SimulatedDevice) {
        guard session != device.session else { return }
        device.session = session
        device.sessionNumber += 1
        for process in device.processes { process.engine.sessionHasChanged() }
    }
}
