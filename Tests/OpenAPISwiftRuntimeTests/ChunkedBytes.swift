import Foundation
import Synchronization
import TestSupport

/// The number of inputs for tests with mutated bytes: 2000, or the value of the environment variable
/// `MISTKIT_FUZZ_RUNS`.
let fuzzRuns = ProcessInfo.processInfo.environment["MISTKIT_FUZZ_RUNS"].flatMap { Int($0) } ?? 2000

/// Values that arrive one after the other, as from a network.
struct Arriving<Element: Sendable>: AsyncSequence, Sendable {

    typealias Failure = any Error

    var elements: [Element]

    /// The error that is thrown after the last value.
    var error: (any Error)?

    struct AsyncIterator: AsyncIteratorProtocol {

        var rest: ArraySlice<Element>
        let error: (any Error)?

        mutating func next() async throws -> Element? {
            if let element = rest.popFirst() { return element }
            if let error { throw error }
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(rest: elements[...], error: error)
    }
}

extension Arriving<ArraySlice<UInt8>> {

    /// The bytes in chunks of the same size.
    init(_ bytes: some Collection<UInt8>, size: Int) {
        let bytes = Array(bytes)
        self.init(
            elements: stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<Swift.min($0 + size, bytes.count)] }
        )
    }

    /// The bytes in chunks of random sizes, some of them empty.
    init(_ bytes: some Collection<UInt8>, using generator: inout SeededGenerator) {
        let bytes = Array(bytes)
        let largest = [1, 2, 5, 20, 200].randomElement(using: &generator) ?? 1
        var chunks: [ArraySlice<UInt8>] = []
        var start = 0
        while start < bytes.count {
            let end = Swift.min(start + Int.random(in: 0...largest, using: &generator), bytes.count)
            chunks.append(bytes[start..<end])
            start = end
        }
        self.init(elements: chunks)
    }
}

/// A stream of 64 MiB that counts the bytes that were produced and not taken yet.
final class CountedChunks: AsyncSequence, Sendable {

    typealias Element = ArraySlice<UInt8>
    typealias Failure = any Error

    private struct Counts {
        var produced = 0
        var taken = 0
        var largestBacklog = 0
    }

    let chunk: ArraySlice<UInt8>
    let length = 64 << 20
    private let counts = Mutex(Counts())

    init(of byte: UInt8 = 7) {
        chunk = ArraySlice(repeating: byte, count: 64 << 10)
    }

    /// Counts bytes as taken.
    func take(_ count: Int) {
        counts.withLock { $0.taken += count }
    }

    /// The number of bytes that were taken.
    var taken: Int { counts.withLock { $0.taken } }

    /// The largest number of bytes that were produced and not taken at any time.
    var largestBacklog: Int { counts.withLock { $0.largestBacklog } }

    struct AsyncIterator: AsyncIteratorProtocol {

        let source: CountedChunks

        mutating func next() async throws -> ArraySlice<UInt8>? {
            source.counts.withLock { counts in
                guard counts.produced < source.length else { return nil }
                counts.produced += source.chunk.count
                counts.largestBacklog = Swift.max(counts.largestBacklog, counts.produced - counts.taken)
                return source.chunk
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: self)
    }
}

extension AsyncSequence {

    /// All elements.
    func collected() async throws -> [Element] {
        var result: [Element] = []
        for try await element in self { result.append(element) }
        return result
    }
}

extension [UInt8] {

    /// The bytes after some random changes: bytes are replaced, removed or doubled, or pieces of a vocabulary are
    /// inserted.
    func mutated(with pieces: [String], using generator: inout SeededGenerator) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let index = Int.random(in: 0...bytes.count, using: &generator)
            let end = Swift.min(index + Int.random(in: 0...8, using: &generator), bytes.count)
            switch Int.random(in: 0...4, using: &generator) {
            case 0: bytes.removeSubrange(index..<end)
            case 1: bytes.insert(contentsOf: (pieces.randomElement(using: &generator) ?? "").utf8, at: index)
            case 2: bytes.insert(contentsOf: bytes[index..<end], at: index)
            case 3: bytes.removeSubrange(index...)
            default:
                if index < bytes.count { bytes[index] = UInt8.random(in: 0...255, using: &generator) }
            }
        }
        return bytes
    }
}
