import ArgumentParser
import Foundation
import PeatedOffline

/// `peated taste`
struct TasteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "taste",
        abstract: "Write a tasting. It is sent when there is a connection."
    )

    @Argument(help: "The bottle, such as b2.")
    var bottle: String

    @Argument(help: "From 0 to 5.")
    var rating: Double

    @Argument(help: "What you found in the glass.")
    var notes: [String] = []

    @Option(help: ArgumentHelp("A picture. It is copied, and sent before the tasting.", valueName: "file"))
    var picture: String?

    @Flag(help: "Do not send anything now.")
    var later = false

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func run() async throws {
        try await options.withNotebook { notebook in
            let shown = try await notebook.taste(
                bottle,
                rating: rating,
                notes: notes.isEmpty ? nil : notes.joined(separator: " "),
                picture: picture.map { URL(filePath: $0) }
            )
            print(NotebookLines.tasting(shown))
            if !later { try await notebook.sendAndReport() }
        }
    }
}

/// `peated toast`
struct ToastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "toast",
        abstract: "Raise a glass to a tasting, or take the toast back."
    )

    @Argument(help: "The tasting.")
    var tasting: String

    @Flag(help: "Take the toast back.")
    var remove = false

    @Flag(help: "Do not send anything now.")
    var later = false

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func run() async throws {
        try await options.withNotebook { notebook in
            print(NotebookLines.tasting(try await notebook.toast(tasting, isOn: !remove)))
            if !later { try await notebook.sendAndReport() }
        }
    }
}

/// `peated picture`
struct PictureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "picture",
        abstract: "Print where the picture of a tasting is on this machine. It is fetched if it is not."
    )

    @Argument(help: "The tasting.")
    var tasting: String

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func run() async throws {
        try await options.withNotebook { notebook in
            guard let shown = try await notebook.tasting(tasting) else { throw NotebookError.noTasting(tasting) }
            guard let file = try await notebook.picture(of: shown) else {
                throw CommandFailure(code: 64, message: "\(tasting) has no picture.")
            }
            print(file.path)
        }
    }
}
