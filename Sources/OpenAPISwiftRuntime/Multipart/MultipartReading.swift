import HTTPTypes
import Synchronization

/// The parts of a received body, as they arrive.
struct ReceivedParts: AsyncSequence, Sendable {
    typealias Element = MultipartRawPart
    typealias Failure = any Error

    let body: HTTPBody
    let boundary: MultipartBoundary

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: PartSource

        mutating func next() async throws -> MultipartRawPart? {
            try await next(isolation: #isolation)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> MultipartRawPart? {
            try await source.nextPart(isolation: actor)
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(source: PartSource(body: body, boundary: boundary))
    }
}

/// The bytes of one part of a received body.
private struct PartBytes: AsyncSequence, Sendable {
    typealias Element = ArraySlice<UInt8>
    typealias Failure = any Error

    let source: PartSource
    let partNumber: Int

    struct Iterator: AsyncIteratorProtocol {
        let source: PartSource
        let partNumber: Int

        mutating func next() async throws -> ArraySlice<UInt8>? {
            try await next(isolation: #isolation)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
            try await source.nextBytes(ofPart: partNumber, isolation: actor)
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(source: source, partNumber: partNumber)
    }
}

/// The common source of the sequence of parts and of the parts' bodies. Only one of them can read at a time.
private final class PartSource: Sendable {
    /// The iterator of the body is not `Sendable`. Each read takes the reader out of the state and puts it back
    /// afterwards, so only one task has it at a time.
    private struct Reader: @unchecked Sendable {
        var iterator: HTTPBody.Iterator
        var parser: MultipartParser
        var partNumber = 0
        var isInPart = false

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> MultipartParser.Event {
            while true {
                let event = try parser.next()
                guard case .needsBytes = event else { return event }
                if let chunk = try await iterator.next(isolation: actor) {
                    parser.add(chunk)
                } else {
                    // A stream also ends when its reader is cancelled.
                    try Task.checkCancellation()
                    parser.finish()
                }
            }
        }

        /// Goes to the header of the next part, which must follow the bytes that were read.
        mutating func nextPart(isolation actor: isolated (any Actor)?) async throws -> HTTPFields? {
            while true {
                switch try await next(isolation: actor) {
                case .part(let fields):
                    isInPart = true
                    partNumber += 1
                    return fields
                case .bytes(let bytes):
                    throw MultipartError(
                        code: .previousPartNotConsumed,
                        message: "The next part was asked for before the body of part \(partNumber) was read: read it, "
                            + "or collect it, first.",
                        offset: parser.offset - bytes.count
                    )
                case .endOfPart: isInPart = false
                case .end: return nil
                case .needsBytes: continue
                }
            }
        }

        mutating func nextBytes(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
            guard case .bytes(let bytes) = try await next(isolation: actor) else {
                isInPart = false
                return nil
            }
            return bytes
        }
    }

    private enum State {
        case idle(Reader)
        case reading
        case finished
        case failed(any Error)
    }

    private let state: Mutex<State>

    init(body: HTTPBody, boundary: MultipartBoundary) {
        let reader = Reader(
            iterator: body.makeAsyncIterator(),
            parser: MultipartParser(boundary: boundary)
        )
        state = Mutex(.idle(reader))
    }

    func nextPart(isolation actor: isolated (any Actor)?) async throws -> MultipartRawPart? {
        guard var reader = try takeReader() else { return nil }
        do {
            guard let fields = try await reader.nextPart(isolation: actor) else {
                state.withLock { $0 = .finished }
                return nil
            }
            let bytes = PartBytes(source: self, partNumber: reader.partNumber)
            putBack(reader)
            return MultipartRawPart(
                headerFields: fields,
                body: HTTPBody(bytes, length: .unknown, iterationBehavior: .single)
            )
        } catch {
            state.withLock { $0 = .failed(error) }
            throw error
        }
    }

    func nextBytes(ofPart partNumber: Int, isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
        guard var reader = try takeReader() else { return nil }
        // If the reader is at a later part, all bytes of this part were read.
        guard reader.isInPart, reader.partNumber == partNumber else {
            putBack(reader)
            return nil
        }
        do {
            let bytes = try await reader.nextBytes(isolation: actor)
            putBack(reader)
            return bytes
        } catch {
            state.withLock { $0 = .failed(error) }
            throw error
        }
    }

    private func takeReader() throws -> Reader? {
        try state.withLock { state in
            switch state {
            case .idle(let reader):
                state = .reading
                return reader
            case .finished: return nil
            case .failed(let error): throw error
            case .reading:
                throw MultipartError(
                    code: .concurrentReading,
                    message: "Two tasks read the multipart body at the same time; its parts arrive one after the other."
                )
            }
        }
    }

    private func putBack(_ reader: Reader) {
        state.withLock { $0 = .idle(reader) }
    }
}

extension MultipartBody where Part == MultipartRawPart {
    /// Reads the parts of a received body, as they arrive.
    ///
    /// The reader throws a ``MultipartError`` where the body is not in the form of parts.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The value of its header field `content-type`, which names the boundary.
    /// - Throws: ``MultipartError`` with the code `missingBoundary` or `invalidBoundary`.
    package convenience init(receiving body: HTTPBody, contentType: String?) throws(MultipartError) {
        let boundary = try MultipartBoundary(ofContentType: contentType)
        self.init(ReceivedParts(body: body, boundary: boundary), iterationBehavior: body.iterationBehavior)
    }
}
