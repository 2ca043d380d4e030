import Foundation
import MistKit
import MistStore
import TestSupport
import Testing

struct FindRecordsTests {
    @Test func aTypedQueryFindsWithoutAService() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [TodoList.self, Todo.self])
            let todos = store.privateDatabase
            for (name, title, isDone) in [("a", "Milk", false), ("b", "Bread", true), ("c", "Apples", false)] {
                try await todos.add(Todo(title: title, isDone: isDone), named: name)
            }
            let open = try await todos.find(
                Query<Todo> {
                    Filter(\.isDone == false)
                    Sort(\.title)
                }
            )
            #expect(open.map(\.model) == [Todo(title: "Apples"), Todo(title: "Milk")])
            #expect(open.map(\.recordName) == ["c", "a"])
            #expect(try await todos.find(Query<Todo>(limit: 2)).map(\.recordName) == ["a", "b"])
            #expect(try await todos.find(Query<TodoList>()).isEmpty)
            #expect(try await store.publicDatabase.find(Query<Todo>()).isEmpty)
            try store.close()
        }
    }

    @Test func aTransactionFindsWhatItHasWritten() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [TodoList.self, Todo.self])
            let counts = try await store.privateDatabase.write { todos in
                let before = try todos.find(Query<Todo>()).count
                try todos.add(Todo(title: "Milk"))
                return [before, try todos.find(Query<Todo> { Filter(\.title, beginsWith: "Mi") }).count]
            }
            #expect(counts == [0, 1])
            try store.close()
        }
    }

    @Test func aQueryThatDoesNotFitIsAnError() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [TodoList.self, Todo.self])
            var query = Query<Todo> { Filter(\.title == "Milk") }
            query.filters[0].queryFilter.fieldName = "titel"
            await #expect(
                throws: StoreError(
                    .query,
                    "The record type has no field of this name.",
                    recordType: "Todo",
                    fieldName: "titel"
                )
            ) { try await store.privateDatabase.find(query) }
            try store.close()
        }
    }
}
