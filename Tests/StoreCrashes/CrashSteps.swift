import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistStore
import Synchronization

/// Counts the steps of the process: before and after each commit, and before and after each request. The process dies
/// at a chosen step.
final class CrashSteps: TransactionObserver, Sendable {
    private let deadly: Int
    private let number = Mutex(0)

    /// - Parameter step: The step at which the process dies, from 1; 0 for none.
    init(dyingAt step: Int) {
        deadly = step
    }

    /// The number of steps so far.
    var count: Int { number.withLock { $0 } }

    func pass() {
        let isDeadly = number.withLock { number in
            number += 1
            return number == deadly
        }
        guard isDeadly else { return }
        kill(getpid(), SIGKILL)
        // The signal ends the process before anything else happens.
        while true { pause() }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { pass() }
    func databaseDidCommit(_ db: Database) { pass() }
    func databaseDidRollback(_ db: Database) {}
}

/// The service of a device. It can fail once in a synchronisation, and the process may die before or after each
/// request.
final class FailingService: SyncService {
    private let steps: CrashSteps?
    private let plan = Mutex(Plan())
    private let state: Mutex<(service: any SyncService, session: UInt64)>

    private struct Plan {
        var failure: CrashScenario.ServiceFailure?
        var meanwhile: (@Sendable () throws -> Void)?
    }

    init(_ service: any SyncService, steps: CrashSteps?) {
        state = Mutex((service, 0))
        self.steps = steps
    }

    private var service: any SyncService { state.withLock { $0.service } }

    /// Changes with each session.
    var session: UInt64 { state.withLock { $0.session } }

    /// Begins another session.
    func begin(_ service: any SyncService) {
        state.withLock { $0 = (service, $0.session + 1) }
    }

    /// Begins a synchronisation.
    func begin(_ failure: CrashScenario.ServiceFailure?, meanwhile: (@Sendable () throws -> Void)?) {
        plan.withLock { $0 = Plan(failure: failure, meanwhile: meanwhile) }
    }

    /// Makes the edits that belong between a push and its response, once.
    ///
    /// - Returns: Whether the edits were made by this call.
    @discardableResult
    func editMeanwhile() throws -> Bool {
        let meanwhile = plan.withLock { plan in
            defer { plan.meanwhile = nil }
            return plan.meanwhile
        }
        try meanwhile?()
        return meanwhile != nil
    }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        steps?.pass()
        defer { steps?.pass() }
        guard case .modify(let operations, let zone, let isAtomic) = request else {
            if case .zoneChanges(let cursors) = request, cursors.contains(where: { $0.token != nil }),
                take(where: { if case .expiredToken = $0 { true } else { false } }) != nil
            {
                let error = CloudKitError(ErrorResponse(serverErrorCode: "CHANGE_TOKEN_EXPIRED"))
                return .zoneChanges(cursors.map { _ in .failure(error) })
            }
            return try await service.send(request, to: scope)
        }
        switch take(where: { if case .expiredToken = $0 { false } else { true } }) {
        case .refusal(let code)?:
            throw CloudKitError(ErrorResponse(serverErrorCode: code, retryAfter: 1))
        case .lostReply?:
            _ = try await service.send(request, to: scope)
            var error = CloudKitError(code: .network, message: "The connection broke.")
            error.mayHaveBeenDone = true
            throw error
        case .refusedRecord(let name)?:
            let index = operations.firstIndex { $0.record.recordName == name }
            guard let index else { return try await service.send(request, to: scope) }
            var others = operations
            others.remove(at: index)
            var results: [Result<CloudKitModel.Record, CloudKitError>] = []
            if !others.isEmpty,
                case .records(let records) = try await service.send(
                    .modify(others, zone: zone, isAtomic: isAtomic),
                    to: scope
                )
            {
                results = records
            }
            let error = CloudKitError(
                ErrorResponse(serverErrorCode: .badRequest, reason: "refused"),
                item: .record(name: name)
            )
            results.insert(.failure(error), at: index)
            return .records(results)
        case .expiredToken?, nil:
            let reply = try await service.send(request, to: scope)
            try editMeanwhile()
            return reply
        }
    }

    func upload(
        _ upload: AssetUpload,
        inZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws -> Asset {
        steps?.pass()
        defer { steps?.pass() }
        return try await service.upload(upload, inZone: zone, of: scope, ofSession: session, progress: progress)
    }

    func rereference(_ field: AssetField, forZone zone: ZoneID, of scope: DatabaseScope, ofSession session: UInt64)
        async throws -> Asset
    {
        steps?.pass()
        defer { steps?.pass() }
        return try await service.rereference(field, forZone: zone, of: scope, ofSession: session)
    }

    func download(
        _ field: AssetField,
        to file: URL,
        from scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws {
        steps?.pass()
        defer { steps?.pass() }
        try await service.download(field, to: file, from: scope, ofSession: session, progress: progress)
    }

    /// The failure of this synchronisation, once.
    private func take(where isMeant: (CrashScenario.ServiceFailure) -> Bool) -> CrashScenario.ServiceFailure? {
        plan.withLock { plan in
            guard let failure = plan.failure, isMeant(failure) else { return nil }
            plan.failure = nil
            return failure
        }
    }
}
