import Foundation
import Synchronization

/// A cache of values that are expensive to load. Each value is kept for some time, and loaded once for all callers that
/// ask for it meanwhile.
///
/// ```swift
/// let cache = PageCache<String, Page>(
///     lifetime: 60,
///     staleLifetime: 3600,
///     capacity: 1000,
///     now: { Date() },
///     pause: { _ in 10 }
/// )
/// let page = try await cache.value(for: "feeds") { try await loadPage() }.value
/// ```
///
/// A failure is passed to all callers that wait for it. If it says how long to wait, it is kept for that time, and the
/// service is not asked before. For some time, a value that is no longer fresh is returned instead of a failure.
final class PageCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A value with its age.
    struct Copy {
        var value: Value
        /// When the value was loaded.
        var loadedAt: Date
        /// How many seconds the value stays fresh. Zero or negative for a stale value, which is returned because it
        /// could not be loaded again.
        var freshFor: TimeInterval
    }

    private struct Entry {
        var loaded: (value: Value, at: Date)?
        var failure: (error: any Error, until: Date)?
        var load: Task<Value, any Error>?
        var lastUse = 0
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var uses = 0

        mutating func use(_ key: Key) {
            uses += 1
            entries[key]?.lastUse = uses
        }

        mutating func makeRoom(_ capacity: Int) {
            while entries.count > capacity {
                let idle = entries.filter { $0.value.load == nil }
                guard let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
                entries[oldest.key] = nil
            }
        }
    }

    private let lifetime: TimeInterval
    private let staleLifetime: TimeInterval
    private let capacity: Int
    private let now: @Sendable () -> Date
    private let pause: @Sendable (any Error) -> TimeInterval?
    private let state = Mutex(State())

    /// Creates a cache.
    ///
    ///   - lifetime: The number of seconds that a value is fresh.
    ///   - staleLifetime: The number of seconds after that during which the value may be used if it cannot be loaded
    ///     again.
    ///   - capacity: The maximum number of values that are kept. The least recently used one is removed first.
    ///   - now: Returns the current time.
    ///   - pause: The number of seconds that an error is kept; `nil` for an error that a stale value does not replace.
    init(
        lifetime: TimeInterval,
        staleLifetime: TimeInterval,
        capacity: Int,
        now: @escaping @Sendable () -> Date,
        pause: @escaping @Sendable (any Error) -> TimeInterval?
    ) {
        self.lifetime = lifetime
        self.staleLifetime = staleLifetime
        self.capacity = max(1, capacity)
        self.now = now
        self.pause = pause
    }

    /// The number of values, loads and failures that are kept.
    var count: Int { state.withLock { $0.entries.count } }

    /// The value for a key: the copy while it is fresh, and otherwise a value that one caller loads for all.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - load: Loads the value. It continues for the other callers when the caller is cancelled.
    /// - Returns: The value, with its age.
    /// - Throws: The error of `load`, from this call or from an earlier one while its pause lasts.
    func value(for key: Key, load: @escaping @Sendable () async throws -> Value) async throws -> Copy {
        let now = now()
        let found: Result<Copy, any Error>? = state.withLock { state in
            state.use(key)
            guard let entry = state.entries[key] else { return nil }
            if let loaded = entry.loaded, now.timeIntervalSince(loaded.at) < lifetime {
                return .success(copy(loaded, at: now))
            }
            if let failure = entry.failure, now < failure.until { return recover(entry, from: failure.error, at: now) }
            return nil
        }
        if let found { return try found.get() }
        let task = state.withLock { state in
            if let load = state.entries[key]?.load { return load }
            let task = Task { try await self.load(key, load) }
            state.entries[key, default: Entry()].load = task
            state.use(key)
            state.makeRoom(capacity)
            return task
        }
        switch await task.result {
        case .success(let value):
            let loaded = state.withLock { $0.entries[key]?.loaded } ?? (value, now)
            return copy(loaded, at: self.now())
        case .failure(let error):
            let entry = state.withLock { $0.entries[key] } ?? Entry()
            return try recover(entry, from: error, at: self.now()).get()
        }
    }

    private func load(_ key: Key, _ load: @Sendable () async throws -> Value) async throws -> Value {
        let result: Result<Value, any Error>
        do {
            result = .success(try await load())
        } catch {
            result = .failure(error)
        }
        let end = now()
        state.withLock { state in
            state.entries[key, default: Entry()].load = nil
            switch result {
            case .success(let value):
                state.entries[key]?.loaded = (value, end)
                state.entries[key]?.failure = nil
            case .failure(let error):
                let seconds = pause(error) ?? 0
                state.entries[key]?.failure = seconds > 0 ? (error, end.addingTimeInterval(seconds)) : nil
                // An entry with neither a value nor a failure is not kept.
                if state.entries[key]?.loaded == nil, seconds <= 0 { state.entries[key] = nil }
            }
        }
        return try result.get()
    }

    private func copy(_ loaded: (value: Value, at: Date), at now: Date) -> Copy {
        Copy(value: loaded.value, loadedAt: loaded.at, freshFor: lifetime - now.timeIntervalSince(loaded.at))
    }

    /// The stale value instead of a failure of the service, while the value is not too old.
    private func recover(_ entry: Entry, from error: any Error, at now: Date) -> Result<Copy, any Error> {
        guard let loaded = entry.loaded, pause(error) != nil,
            now.timeIntervalSince(loaded.at) < lifetime + staleLifetime
        else { return .failure(error) }
        return .success(copy(loaded, at: now))
    }
}
