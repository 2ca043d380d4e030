import Synchronization

/// The source of a sequence of pages.
struct PageSource<Page: Sendable, Position: Equatable & Sendable>: Sendable {
    /// The operation that errors name.
    let operation: String
    let start: Position
    /// Whether the next page is requested while the caller works on a page.
    var looksAhead = true
    let fetch: @Sendable (Position) async throws(CloudKitError) -> ArrivedPage<Page, Position>
}

/// A page that has arrived, and whose records are not read yet.
struct ArrivedPage<Page: Sendable, Position: Equatable & Sendable>: Sendable {
    /// Where the next page begins, if that is known before this page is read.
    var announced: Position?
    /// Reads the page. `next` is where the next page begins; `nil` for the last page.
    var read: @Sendable () throws(CloudKitError) -> (page: Page, next: Position?, isEmpty: Bool)

    /// The same page, read now.
    fileprivate func readNow() -> ArrivedPage {
        do throws(CloudKitError) {
            let result = try read()
            return ArrivedPage(announced: announced) { () throws(CloudKitError) in result }
        } catch {
            return ArrivedPage(announced: announced) { () throws(CloudKitError) in throw error }
        }
    }
}

/// Goes through pages: carries out the effects of a ``PagingState``.
///
/// While the caller works on a page, the next one is fetched and read. When the caller waits for that next page, the
/// page after it is requested: already before the next page is read, if its response announces where the page after it
/// begins. So client and server work at the same time, and at most two pages are in memory.
final class PageReader<Page: Sendable, Position: Equatable & Sendable> {
    private let source: PageSource<Page, Position>
    private var state: PagingState<Position>
    private var ahead: PageAhead<Page, Position>?

    init(_ source: PageSource<Page, Position>) {
        self.source = source
        state = .idle(source.start)
    }

    /// Waits for the next page, and requests the one after it.
    ///
    /// - Returns: The page, which may be empty; `nil` after the last one.
    /// - Throws: The error of the request; there are no further pages after it.
    func next() async throws(CloudKitError) -> Page? {
        do throws(CloudKitError) {
            let arrived: ArrivedPage<Page, Position>
            switch state.handle(.asked, looksAhead: source.looksAhead) {
            case .fetch(let position):
                if Task.isCancelled { throw .cancelled(operation: source.operation) }
                arrived = try await source.fetch(position)
            case .receive:
                guard let ahead else { return nil }
                arrived = try await ahead.page(of: source.operation)
            case .failEndless: throw .endlessPages(operation: source.operation)
            case .send, .discard, .end, .nothing: return nil
            }
            try act(on: .arrived(announced: arrived.announced))
            let (page, next, isEmpty) = try arrived.read()
            try act(on: .read(next: next, isEmpty: isEmpty))
            return page
        } catch {
            try act(on: .failed)
            throw error
        }
    }

    private func act(on event: PagingState<Position>.Event) throws(CloudKitError) {
        switch state.handle(event, looksAhead: source.looksAhead) {
        case .send(let position): ahead = PageAhead(at: position, source.fetch)
        case .discard: ahead = nil
        case .failEndless: throw .endlessPages(operation: source.operation)
        case .fetch, .receive, .end, .nothing: break
        }
    }
}

/// A page that was requested before the caller asked for it.
///
/// Dropping it, or cancelling the task that waits for it, cancels its request. So no request continues after the caller
/// has left the loop.
private final class PageAhead<Page: Sendable, Position: Equatable & Sendable>: Sendable {
    /// Whether the caller waits, and reads the page itself when it arrives.
    private final class Flag: Sendable {
        let isAwaited = Atomic(false)
    }

    private let flag = Flag()
    private let task: Task<Result<ArrivedPage<Page, Position>, CloudKitError>, Never>

    init(
        at position: Position,
        _ fetch: @escaping @Sendable (Position) async throws(CloudKitError) -> ArrivedPage<Page, Position>
    ) {
        let operation = { @Sendable [flag] () async -> Result<ArrivedPage<Page, Position>, CloudKitError> in
            do throws(CloudKitError) {
                let arrived = try await fetch(position)
                return .success(flag.isAwaited.load(ordering: .relaxed) ? arrived : arrived.readNow())
            } catch {
                return .failure(error)
            }
        }
        // The current thread sends the request. Another thread might have to wait for a processor.
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            task = .immediate(operation: operation)
        } else {
            task = Task(operation: operation)
        }
    }

    deinit {
        task.cancel()
    }

    /// Waits for the page; a cancelled task does not get it, but an error.
    func page(of operation: String) async throws(CloudKitError) -> ArrivedPage<Page, Position> {
        flag.isAwaited.store(true, ordering: .relaxed)
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

extension CloudKitError {
    /// The error for a server that announces another page, and lets it begin where the last one began.
    static func endlessPages(operation: String) -> CloudKitError {
        var error = CloudKitError(
            code: .unexpectedResponse,
            message:
                "The server announced another page, but it begins where this page began. Start again without the token or the marker, or later."
        )
        error.operation = operation
        return error
    }
}
