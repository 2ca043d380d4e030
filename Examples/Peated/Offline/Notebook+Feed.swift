import Foundation
import GRDB
import MistMutationQueue
import Peated

/// A line of a feed, as it is shown.
public enum FeedEntry: Hashable, Sendable {
    /// A tasting, with what the user has chosen on this machine.
    case tasting(ShownTasting)
    /// Tastings that this machine may not have.
    case gap(cursor: String)
}

/// A tasting, as it is shown.
public struct ShownTasting: Hashable, Sendable {
    /// The tasting as it will be.
    public var tasting: Tasting
    /// What the queue does about it.
    public var sending: Sending
    /// The file with its picture; `nil` for none, or for one that is not on this machine.
    public var picture: URL?

    /// What the queue does about a tasting or a toast.
    public enum Sending: Hashable, Sendable {
        /// The service has it.
        case done
        /// It waits, with the reason, if there is one.
        case waiting(String?)
        /// It is being sent.
        case underWay
        /// It was refused, or its attempts are used up.
        case failed(String)

        init(_ mutation: QueuedMutation<PeatedMutation>) {
            switch mutation.state {
            case .waiting: self = .waiting(mutation.lastError)
            case .sending: self = .underWay
            case .failed, .unreadable: self = .failed(mutation.lastError ?? "No reason is known.")
            }
        }
    }
}

extension Notebook {
    /// A feed as it is on this machine, the newest first. What was written here is at the top until the feed has it.
    public func feed(_ filter: FeedFilter) async throws -> [FeedEntry] {
        try await database.read { [self] db in
            let (feeds, own) = (FeedRows(db: db), OwnRows(db: db))
            var entries: [FeedEntry] = []
            for row in try own.tastings(missingIn: filter) {
                let known = try row.service.flatMap { try feeds.tasting($0) }
                entries.append(.tasting(try shown(known ?? row.tasting, row, db)))
            }
            for (item, tasting) in try feeds.contents(filter) {
                switch item {
                case .gap(let cursor): entries.append(.gap(cursor: cursor))
                case .tasting(let id):
                    guard let tasting else { continue }
                    entries.append(.tasting(try shown(tasting, try own.tasting(id), db)))
                }
            }
            return entries
        }
    }

    /// A tasting on this machine, by one of its identifiers; `nil` for none.
    public func tasting(_ id: String) async throws -> ShownTasting? {
        try await database.read { [self] db in try tasting(id, db) }
    }

    func tasting(_ id: String, _ db: Database) throws -> ShownTasting? {
        let own = try OwnRows(db: db).tasting(id)
        let known = try FeedRows(db: db).tasting(own?.service ?? id)
        return try (known ?? own?.tasting).map { try shown($0, own, db) }
    }

    private func shown(_ tasting: Tasting, _ own: OwnRows.Row?, _ db: Database) throws -> ShownTasting {
        var sending = ShownTasting.Sending.done
        for mutation in try queue.mutations(of: tasting.id, db) {
            let state = ShownTasting.Sending(mutation)
            // A failure is more important than what waits behind it.
            if case .failed = sending { continue }
            if case .failed = state { sending = state } else if sending == .done { sending = state }
        }
        let rows = PictureRows(db: db)
        if let digest = own?.picture, own?.service == nil,
            let upload = try queue.mutations(of: PeatedMutation.upload(digest: digest).entity, db).last
        {
            let state = ShownTasting.Sending(upload)
            if case .failed(let reason) = state { sending = .failed("Its picture: \(reason)") }
        }
        let digest = try own?.picture ?? tasting.imageId.flatMap { try rows.digest(of: $0) }
        let file = try digest.flatMap { try rows.contains($0) ? pictures.file($0) : nil }
        return ShownTasting(
            tasting: tasting.withToast(try OwnRows(db: db).toast(on: tasting.id)),
            sending: sending,
            picture: file
        )
    }

    /// The tastings and gaps of a feed.
    public func list(_ filter: FeedFilter) async throws -> FeedList {
        try await database.read { db in try FeedRows(db: db).list(filter) }
    }

    // MARK: Fetching

    /// Fetches the first page, and further ones until they meet what this machine has.
    ///
    /// - Parameters:
    ///   - filter: The feed.
    ///   - pageSize: The most tastings of a page.
    ///   - pageLimit: The most pages. What is then missing is a gap, which ``fill(_:of:pageSize:)`` fetches.
    /// - Returns: The number of tastings that are new here.
    /// - Throws: A `PeatedError`. The pages that had arrived are kept.
    @discardableResult
    public func refresh(_ filter: FeedFilter, pageSize: Int = 20, pageLimit: Int = 1) async throws -> Int {
        var count = try await add(filter, at: .top, pageSize)
        for _ in 1..<max(pageLimit, 1) {
            guard let gap = try await list(filter).firstInnerGap else { break }
            count += try await add(filter, at: .gap(gap), pageSize)
        }
        return count
    }

    /// Fetches the page at a gap.
    ///
    /// - Parameters:
    ///   - cursor: The cursor of the gap.
    ///   - filter: The feed.
    ///   - pageSize: The most tastings of the page.
    /// - Returns: The number of tastings that are new here.
    /// - Throws: A `PeatedError`, and nothing has changed.
    @discardableResult
    public func fill(_ cursor: String, of filter: FeedFilter, pageSize: Int = 20) async throws -> Int {
        try await add(filter, at: .gap(cursor), pageSize)
    }

    private func add(_ filter: FeedFilter, at position: FeedList.Position, _ pageSize: Int) async throws -> Int {
        let client = client
        var cursor: String?
        if case .gap(let gap) = position { cursor = gap }
        let sent = try await database.read { db in position == .top ? try OwnRows(db: db).sent() : [] }
        let page = try await asking { [cursor] () async throws(PeatedError) in
            try await client.feedPage(filter, after: cursor, size: pageSize)
        }
        return try await database.write { [queue] db in
            // There is a connection again.
            try queue.resume(.offline, in: db)
            let count = try FeedRows(db: db).add(page, to: filter, at: position)
            try OwnRows(db: db).noteFetched(sent, in: filter)
            return count
        }
    }

    // MARK: Pictures

    /// Fetches the picture of a tasting, unless it is on this machine.
    ///
    /// - Returns: The file; `nil` for a tasting without a picture.
    public func picture(of tasting: ShownTasting) async throws -> URL? {
        if let file = tasting.picture, FileManager.default.fileExists(atPath: file.path) { return file }
        guard let image = tasting.tasting.imageId else { return nil }
        let known = try await database.read { db in try PictureRows(db: db).digest(of: image) }
        if let known, FileManager.default.fileExists(atPath: pictures.file(known).path) { return pictures.file(known) }
        let client = client
        let bytes = try await asking { () async throws(PeatedError) in try await client.image(image) }
        let kept = try pictures.keep(bytes)
        try await database.write { [self] db in
            try PictureRows(db: db).add(kept.digest, size: kept.size)
            try PictureRows(db: db).name(kept.digest, image)
            try limitPictures(db)
        }
        return pictures.file(kept.digest)
    }

    /// Removes the oldest pictures, so that the rest fits the limit.
    func limitPictures(_ db: Database) throws {
        let rows = PictureRows(db: db)
        let removed = KeptPicture.removed(try rows.all(), limit: pictures.limit)
        for digest in removed { try rows.remove(digest) }
        guard !removed.isEmpty else { return }
        let (pictures, removedSet) = (pictures, Set(removed))
        // A file goes after its row: a picture that is named is there.
        db.afterNextTransaction { _ in
            for digest in removedSet { try? FileManager.default.removeItem(at: pictures.file(digest)) }
        }
    }
}
