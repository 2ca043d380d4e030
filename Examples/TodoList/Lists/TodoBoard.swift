import Foundation
import MistModels
import MistStore

/// The lists, to-dos and people of a device. Nothing here waits for the network.
package struct TodoBoard: Sendable {
    package static let records: [any CloudKitRecord.Type] = [TodoList.self, Todo.self, Person.self]

    package let store: MistStore
    private var database: LocalDatabase { store.privateDatabase }

    /// Opens the folder of a device.
    ///
    /// - Parameters:
    ///   - folder: The folder. It is created when it does not exist.
    ///   - service: The service to synchronise with.
    ///   - syncInterval: The time between two synchronisations of `run()` while there are changes. Without changes it
    ///     grows to a minute: someone is looking.
    /// - Throws: A `StoreError`.
    package init(at folder: URL, service: any SyncService, syncInterval: Duration = .seconds(30)) throws {
        var configuration = StoreConfiguration()
        configuration.syncInterval = syncInterval
        configuration.longestSyncInterval = max(syncInterval, .seconds(60))
        store = try MistStore(at: folder, records: Self.records, service: service, configuration: configuration)
    }

    // MARK: Reading

    /// Everything, from one state of the file.
    package func contents() async throws -> BoardContents {
        try await database.read { reader in
            BoardContents(
                lists: try reader.find(Query<TodoList> { Sort(\.name) }),
                todos: try reader.find(Query<Todo> { Sort(\.title) }),
                people: try reader.find(Query<Person> { Sort(\.name) })
            )
        }
    }

    /// The to-do whose identifier begins with these characters.
    ///
    /// - Throws: A ``BoardError`` where there is none, or more than one.
    package func todo(_ identifier: String) async throws -> StoredRecord<Todo> {
        try await contents().todo(identifier)
    }

    // MARK: Changing

    /// What a command sets of a to-do. A property without a value leaves what there is.
    package struct Changes: Sendable {
        package var title: String?
        /// The day; `.some(nil)` removes it.
        package var due: Date??
        /// The name of the person; `.some(nil)` takes the to-do from them.
        package var assignee: String??
        package var note: String??
        /// A file; `.some(nil)` removes the photo.
        package var photo: URL??
        package var isDone: Bool?

        package init() {}
    }

    /// Adds a to-do, and its list and person where they are new: all in one transaction.
    package func add(_ title: String, to list: String, _ changes: Changes) async throws -> StoredRecord<Todo> {
        let photo = try await photo(changes)
        return try await database.write { writer in
            let name = TodoList.recordName(for: list)
            let parent =
                try writer.fetchIfPresent(TodoList.self, named: name)
                ?? writer.add(TodoList(name: list), named: name)
            var todo = Todo(list: parent.reference(), title: title)
            try Self.apply(changes, photo, to: &todo, writer)
            return try writer.add(todo)
        }
    }

    /// Changes a to-do. Only the fields that differ count as edited, so that edits of other fields by other devices are
    /// kept.
    package func change(_ record: StoredRecord<Todo>, _ changes: Changes) async throws -> StoredRecord<Todo> {
        let photo = try await photo(changes)
        return try await database.write { writer in
            var record = try writer.fetch(Todo.self, named: record.recordName)
            try Self.apply(changes, photo, to: &record.model, writer)
            return try writer.add(record)
        }
    }

    /// The photo as an asset. The file is copied into the store before the transaction, since it may be large.
    private func photo(_ changes: Changes) async throws -> Asset?? {
        switch changes.photo {
        case nil: return nil
        case .some(nil): return .some(nil)
        case .some(let file?): return try await database.addFile(at: file)
        }
    }

    /// Where the photo of a to-do is on this device; `nil` before it was fetched.
    package func photo(of todo: Todo) -> URL? { todo.photo.flatMap { database.file(of: $0) } }

    private static func apply(
        _ changes: Changes,
        _ photo: Asset??,
        to todo: inout Todo,
        _ writer: StoreWriter
    ) throws {
        if let photo { todo.photo = photo }
        if let title = changes.title { todo.title = title }
        if let due = changes.due { todo.due = due }
        if let note = changes.note { todo.note = note }
        if let isDone = changes.isDone { todo.isDone = isDone }
        guard let assignee = changes.assignee else { return }
        todo.assignee = try assignee.map { name in
            let recordName = Person.recordName(for: name)
            let person =
                try writer.fetchIfPresent(Person.self, named: recordName)
                ?? writer.add(Person(name: name), named: recordName)
            return person.reference()
        }
    }

    package func remove(_ record: StoredRecord<Todo>) async throws {
        try await database.remove(record)
    }

    /// Removes a list with its to-dos.
    ///
    /// - Returns: The number of to-dos that it had.
    package func removeList(_ name: String) async throws -> Int {
        let contents = try await contents()
        let list = try contents.list(name)
        try await database.remove(list)
        return contents.todos(of: list).count
    }
}

/// What a person asked for and that is not there.
package enum BoardError: Error, CustomStringConvertible, Equatable {
    case noSuchTodo(String)
    case severalTodos(String, [String])
    case noSuchList(String, [String])

    package var description: String {
        switch self {
        case .noSuchTodo(let text): "No to-do begins with \(text). `todo list --all` shows the identifiers."
        case .severalTodos(let text, let titles):
            "\(titles.count) to-dos begin with \(text): \(titles.joined(separator: ", ")). Write more of the identifier."
        case .noSuchList(let name, []): "There is no list \(name), and no other one. `todo add` makes one."
        case .noSuchList(let name, let names): "There is no list \(name). There are: \(names.joined(separator: ", "))."
        }
    }
}
