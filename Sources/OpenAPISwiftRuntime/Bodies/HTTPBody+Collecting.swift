#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension HTTPBody {
    /// Reads the body whole.
    ///
    /// Bytes in memory are returned without a copy and without a suspension. A stream of one chunk is not copied
    /// either.
    /// - Parameter maximum: The number of bytes above which the body is refused.
    /// - Returns: The bytes.
    /// - Throws: ``HTTPBodyError`` with the code `tooManyBytes`, or what the sequence behind the body throws.
    fileprivate func collect(upTo maximum: Int) async throws -> ByteChunk {
        if case .known(let length) = length, length > Int64(maximum) {
            throw HTTPBodyError.tooManyBytes(limit: maximum)
        }
        if let bytes = bufferedBytes {
            guard bytes.count <= maximum else { throw HTTPBodyError.tooManyBytes(limit: maximum) }
            return bytes
        }
        var collected: ByteChunk = []
        var isFirst = true
        var iterator = makeAsyncIterator()
        while let chunk = try await iterator.next() {
            guard chunk.count <= maximum - collected.count else {
                throw HTTPBodyError.tooManyBytes(limit: maximum)
            }
            if isFirst {
                collected = chunk
                isFirst = false
            } else {
                if collected.startIndex == 0, case .known(let length) = length {
                    // The peer says the length and can lie, so at most 1 MiB is reserved before the bytes arrive.
                    collected.reserveCapacity(Int(Swift.min(Swift.max(length, 0), 1 << 20)))
                }
                collected += chunk
            }
        }
        return collected
    }
}

extension ArraySlice where Element == UInt8 {
    /// Reads a body whole, as a slice of bytes.
    /// - Parameters:
    ///   - body: The body to read.
    ///   - maxBytes: The number of bytes above which the body is refused.
    /// - Throws: ``HTTPBodyError`` with the code `tooManyBytes`, or what the sequence behind the body throws.
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        self = try await body.collect(upTo: maxBytes)
    }
}

extension Array where Element == UInt8 {
    /// Reads a body whole, as an array of bytes.
    /// - Parameters:
    ///   - body: The body to read.
    ///   - maxBytes: The number of bytes above which the body is refused.
    /// - Throws: ``HTTPBodyError`` with the code `tooManyBytes`, or what the sequence behind the body throws.
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        self = try await Array(body.collect(upTo: maxBytes))
    }
}

extension String {
    /// Reads a body whole, as text.
    ///
    /// Bytes that are not UTF-8 become U+FFFD.
    /// - Parameters:
    ///   - body: The body to read.
    ///   - maxBytes: The number of bytes above which the body is refused.
    /// - Throws: ``HTTPBodyError`` with the code `tooManyBytes`, or what the sequence behind the body throws.
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        self = try await String(decoding: body.collect(upTo: maxBytes), as: UTF8.self)
    }
}

extension Data {
    /// Reads a body whole, as a data value.
    /// - Parameters:
    ///   - body: The body to read.
    ///   - maxBytes: The number of bytes above which the body is refused.
    /// - Throws: ``HTTPBodyError`` with the code `tooManyBytes`, or what the sequence behind the body throws.
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        self = try await Data(body.collect(upTo: maxBytes))
    }
}
