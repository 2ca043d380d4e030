import GRDB

extension StoreFolder {
    private struct CannotBeJoined: Error {}

    /// Adds the records of no one to those of a user, and withdraws their file.
    ///
    /// The file of the public database names the user before the first copy. Without that, the records would be in both
    /// files after a crash between the copy and the withdrawal, and another user who signs in next would get them, too.
    ///
    /// - Parameters:
    ///   - source: The place of the records of no one.
    ///   - former: Their file.
    ///   - target: The user, and the place of the user's file.
    ///   - file: That file.
    ///   - common: The file of the public database.
    /// - Returns: Whether it was done. Then the caller ends it with ``PendingJoins/end()``. A file with what cannot be
    ///   copied stays.
    /// - Throws: A ``StoreError`` when a file fails. Then the file of no one is as it was.
    func join(
        _ source: UserFile,
        _ former: StoreFile,
        to target: JoinTarget,
        _ file: StoreFile,
        _ common: StoreFile
    ) throws -> Bool {
        var isCopied = false
        try common.wrapping {
            try common.database.write { db in try PendingJoins(db: db).begin(from: source, to: target) }
        }
        do {
            try former.withdraw { db in
                // Another process may have completed it.
                guard try !FileState.isWithdrawn(db), let joined = try JoinedRecords.read(former, db) else {
                    throw CannotBeJoined()
                }
                try joined.add(to: file, of: target.user, configuration)
                isCopied = true
            }
            return true
        } catch {
            // With the copies, the records are those of the user, and the next attempt goes on.
            if !isCopied { try endJoin(common) }
            if error is CannotBeJoined { return false }
            throw error
        }
    }

    private func endJoin(_ common: StoreFile) throws {
        try common.wrapping { try common.database.write { db in try PendingJoins(db: db).end() } }
    }

    private func pendingJoin(_ common: StoreFile) throws -> (source: UserFile, target: JoinTarget)? {
        try common.wrapping { try common.database.read { db in try PendingJoins(db: db).row() } }
    }

    /// The user to whose file records of no one are being added; `nil` where none are.
    func joinTarget(of source: UserFile, _ common: StoreFile) throws -> JoinTarget? {
        let join = try pendingJoin(common)
        return join?.source == source ? join?.target : nil
    }

    /// Completes what a crash has ended between the copy of the records of no one and the withdrawal of their file.
    ///
    /// - Parameters:
    ///   - first: The first file, which is open.
    ///   - common: The file of the public database.
    /// - Returns: The first file: another one, where its records have joined those of a user.
    /// - Throws: A ``StoreError`` when a file fails.
    func completeJoin(_ first: StoreFile, _ common: StoreFile) throws -> StoreFile {
        guard let (source, target) = try pendingJoin(common) else { return first }
        let sourcePath = path(of: source.path)
        var isFirstWithdrawn = false
        if StoreFile.hasContent(atPath: sourcePath), !StoreFile.isWithdrawn(atPath: sourcePath) {
            let former = source == .first ? first : try open(source, isExpected: true)
            let file = target.place == .first ? first : try open(target.place, isExpected: false)
            let isDone = try join(source, former, to: target, file, common)
            isFirstWithdrawn = isDone && source == .first
            if source != .first || isDone { try former.close(because: .accountChanged) }
            if target.place != .first { try file.close(because: .accountChanged) }
        }
        try removeWithdrawn(source)
        try endJoin(common)
        return isFirstWithdrawn ? try open(.first, isExpected: false) : first
    }
}
