import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The host of files: where uploads go and downloads come from.
///
/// It behaves as a separate host, although it has the address of the server. Requests carry no credentials, because the
/// addresses themselves are secrets. Responses have none of the service's header fields, and a failure is a bare HTTP
/// status without an error dictionary (observed live).
///
/// An upload is the bytes of the file, or a form (`multipart/form-data`) with the file: two other clients send forms, and
/// a live test of one of them downloads the file that it sent.
///
/// Bodies stream both ways: no more than one piece of a file is in memory at a time.
struct AssetHost: Sendable {
    let emulator: CloudKitEmulator
    let logger: Logger
    /// The page that sent the request.
    let origin: RequestOrigin

    static let uploadPath = "/asset-upload/{token}"
    static let uploadMethods: [HTTPRequest.Method] = [.post, .options]
    static let downloadPath = "/B/{checksums}/{file}"
    static let downloadMethods: [HTTPRequest.Method] = [.get, .head, .options]

    /// Answers a request to the host of files.
    ///
    /// - Throws: Only what reading the request's body throws, and `CancellationError`. Every other error becomes a
    ///   response.
    func respond(
        to request: HTTPRequest,
        body: HTTPBody?,
        uploadToken: Substring?,
        at time: Date?
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var (response, responseBody) = try await answer(request, body: body, uploadToken: uploadToken, at: time)
        if request.headerFields[.origin] != nil { response.headerFields[.vary] = "Origin" }
        // A page that uploads with CloudKit JS always has another origin than this host.
        if case .allowed(let origin) = origin { response.headerFields[.accessControlAllowOrigin] = origin }
        // Addresses are secrets: not even the path is logged.
        logger.debug("\(request.method) asset", metadata: ["status": "\(response.status.code)"])
        return (response, responseBody)
    }

    private func answer(
        _ request: HTTPRequest,
        body: HTTPBody?,
        uploadToken: Substring?,
        at time: Date?
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let methods = uploadToken == nil ? Self.downloadMethods : Self.uploadMethods
        guard methods.contains(request.method) else { return (response(.methodNotAllowed, allowing: methods), nil) }
        // Pictures of pages are loaded without an origin.
        if case .foreign = origin {
            return (HTTPResponse(status: .forbidden, headerFields: [.contentLength: "0"]), nil)
        }
        do {
            if request.method == .options { return (preflightResponse(to: request, allowing: methods), nil) }
            guard let uploadToken else {
                return send(try emulator.openAsset(request.path ?? "/", at: time), to: request)
            }
            return try await receive(request, body: body, at: String(uploadToken), time)
        } catch let error as AssetHostError {
            if case .storage(let cause) = error {
                logger.error("the storage of assets failed", metadata: ["error": "\(cause)"])
            }
            return (HTTPResponse(status: HTTPResponse.Status(of: error), headerFields: [.contentLength: "0"]), nil)
        }
    }

    private func response(_ status: HTTPResponse.Status, allowing methods: [HTTPRequest.Method]) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headerFields: [.allow: methods.map(\.rawValue).joined(separator: ", "), .contentLength: "0"]
        )
    }

    private func preflightResponse(to request: HTTPRequest, allowing methods: [HTTPRequest.Method]) -> HTTPResponse {
        var response = response(.ok, allowing: methods)
        if case .allowed = origin {
            response.headerFields[.accessControlAllowMethods] = response.headerFields[.allow]
            response.headerFields[.accessControlAllowHeaders] = request.headerFields[.accessControlRequestHeaders]
        }
        return response
    }
}

// MARK: - Uploads

extension AssetHost {
    private func receive(
        _ request: HTTPRequest,
        body: HTTPBody?,
        at token: String,
        _ time: Date?
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let contentType = request.headerFields[.contentType]
        let isForm = contentType?.lowercased().hasPrefix("multipart/form-data") ?? false
        var length: Int64?
        // A form is longer than its file.
        if !isForm, case .known(let count) = body?.length { length = count }
        var upload = try emulator.beginAssetUpload(token, length: length, at: time)
        do {
            if isForm {
                let form = try MultipartBody<MultipartRawPart>(receiving: body ?? HTTPBody(), contentType: contentType)
                try await receiveFile(of: form, into: &upload) { try emulator.beginAssetUpload(token, at: time) }
            } else if let body {
                for try await chunk in body { try upload.append(chunk) }
            }
            try Task.checkCancellation()
        } catch {
            upload.discard()
            if error is MultipartError || error is FormWithoutOneFile {
                return (HTTPResponse(status: .badRequest, headerFields: [.contentLength: "0"]), nil)
            }
            throw error is AssetHostError ? error : UnreadableBody(underlyingError: error)
        }
        let reply = Components.Schemas.UploadAssetResponse(singleFile: try upload.finish())
        let bytes = try JSONWriter.bytes(of: reply)
        let response = HTTPResponse(
            status: .ok,
            headerFields: [.contentType: "application/json; charset=UTF-8", .contentLength: "\(bytes.count)"]
        )
        return (response, HTTPBody(bytes))
    }
}

extension AssetHost {
    /// A form has no file, or more than one.
    private struct FormWithoutOneFile: Error {}

    /// Takes the bytes of the file in a form: of the part that has a file name, or of the only part.
    ///
    /// Other parts are skipped. The first part without a file name is stored like a file until a file follows it, so no
    /// part is held in memory.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - upload: The upload that takes the bytes.
    ///   - restart: Begins another upload at the same address.
    /// - Throws: ``FormWithoutOneFile``, a `MultipartError`, an `AssetHostError`, and the errors of reading the form.
    private func receiveFile(
        of form: MultipartBody<MultipartRawPart>,
        into upload: inout IncomingAsset,
        restart: () throws -> IncomingAsset
    ) async throws {
        var (files, others) = (0, 0)
        for try await part in form {
            let isFile = part.filename != nil
            if isFile { files += 1 } else { others += 1 }
            guard files <= 1 else { throw FormWithoutOneFile() }
            if isFile, others > 0 {
                upload.discard()
                upload = try restart()
            }
            let isStored = isFile || files == 0 && others == 1
            for try await chunk in part.body where isStored { try upload.append(chunk) }
        }
        guard files == 1 || others == 1 else { throw FormWithoutOneFile() }
    }
}

// MARK: - Downloads

extension AssetHost {
    private func send(_ file: OutgoingAsset, to request: HTTPRequest) -> (HTTPResponse, HTTPBody?) {
        let tag = "\"\(file.fileChecksum)\""
        var response = HTTPResponse(
            status: .ok,
            headerFields: [.acceptRanges: "bytes", .contentType: "application/octet-stream", .eTag: tag]
        )
        var range = 0..<file.size
        let isSameFile = request.headerFields[.ifRange].map { $0 == tag } ?? true
        switch request.headerFields[.range].flatMap({ ByteRange($0) }) {
        case let wanted? where isSameFile:
            guard let part = wanted.resolved(in: file.size) else {
                response = HTTPResponse(
                    status: .rangeNotSatisfiable,
                    headerFields: [.contentRange: "bytes */\(file.size)", .contentLength: "0"]
                )
                return (response, nil)
            }
            range = part
            response.status = .partialContent
            response.headerFields[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.size)"
        default: break
        }
        let length = Int64(range.count)
        response.headerFields[.contentLength] = "\(length)"
        guard request.method != .head else { return (response, nil) }
        let body = HTTPBody(
            FileBytes(file: file, range: range),
            length: .known(length),
            iterationBehavior: .multiple
        )
        return (response, body)
    }

    /// The bytes of a file, read as the body is read.
    private struct FileBytes: AsyncSequence, Sendable {
        let file: OutgoingAsset
        let range: Range<Int64>

        struct AsyncIterator: AsyncIteratorProtocol {
            let file: OutgoingAsset
            var rest: Range<Int64>

            mutating func next() async throws -> ArraySlice<UInt8>? {
                guard !rest.isEmpty else { return nil }
                try Task.checkCancellation()
                let bytes = try file.read(at: rest.lowerBound, upTo: Int64(rest.count))
                rest = rest.lowerBound + Int64(bytes.count)..<rest.upperBound
                return bytes
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file, rest: range) }
    }
}

/// The value of the header field `Range`, where it is one range of bytes. Any other value is ignored, as HTTP allows.
struct ByteRange: Equatable {
    var first: Int64?
    var last: Int64?

    init?(_ text: String) {
        let unit = "bytes="
        guard text.lowercased().hasPrefix(unit) else { return nil }
        let parts = text.dropFirst(unit.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let isNumber = parts.map { $0.utf8.allSatisfy { (48...57).contains($0) } }
        guard isNumber == [true, true] else { return nil }
        // A number that 64 bits cannot hold is beyond the end of any file.
        let numbers = parts.map { $0.isEmpty ? nil : Int64($0) ?? .max }
        (first, last) = (numbers[0], numbers[1])
        if first == nil, last == nil { return nil }
        if let first, let last, last < first { return nil }
    }

    /// The range within a file of this length; `nil` when the file has no byte in the range.
    func resolved(in size: Int64) -> Range<Int64>? {
        guard let first else {
            let count = min(last ?? 0, size)
            return count > 0 ? size - count..<size : nil
        }
        guard first < size else { return nil }
        return first..<(last.map { min($0, size - 1) + 1 } ?? size)
    }
}

extension HTTPResponse.Status {
    fileprivate init(of error: AssetHostError) {
        self =
            switch error {
            case .notFound: .notFound
            case .gone: .gone
            case .forbidden: .forbidden
            case .tooLarge: .contentTooLarge
            case .storage: .internalServerError
            }
    }
}
