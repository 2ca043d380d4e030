import ArgumentParser
import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import CloudKitSchema
import Foundation
import HTTPTypes
import MistKit
import OpenAPISwiftRuntime

/// `mistkit doctor`
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Check what commands need: versions, settings, the data folder, the port, the key, the clock and the indexes.",
        discussion: """
            Each line begins with ok, note or wrong. The command ends with 1 if something is wrong.

            Examples:
              mistkit doctor
              mistkit doctor --profile production
            """
    )

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        var findings = [Finding(.ok, "mistkit", MistKitCommand.version), await Self.toolchain()]
        do {
            let settings = try Settings.read(flags: connection)
            findings.append(
                Finding(.ok, "settings", settings.configurationFile ?? "no file; options and environment alone")
            )
            findings.append(Self.dataFolder(settings.emulatorFolder))
            findings.append(Self.port(settings))
            findings += await Self.service(settings)
        } catch let error as CommandError {
            findings.append(Finding(.wrong, "settings", error.message, error.remedy))
        }
        for finding in findings { Terminal.writeLine(finding.description) }
        let wrong = findings.count { $0.state == .wrong }
        guard wrong == 0 else {
            throw CommandError(
                code: .failure,
                message: "\(String.counting(wrong, "thing")) \(wrong == 1 ? "is" : "are") wrong.",
                remedy: "The lines above say what to do."
            )
        }
    }

    /// What a check found.
    struct Finding: CustomStringConvertible {
        enum State: String {
            case ok, note, wrong
        }

        var state: State
        var title: String
        var text: String
        var remedy: String?

        init(_ state: State, _ title: String, _ text: String, _ remedy: String? = nil) {
            (self.state, self.title, self.text, self.remedy) = (state, title, text, remedy)
        }

        var description: String {
            let line =
                state.rawValue.padding(toLength: 6, withPad: " ", startingAt: 0)
                + title.padding(toLength: 13, withPad: " ", startingAt: 0) + text
            return remedy.map { line + "\n" + String(repeating: " ", count: 19) + $0 } ?? line
        }
    }

    /// The version of Swift, which programs need and the command itself does not.
    private static func toolchain() async -> Finding {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["swift", "--version"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return toolchain(of: "") }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return toolchain(of: String(decoding: data, as: UTF8.self))
    }

    /// - Parameter text: What `swift --version` prints.
    /// - Returns: What it says about the toolchain.
    static func toolchain(of text: String) -> Finding {
        let remedy = "Programs that use MistKit need Swift 6.2 or later: https://www.swift.org/install."
        guard let match = text.firstMatch(of: /Swift version (\d+)\.(\d+)[^ ]*/), let major = Int(match.1),
            let minor = Int(match.2)
        else { return Finding(.note, "swift", "not found", remedy) }
        let version = String(match.0.dropFirst("Swift version ".count))
        return (major, minor) < (6, 2) ? Finding(.note, "swift", version, remedy) : Finding(.ok, "swift", version)
    }

    private static func dataFolder(_ folder: String) -> Finding {
        let manager = FileManager.default
        var isFolder: ObjCBool = false
        if manager.fileExists(atPath: folder, isDirectory: &isFolder) {
            return isFolder.boolValue && manager.isWritableFile(atPath: folder)
                ? Finding(.ok, "data folder", folder)
                : Finding(
                    .wrong,
                    "data folder",
                    "\(folder) is not a folder that can be written",
                    "Name another one with --data-folder."
                )
        }
        let parent = URL(fileURLWithPath: folder).deletingLastPathComponent().path
        return manager.isWritableFile(atPath: parent)
            ? Finding(.ok, "data folder", "\(folder), which the first command makes")
            : Finding(.wrong, "data folder", "\(folder) cannot be made", "Name another one with --data-folder.")
    }

    /// The port of the emulator: that of the settings if their service is on this machine, or else the usual one.
    private static func port(_ settings: Settings) -> Finding {
        if let address = settings.serverURL.flatMap({ URL(string: $0) }), let host = address.host,
            HostName.isLocal(listeningOn: host)
        {
            let number = address.port ?? (address.scheme == "https" ? 443 : 80)
            return isUsed(number)
                ? Finding(.ok, "port", "\(number) of the settings answers")
                : Finding(
                    .wrong,
                    "port",
                    "nothing listens on \(number), which the settings name",
                    "Start `mistkit emulator --port \(number)`, or leave out the address of the service."
                )
        }
        let number = EmulatorCommand.usualPort
        guard isUsed(number) else { return Finding(.ok, "port", "\(number) is free for `mistkit emulator`") }
        return Finding(
            .note,
            "port",
            "\(number) is used, by an emulator or another program",
            "Choose another for `mistkit emulator` with --port."
        )
    }

    /// Whether a program listens on a port of this machine.
    private static func isUsed(_ number: Int) -> Bool {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: number).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// The key or token, the clock, the access and the indexes.
    private static func service(_ settings: Settings) async -> [Finding] {
        let connection: ServiceConnection
        do {
            connection = try ServiceConnection.open(settings, logger: ServiceConnection.logger(verbose: false))
        } catch {
            let problem = error as? CommandError ?? CommandError(unexpected: error)
            return [Finding(.wrong, "credentials", problem.message, problem.remedy)]
        }
        var findings = [
            Finding(.ok, "service", connection.title),
            Finding(
                .ok,
                "container",
                "\(connection.service.containerIdentifier), \(connection.service.environment.rawValue)"
            ),
            Finding(.ok, "credentials", connection.identity.rawValue),
        ]
        if case .address(let address) = connection.destination { findings.append(await clock(of: address)) }
        do {
            _ = try await connection.database.fetchZones()
            findings.append(Finding(.ok, "access", "the \(connection.scope.rawValue) database answers"))
        } catch {
            let problem = (error as? CloudKitError).map { CommandError($0) } ?? CommandError(unexpected: error)
            findings.append(Finding(.wrong, "access", problem.message, problem.remedy))
        }
        if let administration = try? await EmulatorAdministration.of(settings),
            let schema = try? await SchemaService(
                administration: administration,
                container: connection.service.containerIdentifier,
                environment: connection.service.environment
            ).schema()
        {
            findings.append(indexes(of: schema))
        }
        return findings
    }

    /// Compares the clock with that of the service. Apple's service refuses signatures of a clock that is far off.
    private static func clock(of address: URL) async -> Finding {
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        let sent = try? await CloudKitService.defaultTransport.send(
            request,
            body: nil,
            baseURL: address,
            operationID: "doctor"
        )
        guard let text = sent?.0.headerFields[.date] else {
            return Finding(.note, "clock", "the service does not say the time")
        }
        return clock(date: text, now: Date())
    }

    /// - Parameters:
    ///   - text: The field `Date` of a response.
    ///   - now: The time of this machine.
    /// - Returns: How far the clock is off.
    static func clock(date text: String, now: Date) -> Finding {
        guard let date = secondsOfHTTPDate(text) else {
            return Finding(.note, "clock", "the service does not say the time")
        }
        let seconds = Int((now.timeIntervalSince1970 - Double(date)).magnitude.rounded())
        return seconds > 300
            ? Finding(
                .wrong,
                "clock",
                "\(seconds) seconds off",
                "Set the clock: requests that are signed with a key are refused."
            )
            : Finding(.ok, "clock", "\(seconds) seconds off")
    }

    /// The record types that no query can find.
    static func indexes(of schema: ContainerSchema) -> Finding {
        let without = schema.recordTypes.filter { type in
            type.name != ContainerSchema.userType && !type.fields.contains { $0.indexes.contains(.queryable) }
        }.map(\.name)
        guard !without.isEmpty else { return Finding(.ok, "indexes", "every record type can be queried") }
        return Finding(
            .note,
            "indexes",
            "no query finds the records of \(without.joined(separator: ", "))",
            "Mark \"___recordID\" or another field QUERYABLE, and `mistkit schema import` the file."
        )
    }
}
