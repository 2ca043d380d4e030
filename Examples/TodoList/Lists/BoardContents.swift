import Foundation
import MistModels
import MistStore

/// The records of a device at one moment, and how they are shown. It has no part of the store: tests make one of
/// records.
package struct BoardContents: Sendable {
    package var lists: [StoredRecord<TodoList>]
    package var todos: [StoredRecord<Todo>]
    package var people: [StoredRecord<Person>]

    package init(
        lists: [StoredRecord<TodoList>],
        todos: [StoredRecord<Todo>],
        people: [StoredRecord<Person>]
    ) {
        (self.lists, self.todos, self.people) = (lists, todos, people)
    }

    /// The list with a name, in any case of its letters.
    package func list(_ name: String) throws(BoardError) -> StoredRecord<TodoList> {
        guard let list = lists.first(where: { $0.model.name.lowercased() == name.lowercased() }) else {
            throw .noSuchList(name, lists.map(\.model.name))
        }
        return list
    }

    func todos(of list: StoredRecord<TodoList>) -> [StoredRecord<Todo>] {
        todos.filter { $0.model.list.recordName == list.recordName }
    }

    /// The to-do whose identifier begins with these characters.
    func todo(_ identifier: String) throws(BoardError) -> StoredRecord<Todo> {
        let found = todos.filter { $0.recordName.lowercased().hasPrefix(identifier.lowercased()) }
        guard let todo = found.first else { throw .noSuchTodo(identifier) }
        guard found.count == 1 else { throw .severalTodos(identifier, found.map(\.model.title)) }
        return todo
    }

    /// The number of characters of identifiers that tells all to-dos apart, at least four.
    private var identifierLength: Int {
        let names = todos.map(\.recordName).sorted()
        let common = zip(names, names.dropFirst()).map { zip($0, $1).prefix { $0 == $1 }.count }
        return max(4, (common.max() ?? 0) + 1)
    }

    /// The lists with their to-dos, as people read them.
    ///
    /// - Parameters:
    ///   - list: Only the list with this name; `nil` shows all.
    ///   - showsDone: Whether to-dos that are done are shown.
    ///   - today: The present day, which to-dos are overdue before.
    /// - Returns: A line for each list, and one for each of its to-dos.
    package func lines(of list: String? = nil, showsDone: Bool, today: Date) -> [String] {
        let names = Dictionary(people.map { ($0.recordName, $0.model.name) }, uniquingKeysWith: { $1 })
        let length = identifierLength
        return lists.filter { list == nil || $0.model.name.lowercased() == list?.lowercased() }.flatMap { list in
            let all = todos(of: list)
            let done = all.count { $0.model.isDone }
            let shown = all.filter { showsDone || !$0.model.isDone }.map { todo in
                "  \(todo.recordName.prefix(length).lowercased())  "
                    + "[\(todo.model.isDone ? "x" : " ")] \(todo.model.title.oneLine)"
                    + details(of: todo.model, names, today)
            }
            return ["\(list.model.name.oneLine)  (\(all.count - done) open, \(done) done)"] + shown
        }
    }

    private func details(of todo: Todo, _ names: [String: String], _ today: Date) -> String {
        var parts: [String] = []
        // A person who was removed, or has not arrived, has no name.
        if let assignee = todo.assignee { parts.append("for \(names[assignee.recordName]?.oneLine ?? "?")") }
        if let due = todo.due { parts.append((due < today && !todo.isDone ? "overdue since " : "due ") + due.day) }
        if let note = todo.note { parts.append("“\(note.oneLine)”") }
        if todo.photo != nil { parts.append("with a photo") }
        return parts.isEmpty ? "" : "  (\(parts.joined(separator: ", ")))"
    }
}

extension String {
    /// The text without control characters: a title comes from any device, and must not steer the terminal.
    package var oneLine: String {
        String(map { $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0 })
    }
}

extension Date {
    /// The day in UTC, as in `2026-12-01`.
    package var day: String { String(ISO8601Format().prefix(10)) }

    /// Reads a day, as in `2026-12-01`.
    package init?(day: String) {
        guard day.utf8.count == 10, let date = try? Date("\(day)T00:00:00Z", strategy: .iso8601) else { return nil }
        self = date
    }
}
