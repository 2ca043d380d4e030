import Foundation

/// The bytes of a file. Each iteration reads the file from its beginning.
struct FileChunks: AsyncSequence, Sendable {
    typealias Element = ArraySlice<UInt8>

    let file: URL

    struct AsyncIterator: AsyncIteratorProtocol {
        let file: URL
        var handle: FileHandle?

        mutating func next() async throws -> ArraySlice<UInt8>? {
            let handle = try self.handle ?? FileHandle(forReadingFrom: file)
            self.handle = handle
            guard let data = try handle.read(upToCount: 65_536), !data.isEmpty else { return nil }
            return ArraySlice(data)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(file: file)
    }
}
