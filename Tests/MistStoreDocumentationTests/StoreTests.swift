import Foundation
import MistModels
import MistStore
import MistTesting
import Testing

/// The Swift of "Keeping records locally", "Synchronising" and "When something waits".
struct StoreTests {
    @Test func keepingRecordsLocally() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("todos-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }

        let store = try MistStore(at: folder, records: [TodoList.self, Todo.self])
        let todos = store.privateDatabase

        let home = try await todos.add(TodoList(name: "Home"), named: "home")
        var milk = try await todos.add(Todo(list: home.reference(), title: "Milk"))
        milk.isDone = true
        try await todos.add(milk)

        let again = try await todos.fetch(Todo.self, named: milk.recordName)
        let list = try await todos.fetch(again.list)
        print(list.name, again.title, again.isDone)  // Home Milk true
        #expect(list.name == "Home")
        #expect(again.title == "Milk")
        #expect(again.isDone)

        try await todos.update(Todo.self, named: milk.recordName) { $0.title += ", 2 l" }
        let changed = try await todos.fetch(Todo.self, named: milk.recordName)
        #expect(changed.title == "Milk, 2 l")

        let done = try await todos.find(
            Query<Todo>(limit: 10) {
                Filter(\.isDone == true)
                Sort(\.title)
            }
        )
        #expect(done.map(\.title) == ["Milk, 2 l"])

        for try await open in todos.recordUpdates(of: Query<Todo> { Filter(\.isDone == false) }) {
            print(open.count)  // 0
            #expect(open.isEmpty)
            break
        }

        try await todos.remove(milk)
        #expect(try await todos.find(Query<Todo>()).isEmpty)

        try await todos.write { todos in
            let work = try todos.add(TodoList(name: "Work"), named: "work")
            try todos.add(Todo(list: work.reference(), title: "Call Mei"))
            try todos.add(Todo(list: work.reference(), title: "Write the report"))
        }
        let (lists, titles) = try await todos.read { todos in
            (try todos.find(Query<TodoList>()).count, try todos.find(Query<Todo>()).map(\.title))
        }
        print(lists, titles.count)  // 2 2
        #expect(lists == 2)
        #expect(Set(titles) == ["Call Mei", "Write the report"])

        do {
            _ = try await todos.fetch(Todo.self, named: "cheese")
            Issue.record("there is no cheese")
        } catch let error as StoreError where error.code == .notFound {
            print(error)  // notFound: There is no such record on this machine. (record type Todo, record cheese)
            let sentence = "notFound: There is no such record on this machine. (record type Todo, record cheese)"
            #expect(error.description == sentence)
        }
        try store.close()
    }

    @Test func synchronising() async throws {
        try await withCloudKitEmulator { emulator in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("todos-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let service = emulator.service(as: .user)

            let store = try MistStore(at: folder, records: [TodoList.self, Todo.self], service: service)
            try await store.privateDatabase.add(TodoList(name: "Home"))
            let summary = try await store.sync()
            print(summary.sent, summary.fetched, summary.lost, summary.parked)  // 1 0 0 0
            #expect(summary.sent == 1)
            #expect(summary.fetched + summary.lost + summary.parked == 0)
            if let reason = summary.scopes[.private]?.condition { print("The rest comes later:", reason) }
            #expect(summary.scopes[.private]?.condition == nil)
            try store.close()
        }
    }

    @Test func aRecordThatDoesNotFitIsNamed() async throws {
        try await withCloudKitEmulator { emulator in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("todos-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let service = emulator.service(as: .user)
            let store = try MistStore(at: folder, records: [TodoList.self, Todo.self], service: service)
            let lists = store.privateDatabase
            try await lists.add(TodoList(name: "Home"))
            try await store.sync()
            let nameless = Record(recordType: "TodoList", recordName: "nameless")
            _ = try await service.privateDatabase.create(nameless, inZone: ZoneID(zoneName: "Records"))
            try await store.sync()

            for record in try await lists.findUnreadable(Query<TodoList>()) {
                print(record.recordName, record.reason)
                #expect(record.recordName == "nameless")
                #expect(record.reason.contains("name"))
            }
            let noted = try await lists.status().unreadable
            print(noted.map(\.recordName))  // ["nameless"]
            #expect(noted.map(\.recordName) == ["nameless"])
            #expect(try await lists.find(Query<TodoList>()).map(\.name) == ["Home"])
            try store.close()
        }
    }

    @Test func aRecordThatTheServiceRefusesIsParked() async throws {
        try await withCloudKitEmulator { emulator in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("todos-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let service = emulator.service(as: .user)
            let store = try MistStore(at: folder, records: [TodoList.self, Todo.self], service: service)
            let lists = store.privateDatabase

            let tooLong = String(repeating: "x", count: 1_200_000)
            try await lists.add(TodoList(name: tooLong))
            try await lists.add(TodoList(name: "Home"))
            let summary = try await store.sync()
            print(summary.sent, summary.parked)  // 1 1
            #expect(summary.sent == 1)
            #expect(summary.parked == 1)
            let status = try await lists.status()
            print(status.pending, status.parked.count)  // 1 1
            #expect(status.pending == 1)
            #expect(status.parked.count == 1)

            try await lists.add(TodoList(name: "Work"), named: "work")
            for try await status in lists.statusUpdates(of: TodoList.self, named: "work") {
                print(status?.state == .edited)  // true
                #expect(status?.state == .edited)
                break
            }
            try store.close()
        }
    }
}
