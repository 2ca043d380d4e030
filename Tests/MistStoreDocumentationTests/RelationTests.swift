import Foundation
import MistModels
import MistStore
import MistTesting
import Testing

/// The Swift of "Relations" and "Testing your synchronisation".
struct RelationTests {
    @Test func aListTakesItsTodosWithIt() async throws {
        try await withTwoDevices { phone, laptop in
            let home = try await phone.privateDatabase.add(TodoList(name: "Home"), named: "home")
            try await phone.privateDatabase.add(Todo(list: home.reference(), title: "Milk"), named: "milk")
            try await phone.sync()
            try await laptop.sync()

            try await phone.privateDatabase.remove(home)
            print(try await phone.privateDatabase.find(Query<Todo>()).count)  // 0
            #expect(try await phone.privateDatabase.find(Query<Todo>()).isEmpty)
            try await phone.sync()
            try await laptop.sync()
            print(try await laptop.privateDatabase.find(Query<Todo>()).count)  // 0
            #expect(try await laptop.privateDatabase.find(Query<Todo>()).isEmpty)
            #expect(try await laptop.privateDatabase.find(Query<TodoList>()).isEmpty)
        }
    }

    @Test func aFetchIncludesRelatedRecords() async throws {
        try await withTwoDevices { phone, _ in
            let home = try await phone.privateDatabase.add(TodoList(name: "Home"), named: "home")
            try await phone.privateDatabase.add(Todo(list: home.reference(), title: "Milk"), named: "milk")
            try await phone.privateDatabase.add(Todo(list: home.reference(), title: "Bread"), named: "bread")

            let lists = phone.privateDatabase
            let list = try await lists.fetch(TodoList.self, named: "home", including: .all)
            print(try list.children(Todo.self).map(\.title))  // ["Bread", "Milk"]
            #expect(try list.children(Todo.self).map(\.title) == ["Bread", "Milk"])

            let todo = try await lists.fetch(Todo.self, named: "milk", including: .depth(1))
            print(try todo[todo.record.list]?.name ?? "")  // Home
            #expect(try todo[todo.record.list]?.name == "Home")
            print(try todo.records(of: Todo.self).count)  // 0
            #expect(try todo.records(of: Todo.self).isEmpty)
        }
    }

    @Test func aLinkIntoAnotherZoneIsRefused() async throws {
        try await withTwoDevices { phone, _ in
            let todos = phone.privateDatabase

            let elsewhere = RecordReference<TodoList>(recordName: "home", zoneID: ZoneID(zoneName: "Archive"))
            do {
                try await todos.add(Todo(list: elsewhere, title: "Milk"))
                Issue.record("the link leads out of the zone")
            } catch let error as StoreError where error.code == .link {
                print(error.fieldName ?? "")  // list
                #expect(error.fieldName == "list")
            }
        }
    }

    @Test func aLostReplyStoresNothingTwice() async throws {
        try await withCloudKitEmulator { emulator in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("todos-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let service = emulator.service(as: .user)
            let store = try MistStore(
                at: folder,
                records: [TodoList.self, Todo.self],
                service: ServiceThatLosesAReply(service)
            )

            try await store.privateDatabase.add(TodoList(name: "Home"), named: "home")
            #expect(try await store.sync().sent == 0)  // The service has it, and the store does not know.
            try await store.sync()

            let zone = ZoneID(zoneName: "Records")
            let there = try await service.privateDatabase.fetch("home", inZone: zone)
            #expect(there["name"]?.stringValue == "Home")
            #expect(there.created == there.modified)  // It was written once.
            try store.close()
        }
    }
}
