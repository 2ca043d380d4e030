import ArgumentParser
import Foundation
import MistModels
import ProgramSupport
import TodoLists

/// What can be set of a to-do.
struct TodoFields: ParsableArguments {
    @Option(help: ArgumentHelp("The day on which it is due, as in 2026-12-01; none removes it.", valueName: "day"))
    var due: String?

    @Option(name: .customLong("for"), help: ArgumentHelp("To whom it is assigned; none for no one.", valueName: "name"))
    var assignee: String?

    @Option(help: ArgumentHelp("A note; none removes it.", valueName: "text"))
    var note: String?

    @Option(help: ArgumentHelp("A photo; none removes it.", valueName: "file"))
    var photo: String?

    func validate() throws {
        if let due, due != "none", Date(day: due) == nil {
            throw ValidationError("--due is a day, as in 2026-12-01, or none.")
        }
    }

    var changes: TodoBoard.Changes {
        var changes = TodoBoard.Changes()
        changes.due = due.map { $0 == "none" ? nil : Date(day: $0) }
        changes.assignee = assignee.map { $0 == "none" ? nil : $0 }
        changes.note = note.map { $0 == "none" ? nil : $0 }
        changes.photo = photo.map { $0 == "none" ? nil : URL(filePath: $0) }
        return changes
    }
}

/// `todo add`
struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Add to-dos to a list.")

    @Argument(help: "The titles.")
    var titles: [String]

    @Option(help: ArgumentHelp("The list. It is made where there is none.", valueName: "name"))
    var list = "To-dos"

    @OptionGroup(title: "To-do")
    var fields: TodoFields

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func validate() throws {
        guard !list.isEmpty, titles.allSatisfy({ !$0.isEmpty }) else {
            throw ValidationError("A list and a to-do have a name.")
        }
    }

    func run() async throws {
        try await device.withBoard { board in
            for title in titles { _ = try await board.add(title, to: list, fields.changes) }
            printLines(try await board.contents().lines(of: list, showsDone: false, today: .now))
        }
    }
}

/// `todo list`
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show the lists and their to-dos.")

    @Argument(help: "The name of a list; all of them without one.")
    var list: String?

    @Flag(help: "Show what is done, too.")
    var all = false

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws {
        try await device.withBoard { board in
            let contents = try await board.contents()
            if let list { _ = try contents.list(list) }
            let lines = contents.lines(of: list, showsDone: all, today: .now)
            printLines(lines.isEmpty ? ["There are no to-dos. `todo add Milk` adds one."] : lines)
        }
    }
}

/// `todo done`
struct DoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "done", abstract: "Note that to-dos are done.")

    @Argument(help: ArgumentHelp("The identifiers, or their beginnings.", valueName: "id"))
    var identifiers: [String]

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws { try await setDone(true, identifiers, device) }
}

/// `todo reopen`
struct ReopenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "reopen", abstract: "Note that to-dos are not done.")

    @Argument(help: ArgumentHelp("The identifiers, or their beginnings.", valueName: "id"))
    var identifiers: [String]

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws { try await setDone(false, identifiers, device) }
}

private func setDone(_ isDone: Bool, _ identifiers: [String], _ device: DeviceOptions) async throws {
    try await device.withBoard { board in
        var changes = TodoBoard.Changes()
        changes.isDone = isDone
        for identifier in identifiers {
            let todo = try await board.change(try await board.todo(identifier), changes)
            print("[\(isDone ? "x" : " ")] \(todo.model.title.oneLine)")
        }
    }
}

/// `todo edit`
struct EditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Change a to-do.")

    @Argument(help: ArgumentHelp("The identifier, or its beginning.", valueName: "id"))
    var identifier: String

    @Option(help: ArgumentHelp("Another title.", valueName: "text"))
    var title: String?

    @OptionGroup(title: "To-do")
    var fields: TodoFields

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func validate() throws {
        guard [title, fields.due, fields.assignee, fields.note, fields.photo].contains(where: { $0 != nil }) else {
            throw ValidationError("Write what changes: --title, --due, --for, --note or --photo.")
        }
        guard title != "" else { throw ValidationError("A to-do has a name.") }
    }

    func run() async throws {
        try await device.withBoard { board in
            var changes = fields.changes
            changes.title = title
            let todo = try await board.change(try await board.todo(identifier), changes)
            print("\(todo.model.title.oneLine): changed")
        }
    }
}

/// `todo photo`
struct PhotoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "photo",
        abstract: "Print where the photo of a to-do is on this device."
    )

    @Argument(help: ArgumentHelp("The identifier, or its beginning.", valueName: "id"))
    var identifier: String

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws {
        try await device.withBoard { board in
            let todo = try await board.todo(identifier).model
            guard todo.photo != nil else { throw CommandFailure(.usage, "\(todo.title.oneLine) has no photo.") }
            guard let file = board.photo(of: todo) else {
                throw CommandFailure(.tryAgain, "The photo is not on this device yet. `todo sync` fetches it.")
            }
            print(file.path)
        }
    }
}

/// `todo remove`
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove to-dos, or a list with its to-dos."
    )

    @Argument(help: ArgumentHelp("The identifiers of to-dos, or their beginnings.", valueName: "id"))
    var identifiers: [String] = []

    @Option(help: ArgumentHelp("The name of a list.", valueName: "name"))
    var list: String?

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func validate() throws {
        guard list != nil || !identifiers.isEmpty else { throw ValidationError("Name to-dos, or a list with --list.") }
    }

    func run() async throws {
        try await device.withBoard { board in
            for identifier in identifiers {
                let todo = try await board.todo(identifier)
                try await board.remove(todo)
                print("\(todo.model.title.oneLine): removed")
            }
            if let list { print("\(list.oneLine) and \(try await board.removeList(list)) to-dos: removed") }
        }
    }
}

func printLines(_ lines: [String]) {
    for line in lines { print(line) }
}
