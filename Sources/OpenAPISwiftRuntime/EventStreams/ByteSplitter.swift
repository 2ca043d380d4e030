/// Cuts a stream of chunks into pieces that end with a terminator.
///
/// A piece that lies within one chunk is a slice of it; only a piece that spans chunks is copied. Memory is that of one
/// chunk and one piece.
struct ByteSplitter: Sendable {
    /// The end of a piece.
    enum Terminator: Sendable {
        /// One byte.
        case byte(UInt8)

        /// LF, CR or CR LF, the latter as one.
        case lineEnding
    }

    private let terminator: Terminator

    /// The name of a piece in errors.
    private let name: String

    private let maximumLength: Int

    /// The bytes of the current chunk that are not in a piece yet.
    private var chunk: ArraySlice<UInt8> = []

    /// The beginning of a piece that the chunks before did not end.
    private var beginning: [UInt8] = []

    /// Whether the last piece ended with CR, so that LF right after it belongs to it.
    private var endedWithCarriageReturn = false

    init(_ terminator: Terminator, name: String, maximumLength: Int) {
        self.terminator = terminator
        self.name = name
        self.maximumLength = maximumLength
    }

    /// Returns the next piece without its terminator, reading as many chunks as that takes; nil at the end of the
    /// stream.
    ///
    /// Bytes after the last terminator are a piece of their own.
    mutating func next(
        isolation actor: isolated (any Actor)?,
        from upstream: inout some AsyncIteratorProtocol<ArraySlice<UInt8>, any Error>
    ) async throws -> ArraySlice<UInt8>? {
        while true {
            if let piece = try nextInChunk() { return piece }
            guard let next = try await upstream.next(isolation: actor) else {
                return beginning.isEmpty ? nil : take(upTo: chunk.startIndex)
            }
            chunk = next
        }
    }

    private mutating func nextInChunk() throws(EventStreamError) -> ArraySlice<UInt8>? {
        if endedWithCarriageReturn, let first = chunk.first {
            endedWithCarriageReturn = false
            if first == UInt8(ascii: "\n") { chunk.removeFirst() }
        }
        guard let end = endOfPiece() else {
            try check(chunk.count)
            beginning += chunk
            chunk = []
            return nil
        }
        try check(end - chunk.startIndex)
        if case .lineEnding = terminator { endedWithCarriageReturn = chunk[end] == UInt8(ascii: "\r") }
        let piece = take(upTo: end)
        chunk = chunk[(end + 1)...]
        return piece
    }

    private func endOfPiece() -> Int? {
        switch terminator {
        case .byte(let byte): chunk.firstIndex(of: byte)
        case .lineEnding: chunk.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        }
    }

    private func check(_ count: Int) throws(EventStreamError) {
        guard count <= maximumLength - beginning.count else {
            throw .tooLong(name, limit: maximumLength)
        }
    }

    private mutating func take(upTo end: Int) -> ArraySlice<UInt8> {
        if beginning.isEmpty { return chunk[..<end] }
        let piece = beginning + chunk[..<end]
        beginning = []
        return piece[...]
    }
}

/// An iterator whose error is `any Error`, whatever the error of the iterator inside.
struct ErasedIterator<Base: AsyncIteratorProtocol>: AsyncIteratorProtocol {
    var base: Base

    mutating func next() async throws -> Base.Element? {
        try await next(isolation: #isolation)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Base.Element? {
        try await base.next(isolation: actor)
    }
}
