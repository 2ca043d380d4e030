import Synchronization

/// A multipart body: an asynchronous sequence of parts.
///
/// A body to be sent is made of a literal of parts, or of a sequence that makes them over time. A body that was
/// received gives its parts as they arrive.
///
/// ```swift
/// let form: MultipartBody<Operations.UploadPhoto.Input.Body.MultipartFormPayload> = [
///     .title(.init(payload: .init(body: "Our cat"))),
///     .photo(.init(payload: .init(body: photo), filename: "cat.jpg")),
/// ]
/// try await client.uploadPhoto(body: .multipartForm(form))
///
/// for try await part in received {
///     switch part {
///     case .title(let title): caption = try await String(collecting: title.payload.body, upTo: 1024)
///     case .photo(let photo): for try await chunk in photo.payload.body { file.append(chunk) }
///     case .undocumented(let part): for try await _ in part.body {}
///     }
/// }
/// ```
///
/// Parts arrive one after the other: read the body of a part before you ask for the next, even if you do not need it.
/// Going on without throws ``MultipartError`` with the code `previousPartNotConsumed`.
///
/// Bodies of parts in memory are ``IterationBehavior/multiple``; bodies over a stream are ``IterationBehavior/single``:
/// a second iterator over one of those throws ``HTTPBodyError`` with the code `alreadyIterated` from its first
/// `next()`.
///
/// Two bodies are equal when they are the same object.
public final class MultipartBody<Part: Sendable>: Sendable {
    private enum Content: Sendable {
        case parts([Part])
        case stream(@Sendable () -> Iterator)
    }

    /// Whether the body can be read more than once.
    public let iterationBehavior: IterationBehavior

    private let content: Content

    /// Whether an iterator was made, which matters to bodies that can be read once.
    private let wasIterated = Atomic(false)

    private init(_ content: Content, iterationBehavior: IterationBehavior) {
        self.content = content
        self.iterationBehavior = iterationBehavior
    }

    /// Creates a body of an asynchronous sequence of parts.
    /// - Parameters:
    ///   - sequence: The parts; an error of the sequence is thrown to the reader of the body.
    ///   - iterationBehavior: Whether the sequence can be read more than once.
    public convenience init<Parts: AsyncSequence & Sendable>(
        _ sequence: Parts,
        iterationBehavior: IterationBehavior
    ) where Parts.Element == Part {
        self.init(.stream { Iterator(sequence) }, iterationBehavior: iterationBehavior)
    }

    /// Creates a body of parts in memory.
    /// - Parameter parts: The parts.
    public convenience init(_ parts: some Collection<Part> & Sendable) {
        self.init(.parts(Array(parts)), iterationBehavior: .multiple)
    }

    /// Creates a body of a stream of parts that can fail. It can be read once.
    /// - Parameter stream: The parts; an error of the sequence is thrown to the reader of the body.
    public convenience init(_ stream: AsyncThrowingStream<Part, any Error>) {
        self.init(stream, iterationBehavior: .single)
    }

    /// Creates a body of a stream of parts. It can be read once.
    /// - Parameter stream: The parts.
    public convenience init(_ stream: AsyncStream<Part>) {
        self.init(stream, iterationBehavior: .single)
    }
}

// MARK: - Reading

extension MultipartBody: AsyncSequence {
    /// A part.
    public typealias Element = Part

    /// The errors of reading: whatever the sequence behind the body throws, ``MultipartError`` or ``HTTPBodyError``.
    public typealias Failure = any Error

    /// Reads the parts of a body in order.
    public struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case parts(ArraySlice<Part>)
            case stream(() async throws -> Part?)
            case failed(HTTPBodyError)
            case finished
        }

        private var state: State

        fileprivate init(_ parts: [Part]) {
            state = .parts(parts[...])
        }

        fileprivate init(failing error: HTTPBodyError) {
            state = .failed(error)
        }

        fileprivate init<Parts: AsyncSequence>(_ sequence: Parts) where Parts.Element == Part {
            var iterator = sequence.makeAsyncIterator()
            state = .stream { try await iterator.next(isolation: #isolation) }
        }

        /// Returns the next part, or nil at the end of the body.
        /// - Returns: A part, or nil.
        /// - Throws: What the sequence behind the body throws, ``MultipartError`` or ``HTTPBodyError``.
        public mutating func next() async throws -> Part? {
            try await next(isolation: #isolation)
        }

        /// Returns the next part, or nil at the end of the body.
        /// - Parameter actor: The actor the caller runs on.
        /// - Returns: A part, or nil.
        /// - Throws: What the sequence behind the body throws, ``MultipartError`` or ``HTTPBodyError``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Part? {
            switch state {
            case .parts(var parts):
                state = .finished
                guard let part = parts.popFirst() else { return nil }
                state = .parts(parts)
                return part
            case .stream(let next):
                guard let part = try await next() else {
                    state = .finished
                    return nil
                }
                return part
            case .failed(let error): throw error
            case .finished: return nil
            }
        }
    }

    /// Starts to read the body.
    ///
    /// A body that can be read once and was read before gives an iterator whose `next()` throws.
    /// - Returns: An iterator at the first part.
    public func makeAsyncIterator() -> Iterator {
        if iterationBehavior == .single, wasIterated.exchange(true, ordering: .relaxed) {
            return Iterator(failing: .alreadyIterated)
        }
        switch content {
        case .parts(let parts): return Iterator(parts)
        case .stream(let makeIterator): return makeIterator()
        }
    }
}

// MARK: - Identity and literals

extension MultipartBody: Hashable {
    /// Tells whether two bodies are the same object.
    public static func == (lhs: MultipartBody, rhs: MultipartBody) -> Bool {
        lhs === rhs
    }

    /// Hashes the identity of the body.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension MultipartBody: ExpressibleByArrayLiteral {
    /// Creates a body of the parts of a literal.
    public convenience init(arrayLiteral elements: Part...) {
        self.init(elements)
    }
}
