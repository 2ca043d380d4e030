import Foundation
import MistModels
import MistStore
import MistTesting
import Testing

/// The Swift of "Zones".
struct ZoneTests {
    @Test func aSingleZoneHasAName() async throws {
        try await withCloudKitEmulator { emulator in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("zones-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let service = emulator.service(as: .user)

            var configuration = StoreConfiguration()
            configuration.zones = .single("Todos")
            let store = try MistStore(
                at: folder,
                records: [TodoList.self, Todo.self],
                service: service,
                configuration: configuration
            )
            try await store.privateDatabase.add(TodoList(name: "Home"), named: "home")
            try await store.sync()
            let there = try await service.privateDatabase.fetch("home", inZone: ZoneID(zoneName: "Todos"))
            #expect(there["name"]?.stringValue == "Home")
            try store.close()
        }
    }

    @Test func eachRootHasAZone() async throws {
        try await withCloudKitEmulator { emulator in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("zones-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let service = emulator.service(as: .user)

            var configuration = StoreConfiguration()
            configuration.zones = .perRoot
            let store = try MistStore(
                at: folder,
                records: [TodoList.self, Todo.self],
                service: service,
                configuration: configuration
            )
            let todos = store.privateDatabase
            let home = try await todos.add(TodoList(name: "Home"))
            let work = try await todos.add(TodoList(name: "Work"))
            let milk = try await todos.add(Todo(list: home.reference(), title: "Milk"))
            print(milk.zoneID == home.zoneID, home.zoneID == work.zoneID)  // true false
            #expect(milk.zoneID == home.zoneID)
            #expect(home.zoneID != work.zoneID)
            #expect(try await store.sync().sent == 3)
            try store.close()
        }
    }
}
