import ArgumentParser
import CloudKitEmulator
import CloudKitSchema
import Foundation
import MistKit

/// The records that an emulator loads at its start, and those that it saves at its end.
struct EmulatorContents {
    let folder: String
    let container: String
    /// `private` or `public`.
    let database: String

    /// Saves the records of a file.
    ///
    /// Recorded records of Apple's own containers can be among them: their names may begin with `_`, and their references
    /// may lead to other zones.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - isNew: Whether the emulator has no data, so that an unfinished run has to begin again.
    /// - Throws: A ``CommandError``, or the `CloudKitError` of a request.
    func load(_ file: String, isNew: Bool) async throws {
        if isNew { TransferJournal.remove(for: file) }
        var rules = EmulatorConfiguration()
        rules.acceptsRecordsOfService = true
        try await ImportRecordsCommand.asyncParse([file]).run(over: connection(rules))
    }

    /// Writes all records of some types into a file, and replaces the file.
    func save(_ file: String, types: [String]) async throws {
        guard !types.isEmpty else {
            do { try Data().write(to: URL(fileURLWithPath: file)) } catch { throw CommandError.unwritable(file, error) }
            return
        }
        // An unfinished run wrote records of an earlier state.
        TransferJournal.remove(for: file)
        try await ExportRecordsCommand.asyncParse(types + ["--all-zones", "--force", "--output", file])
            .run(over: connection())
    }

    /// A connection to the data of the folder, whatever service the environment names.
    private func connection(_ rules: EmulatorConfiguration = EmulatorConfiguration()) throws -> ServiceConnection {
        try ServiceConnection.open(
            Settings([.container: container, .database: database, .dataFolder: folder]),
            logger: ServiceConnection.logger(verbose: false),
            rules: rules
        )
    }
}

extension EmbeddedEmulator {
    /// Deletes the data of a folder, and its account.
    ///
    /// - Throws: ``CommandError`` where a file cannot be deleted, or where an emulator uses the folder.
    static func removeData(in folder: String) throws(CommandError) {
        guard FileManager.default.fileExists(atPath: folder) else { return }
        let use = try FolderUse(folder)
        guard use.isExclusive() else {
            throw CommandError(
                code: .unavailable,
                message: "Another process uses the data in \(folder).",
                remedy: "Stop its emulator first, or name another folder with --data-folder."
            )
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let prefixes = ["emulator.sqlite", "administration-"]
        for name in names where prefixes.contains(where: name.hasPrefix) || name == "account.json" {
            let path = folder + "/" + name
            do { try FileManager.default.removeItem(atPath: path) } catch { throw .unwritable(path, error) }
        }
    }

    /// The record types of the container in development.
    func recordTypes() throws -> [String] {
        try emulator.schema(of: container, in: .development).recordTypes.map(\.name)
            .filter { $0 != ContainerSchema.userType }
    }
}

extension EmulatorGreeting {
    /// Runs a command with the emulator's settings in its environment, and waits until the command ends.
    ///
    /// - Parameters:
    ///   - command: The program, which is looked up in `PATH`, and its arguments.
    ///   - address: The address of the emulator.
    /// - Returns: The exit code; 128 plus the signal's number where a signal ended the command, as in shells.
    /// - Throws: A ``CommandError`` where the command cannot be started.
    func run(_ command: [String], at address: URL) async throws -> Int32 {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MISTKIT_") }
        environment["MISTKIT_SERVER_URL"] = localAddress(address)
        environment["MISTKIT_CONTAINER"] = container
        environment["MISTKIT_API_TOKEN"] = apiToken
        environment["MISTKIT_WEB_AUTH_TOKEN"] = webAuthToken
        environment["MISTKIT_SIGN_IN_CODE"] = signInCode
        // There the command finds the secret of the administration.
        environment["MISTKIT_DATA_FOLDER"] = dataFolder
        // The terminal sends Ctrl-C to both; the command decides what to do, and the emulator ends after the command.
        signal(SIGINT) { _ in }
        // Where there is no such program, env says so and ends with 127.
        return try await ForegroundProcess.run(["/usr/bin/env"] + command, environment: environment)
    }
}
