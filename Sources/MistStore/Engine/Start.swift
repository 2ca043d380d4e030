import MistKit
import SQLiteTables

/// Begins after an opening of the file, and begins synchronisations.
struct Start: EngineProcedure {
    let transaction: EngineTransaction

    /// Begins after an opening of the file. Another process may have a request under way, which is left alone.
    func open() throws {
        try changes.adoptForeign()
        // The schema of the service, or the program, may have changed.
        try recordTypes.retryParked()
        try parking.checkValuesAgain()
    }

    /// Asks for changes. Waits of the store's own choice end; the times that the service named hold. Only a program
    /// asks at once for what the service could not deliver, and for followed queries that are not due yet.
    func requestPull(by asker: SyncEngine.Asker) throws {
        try ForeignTriggers.check(db)
        // The zones of a request are those that were due when it was sent.
        try abandonRequest()
        if asker == .program {
            try zones.endRests(at: now)
            try undelivered.endRests(at: now)
            try parking.checkValuesAgain()
            try transfers.retryAll()
        }
        try transfers.removeOrphans()
        try markStale(by: asker)
        try scopeState.beginProgress()
        if scope == .public {
            try beginFollowing(by: asker)
            try UserRecord(transaction: transaction).beginLookup(by: asker)
        }
        try recovery.trim(
            before: now - Int64(configuration.recoveryDays) * 24 * 60 * 60 * 1000,
            toBytes: configuration.recoveryBytes
        )
        try deleteCounts.trim(at: now)
        for table in file.orderedTables {
            try pendingEdits.removeOrphans(of: table)
            try unreadableRows.removeOrphans(of: table)
            try inheritedCounts.removeOrphans(of: table)
            try carriedCounts.removeOrphans(of: table)
        }
        try ZoneAssignment(file: file, scope: scope, db: db).removeUnused()
    }

    /// Asks for the list of changed zones; after a push about known zones, for their changes alone.
    private func markStale(by asker: SyncEngine.Asker) throws {
        guard case .push(let changed) = asker, !changed.isEmpty, scope != .public, try scopeState.row().isListed else {
            return try scopeState.markStale()
        }
        let unknown = try changed.filter { try !zones.markStale(named: $0.zoneName) }
        if !unknown.isEmpty { try scopeState.markStale() }
    }

    private func beginFollowing(by asker: SyncEngine.Asker) throws {
        let longest = PollInterval.next(afterIdle: .max, from: configuration.pollInterval, doublings: 5)
        let time: MachineTime? =
            switch asker {
            case .program, .push: nil
            case .loop, .interval: now
            }
        if try followedQueries.beginPasses(dueAt: time, longest: longest) {
            try scopeState.forgetMissingSchema()
        }
    }
}
