/// A page that is fetched while somebody works on the one before it.
///
/// Whoever drops it, or is cancelled while waiting for it, ends its request; so nothing runs on for a loop that was left.
final class PageAhead<Page: Sendable>: Sendable {
    private let task: Task<Result<Page, CloudKitError>, Never>

    /// Starts to fetch.
    ///
    /// - Parameters:
    ///   - startsHere: Whether the present thread brings the request on its way. Another one may have to wait for a processor.
    ///   - fetch: Fetches the page.
    init(startsHere: Bool = false, _ fetch: @escaping @Sendable () async throws(CloudKitError) -> Page) {
        let operation = { @Sendable () async -> Result<Page, CloudKitError> in
            do throws(CloudKitError) {
                return .success(try await fetch())
            } catch {
                return .failure(error)
            }
        }
        if startsHere, #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            task = .immediate(operation: operation)
        } else {
            task = Task(operation: operation)
        }
    }

    deinit {
        task.cancel()
    }

    /// Waits for the page; a task that is cancelled does not get it any more.
    func page(of operation: String) async throws(CloudKitError) -> Page {
        let task = task
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        if Task.isCancelled { throw .cancelled(operation: operation) }
        return try result.get()
    }
}
