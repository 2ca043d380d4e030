import Foundation
import MistModels
import MistStore
import MistTesting
import Testing

@CloudKitRecord
struct TodoList: Hashable {
    var name: String
}

@CloudKitRecord
struct Todo: Hashable {
    var list: RecordReference<TodoList>?
    @CloudKitField(.queryable, .sortable) var title: String
    @CloudKitField(.queryable) var isDone = false
}

/// Two folders represent two devices of one user.
struct TwoDevicesTests {
    /// Runs a test with two stores that share one emulator.
    static func withTwoStores(_ body: (MistStore, MistStore) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mist-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let service = emulator.service(as: .user)
            func open(_ name: String) throws -> MistStore {
                try MistStore(
                    at: folder.appendingPathComponent(name),
                    records: [TodoList.self, Todo.self],
                    service: service
                )
            }
            let (phone, laptop) = try (open("phone"), open("laptop"))
            try await body(phone, laptop)
            try phone.close()
            try laptop.close()
        }
    }

    @Test func whatOneDeviceAddsAnotherFinds() async throws {
        try await Self.withTwoStores { phone, laptop in
            let home = try await phone.privateDatabase.add(TodoList(name: "Home"))
            let milk = try await phone.privateDatabase.add(Todo(list: home.reference(), title: "Milk"))
            #expect(try await phone.sync().sent == 2)
            #expect(try await laptop.sync().fetched == 2)
            let found = try await laptop.privateDatabase.fetch(Todo.self, named: milk.recordName)
            #expect(found.title == "Milk")
            #expect(found.list?.recordName == home.recordName)
        }
    }

    @Test func editsOfDifferentFieldsAreAllKept() async throws {
        try await Self.withTwoStores { phone, laptop in
            var milk = try await phone.privateDatabase.add(Todo(title: "Milk"), named: "milk")
            try await phone.sync()
            try await laptop.sync()
            var copy = try await laptop.privateDatabase.fetch(Todo.self, named: "milk")
            copy.isDone = true
            try await laptop.privateDatabase.add(copy)
            milk.title = "Oat milk"
            try await phone.privateDatabase.add(milk)
            try await phone.sync()
            try await laptop.sync()
            try await phone.sync()
            for store in [phone, laptop] {
                let merged = try await store.privateDatabase.fetch(Todo.self, named: "milk")
                #expect(merged.model == Todo(title: "Oat milk", isDone: true))
            }
        }
    }

    @Test func aDeleteWinsOverAnEdit() async throws {
        try await Self.withTwoStores { phone, laptop in
            let milk = try await phone.privateDatabase.add(Todo(title: "Milk"), named: "milk")
            try await phone.sync()
            try await laptop.sync()
            var copy = try await laptop.privateDatabase.fetch(Todo.self, named: "milk")
            copy.title = "Oat milk"
            try await laptop.privateDatabase.add(copy)
            try await phone.privateDatabase.remove(milk)
            try await phone.sync()
            #expect(try await laptop.sync().lost == 1)
            await #expect(throws: StoreError.self) { try await laptop.privateDatabase.fetch(Todo.self, named: "milk") }
        }
    }
}
