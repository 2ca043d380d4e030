import Foundation
import OpenAPISwiftRuntime

extension PeatedClient {
    /// How much of a picture has arrived at the service.
    public struct UploadProgress: Hashable, Sendable {
        /// The bytes that the service has.
        public var received: Int64
        /// The bytes of the picture.
        public var size: Int64
    }

    /// Uploads a picture, piece by piece, and goes on where an earlier upload of the same bytes has stopped.
    ///
    /// A picture has the SHA-256 of its bytes as its name, so an upload that is repeated changes nothing.
    ///
    /// - Parameters:
    ///   - file: The file with the picture.
    ///   - digest: The SHA-256 of its bytes, as 64 hexadecimal digits.
    ///   - pieceSize: The size of a piece. A break in the connection costs one piece at most.
    ///   - progress: Is called before the first piece and after each one.
    /// - Returns: The identifier of the picture, for ``NewTasting``.
    /// - Throws: A `PeatedError`. What has arrived stays at the service.
    public func upload(
        imageAt file: URL,
        digest: String,
        pieceSize: Int = 262_144,
        progress: @Sendable (UploadProgress) -> Void = { _ in }
    ) async throws(PeatedError) -> String {
        try await PeatedError.wrap {
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            let size = Int64(try handle.seekToEnd())
            var upload = try await api.getUpload(path: .init(digest: digest)).ok.body.json
            while true {
                if let id = upload.imageId { return id }
                progress(UploadProgress(received: upload.received, size: size))
                guard (0..<max(size, 1)).contains(upload.received) else { throw UploadFailure.wrongSize }
                let offset = upload.received
                try handle.seek(toOffset: UInt64(offset))
                let piece = try handle.read(upToCount: pieceSize) ?? Data()
                upload = try await api.continueUpload(
                    path: .init(digest: digest),
                    query: .init(offset: offset, size: size),
                    body: .binary(HTTPBody(piece))
                )
                .ok.body.json
                guard upload.imageId != nil || upload.received > offset else { throw UploadFailure.noProgress }
            }
        }
    }

    /// The bytes of a picture.
    ///
    /// - Parameters:
    ///   - id: The picture of a tasting.
    ///   - limit: The most bytes that are read; a larger picture is an error.
    /// - Returns: The bytes.
    /// - Throws: A `PeatedError`.
    public func image(_ id: String, upTo limit: Int = 10_000_000) async throws(PeatedError) -> Data {
        try await PeatedError.wrap {
            let body = try await api.getImage(path: .init(imageId: id)).ok.body.jpeg
            return try await Data(collecting: body, upTo: limit)
        }
    }
}

/// A service that does not keep to its document about uploads.
private enum UploadFailure: Error, LocalizedError {
    case wrongSize, noProgress

    var errorDescription: String? {
        switch self {
        case .wrongSize: "The service has more bytes of the picture than the picture has."
        case .noProgress: "The service accepts no more bytes of the picture."
        }
    }
}
