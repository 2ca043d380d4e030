import Foundation
import MistMutationQueue
import Peated
import PeatedOffline
import Synchronization

/// A view of feed and queue that is drawn again whenever they change, while it sends and fetches.
struct NotebookWatch {
    let notebook: Notebook
    var filter = FeedFilter.global
    var count = 10
    var interval = Duration.seconds(5)

    func run() async throws {
        let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let notes = Notes()
        let (notebook, filter, interval) = (notebook, filter, interval)
        try await notebook.resume(.offline)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await notebook.queue.run() }
            // At once, and after every commit that changes the queue, of this process and of others.
            group.addTask { for try await _ in notebook.queue.statusUpdates() { continuation.yield() } }
            group.addTask {
                for await report in notebook.uploadReports() {
                    notes.set(upload: report)
                    continuation.yield()
                }
            }
            group.addTask {
                while true {
                    do {
                        try await notebook.refresh(filter, pageLimit: 5)
                        notes.set(failure: nil)
                    } catch let error as PeatedError {
                        notes.set(failure: error.sentence)
                    }
                    continuation.yield()
                    try await Task.sleep(for: interval)
                }
            }
            group.addTask { try await draw(changes, notes) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// What is shown beside feed and queue.
    private final class Notes: Sendable {
        private let values = Mutex<(upload: UploadReport?, failure: String?)>((nil, nil))

        func set(upload: UploadReport) { values.withLock { $0.upload = upload } }
        func set(failure: String?) { values.withLock { $0.failure = failure } }
        var shown: (upload: UploadReport?, failure: String?) { values.withLock { $0 } }
    }

    private func draw(_ changes: AsyncStream<Void>, _ notes: Notes) async throws {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        var shown = ""
        for await _ in changes {
            let entries = try await notebook.feed(filter)
            let (mutations, status) = (try await notebook.mutations(), try await notebook.status())
            var lines = NotebookLines.feed(entries, count: count) + [""]
            lines += NotebookLines.queue(mutations, status, now: Date())
            let (upload, failure) = notes.shown
            if let upload, mutations.contains(where: { $0.mutation == .upload(digest: upload.digest) }) {
                let done = "\(upload.received / 1024) of \(upload.size / 1024) KB"
                lines.append("picture \(upload.digest.prefix(8)): \(done)")
            }
            if let failure { lines.append("feed: \(failure)") }
            let view = lines.joined(separator: "\n")
            guard view != shown else { continue }
            shown = view
            // The cursor goes to the first line, and what was there is cleared.
            print(isTerminal ? "\u{1B}[H\u{1B}[2J" + view : view + "\n")
            fflush(nil)
        }
    }
}
