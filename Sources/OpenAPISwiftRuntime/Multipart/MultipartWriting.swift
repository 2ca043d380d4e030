import HTTPTypes

/// The chunks of a body to send, written from its parts as these are produced.
struct SentParts<Parts: AsyncSequence & Sendable>: AsyncSequence, Sendable {
    typealias Element = ArraySlice<UInt8>
    typealias Failure = any Error

    let parts: Parts
    let boundary: MultipartBoundary
    let requirements: MultipartRequirements
    let encode: @Sendable (Parts.Element) throws -> MultipartRawPart

    struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case beforeFirstPart
            case inPart(HTTPBody.Iterator)
            case behindPart
            case finished
        }

        private var state = State.beforeFirstPart
        private var parts: Parts.AsyncIterator
        private var seen: SeenParts
        private let boundary: MultipartBoundary
        private let encode: @Sendable (Parts.Element) throws -> MultipartRawPart

        fileprivate init(_ sequence: SentParts) {
            parts = sequence.parts.makeAsyncIterator()
            seen = SeenParts(by: sequence.requirements)
            boundary = sequence.boundary
            encode = sequence.encode
        }

        mutating func next() async throws -> ArraySlice<UInt8>? {
            try await next(isolation: #isolation)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
            while true {
                switch state {
                case .inPart(var iterator):
                    guard let chunk = try await iterator.next(isolation: actor) else {
                        state = .behindPart
                        continue
                    }
                    state = .inPart(iterator)
                    if !chunk.isEmpty { return chunk }
                case .beforeFirstPart:
                    return try await nextPart(after: boundary.delimiter.dropFirst(2), isolation: actor)
                case .behindPart: return try await nextPart(after: boundary.delimiter[...], isolation: actor)
                case .finished: return nil
                }
            }
        }

        /// The boundary, followed by the header of the next part or by the end. The bytes of the part follow at once if
        /// they are few and in memory.
        private mutating func nextPart(
            after delimiter: ArraySlice<UInt8>,
            isolation actor: isolated (any Actor)?
        ) async throws -> ArraySlice<UInt8> {
            var text = delimiter
            guard let element = try await parts.next(isolation: actor) else {
                try seen.finish()
                text += "--\r\n\r\n".utf8
                state = .finished
                return text
            }
            let part = try encode(element)
            try seen.add(part)
            text += "\r\n".utf8
            part.headerFields.write(to: &text)
            text += "\r\n".utf8
            if let bytes = part.body.bufferedBytes, bytes.count <= 16 * 1024 {
                text += bytes
                state = .behindPart
            } else {
                state = .inPart(part.body.makeAsyncIterator())
            }
            return text
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}

extension HTTPFields {
    /// Writes the fields as lines, sorted by their names in lower case.
    fileprivate func write(to text: inout ArraySlice<UInt8>) {
        for field in sorted(by: { $0.name.canonicalName < $1.name.canonicalName }) {
            text += field.name.canonicalName.utf8
            text += ": ".utf8
            field.withUnsafeBytesOfValue { text += $0 }
            text += "\r\n".utf8
        }
    }
}
