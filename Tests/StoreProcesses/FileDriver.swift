import CloudKitEmulator
import Foundation
import MistKit
import MistStore
import MistTesting
import TestSupport

/// Sends files through two stores, kills their processes in the middle, and compares the ends: no process may take more
/// memory than a limit, however many bytes the files have.
///
/// The service is an emulator in this process, which is not killed.
struct FileDriver {
    /// The most memory of a process that has a store: the value `VmHWM` of Linux, in KiB.
    static let limit = 120 << 10

    let mebibytes: Int
    let seed: UInt64
    private static let kills = 5

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "StoreFiles-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let began = ContinuousClock.now
        var generator = SeededGenerator(seed: seed)
        var (runs, peak) = (0, 0)
        try await withCloudKitEmulator(
            over: .socket,
            storage: .file(path: folder.appending(path: "emulator.sqlite").path)
        ) { emulator in
            // Three kills while the files are sent, and two while they are fetched.
            for (role, kills) in [("send", 3), ("fetch", Self.kills - 3)] {
                var left = kills
                while true {
                    runs += 1
                    let process = try start(role, folder, emulator)
                    let files = folder.appending(path: "\(role)/user.sqlite-files")
                    // At a part of the work that is still to be done.
                    let share =
                        Double(kills - left + 1) / Double(kills + 1) * Double.random(in: 0.7...1, using: &generator)
                    let goal = Int(share * Double(mebibytes) * Double(1 << 20))
                    while process.isRunning {
                        peak = max(peak, Self.peak(of: process.processIdentifier) ?? 0)
                        let work = role == "send" ? try sentBytes(folder) : Self.size(of: files)
                        if left > 0, work > goal {
                            kill(process.processIdentifier, SIGKILL)
                            break
                        }
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    process.waitUntilExit()
                    if process.terminationReason == .uncaughtSignal {
                        left -= 1
                        continue
                    }
                    guard process.terminationStatus == 0 else {
                        throw Problem("files: the process \(role) has failed.")
                    }
                    guard left == 0 else { throw Problem("files: \(role) has ended before it was killed.") }
                    break
                }
            }
        }
        let sent = try Self.hashes(in: folder.appending(path: "send"))
        let fetched = try Self.hashes(in: folder.appending(path: "fetch"))
        guard sent == fetched, sent.count == FileWorker.count(of: mebibytes) else {
            throw Problem("files: \(sent.count) files were sent, and \(fetched.count) fetched (seed \(seed)).")
        }
        let seconds = (ContinuousClock.now - began).components.seconds
        print(
            """
            files: \(mebibytes) MiB in \(sent.count) files, \(runs) processes, \(Self.kills) killed, equal at the end; \
            most memory (VmHWM) \(peak / 1024) MiB; \(seconds) s, seed \(seed)
            """
        )
        guard peak <= Self.limit else {
            throw Problem("files: a process has taken \(peak) KiB, more than \(Self.limit).")
        }
    }

    private func start(_ role: String, _ folder: URL, _ emulator: RunningEmulator) throws -> Process {
        let token = try emulator.rules.issueWebAuthToken(for: emulator.userRecordName)
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = [
            "file", role, folder.path, "\(mebibytes)", "\(emulator.serverURL)", emulator.apiToken, token,
        ]
        try process.run()
        return process
    }

    /// The bytes that the emulator has.
    private func sentBytes(_ folder: URL) throws -> Int {
        ["", "-wal"].map { suffix in
            let path = folder.appending(path: "emulator.sqlite\(suffix)").path
            return ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue ?? 0
        }.reduce(0, +)
    }

    private static func size(of folder: URL) -> Int {
        let paths = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.fileSizeKey])
        return (paths?.allObjects ?? []).reduce(0) { sum, url in
            sum + (((url as? URL).flatMap { try? $0.resourceValues(forKeys: [.fileSizeKey]).fileSize }) ?? 0)
        }
    }

    /// The names of the files that a store has, which are their hashes. Each process has compared them with the bytes.
    private static func hashes(in folder: URL) throws -> Set<String> {
        let paths = FileManager.default.subpaths(atPath: folder.appending(path: "user.sqlite-files").path) ?? []
        return Set(paths.compactMap { $0.split(separator: "/").last.map(String.init) }.filter { $0.utf8.count == 64 })
    }

    /// The most memory that a process has taken so far, in KiB; `nil` where the system does not say.
    private static func peak(of process: Int32) -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return nil }
        return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }
    }
}

/// A process that sends or fetches files, and may be killed.
struct FileWorker {
    /// The bytes of a file.
    private static let size = 8 << 20

    static func count(of mebibytes: Int) -> Int { mebibytes * (1 << 20) / size }

    let role: String
    let folder: URL
    let mebibytes: Int
    let service: CloudKitService

    func run() async throws {
        let store = try MistStore(at: folder.appending(path: role), records: [Cover.self], service: service)
        let database = store.privateDatabase
        if role == "send" {
            for number in 0..<Self.count(of: mebibytes) {
                let name = "file-\(number)"
                guard try await database.read({ try $0.fetchIfPresent(Cover.self, named: name) }) == nil else {
                    continue
                }
                let source = folder.appending(path: "source")
                try write(number, to: source)
                try await database.add(Cover(title: name, image: try await database.addFile(at: source)), named: name)
            }
        }
        // What has failed is tried again.
        for _ in 0..<100 {
            try await store.sync()
            let status = try await database.status()
            if status.isSynchronised, status.files.isEmpty { break }
            try await database.retryParked()
        }
        let (status, verification) = try await (database.status(), database.verifyFiles())
        guard status.isSynchronised, status.files.isEmpty, verification.intact == Self.count(of: mebibytes) else {
            throw Problem("files: \(role) ends with \(verification), \(status.files.count) files to transfer.")
        }
        try store.close()
    }

    /// Writes a file whose bytes its number decides.
    private func write(_ number: Int, to url: URL) throws {
        try Data().write(to: url)
        let handle = try FileHandle(forWritingTo: url)
        defer { try? handle.close() }
        var generator = SeededGenerator(seed: UInt64(number))
        for _ in 0..<Self.size >> 18 {
            let words = (0..<1 << 15).map { _ in generator.next() }
            try words.withUnsafeBytes { try handle.write(contentsOf: Data($0)) }
        }
    }
}
