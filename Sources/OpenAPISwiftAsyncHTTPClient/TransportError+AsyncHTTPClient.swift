import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
package import OpenAPISwiftRuntime

extension TransportError {

    /// Creates the error for an error of AsyncHTTPClient or NIO; nil for other errors, such as those of a request's
    /// body.
    package init?(wrapping error: any Error, server: String) {
        switch error {
        case let error as HTTPClientError:
            guard let (code, message) = Self.meaning(of: error, server: server) else { return nil }
            self.init(code: code, message: message, cause: error)
        case let error as NIOConnectionError:
            // The error of the first address is enough.
            let cause = error.connectionErrors.first?.error ?? error.dnsAError ?? error.dnsAAAAError ?? error
            self.init(code: .connectionFailed, message: Self.unreachable(server), cause: cause)
        case let error as IOError where error.errnoCode == ECONNREFUSED:
            self.init(code: .connectionFailed, message: Self.unreachable(server), cause: error)
        case is IOError, is ChannelError, is HTTPParserError:
            self.init(code: .connectionLost, message: "The connection to \(server) broke.", cause: error)
        default: return nil
        }
    }

    private static func unreachable(_ server: String) -> String {
        "Could not connect to \(server); see that the server runs there and can be reached from this machine."
    }

    private static func meaning(of error: HTTPClientError, server: String) -> (code: Code, message: String)? {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout:
            (.connectionFailed, unreachable(server))
        case .tlsHandshakeTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout:
            (.connectionFailed, "\(server) accepted the connection but did not complete the handshake.")
        case .deadlineExceeded:
            (.timedOut, "\(server) did not answer within the timeout of the transport.")
        case .readTimeout, .writeTimeout:
            (.timedOut, "The connection to \(server) was idle for longer than the HTTP client allows.")
        case .remoteConnectionClosed, .uncleanShutdown:
            (.connectionLost, "\(server) closed the connection before the response was complete.")
        case .invalidURL, .emptyHost, .emptyScheme:
            (.invalidURL, "The URL of the server is not one to send to.")
        default:
            nil
        }
    }
}
