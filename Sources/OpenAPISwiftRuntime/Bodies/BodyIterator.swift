import Synchronization

/// Reads a body in order: the chunks of an ``HTTPBody`` or the parts of a ``MultipartBody``.
public struct BodyIterator<Element>: AsyncIteratorProtocol {
    fileprivate enum State {
        case one(Element?)
        case many(ArraySlice<Element>)
        case stream(() async throws -> Element?)
        case failed(HTTPBodyError)
        case finished
    }

    private var state: State

    fileprivate init(_ state: State) {
        self.state = state
    }

    init<Upstream: AsyncSequence>(
        _ sequence: Upstream,
        element: @escaping (Upstream.Element) -> Element
    ) {
        var iterator = sequence.makeAsyncIterator()
        state = .stream { try await iterator.next(isolation: #isolation).map(element) }
    }

    /// Returns the next chunk or part, or nil at the end of the body.
    /// - Returns: A chunk or a part, or nil.
    /// - Throws: What the sequence behind the body throws, or ``HTTPBodyError``; of a multipart body ``MultipartError``
    ///   as well.
    public mutating func next() async throws -> Element? {
        try await next(isolation: #isolation)
    }

    /// Returns the next chunk or part, or nil at the end of the body.
    /// - Parameter actor: The actor the caller runs on.
    /// - Returns: A chunk or a part, or nil.
    /// - Throws: What the sequence behind the body throws, or ``HTTPBodyError``; of a multipart body ``MultipartError``
    ///   as well.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
        switch state {
        case .one(let element):
            state = .finished
            return element
        case .many(var elements):
            state = .finished
            guard let element = elements.popFirst() else { return nil }
            state = .many(elements)
            return element
        case .stream(let next):
            guard let element = try await next() else {
                state = .finished
                return nil
            }
            return element
        case .failed(let error): throw error
        case .finished: return nil
        }
    }
}

/// The chunks or parts of a body, in memory or produced over time, and whether they were read already.
struct BodySource<Element: Sendable>: ~Copyable, Sendable {
    enum Content: Sendable {
        case one(Element?)
        case many([Element])
        case stream(@Sendable () -> BodyIterator<Element>)
    }

    let content: Content

    let iterationBehavior: IterationBehavior

    /// Whether an iterator was created, which matters for bodies that can be read once.
    private let wasIterated = Atomic(false)

    init(_ content: Content, iterationBehavior: IterationBehavior) {
        self.content = content
        self.iterationBehavior = iterationBehavior
    }

    /// An iterator at the first element. Its `next()` throws if the body can be read only once and was read before.
    func makeIterator() -> BodyIterator<Element> {
        if iterationBehavior == .single, wasIterated.exchange(true, ordering: .relaxed) {
            return BodyIterator(.failed(.alreadyIterated))
        }
        switch content {
        case .one(let element): return BodyIterator(.one(element))
        case .many(let elements): return BodyIterator(.many(elements[...]))
        case .stream(let makeIterator): return makeIterator()
        }
    }
}
