import Foundation
import MistModels
import MistStore
import MistTesting
import Testing

@testable import TodoLists

/// Two devices over an emulator.
struct TodoBoardTests {
    private func withTwoBoards(_ body: (TodoBoard, TodoBoard) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "todo-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withCloudKitEmulator { emulator in
            let boards = try ["phone", "laptop"].map { name in
                try TodoBoard(at: folder.appending(path: name), service: emulator.service(as: .user))
            }
            try await body(boards[0], boards[1])
            for board in boards { try board.store.close() }
        }
    }

    private func synchronise(_ boards: TodoBoard...) async throws {
        for board in boards + boards { try await board.store.sync() }
    }

    @Test func aListThatBothDevicesMakeOfflineIsOneList() async throws {
        try await withTwoBoards { phone, laptop in
            _ = try await phone.add("Milk", to: "Home", .init())
            _ = try await laptop.add("Bread", to: "Home", .init())
            try await synchronise(phone, laptop)
            for board in [phone, laptop] {
                let contents = try await board.contents()
                #expect(contents.lists.map(\.model.name) == ["Home"])
                #expect(contents.todos.map(\.model.title) == ["Bread", "Milk"])
                #expect(Set(contents.todos.map(\.model.list.recordName)) == ["TodoList.home"])
            }
        }
    }

    @Test func editsOfDifferentFieldsAreAllKept() async throws {
        try await withTwoBoards { phone, laptop in
            let milk = try await phone.add("Milk", to: "Home", .init())
            try await synchronise(phone, laptop)
            var done = TodoBoard.Changes()
            done.isDone = true
            _ = try await phone.change(milk, done)
            var title = TodoBoard.Changes()
            (title.title, title.assignee) = ("Oat milk", "Ben")
            _ = try await laptop.change(try await laptop.todo(milk.recordName), title)
            try await synchronise(phone, laptop)
            for board in [phone, laptop] {
                let todo = try await board.todo(milk.recordName).model
                #expect(todo.title == "Oat milk" && todo.isDone)
                #expect(todo.assignee?.recordName == "Person.ben")
            }
        }
    }

    @Test func aListGoesWithItsToDosOnAllDevices() async throws {
        try await withTwoBoards { phone, laptop in
            _ = try await phone.add("Milk", to: "Home", .init())
            _ = try await phone.add("Report", to: "Work", .init())
            try await synchronise(phone, laptop)
            #expect(try await laptop.removeList("home") == 1)
            await #expect(throws: BoardError.noSuchList("home", ["Work"])) { try await laptop.removeList("home") }
            try await synchronise(laptop, phone)
            #expect(try await phone.contents().todos.map(\.model.title) == ["Report"])
        }
    }
}
