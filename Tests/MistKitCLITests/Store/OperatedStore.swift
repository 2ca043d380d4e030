import Foundation
import GRDB
import MistKit
import MistStore

@testable import MistKitCLI

/// A program with a store in the folder of a test, beside which the command runs. Its service is the embedded emulator
/// of the folder, the one that the command has without credentials.
struct OperatedStore {
    let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    /// Opens the store, as the program does.
    ///
    /// - Parameters:
    ///   - name: The folder of the store.
    ///   - user: The user of the emulator, by name; `nil` for the first one.
    ///   - records: The types.
    ///   - configuration: The settings.
    /// - Returns: The store.
    /// - Throws: The error of the store or of the emulator.
    func open(
        _ name: String = "notes",
        as user: String? = nil,
        records: [any CloudKitRecord.Type] = [DemoList.self, DemoTodo.self],
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> MistStore {
        try MistStore(at: folder(name), records: records, service: service(as: user), configuration: configuration)
    }

    func folder(_ name: String = "notes") -> URL { commands.folder.appending(path: name) }

    /// The service for a user of the emulator.
    func service(as user: String? = nil) throws -> CloudKitService {
        var values: [Settings.Key: String] = [.dataFolder: commands.folder.appending(path: ".mistkit").path]
        values[.user] = user
        return try ServiceConnection.open(Settings(values), logger: ServiceConnection.logger(verbose: false)).service
    }

    /// Changes a file of the store with SQL alone.
    func execute(_ sql: String, in file: String = "user.sqlite", of name: String = "notes") throws {
        let queue = try DatabaseQueue(path: folder(name).appending(path: file).path)
        try queue.write { db in try db.execute(sql: sql) }
        try queue.close()
    }
}
