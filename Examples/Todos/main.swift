import Foundation
import MistModels
import MistStore
import MistTesting

@CloudKitRecord struct TodoList { var name: String }
@CloudKitRecord struct Todo {
    @CloudKitParent var list: RecordReference<TodoList>
    var title: String
    var isDone = false
}

try await withCloudKitEmulator { emulator in
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("todos-\(UUID())")
    let service = emulator.service(as: .user)
    let store = try MistStore(at: folder, records: [TodoList.self, Todo.self], service: service)
    let todos = store.privateDatabase

    let home = try await todos.add(TodoList(name: "Home"))
    try await todos.add(Todo(list: home.reference(), title: "Milk"))
    try await todos.add(Todo(list: home.reference(), title: "Bread"))

    let open = Query<Todo> {
        Filter(\.isDone == false)
        Sort(\.title)
    }
    for todo in try await todos.find(open) { print(todo.title) }

    let summary = try await store.sync()
    print("\(summary.sent) records sent")
}
