import Foundation
import MistModels
import MistStore
import MistTesting
import Synchronization

@CloudKitRecord
struct TodoList: Hashable {
    var name: String
}

@CloudKitRecord
struct Todo: Hashable {
    @CloudKitParent var list: RecordReference<TodoList>
    @CloudKitField(.queryable, .sortable) var title: String
    @CloudKitField(.queryable) var isDone = false
}

@CloudKitRecord
struct Recipe: Hashable {
    var title: String
    var notes = ""
    @CloudKitField(.counter) var timesCooked = 0
    @CloudKitField(.union) var tags: [String] = []
    @CloudKitField(.greatest) var bestRating = 0
    @CloudKitField(.smallest) var bestTime: Int?
}

/// Runs a test with two stores of one person.
func withTwoDevices(_ body: (_ phone: MistStore, _ laptop: MistStore) async throws -> Void) async throws {
    try await withCloudKitEmulator { emulator in
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("devices-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        func open(_ name: String) throws -> MistStore {
            try MistStore(
                at: folder.appendingPathComponent(name),
                records: [TodoList.self, Todo.self, Recipe.self],
                service: emulator.service(as: .user)
            )
        }
        let (phone, laptop) = (try open("phone"), try open("laptop"))
        try await body(phone, laptop)
        try phone.close()
        try laptop.close()
    }
}

/// A way to the service on which the reply to the next change is lost.
final class ServiceThatLosesAReply: SyncService {
    private let service: any SyncService
    private let isDue = Atomic(true)

    init(_ service: any SyncService) {
        self.service = service
    }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        let reply = try await service.send(request, to: scope)
        guard case .modify = request, isDue.exchange(false, ordering: .relaxed) else { return reply }
        var error = CloudKitError(code: .network, message: "The reply was lost.")
        error.mayHaveBeenDone = true
        throw error
    }
}
