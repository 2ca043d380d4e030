import Foundation

/// Runs work that computes for seconds, and never waits, on a thread of its own.
///
/// On the threads of tasks, which all tests share, it would hold up tests of sockets until they reach their time limits.
package func onOwnThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}
