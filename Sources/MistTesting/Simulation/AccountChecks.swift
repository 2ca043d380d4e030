import CloudKitModel
import MistKit
import MistStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What must be true during and at the end of a simulation of accounts.
extension AccountWorld {
    /// Checks that the records are those of the account that is open, and notes which have joined it.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - user: The user in whose sign-in the process has died. Records of no one that are not there any more have
    ///     joined those of this user, although these may not be open.
    /// - Throws: A ``SimulationFailure``, or the error of the store.
    mutating func look(at device: AccountDevice, afterSignInOf user: String? = nil) async throws {
        let owner = try await device.store.account.owner
        let here = NoteHolder.noOne(device.number)
        let place = owner.map { NoteHolder.user($0) } ?? here
        let present = try await device.store.privateDatabase.find(Query<AccountNote>())
        for note in present {
            guard let expected = notes[note.recordName] else {
                throw failure("No user has made \(note.recordName).")
            }
            if expected.place == here, place != here, simulation.joinsRecordsMadeSignedOut {
                counts.joined += 1
                tell("\(note.recordName) has joined \(name(owner))")
                notes[note.recordName]?.place = place
            } else if expected.place != place {
                throw failure(
                    "\(note.recordName) is of \(expected.place), and device \(device.number) shows it to \(place)."
                )
            }
        }
        let names = Set(present.map(\.recordName))
        for (name, expected) in notes.sorted(by: { $0.key < $1.key }) where expected.place == here {
            let isHere = place == here || simulation.joinsRecordsMadeSignedOut
            guard isHere, !expected.isDeleted, !expected.isUncertain, !names.contains(name) else { continue }
            if let user, place == here, simulation.joinsRecordsMadeSignedOut {
                counts.joined += 1
                tell("\(name) has joined the records of \(self.name(user)), which are not open")
                notes[name]?.place = .user(user)
                continue
            }
            throw failure("\(name) was made while no one was signed in, and device \(device.number) does not have it.")
        }
        if place == here { try await checkFiles(of: device) }
        // Only the device on which a record was made can have changed it while it was no one's.
        for note in present where place == here && note.model.title != notes[note.recordName]?.title {
            throw failure("\(note.recordName) has the title \(note.model.title ?? ""), and not its last one.")
        }
    }

    /// Lets all users synchronise on all devices without faults, and compares the services with the model.
    mutating func check() async throws {
        tell("the faults end")
        for _ in 0..<3 {
            for device in devices {
                for (index, user) in device.processes.indices.flatMap({ index in users.map { (index, $0) } }) {
                    device.current = index
                    time.withLock { $0 += 3_600_000 }
                    tell("\(name(user)) signs in on \(device.name)")
                    try await device.store.signIn { device.session.begin(user) }
                    try await look(at: device)
                    tell("\(device.name) synchronises")
                    try await device.store.sync()
                    try await look(at: device)
                }
            }
        }
        let sessions = devices.flatMap { $0.processes.map(\.session) }
        for line in sessions.flatMap({ $0.takeLines() }) { tell(line) }
        counts.interruptions += sessions.map(\.interruptions).reduce(0, +)
        counts.transfers += sessions.map(\.transfers).reduce(0, +)
        counts.throttles += sessions.map(\.throttles).reduce(0, +)
        for user in users { try await check(user) }
        for device in devices {
            try await device.store.signOut { device.session.begin(nil) }
            try await look(at: device)
            let present = try await device.store.privateDatabase.find(Query<AccountNote>())
            guard present.isEmpty || !simulation.joinsRecordsMadeSignedOut else {
                throw failure("Device \(device.number) has records of no one: \(present.map(\.recordName)).")
            }
        }
        for (record, author) in authors.sorted(by: { $0.key < $1.key }) {
            guard let service = services[users[0]],
                case .records(let results) = try service.reply(to: .lookup([record], zone: .default), in: .public),
                let found = try? results.first?.get(), found.created?.userRecordName == author
            else { throw failure("\(record) of \(name(author)) is not in the public database under that name.") }
        }
    }

    private mutating func check(_ user: String) async throws {
        let there = try records(of: user)
        counts.records += there.count
        for (record, title) in there.sorted(by: { $0.key < $1.key }) {
            guard let expected = notes[record], expected.place == .user(user) else {
                throw failure("The service of \(name(user)) has \(record) of \(notes[record]?.place as Any).")
            }
            guard !expected.isUncertain else { continue }
            guard !expected.isDeleted, expected.title == title else {
                throw failure("\(record) of \(name(user)) is \(title), and should be \(expected).")
            }
        }
        for (record, expected) in notes.sorted(by: { $0.key < $1.key }) where expected.place == .user(user) {
            guard !expected.isDeleted, !expected.isUncertain, there[record] == nil else { continue }
            throw failure("\(record) of \(name(user)) is not at the service.")
        }
        for device in devices {
            try await device.store.signIn { device.session.begin(user) }
            for index in device.processes.indices {
                device.current = index
                guard try await device.store.account.owner == user else {
                    throw failure("\(device.name) does not have the records open that another process has opened.")
                }
                try await checkFiles(of: device)
                let here = Dictionary(
                    uniqueKeysWithValues: try await device.store.privateDatabase.find(Query<AccountNote>())
                        .map { ($0.recordName, $0.model.title ?? "") }
                )
                guard here == there else {
                    throw failure("\(device.name) shows \(here) to \(name(user)), and the service has \(there).")
                }
                guard try await device.store.pendingChanges().isEmpty else {
                    throw failure("\(device.name) has changes of \(name(user)) left.")
                }
            }
        }
    }

    /// Checks that the files of the records that are open are on the device, and the last ones.
    private func checkFiles(of device: AccountDevice) async throws {
        guard simulation.hasFiles else { return }
        let database = device.store.privateDatabase
        for note in try await database.find(Query<AccountNote>()) {
            guard let expected = notes[note.recordName], !expected.isUncertain else { continue }
            let bytes = try note.model.image.flatMap(database.file).map { [UInt8](try Data(contentsOf: $0)) }
            guard bytes == expected.file.map({ SimulatedWorld.SimulatedFile(number: $0).bytes }) else {
                let found = "a file of \(bytes?.count ?? 0) bytes"
                throw failure("\(device.name) has \(found) in \(note.recordName): \(note.model), \(expected).")
            }
        }
    }

    /// The titles of the records that a user has at the service.
    private func records(of user: String) throws -> [String: String] {
        guard let service = services[user],
            case .databaseChanges(let list) = try service.reply(to: .databaseChanges(since: nil), in: .private)
        else { throw failure("The service does not list its zones.") }
        var titles: [String: String] = [:]
        for zone in list.changedZones.map(\.zoneID) {
            var token: ZoneChangeToken?
            while true {
                let cursor = SyncRequest.ZoneCursor(zoneID: zone, token: token)
                guard case .zoneChanges(let pages) = try service.reply(to: .zoneChanges([cursor]), in: .private),
                    let page = try pages.first?.get()
                else { break }
                for record in try page.results.map({ try $0.get() }) where !record.isDeleted {
                    titles[record.recordName ?? ""] = record.fields["title"]?.plain.stringValue ?? ""
                }
                guard page.moreComing else { break }
                token = page.token
            }
        }
        return titles
    }
}
