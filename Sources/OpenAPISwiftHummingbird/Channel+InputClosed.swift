import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

extension Channel {
    /// Whether the client has closed its side of the connection, according to the operating system.
    ///
    /// A channel notifies its handlers when this happens, but not handlers that are added later. `false` for a channel
    /// that is not a TCP connection.
    var isInputClosed: Bool {
        get async {
            guard let socket = self as? any SocketOptionProvider else { return false }
            #if os(Linux) || os(FreeBSD) || os(Android)
                let closeWait: UInt8 = 8  // TCP_CLOSE_WAIT
                return (try? await socket.getTCPInfo().map(\.tcpi_state).get()) == closeWait
            #elseif canImport(Darwin)
                let closeWait: UInt8 = 5  // TCPS_CLOSE_WAIT
                return (try? await socket.getTCPConnectionInfo().map(\.tcpi_state).get()) == closeWait
            #else
                return false
            #endif
        }
    }
}
