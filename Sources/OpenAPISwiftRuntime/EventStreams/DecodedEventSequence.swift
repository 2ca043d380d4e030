/// The values of a stream of events, each read from an element of the upstream: a line, a record or an event.
///
/// Unlike the standard library's `map`, it reads on the actor of its caller, which saves two changes of threads for
/// each value.
public struct DecodedEventSequence<Upstream: AsyncSequence & Sendable, Event: Sendable>: AsyncSequence, Sendable {
    /// A value.
    public typealias Element = Event

    /// The errors of reading: whatever the upstream throws, or `JSONError`.
    public typealias Failure = any Error

    private let upstream: Upstream

    private let decode: @Sendable (Upstream.Element) throws -> Event

    init(_ upstream: Upstream, decode: @escaping @Sendable (Upstream.Element) throws -> Event) {
        self.upstream = upstream
        self.decode = decode
    }

    /// Reads the values in order.
    public struct Iterator: AsyncIteratorProtocol {
        private var upstream: Upstream.AsyncIterator?

        private let decode: @Sendable (Upstream.Element) throws -> Event

        fileprivate init(_ sequence: DecodedEventSequence) {
            upstream = sequence.upstream.makeAsyncIterator()
            decode = sequence.decode
        }

        /// Returns the next value, or nil at the end of the stream.
        /// - Returns: A value, or nil.
        /// - Throws: What the upstream throws, or `JSONError`; the stream is over then.
        public mutating func next() async throws -> Event? {
            try await next(isolation: #isolation)
        }

        /// Returns the next value, or nil at the end of the stream.
        /// - Parameter actor: The actor the caller runs on.
        /// - Returns: A value, or nil.
        /// - Throws: What the upstream throws, or `JSONError`; the stream is over then.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            guard let element = try await upstream?.next(isolation: actor) else { return nil }
            do {
                return try decode(element)
            } catch {
                upstream = nil
                throw error
            }
        }
    }

    /// Starts to read the values.
    /// - Returns: An iterator at the first value.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}
