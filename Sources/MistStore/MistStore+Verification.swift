import GRDB
import MistKit

extension MistStore {
    /// Compares this device with the service, and repairs the differences if asked to.
    ///
    /// ```swift
    /// let report = try await store.verify()
    /// if !report.isEqual { print(report) }
    /// try await store.verify(.repair)
    /// ```
    ///
    /// First everything is synchronised. Then the service lists the names and change tags of all records, with a request
    /// for each page and without their fields, and they are compared with those that are here. Records that other
    /// devices change meanwhile are compared later; records with pending edits are no differences because of them.
    ///
    /// A repair fetches what is missing or differs, by its name. Nothing of this device is lost: each row that is
    /// replaced or removed is in the recovery log, whole, and ``LocalDatabase/restore(_:)`` brings it back. A record
    /// that this device has and the service does not is looked up before it is removed; with
    /// ``VerificationMode/resync`` it is kept and sent as a new one.
    ///
    /// Of the public database, the followed queries are compared.
    ///
    /// The verification is noted in the files. If the process ends in the middle, or the service cannot be reached, the
    /// next synchronisation goes on with it, and ``verification()`` has the result.
    ///
    /// - Parameters:
    ///   - mode: What is done about differences.
    ///   - depth: What is compared: names and tags, or the values as well.
    ///   - progress: Is called when the progress changes; values in between may be left out.
    /// - Returns: The report.
    /// - Throws: Like ``sync()``. A service that cannot be reached is not an error: ``VerificationReport/unfinished``
    ///   says so.
    @discardableResult
    public func verify(
        _ mode: VerificationMode = .compare,
        comparing depth: VerificationDepth = .versions,
        progress: (@Sendable (VerificationProgress) -> Void)? = nil
    ) async throws -> VerificationReport {
        let loop = try startedLoop()
        for engine in loop.engines { try engine.requestVerification(mode, comparing: depth) }
        let summary = try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            if let progress {
                for database in [publicDatabase, privateDatabase] {
                    group.addTask { try await database.report(progress) }
                }
            }
            return try await sync()
        }
        var report = try verification()
        for scope in report.unfinished.keys { report.unfinished[scope] = .some(summary.scopes[scope]?.condition) }
        return report
    }

    /// The report of the latest verification, or of the one that is under way.
    ///
    /// - Throws: A ``StoreError``: `noService` when the store has no service; or a code about the file.
    public func verification() throws -> VerificationReport {
        var report = VerificationReport()
        for engine in try startedLoop().engines {
            let (isDone, zones) = try engine.verification()
            report.zones += zones
            if !isDone { report.unfinished[engine.scope] = .some(nil) }
        }
        return report
    }
}

extension LocalDatabase {
    /// Passes the progress of the verification on, until the task is cancelled.
    fileprivate func report(_ progress: @Sendable (VerificationProgress) -> Void) async throws {
        let updates = observe(watchesOtherProcesses: true) { [scope] db in
            try Verifications(scope: scope, db: db).progress()
        }
        for try await update in updates where update.zones > 0 { progress(update) }
    }
}
