import Foundation
import MistKit
import MistStore
import ProcessLeases
import Synchronization

/// A process that changes records, counts and synchronises, until it is killed.
struct Worker {
    /// The counters that all workers count.
    static let tallies = ["tally-0", "tally-1", "tally-2"]

    /// Both names of a pair of counters, which are equal after each transaction.
    static func pair(_ name: String) -> [String] { ["\(name)-a", "\(name)-b"] }

    private let number: Int
    private let folder: URL
    private let store: MistStore
    private let parent = getppid()

    init(_ number: Int, in folder: URL, address: URL, apiToken: String, webToken: String) throws {
        self.number = number
        self.folder = folder
        let service = CloudKitService(
            containerIdentifier: Driver.container,
            apiToken: apiToken,
            webAuthToken: webToken,
            configuration: CloudKitService.Configuration(serverURL: address)
        )
        let noting = try NotingService(service, in: folder)
        store = try MistStore(
            at: folder.appending(path: "store"),
            records: [Shelf.self, Book.self],
            service: noting,
            configuration: Driver.configuration
        )
        noting.lease.withLock { [store] in $0 = store.file(of: .private).lease }
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.change() }
            group.addTask { try await self.synchronise() }
            try await group.waitForAll()
        }
    }

    /// Ends with the process that has started this one.
    private func checkParent() throws {
        guard getppid() == parent else { throw Problem("The driver has ended.") }
    }

    private func pause(_ range: ClosedRange<Int>) async throws {
        try checkParent()
        try await Task.sleep(for: .milliseconds(Int.random(in: range)))
    }

    // MARK: Synchronising

    private func synchronise() async throws {
        while true {
            do {
                // One worker leaves it to the store when to synchronise.
                if number == 0 { try await store.run() } else { try await store.sync() }
            } catch let error as StoreError where error.code == .storage {
                try noteBusy(error)
            }
            try await pause(0...300)
        }
    }

    /// A process that is stopped inside of a transaction keeps SQLite's lock.
    private func noteBusy(_ error: StoreError) throws {
        let url = folder.appending(path: "busy-\(getpid())")
        let earlier = (try? Data(contentsOf: url)) ?? Data()
        try (earlier + Data("\(milliseconds()) \(error)\n".utf8)).write(to: url)
    }

    // MARK: Changing

    private func change() async throws {
        var journal = try Journal(number, in: folder)
        try await resolveLast(of: &journal)
        let prefix = "book-\(number)-"
        var own = try await store.privateDatabase.find(Query<Book>()).map(\.recordName).filter { $0.hasPrefix(prefix) }
        while true {
            try await pause(5...60)
            let change = nextChange(journal.next, prefix, own)
            try journal.begin(change)
            do {
                try await make(change)
                try journal.end(.done)
            } catch let error as StoreError where error.code == .storage {
                try journal.end(.not)
                try noteBusy(error)
                continue
            }
            if change.kind == .add { own.append(change.name) }
            if change.kind == .remove { own.removeAll { $0 == change.name } }
        }
    }

    private func nextChange(_ next: Int, _ prefix: String, _ own: [String]) -> Journal.Change {
        let amount = Int.random(in: 1...9)
        switch (Int.random(in: 0..<10), own.randomElement()) {
        case (0..<3, let name?) where own.count >= 5:
            return Journal.Change(number: next, kind: own.count > 40 ? .remove : .edit, name: name)
        case (3, let name?): return Journal.Change(number: next, kind: .remove, name: name)
        case (0..<6, _): return Journal.Change(number: next, kind: .add, name: "\(prefix)\(next)")
        case (6..<9, _):
            let name = Self.tallies.randomElement() ?? ""
            return Journal.Change(number: next, kind: .count, name: name, amount: amount)
        default: return Journal.Change(number: next, kind: .pair, name: "pair-\(number)", amount: amount)
        }
    }

    private func make(_ change: Journal.Change) async throws {
        let books = store.privateDatabase
        switch change.kind {
        case .add: try await books.add(Book(title: change.title), named: change.name)
        case .edit: try await books.update(Book.self, named: change.name) { $0.title = change.title }
        case .remove: try await books.remove(Book.self, named: change.name)
        case .count: try await books.increment(\.loans, of: Book.self, named: change.name, by: change.amount)
        case .pair:
            try await books.write { writer in
                for name in Self.pair(change.name) {
                    try writer.update(Book.self, named: name) { $0.loans += change.amount }
                }
            }
        }
    }

    /// Finds out whether the change was committed that an earlier process had begun.
    private func resolveLast(of journal: inout Journal) async throws {
        guard let last = journal.changes.last, last.outcome == nil else { return }
        let found = try await store.privateDatabase.read {
            try $0.fetchIfPresent(Book.self, named: last.change.name)?.model
        }
        switch last.change.kind {
        case .add: try journal.end(found != nil ? .done : .not)
        case .edit: try journal.end(found?.title == last.change.title ? .done : .not)
        case .remove: try journal.end(found == nil ? .done : .not)
        case .count, .pair: try journal.end(.unclear)
        }
    }
}

/// A service that notes each request for the private database, with the epoch of the lease, before it is sent.
private final class NotingService: SyncService {
    let lease = Mutex<FileLease?>(nil)
    private let service: CloudKitService
    private let file: FileHandle

    init(_ service: CloudKitService, in folder: URL) throws {
        self.service = service
        let url = folder.appending(path: "requests-\(getpid())")
        try Data().write(to: url)
        file = try FileHandle(forWritingTo: url)
    }

    var session: UInt64 { service.session }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        try await response(to: request, in: scope).result.get()
    }

    func response(to request: SyncRequest, in scope: DatabaseScope) async throws -> SyncResponse {
        if scope == .private {
            let epoch = lease.withLock { $0?.heldEpoch?.rawValue } ?? -1
            let sent = SentRequest(time: milliseconds(), process: getpid(), epoch: epoch, isWrite: request.isWrite)
            try file.write(contentsOf: Data(sent.line.utf8))
        }
        return try await service.response(to: request, in: scope)
    }
}
