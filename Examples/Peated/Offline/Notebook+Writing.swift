import Foundation
import GRDB
import MistMutationQueue
import Peated

/// A mistake of the user, which nothing was changed for.
public enum NotebookError: Error, Hashable, Sendable, CustomStringConvertible {
    case noTasting(String)
    case noMutation(String)
    case severalMutations(String)
    case rating(Double)
    case picture(String)
    case alreadyToasted(String)
    case notToasted(String)
    case file(String)

    /// What a person is shown.
    public var description: String {
        switch self {
        case .noTasting(let id): "This machine knows no tasting \(id). Fetch the feed that has it."
        case .noMutation(let id): "Nothing in the queue begins with \(id)."
        case .severalMutations(let id): "Several changes in the queue begin with \(id). Write more of it."
        case .rating(let rating): "A rating is from 0 to 5, and not \(rating)."
        case .picture(let reason): "The picture cannot be read: \(reason)"
        case .alreadyToasted(let id): "You have toasted to \(id) already."
        case .notToasted(let id): "You have not toasted to \(id)."
        case .file(let sentence): sentence
        }
    }
}

extension Notebook {
    /// Writes a tasting. It is in the file, and in the feeds of this machine, when the call returns.
    ///
    /// - Parameters:
    ///   - bottle: The bottle's identifier.
    ///   - rating: From 0 to 5.
    ///   - notes: What was in the glass.
    ///   - picture: A file. It is copied, and uploaded before the tasting.
    /// - Returns: The tasting, with an identifier of this machine.
    /// - Throws: A ``NotebookError``, or an error about the file.
    @discardableResult
    public func taste(
        _ bottle: String,
        rating: Double? = nil,
        notes: String? = nil,
        picture: URL? = nil
    ) async throws -> ShownTasting {
        if let rating, !(0...5).contains(rating) { throw NotebookError.rating(rating) }
        let copy: (digest: String, size: Int64)?
        do {
            copy = try picture.map { try pictures.copy($0) }
        } catch {
            throw NotebookError.picture(error.localizedDescription)
        }
        if let copy, copy.size == 0 { throw NotebookError.picture("The file is empty.") }
        let (id, now) = (settings.makeID(), settings.now())
        return try await database.write { [self] db in
            let tasting = Tasting(
                id: id,
                bottle: try FeedRows(db: db).bottle(bottle) ?? Bottle(id: bottle, name: bottle, brand: "bottle"),
                author: User(id: account.userID, username: account.username),
                notes: notes,
                rating: rating,
                tags: [],
                toasts: 0,
                hasToasted: false,
                createdAt: now
            )
            try OwnRows(db: db).add(tasting, picture: copy?.digest)
            var parents: [MutationID] = []
            if let copy {
                try PictureRows(db: db).add(copy.digest, size: copy.size)
                try limitPictures(db)
                let upload = PeatedMutation.upload(digest: copy.digest)
                // A large picture may need several attempts, each of which goes on where the one before has stopped.
                parents = [try queue.enqueue(upload, entity: upload.entity, attempts: 50, in: db).id]
            }
            let content = PeatedMutation.TastingContent(
                bottle: bottle,
                rating: rating,
                notes: notes,
                createdAt: now,
                picture: copy.map { ProvisionalID(rawValue: $0.digest) }
            )
            let mutation = PeatedMutation.taste(ProvisionalID(rawValue: id), content)
            try queue.enqueue(mutation, entity: mutation.entity, after: parents, in: db)
            guard let shown = try self.tasting(id, db) else { throw NotebookError.noTasting(id) }
            return shown
        }
    }

    /// Toasts to a tasting, or takes the toast back. Both together, before one is sent, are nothing.
    ///
    /// - Parameters:
    ///   - id: The tasting, also one that the service does not have yet.
    ///   - isOn: Whether to toast.
    /// - Returns: The tasting as it will be.
    /// - Throws: A ``NotebookError``, or an error about the file.
    @discardableResult
    public func toast(_ id: String, isOn: Bool = true) async throws -> ShownTasting {
        try await database.write { [self] db in
            guard let shown = try tasting(id, db) else { throw NotebookError.noTasting(id) }
            let id = shown.tasting.id
            guard shown.tasting.hasToasted != isOn else {
                throw isOn ? NotebookError.alreadyToasted(id) : NotebookError.notToasted(id)
            }
            let mutation = PeatedMutation.toast(ProvisionalID(rawValue: id), isOn: isOn)
            // A toast to a tasting that is discarded makes no sense.
            let parents = try queue.mutations(of: id, db).filter { $0.mutation?.isTasting ?? false }.map(\.id)
            let result = try queue.enqueue(mutation, entity: mutation.entity, after: parents, in: db)
            switch result {
            case .annihilated(let earlier): try OwnRows(db: db).removeToast(of: earlier)
            case .added(let mutation), .joined(let mutation):
                try OwnRows(db: db).setToast(isOn, on: id, by: mutation)
            }
            guard let toasted = try tasting(id, db) else { throw NotebookError.noTasting(id) }
            return toasted
        }
    }

    // MARK: The queue

    /// What waits, in the order in which it was written.
    public func mutations() async throws -> [QueuedMutation<PeatedMutation>] {
        try await database.read { [queue] db in
            var all: [QueuedMutation<PeatedMutation>] = []
            while case let page = try queue.mutations(after: all.last?.position, db), !page.isEmpty { all += page }
            return all
        }
    }

    /// Lets changes be sent again that failed, or at once that wait for their time.
    ///
    /// - Parameter prefix: The beginning of an identifier.
    /// - Throws: A ``NotebookError``, or an error about the file.
    public func retry(_ prefix: String) async throws {
        try await database.write { [self] db in try queue.retry(try mutation(prefix, db).id, in: db) }
    }

    /// Lets everything be sent again that failed.
    ///
    /// - Returns: The number of changes.
    public func retryAll() async throws -> Int {
        try await database.write { [queue] db in try queue.retryAll(in: db) }
    }

    /// Removes a change that is not wanted any more, with those that depend on it, and what was shown for them.
    ///
    /// - Parameter prefix: The beginning of an identifier.
    /// - Returns: The changes, the last one first.
    /// - Throws: A ``NotebookError``, or an error about the file; `underWay` of the queue for one that is being sent.
    @discardableResult
    public func discard(_ prefix: String) async throws -> [QueuedMutation<PeatedMutation>] {
        try await database.write { [self] db in
            var discarded: [QueuedMutation<PeatedMutation>] = []
            try queue.discard(try mutation(prefix, db).id, in: db) { mutation in
                discarded.append(mutation)
                switch mutation.mutation {
                case .toast: try OwnRows(db: db).removeToast(of: mutation.id)
                case .upload: break
                // Also one that this version of the program cannot read.
                case .taste, nil: try OwnRows(db: db).remove(mutation.entity)
                }
            }
            discarded += try discardUploads(of: discarded, db)
            try limitPictures(db)
            return discarded
        }
    }

    /// Removes the uploads of pictures that no tasting needs any more.
    private func discardUploads(
        of tastings: [QueuedMutation<PeatedMutation>],
        _ db: Database
    ) throws -> [QueuedMutation<PeatedMutation>] {
        var discarded: [QueuedMutation<PeatedMutation>] = []
        for case .taste(_, let content) in tastings.compactMap(\.mutation) {
            guard let digest = content.picture?.rawValue, try !OwnRows(db: db).needs(digest) else { continue }
            let uploads = try queue.mutations(of: PeatedMutation.upload(digest: digest).entity, db)
            for upload in uploads where upload.state != .sending {
                try queue.discard(upload.id, in: db) { discarded.append($0) }
            }
        }
        return discarded
    }

    private func mutation(_ prefix: String, _ db: Database) throws -> QueuedMutation<PeatedMutation> {
        var found: [QueuedMutation<PeatedMutation>] = []
        var position: Int64?
        while case let page = try queue.mutations(after: position, db), let last = page.last {
            found += page.filter { $0.id.rawValue.hasPrefix(prefix) }
            position = last.position
        }
        guard let first = found.first else { throw NotebookError.noMutation(prefix) }
        guard found.count == 1 || first.id.rawValue == prefix else { throw NotebookError.severalMutations(prefix) }
        return first
    }
}

extension PeatedMutation {
    /// Whether it adds a tasting.
    var isTasting: Bool {
        if case .taste = self { true } else { false }
    }
}
