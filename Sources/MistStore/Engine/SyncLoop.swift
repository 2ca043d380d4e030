import Logging
import MistKit
import Synchronization
import Tracing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The asynchronous loop around the engines: it sends their requests and passes the replies to them.
final class SyncLoop: Sendable {
    private let engines: [SyncEngine]
    private let service: any SyncService
    private let logger: Logger
    private let tracer: (any Tracer)?
    private let clock: @Sendable () -> Date
    /// The cycle under way, which later calls join.
    private let running = Mutex<Task<SyncSummary, any Error>?>(nil)

    init(
        engines: [SyncEngine],
        service: any SyncService,
        logger: Logger,
        tracer: (any Tracer)?,
        clock: @escaping @Sendable () -> Date
    ) throws {
        self.engines = engines
        self.service = service
        self.logger = logger
        self.tracer = tracer
        self.clock = clock
        for engine in engines { try engine.start(at: clock().milliseconds) }
    }

    /// Runs one cycle over all scopes, one after the other, or joins the cycle under way.
    ///
    /// - Parameter isAutomatic: Whether the store's own loop asks, and not the program.
    /// - Returns: The counts of the cycle.
    /// - Throws: A ``StoreError`` when the file fails; `CancellationError` when a task that waits for the cycle was
    ///   cancelled.
    func sync(isAutomatic: Bool = false) async throws -> SyncSummary {
        let task = running.withLock { running in
            if let running { return running }
            let task = Task { [self] in
                defer { self.running.withLock { $0 = nil } }
                return try await cycle(isAutomatic: isAutomatic)
            }
            running = task
            return task
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func cycle(isAutomatic: Bool) async throws -> SyncSummary {
        var summary = SyncSummary()
        for engine in engines {
            let observer = SyncObserver(scope: engine.scope, logger: logger, tracer: tracer)
            let cycle = try await observer.cycle { try await run(engine, isAutomatic: isAutomatic, observer) }
            summary += cycle.summary
            summary.scopes[engine.scope] = try engine.scopeSummary(of: cycle, at: clock().milliseconds)
        }
        return summary
    }

    /// Sends until there is nothing left to do now.
    private func run(_ engine: SyncEngine, isAutomatic: Bool, _ observer: SyncObserver) async throws -> SyncCycle {
        let offset = try engine.clockOffset()
        try engine.requestPull(at: clock().milliseconds, isAutomatic: isAutomatic)
        let service = service
        return try await withThrowingTaskGroup(of: SyncResponse.self) { group in
            defer { group.cancelAll() }
            var cycle = SyncCycle()
            /// The request that a task of the group has sent already.
            var ahead: SyncRequest?
            while true {
                try Task.checkCancellation()
                let step = try engine.next(at: clock().milliseconds)
                guard case .send(let request, let number) = step else {
                    cycle.end = step
                    cycle.condition = try engine.condition()
                    cycle.correction = try engine.clockOffset() - offset
                    return cycle
                }
                cycle.requests += 1
                let isAhead = ahead == request
                if !isAhead {
                    // Requests of a scope are sent one after the other, so the loop waits even for a reply that it does
                    // not use.
                    if ahead != nil { _ = try await group.next() }
                    group.addTask { try await observer.send(request, over: service) }
                }
                guard let response = try await group.next() else { return cycle }
                ahead = PageAhead.request(after: request, response.result)
                if let ahead { group.addTask { try await observer.send(ahead, over: service) } }
                cycle.summary += try engine.handle(
                    response.result,
                    to: number,
                    at: clock().milliseconds,
                    // The engine does not know when a request that was sent ahead was sent.
                    date: isAhead ? nil : response.date?.milliseconds
                )
            }
        }
    }
}
