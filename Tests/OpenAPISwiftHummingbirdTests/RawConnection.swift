import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Sends bytes to a server on this machine and returns all it answers until it closes the connection.
///
/// No HTTP library stands between, so the bytes may be wrong in any way.
/// With `endsInput` the client says, together with the last of the bytes, that no more will come.
func rawAnswer(to text: String, at url: URL, endsInput: Bool = false) async throws -> String {
    let port = UInt16(url.port ?? 0)
    let bytes = Array(text.utf8)
    return try await withCheckedThrowingContinuation { continuation in
        // The calls block, which no task may do.
        Thread.detachNewThread {
            continuation.resume(with: Result { try exchange(bytes, port: port, endsInput: endsInput) })
        }
    }
}

private func exchange(_ bytes: [UInt8], port: UInt16, endsInput: Bool) throws -> String {
    #if canImport(Glibc) || canImport(Musl)
        let kind = Int32(SOCK_STREAM.rawValue)
    #else
        let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard status == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    var sent = 0
    while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        // A server that has answered already may read no more.
        if count <= 0 { break }
        sent += count
    }
    if endsInput { shutdown(descriptor, Int32(SHUT_WR)) }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count <= 0 { break }
        answer += buffer[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
}
