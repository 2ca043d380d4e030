/// A multipart body: an asynchronous sequence of parts.
///
/// A body to send is created from a literal of parts, or from a sequence that produces them over time. A received body
/// delivers its parts as they arrive.
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
/// Parts arrive one after the other. Read the body of each part before you ask for the next part, even if you do not
/// need it. Otherwise the iterator throws ``MultipartError`` with the code `previousPartNotConsumed`.
///
/// Bodies of parts in memory are ``IterationBehavior/multiple``; bodies over a stream are ``IterationBehavior/single``:
/// a second iterator over one of those throws ``HTTPBodyError`` with the code `alreadyIterated` from its first
/// `next()`.
///
/// Two bodies are equal when they are the same object.
public final class MultipartBody<Part: Sendable>: Sendable {
    /// Whether the body can be read more than once.
    public var iterationBehavior: IterationBehavior { source.iterationBehavior }

    private let source: BodySource<Part>

    private init(_ content: BodySource<Part>.Content, iterationBehavior: IterationBehavior) {
        self.source = BodySource(content, iterationBehavior: iterationBehavior)
    }

    /// Creates a body of an asynchronous sequence of parts.
    /// - Parameters:
    ///   - sequence: The parts; an error of the sequence is thrown to the reader of the body.
    ///   - iterationBehavior: Whether the sequence can be read more than once.
    public convenience init<Parts: AsyncSequence & Sendable>(
        _ sequence: Parts,
        iterationBehavior: IterationBehavior
    ) where Parts.Element == Part {
        self.init(.stream { Iterator(sequence) { $0 } }, iterationBehavior: iterationBehavior)
    }

    /// Creates a body of parts in memory.
    /// - Parameter parts: The parts.
    public convenience init(_ parts: some Collection<Part> & Sendable) {
        self.init(.many(Array(parts)), iterationBehavior: .multiple)
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
    public typealias Iterator = BodyIterator<Part>

    /// Starts to read the body.
    ///
    /// If the body can be read only once and was read before, the iterator's `next()` throws.
    /// - Returns: An iterator at the first part.
    public func makeAsyncIterator() -> Iterator {
        source.makeIterator()
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
