import CloudKitModel
import GRDB
import MistKit

extension MistStore {
    /// Whether the service's pushes wake ``run()``: the value that ``setSynchronisesAutomatically(_:)`` set last.
    ///
    /// - Throws: A ``StoreError`` about the file.
    public var synchronisesAutomatically: Bool {
        get async throws { try await subscriptions().isEmpty == false }
    }

    /// Lets the service's pushes wake ``run()``, or ends that.
    ///
    /// ```swift
    /// try await store.setSynchronisesAutomatically(true)
    /// // POST …/private/subscriptions/modify  {"operations":[{"operationType":"create","subscription":{…}}]}
    /// // POST …/public/subscriptions/modify   a subscription for each query that the store follows
    /// try await store.run()
    /// // POST …/tokens/create, …/tokens/register, then a request to the courier that waits for the next push
    /// ```
    ///
    /// Subscriptions are saved at the service, or deleted there. The value changes only if all of that worked; it is in
    /// the file. Call it again after the store has begun to follow another public query.
    ///
    /// While ``run()`` works, a change elsewhere arrives with its push, a change of this machine is sent at once, and
    /// the store looks for changes on its own only each ``StoreConfiguration/longestSyncInterval``. Without a connection
    /// to the courier it looks as often as without pushes.
    ///
    /// Each copy of the store has subscriptions of its own, `MistStore.` and its number, so that switching one off does
    /// not switch off others. The private database gets a subscription to the database. Where the service refuses it,
    /// as no page of Apple says that web services accept it, each zone gets one.
    ///
    /// - Parameter isOn: Whether pushes wake the store.
    /// - Throws: The `CloudKitError` of the service, and then nothing has changed; a ``StoreError``: `noService` where the
    ///   store has no service, or one that is no ``NotifyingService``; or a code about the file.
    public func setSynchronisesAutomatically(_ isOn: Bool) async throws {
        guard let service = service as? any NotifyingService else {
            throw StoreError(
                .noService,
                "The store's service has no pushes. Give the store a CloudKitService, or another NotifyingService."
            )
        }
        let former = try await subscriptions()
        guard isOn else {
            for (scope, names) in former { try await service.deleteSubscriptions(names, about: scope) }
            return try await note([:])
        }
        var saved: [DatabaseScope: [String]] = [:]
        do {
            for scope in [DatabaseScope.private, .public] {
                saved[scope] = try await subscribe(to: scope, service)
            }
        } catch {
            // None of them is noted, so none may stay.
            for (scope, names) in saved { try? await service.deleteSubscriptions(names, about: scope) }
            throw error
        }
        try await note(saved)
        for (scope, names) in former {
            let unused = names.filter { saved[scope]?.contains($0) != true }
            if !unused.isEmpty { try await service.deleteSubscriptions(unused, about: scope) }
        }
    }

    /// The subscriptions of the store, by database.
    func subscriptions() async throws -> [DatabaseScope: [String]] {
        try await privateDatabase.read { reader in try PushSubscriptions(db: reader.db).all() }
    }

    private func note(_ names: [DatabaseScope: [String]]) async throws {
        try await privateDatabase.write { writer in try PushSubscriptions(db: writer.db).replace(with: names) }
    }

    /// Saves the subscriptions of a database.
    ///
    /// - Returns: Their names.
    private func subscribe(to scope: DatabaseScope, _ service: any NotifyingService) async throws -> [String] {
        let (device, wanted) = try await wanted(in: scope)
        let prefix = "\(PushWake.prefix)\(String(device, radix: 36)).\(scope.rawValue)"
        func save(_ subscriptions: [Subscription]) async throws -> [String] {
            guard !subscriptions.isEmpty else { return [] }
            try await service.save(subscriptions, toNotifyAbout: scope)
            return subscriptions.compactMap(\.subscriptionID)
        }
        switch wanted {
        case .queries(let queries):
            return try await save(
                queries.enumerated().map { index, query in
                    var query = query
                    query.sorts = []
                    return Subscription(
                        subscriptionID: "\(prefix).\(index)",
                        subscriptionType: .query,
                        query: query,
                        firesOn: [.create, .update, .delete]
                    )
                }
            )
        case .zones(let zones):
            do {
                return try await save([.toDatabase(prefix)])
            } catch let error as CloudKitError where error.code == .badRequest && !zones.isEmpty {
                return try await save(zones.map { Subscription("\(prefix).\($0.zoneName)", toZone: $0) })
            }
        }
    }

    private enum Wanted: Sendable {
        case queries([RecordQuery])
        case zones([ZoneID])
    }

    /// The number of this copy of the store, and what it wants to hear of in a database.
    private func wanted(in scope: DatabaseScope) async throws -> (device: Int64, Wanted) {
        let database = database(of: scope)
        return try await database.read { reader in
            let device = try FileState(reader.db).device
            guard scope == .public else {
                return (device, .zones(try Zones(scope: scope, db: reader.db).withFeed().map(\.zoneID)))
            }
            return (device, .queries(try FollowedQueries(db: reader.db).queries()))
        }
    }
}

/// What a push of the service wakes: a pure decision.
enum PushWake: Equatable {
    /// The names of all subscriptions of stores begin with it.
    static let prefix = "MistStore."

    /// Nothing: the push is for another copy of the store.
    case nothing
    /// A database; with zones, only these.
    case scope(DatabaseScope, Set<ZoneID>)
    /// All databases, since the push does not say which.
    case all

    /// Decides what a push wakes.
    ///
    /// - Parameters:
    ///   - notification: The push.
    ///   - subscriptions: The subscriptions of this copy of the store.
    init(_ notification: CloudKitNotification, of subscriptions: [DatabaseScope: [String]]) {
        let zones: Set<ZoneID> =
            switch notification.change {
            case .record(let change): [change.zoneID]
            case .zone(let zone): [zone]
            case .database(let zone): zone.map { [$0] } ?? []
            case .other: []
            }
        let name = notification.subscriptionID ?? ""
        // The name of the subscription is reliable, the number of the database is not.
        if let own = subscriptions.first(where: { $0.value.contains(name) }) {
            self = .scope(own.key, own.key == .public ? [] : zones)
        } else if name.hasPrefix(Self.prefix) {
            self = .nothing
        } else {
            self = .all
        }
    }
}
