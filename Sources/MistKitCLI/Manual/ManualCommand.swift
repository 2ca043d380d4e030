import ArgumentParser
import Foundation

/// `mistkit manual`
struct ManualCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Write the manual pages of all commands into a folder.",
        discussion: """
            The pages have the date of SOURCE_DATE_EPOCH, where that is set, else of today.

            Examples:
              mistkit manual pages
              mistkit manual share/man/man1
            """,
        // Only people who make packages need it.
        shouldDisplay: false
    )

    @Argument(help: "The folder; it is made where it does not exist.", completion: .directory)
    var folder: String

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["SOURCE_DATE_EPOCH"].flatMap(Double.init)
        let date = seconds.map { Date(timeIntervalSince1970: $0) } ?? Date()
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for page in try Self.pages(date: date) {
                try Data(page.text.utf8).write(to: URL(fileURLWithPath: folder).appendingPathComponent(page.fileName))
            }
        } catch {
            throw CommandError.unwritable(folder, error)
        }
    }

    /// The pages of all commands.
    static func pages(date: Date) throws -> [ManualPage] {
        let root = try CommandDescription.describing(MistKitCommand.self)
        let connection = try CommandDescription.describing(ConnectionOptions.self).arguments.flatMap(\.names)
        return root.all.map { command in
            ManualPage(
                command: command,
                root: root,
                connectionOptions: Set(connection).subtracting(["-h", "--help"]),
                version: MistKitCommand.version,
                date: Self.day(of: date)
            )
        }
    }

    /// A day as manuals write it, in English whatever the language of the user is.
    private static func day(of date: Date) -> String {
        let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day], from: date)
        return "\(months[(parts.month ?? 1) - 1]) \(parts.day ?? 1), \(parts.year ?? 1970)"
    }
}
