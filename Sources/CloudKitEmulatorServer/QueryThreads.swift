import CloudKitEmulator
import NIOCore
import NIOPosix

/// The threads on which a listening server runs queries.
///
/// A query can look at many records, and it does not suspend meanwhile. On the threads that all tasks share, as many
/// queries as the machine has cores would make every other request wait. There is one thread less than the storage has
/// readers, so that other requests find a reader.
final class QueryThreads: TaskExecutor {
    static let shared = QueryThreads(count: EmulatorStorage.readerCount - 1)

    private let pool: NIOThreadPool

    private init(count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { [self] _ in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
