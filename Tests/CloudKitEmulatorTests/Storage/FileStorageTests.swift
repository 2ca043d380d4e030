import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation
import MistTesting
import StreamingJSON
import Synchronization
import Testing

struct FileStorageTests {
    private func withTemporaryFile(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "emulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "emulator.sqlite").path)
    }

    @Test func anEmulatorMayBeClosedWhileItAnswers() throws {
        let emulator = Mutex<CloudKitEmulator?>(nil)
        // The emulator reads the clock in the middle of a call.
        let closing = try CloudKitEmulator {
            try? emulator.withLock { $0 }?.close()
            return Date(timeIntervalSince1970: 1_700_000_000)
        }
        func lookUp() throws -> String {
            let address = DatabaseAddress(World.container, .development, .public)
            let lookups = [RecordLookup(recordName: "A")]
            return try closing.request(in: address, as: .anonymous).lookupRecords(lookups).records.map(summary).joined()
        }
        #expect(try lookUp() == "A! NOT_FOUND Record not found")
        let user = try closing.createUser()
        emulator.withLock { $0 = closing }
        let saved = try closing.request(in: DatabaseAddress(World.container, .development, .public), as: .user(user))
            .modifyRecords([.note(.create, "A")])
        #expect(saved.records.map(summary) == ["A@1 {}"])
        try closing.close()
        emulator.withLock { $0 = nil }
        #expect(refusal { try lookUp() } == "INTERNAL_ERROR the emulator is closed")
    }

    private static let terminal = "/usr/bin/sqlite3"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: terminal), "sqlite3 is not installed"))
    func anotherProcessDoesNotTakeTheLogOfAnOpenFile() throws {
        try withTemporaryFile { path in
            let address = DatabaseAddress(World.container, .development, .public)
            let emulator = try CloudKitEmulator(storage: .file(path: path))
            let user = try emulator.createUser()
            func save(_ name: String) throws {
                _ = try emulator.request(in: address, as: .user(user)).modifyRecords([.note(.create, name)])
            }
            try save("A")
            // Closing any descriptor of the file in this process would take the locks of the first one.
            try CloudKitEmulator(storage: .file(path: path)).close()
            let process = Process()
            process.executableURL = URL(filePath: Self.terminal)
            process.arguments = [path, "SELECT count(*) FROM sqlite_master"]
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            #expect(FileManager.default.fileExists(atPath: path + "-wal"))
            try save("B")
            try emulator.close()
            let again = try CloudKitEmulator(storage: .file(path: path))
            defer { try? again.close() }
            let lookups = ["A", "B"].map { RecordLookup(recordName: $0) }
            let found = try again.request(in: address, as: .user(user)).lookupRecords(lookups).records
            #expect(found.map(summary) == ["A@1 {}", "B@2 {}"])
        }
    }

    @Test func everythingIsThereAgainWhenTheFileIsOpenedAgain() throws {
        try withTemporaryFile { path in
            let before = try World(storage: .file(path: path))
            let api = try before.emulator.registerAPIToken(for: World.container)
            let web = try before.emulator.issueWebAuthToken(for: before.ann)
            try before.modify(.note(.create, "a", ["n": 1]), .note(.create, "b", ["n": 2]))
            try before.modify(.note(.forceDelete, "a"))
            let contents = try before.contents()
            let token = try before.asAnn().zones().syncToken
            // The emulator is not closed, as if the process had been killed.

            let clock = before.clock
            let after = try CloudKitEmulator(storage: .file(path: path), clock: { clock.now })
            let caller = try after.authenticate(
                Credentials(apiToken: api, webAuthToken: web),
                for: World.container,
                in: .development
            ).caller
            #expect(caller == .user(before.ann))
            let changes = try after.request(in: before.privateDatabase, as: caller).fetchRecordChanges(
                ZoneChangesRequest(zoneID: World.notes)
            )
            #expect(changes.records.map(summary) == contents + ["a deleted"])
            #expect(
                try after.request(in: before.privateDatabase, as: caller).fetchDatabaseChanges(since: token).zones == []
            )
            #expect(
                try after.request(in: before.privateDatabase, as: caller).queryRecords(
                    RecordQuery(recordType: "Note", sorts: [QuerySort("n")]),
                    zoneID: World.notes
                ).records.map(summary) == contents
            )
            #expect(
                try after.request(in: before.privateDatabase, as: caller).modifyRecords(
                    [.note(.create, "c")],
                    zoneID: World.notes
                ).records.map(summary) == ["c@4 {}"]
            )
        }
    }

    @Test func onlyTheOwnerMayUseTheFiles() throws {
        for exists in [false, true] {
            try withTemporaryFile { path in
                func permissions(_ suffix: String) throws -> Int? {
                    try FileManager.default.attributesOfItem(atPath: path + suffix)[.posixPermissions] as? Int
                }
                let files = ["", "-wal", "-shm", "-lock"]
                if exists {
                    // Files of an earlier version, with the permissions that the system gives new files.
                    let earlier = try World(storage: .file(path: path))
                    try earlier.modify(.note(.create, "a"))
                    for file in files {
                        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path + file)
                    }
                }
                let mask = umask(0)
                defer { umask(mask) }
                let world = try World(storage: .file(path: path))
                try world.modify(.note(.create, "b"))
                for file in files { #expect(try permissions(file) == 0o600, "\(file)") }
            }
        }
    }

    @Test func twoEmulatorsMayShareAFile() throws {
        try withTemporaryFile { path in
            let world = try World(storage: .file(path: path))
            let other = try CloudKitEmulator(storage: .file(path: path))
            let ann = Caller.user(world.ann)
            func find(_ field: String) throws -> [String?] {
                try other.request(in: world.privateDatabase, as: ann).queryRecords(
                    RecordQuery(recordType: "Note", sorts: [QuerySort(field)]),
                    zoneID: World.notes
                ).records.map { try $0.get().recordName }
            }
            try world.modify(.note(.create, "a", ["n": 2]))
            #expect(try find("n") == ["a"])
            _ = try other.request(in: world.privateDatabase, as: ann).modifyRecords(
                [.note(.create, "b", ["n": 1, "m": 1])],
                zoneID: World.notes
            )
            try world.modify(.note(.create, "c", ["n": 0, "m": 2, "k": 1]))
            #expect(try find("n") == ["c", "b", "a"])
            #expect(try find("k") == ["a", "b", "c"])
        }
    }

    @Test func aNewFileMayBeOpenedByManyAtOnce() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "emulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for round in 0..<10 {
            let path = folder.appending(path: "\(round).sqlite").path
            let outcomes = await withTaskGroup(of: String.self) { group in
                for _ in 0..<8 {
                    group.addTask { refusal { try CloudKitEmulator(storage: .file(path: path)).createUser() } }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes == Array(repeating: "accepted", count: 8))
            #expect(try CloudKitEmulator(storage: .file(path: path)).listUsers().count == 8)
        }
    }

    @Test(.timeLimit(.minutes(10))) func aPushArrivesForWhatAnotherEmulatorWrites() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "emulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "emulator.sqlite").path
        let world = try World(storage: .file(path: path))
        let ann = Caller.user(world.ann)
        let device = try world.emulator.request(in: DatabaseAddress(World.container, .development, .public), as: ann)
            .createDeviceToken(apnsEnvironment: "development", clientID: "desk")
        _ = try world.emulator.request(in: world.privateDatabase, as: ann).modifySubscriptions([
            SubscriptionOperation(
                .create,
                subscription: Subscription(subscriptionID: "notes", zoneID: World.notes)
            )
        ])
        let other = try CloudKitEmulator(storage: .file(path: path))
        let (emulator, database) = (world.emulator, world.privateDatabase)
        async let push = emulator.nextPush(forCourier: device.courierID)
        await emulator.waitForCouriers(1)
        _ = try other.request(in: database, as: ann).modifyRecords([.note(.create, "a")], zoneID: World.notes)
        let payload = try JSONReader.read(PushPayload.self, from: try await push)
        #expect(payload.content?.zone?.subscriptionID == "notes")
    }

    @Test func aFileThatCannotBeOpenedIsAnError() {
        #expect(
            refusal { try CloudKitEmulator(storage: .file(path: "/nowhere/at/all.sqlite")) }
                .hasPrefix("INTERNAL_ERROR the emulator's storage cannot be opened: ")
        )
    }

    @Test func writersAndReadersMayWorkAtOnce() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "emulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let world = try World(storage: .file(path: folder.appending(path: "emulator.sqlite").path))
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for index in 0..<25 {
                        let fields: Record.Fields = ["f\(writer)": .int64(Int64(index)), "n": .int64(Int64(index))]
                        #expect(throws: Never.self) {
                            try world.modify(.note(.create, "w\(writer)-\(index)", fields))
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<25 {
                        // Only one refusal is allowed: that of a type without a saved record.
                        let outcome = refusal {
                            try world.find(RecordQuery(recordType: "Note", sorts: [QuerySort("n")]))
                        }
                        #expect(["accepted", "BAD_REQUEST"].contains { outcome.hasPrefix($0) })
                    }
                }
            }
        }
        #expect(try world.contents().count == 100)
        #expect(try world.find(RecordQuery(recordType: "Note", sorts: [QuerySort("n")])).count == 100)
    }
}
