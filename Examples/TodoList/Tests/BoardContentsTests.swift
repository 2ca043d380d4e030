import Foundation
import MistModels
import Testing

@testable import TodoLists

/// How the lists are shown, without a store.
struct BoardContentsTests {
    private let home = StoredRecord(TodoList(name: "Home"), recordName: "l1")
    private let today = Date(day: "2026-12-01") ?? .now

    private func todo(_ name: String, _ title: String, _ change: (inout Todo) -> Void = { _ in }) -> StoredRecord<Todo>
    {
        var todo = Todo(list: home.reference(), title: title)
        change(&todo)
        return StoredRecord(todo, recordName: name)
    }

    private func board(_ todos: StoredRecord<Todo>...) -> BoardContents {
        let ben = StoredRecord(Person(name: "Ben"), recordName: "p1")
        return BoardContents(lists: [home], todos: todos, people: [ben])
    }

    @Test func aToDoIsALineWithItsDetails() {
        let board = board(
            todo("AAAA0001", "Milk"),
            todo("BBBB0002", "Bank") {
                $0.due = Date(day: "2026-11-30")
                $0.assignee = RecordReference(recordName: "p1")
                $0.note = "before noon"
                $0.photo = Asset(size: 3)
            },
            todo("CCCC0003", "Bread") { ($0.isDone, $0.due) = (true, Date(day: "2026-11-30")) }
        )
        #expect(
            board.lines(showsDone: false, today: today) == [
                "Home  (2 open, 1 done)", "  aaaa  [ ] Milk",
                "  bbbb  [ ] Bank  (for Ben, overdue since 2026-11-30, “before noon”, with a photo)",
            ]
        )
        #expect(board.lines(showsDone: true, today: today).last == "  cccc  [x] Bread  (due 2026-11-30)")
        #expect(board.lines(of: "HOME", showsDone: false, today: today).count == 3)
        #expect(board.lines(of: "Work", showsDone: false, today: today) == [])
    }

    @Test func aPersonWhoIsGoneIsAQuestionMark() {
        let board = board(todo("AAAA0001", "Milk") { $0.assignee = RecordReference(recordName: "gone") })
        #expect(board.lines(showsDone: false, today: today).last == "  aaaa  [ ] Milk  (for ?)")
    }

    @Test func titlesOfOtherDevicesDoNotSteerTheTerminal() {
        let board = board(todo("AAAA0001", "\u{1B}[2JMilk\nBread"))
        #expect(board.lines(showsDone: false, today: today).last == "  aaaa  [ ]  [2JMilk Bread")
    }

    @Test func identifiersAreAsLongAsTheyNeedToBe() throws {
        let board = board(todo("ABCDE1", "Milk"), todo("ABCDE2", "Bread"), todo("F", "Short"))
        #expect(
            board.lines(showsDone: false, today: today)[1...] == [
                "  abcde1  [ ] Milk", "  abcde2  [ ] Bread", "  f  [ ] Short",
            ]
        )
        #expect(try board.todo("abcde2").model.title == "Bread")
        #expect(throws: BoardError.severalTodos("abcde", ["Milk", "Bread"])) { try board.todo("abcde") }
        #expect(throws: BoardError.noSuchTodo("x")) { try board.todo("x") }
    }

    @Test(arguments: [("2026-12-01", true), ("2026-13-01", false), ("1.12.2026", false), ("", false)])
    func daysAreRead(_ text: String, _ isDay: Bool) {
        #expect((Date(day: text) != nil) == isDay)
        if isDay { #expect(Date(day: text)?.day == text) }
    }

    @Test(arguments: [("Home", "TodoList.home"), ("ÄB 1", "TodoList.-c3-a4b-201")])
    func namesOfListsAreRecordNames(_ name: String, _ recordName: String) {
        #expect(TodoList.recordName(for: name) == recordName)
    }
}
