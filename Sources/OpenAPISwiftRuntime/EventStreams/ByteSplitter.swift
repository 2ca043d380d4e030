/// Cuts a stream of chunks into pieces that end with a terminator.
///
/// A piece within one chunk is a slice of this chunk; only a piece that spans several chunks is copied. The splitter
/// holds at most one chunk and one piece in memory.
struct ByteSplitter: Sendable {
    private let splitting: ByteSplitting

    private let maximumLength: Int

    /// The bytes of the current chunk that are not in a piece yet.
    private var chunk: ArraySlice<UInt8> = []

    /// The beginning of a piece whose end was not in the earlier chunks.
    private var beginning: [UInt8] = []

    /// Whether a byte has arrived.
    private var hasBegun = false

    /// Whether a piece was found.
    private var hasPiece = false

    /// Whether the last piece ended with CR, so that LF right after it belongs to it.
    private var endedWithCarriageReturn = false

    init(_ splitting: ByteSplitting, maximumLength: Int) {
        self.splitting = splitting
        self.maximumLength = maximumLength
    }

    /// Reads chunks until a piece is complete, and returns the piece without its terminator, or nil at the end of the
    /// stream.
    ///
    /// Bytes after the last terminator are the last piece.
    mutating func next<Upstream: AsyncIteratorProtocol>(
        isolation actor: isolated (any Actor)?,
        from upstream: inout Upstream
    ) async throws -> ArraySlice<UInt8>? where Upstream.Element == ArraySlice<UInt8> {
        while true {
            if let piece = try nextInChunk() {
                if piece.isEmpty, splitting.beginsWithTerminator { continue }
                return withoutByteOrderMark(piece)
            }
            guard let next = try await upstream.next(isolation: actor) else {
                return beginning.isEmpty ? nil : withoutByteOrderMark(take(upTo: chunk.startIndex))
            }
            chunk = next
            if !hasBegun { try checkFirstByte() }
        }
    }

    private mutating func checkFirstByte() throws(EventStreamError) {
        guard let first = chunk.first else { return }
        hasBegun = true
        guard splitting.beginsWithTerminator, case .byte(let terminator) = splitting.terminator, first != terminator
        else { return }
        throw .missingRecordSeparator(found: first)
    }

    private mutating func withoutByteOrderMark(_ piece: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        defer { hasPiece = true }
        guard splitting.removesByteOrderMark, !hasPiece, piece.starts(with: [0xEF, 0xBB, 0xBF]) else { return piece }
        return piece.dropFirst(3)
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
        if case .lineEnding = splitting.terminator { endedWithCarriageReturn = chunk[end] == UInt8(ascii: "\r") }
        let piece = take(upTo: end)
        chunk = chunk[(end + 1)...]
        return piece
    }

    private func endOfPiece() -> Int? {
        switch splitting.terminator {
        case .byte(let byte): chunk.firstIndex(of: byte)
        case .lineEnding: chunk.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        }
    }

    private func check(_ count: Int) throws(EventStreamError) {
        guard count <= maximumLength - beginning.count else {
            throw .tooLong(splitting.pieceName, limit: maximumLength)
        }
    }

    private mutating func take(upTo end: Int) -> ArraySlice<UInt8> {
        if beginning.isEmpty { return chunk[..<end] }
        let piece = beginning + chunk[..<end]
        beginning = []
        return piece[...]
    }
}
