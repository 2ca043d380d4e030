import Foundation
import MistKit
import Synchronization

/// The time between two requests of a command that waits for changes: it doubles while nothing changes.
struct PollingInterval: Hashable {
    /// The time after a change.
    let shortest: Duration
    private(set) var current: Duration

    init(shortest: Duration) {
        self.shortest = shortest
        current = shortest
    }

    /// The time after many requests without a change, and while pushes wake the command.
    var longest: Duration { shortest * 12 }

    mutating func update(isChanged: Bool) {
        current = isChanged ? shortest : min(current * 2, longest)
    }
}

/// Follows the changes of a database or a zone from now on.
struct ChangeWatcher: Sendable {
    private let service: CloudKitService
    private let database: CloudKitDatabase
    private let zone: ZoneID?
    private var output: WatchOutput
    private var databaseToken: DatabaseChangeToken?
    private var tokens: [ZoneID: ZoneChangeToken] = [:]

    init(_ service: CloudKitService, _ scope: DatabaseScope, zone: ZoneID?, output: WatchOutput) {
        self.service = service
        database = service.database(scope)
        self.zone = zone
        self.output = output
    }

    /// Prints changes until the task is cancelled, or the output has reached its limit.
    mutating func run(interval: Duration, usesPushes: Bool) async throws {
        let signal = WakeSignal()
        let pushes = usesPushes ? await PushListener(service, database, waking: signal) : nil
        do {
            try await follow(interval, pushes, signal)
        } catch {
            await pushes?.end()
            throw error
        }
        await pushes?.end()
    }

    private mutating func follow(_ interval: Duration, _ pushes: PushListener?, _ signal: WakeSignal) async throws {
        try await begin()
        let subject =
            zone.map { "the zone \($0)" }
            ?? "\(String.counting(tokens.count, "zone")) of the \(database.scope.rawValue) database"
        Terminal.writeError("Watching \(subject); Ctrl-C ends it.")
        var wait = PollingInterval(shortest: interval)
        while true {
            do {
                wait.update(isChanged: try await look())
            } catch let error as CloudKitError where error.code == .changeTokenExpired {
                Terminal.writeHint("The service forgot some of the history: changes may be missing here.")
                try await begin()
            }
            if output.isFull { return }
            try await signal.wait(atMost: pushes?.isListening == true ? wait.longest : wait.current)
        }
    }

    /// Fetches the tokens of the current state, without printing changes.
    private mutating func begin() async throws {
        tokens = [:]
        databaseToken = nil
        if let zone {
            try await begin(database.fetchZone(zone), as: zone)
            return
        }
        for try await page in database.changes() {
            if let failure = page.failures.first { throw failure }
            for zone in page.changedZones { try await begin(zone, as: zone.zoneID.inRequests(to: database.scope)) }
            databaseToken = page.token
        }
    }

    private mutating func begin(_ zone: Zone, as key: ZoneID) async throws {
        if let token = zone.syncToken.flatMap({ ZoneChangeToken($0) }) {
            tokens[key] = token
            return
        }
        for try await page in database.changes(inZone: key, desiredKeys: []) { tokens[key] = page.token }
    }

    /// Prints the changes since the last look.
    ///
    /// - Returns: Whether there were changes.
    private mutating func look() async throws -> Bool {
        if let zone { return try await look(into: [zone]) }
        var changed: [ZoneID] = []
        var isChanged = false
        for try await page in database.changes(since: databaseToken) {
            if let failure = page.failures.first { throw failure }
            for zone in page.deletedZones {
                let key = zone.inRequests(to: database.scope)
                try output.print(.zoneDeleted(key), in: key)
                tokens[key] = nil
                isChanged = true
            }
            for zone in page.changedZones where zone.zoneID.zoneName != ZoneID.default.zoneName {
                let key = zone.zoneID.inRequests(to: database.scope)
                if tokens[key] == nil || tokens[key]?.text != zone.syncToken { changed.append(key) }
            }
            databaseToken = page.token
        }
        guard !changed.isEmpty, !output.isFull else { return isChanged }
        return try await look(into: changed) || isChanged
    }

    private mutating func look(into zones: [ZoneID]) async throws -> Bool {
        var isChanged = false
        for try await page in database.changes(inZones: zones, since: tokens) {
            for result in page.results {
                switch result.result {
                case .success(let changes):
                    if let failure = changes.failures.first { throw failure }
                    for record in changes.changedRecords + changes.deletedRecords {
                        try output.print(WatchedChange(record), in: result.zoneID)
                        isChanged = true
                    }
                    tokens[result.zoneID] = changes.token
                // The next look gets the deletion of the zone.
                case .failure(let error) where error.code == .zoneNotFound && zone == nil: break
                case .failure(let error): throw error
                }
            }
            if output.isFull { break }
        }
        return isChanged
    }
}

/// Wakes the watcher after a push, or at the end of a wait. Several wakes while it works count as one.
private final class WakeSignal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func wake() { continuation.yield() }

    /// Waits for a wake.
    ///
    /// - Parameter time: The longest wait.
    /// - Throws: `CancellationError`.
    func wait(atMost time: Duration) async throws {
        let timer = Task {
            try await Task.sleep(for: time)
            wake()
        }
        for await _ in stream { break }
        timer.cancel()
        try Task.checkCancellation()
    }
}

/// Wakes the watcher when the service pushes a change of the database.
private final class PushListener: Sendable {
    private static let subscriptionID = "mistkit-watch"

    private let database: CloudKitDatabase
    private let listening: Mutex<Task<Void, Never>?>

    /// Subscribes to the database.
    ///
    /// - Returns: `nil` where the service does not push. A note says why.
    init?(_ service: CloudKitService, _ database: CloudKitDatabase, waking signal: WakeSignal) async {
        self.database = database
        listening = Mutex(nil)
        do {
            let token = try await service.createDeviceToken()
            try await service.registerDeviceToken(token)
            try await database.save(Subscription.toDatabase(Self.subscriptionID))
            listening.withLock { listening in
                listening = Task { [weak self] in
                    do {
                        for try await _ in service.notifications(of: token) { signal.wake() }
                    } catch {
                        if !Task.isCancelled { Self.writeHint(error) }
                    }
                    self?.listening.withLock { $0 = nil }
                    signal.wake()
                }
            }
        } catch {
            if !Task.isCancelled { Self.writeHint(error) }
            return nil
        }
    }

    private static func writeHint(_ error: any Error) {
        let reason = (error as? CloudKitError).map { CommandError($0).statement(in: .plain) } ?? "\(error)"
        Terminal.writeHint("Without pushes, the service is asked from time to time: \(reason)")
    }

    /// Whether pushes still arrive.
    var isListening: Bool { listening.withLock { $0 != nil } }

    /// Ends the wait for pushes, and removes the subscription.
    func end() async {
        listening.withLock { $0 }?.cancel()
        // The watcher's own task may be cancelled, and with it its requests.
        let removal = Task { [database] in try? await database.deleteSubscription(Self.subscriptionID) }
        await removal.value
    }
}
