import Synchronization

/// The progress of several transfers as one.
final class ProgressSum: Sendable {
    private let parts: Mutex<[TransferProgress]>
    private let progress: ProgressHandler<TransferProgress>?

    init(of count: Int, _ progress: ProgressHandler<TransferProgress>?) {
        parts = Mutex(Array(repeating: TransferProgress(completedBytes: 0), count: count))
        self.progress = progress
    }

    /// The handler for the progress of one of the transfers.
    func handler(for index: Int) -> ProgressHandler<TransferProgress>? {
        guard let progress else { return nil }
        return { part in
            // Reported under the lock: otherwise a later sum could be reported before an earlier one.
            self.parts.withLock { parts in
                parts[index] = part
                var sum = TransferProgress(completedBytes: 0, totalBytes: 0)
                for part in parts {
                    sum.completedBytes += part.completedBytes
                    sum.totalBytes = sum.totalBytes.flatMap { total in part.totalBytes.map { total + $0 } }
                }
                progress(sum)
            }
        }
    }

    /// Sets the expected length of a transfer.
    func expect(_ totalBytes: Int64?, at index: Int) {
        parts.withLock { $0[index].totalBytes = totalBytes }
    }
}
