import MistModels
import MistTesting
import Testing

@CloudKitRecord
struct TodoList: Hashable {
    var name: String
}

@CloudKitRecord
struct Todo: Hashable {
    @CloudKitParent @CloudKitField("list", .queryable, formerly: "folder") var list: RecordReference<TodoList>?
    @CloudKitField(formerly: "name", "heading") var title: String
    @CloudKitField(.counter) var visits = 0
    @CloudKitField(.union) var tags: [String] = []
}

/// Type names from which a macro cannot see the types behind them.
@CloudKitRecord
struct Aliased {
    typealias Link = String
    typealias Count = String

    @CloudKitParent var list: Link
    @CloudKitField(.counter) var visits: Count
}

/// The parent that a property marks, and the schema for a local store.
@Suite(.serialized)
struct ParentTests {
    @Test func aTypeSaysHowItsFieldsMergeWhatTheyWereCalledAndWhichIsTheParent() {
        #expect(
            Todo.schema.fields == [
                .init(name: "list", type: .reference, indexes: .queryable, formerNames: ["folder"], isParent: true),
                .init(name: "title", type: .string, formerNames: ["name", "heading"]),
                .init(name: "visits", type: .int64, merge: .counter),
                .init(name: "tags", type: .stringList, merge: .union),
            ]
        )
        #expect(Todo.schema.problems() == [])
        #expect(
            Aliased.schema.problems() == [
                #"The field "list" of Aliased cannot point to a parent: its type is STRING, not REFERENCE."#,
                #"The field "visits" of Aliased cannot be a counter: its type is STRING, and a counter is INT64."#,
            ]
        )
    }

    @Test func inACustomZoneTheParentFollowsTheReference() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Lists").zoneID
            let home = try await database.save(TodoList(name: "Home"), named: "home", inZone: zone)
            let work = try await database.save(TodoList(name: "Work"), named: "work", inZone: zone)
            #expect(home.parent == nil)
            func parent(of name: String) async throws -> String? {
                try await database.fetch(name, inZone: zone).parent?.recordName
            }

            // The parent is set when the record is created.
            var milk = try await database.save(
                Todo(list: home.reference(.deleteSelf), title: "Milk"),
                named: "milk",
                inZone: zone
            )
            #expect(milk.parent?.recordName == "home")
            #expect(milk.parent?.action == Reference.Action.none)
            #expect(try await parent(of: "milk") == "home")

            // A change of another field does not change the parent.
            milk.title = "Bread"
            try await database.update(&milk)
            #expect(try await parent(of: "milk") == "home")

            // The parent moves with the reference.
            milk.list = work.reference()
            try await database.update(&milk)
            #expect(milk.parent?.recordName == "work")
            #expect(try await parent(of: "milk") == "work")
            #expect(!milk.hasChanges)

            // If the program assigns a parent without changing the reference, that parent stays.
            milk.parent = Reference(recordName: "home")
            try await database.update(&milk)
            #expect(try await parent(of: "milk") == "home")

            // An update cannot clear a parent, but a replacement can.
            milk.list = nil
            try await database.update(&milk)
            #expect(try await parent(of: "milk") == "home")
            try await database.replace(&milk)
            #expect(milk.parent == nil)
            #expect(try await parent(of: "milk") == nil)

            // An upsert sets the parent, too.
            try await database.upsert(Todo(list: work.reference(), title: "Milk"), named: "milk", inZone: zone)
            #expect(try await parent(of: "milk") == "work")
            #expect(try await parent(of: "home") == nil)
        }
    }

    @Test func whereNothingCanBeSharedNoParentIsSent() async throws {
        try await withCloudKitEmulator { emulator in
            let list = RecordReference<TodoList>(recordName: "home")
            for database in [
                emulator.service(as: .user).privateDatabase, emulator.service(as: .serverKey).publicDatabase,
            ] {
                try await database.save(TodoList(name: "Home"), named: "home")
                let milk = try await database.save(Todo(list: list, title: "Milk"), named: "milk")
                #expect(milk.parent == nil)
                #expect(try await database.fetch("milk").parent == nil)
            }
        }
    }
}
