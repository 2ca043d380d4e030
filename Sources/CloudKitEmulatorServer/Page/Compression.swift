import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression

/// Bytes as a client takes them, compressed with `gzip` or `deflate` where it accepts that.
struct CompressedBytes {
    var bytes: [UInt8]
    /// The value of `Content-Encoding`; `nil` where nothing is compressed.
    var encoding: String?

    /// Compresses bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - acceptEncoding: The value of the request's `Accept-Encoding`, with its weights. RFC 9110, section 12.5.3.
    init(_ bytes: [UInt8], for acceptEncoding: String?) {
        self.bytes = bytes
        guard let acceptEncoding, let compressed = try? Self.compress(bytes, for: acceptEncoding) else { return }
        self = compressed
    }

    private init(bytes: [UInt8], encoding: String?) { (self.bytes, self.encoding) = (bytes, encoding) }

    /// The handler of SwiftNIO's extras works on a connection of HTTP/1 alone, so it gets one without a network.
    private static func compress(_ bytes: [UInt8], for acceptEncoding: String) throws -> CompressedBytes {
        let channel = EmbeddedChannel(handler: HTTPResponseCompressor())
        defer { _ = try? channel.finish() }
        let fields: HTTPHeaders = ["Accept-Encoding": acceptEncoding]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: fields)
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        channel.write(HTTPServerResponsePart.head(.init(version: .http1_1, status: .ok)), promise: nil)
        channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes))), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        var result = CompressedBytes(bytes: [], encoding: nil)
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            switch part {
            case .head(let head): result.encoding = head.headers.first(name: "Content-Encoding")
            case .body(.byteBuffer(let buffer)): result.bytes += buffer.readableBytesView
            case .body, .end: break
            }
        }
        return result
    }
}
