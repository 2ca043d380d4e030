import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A TCP connection to a server on this machine, with no HTTP library in between, so that the bytes can be wrong in any
/// way.
///
/// It is closed with its last reference. Reading blocks a thread of its own, but no task.
final class RawConnection: Sendable {

    private let descriptor: CInt

    /// Connects to a server.
    init(to url: URL) throws {
        #if canImport(Glibc) || canImport(Musl)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(url.port ?? 0).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit {
        close(descriptor)
    }

    /// Sends text. A server that has already responded may not read all of it.
    func send(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                #if canImport(Glibc)
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                #elseif canImport(Musl)
                    Musl.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                #else
                    Darwin.send(descriptor, $0.baseAddress, $0.count, 0)
                #endif
            }
            if count <= 0 { break }
            sent += count
        }
    }

    /// Ends the client's side of the connection.
    func endInput() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Returns the next bytes as text, or an empty text if the server has closed the connection.
    func receive() async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = recv(self.descriptor, &buffer, buffer.count, 0)
                continuation.resume(returning: String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self))
            }
        }
    }

    /// Returns all text until the server closes the connection.
    func receiveAll() async -> String {
        var text = ""
        while true {
            let part = await receive()
            if part.isEmpty { return text }
            text += part
        }
    }
}

/// Sends bytes to a server on this machine, and returns everything that the server sends until it closes the
/// connection.
///
/// With `endsInput`, the client ends its side of the connection together with the last bytes.
func rawAnswer(to text: String, at url: URL, endsInput: Bool = false) async throws -> String {
    let connection = try RawConnection(to: url)
    connection.send(text)
    if endsInput { connection.endInput() }
    return await connection.receiveAll()
}
