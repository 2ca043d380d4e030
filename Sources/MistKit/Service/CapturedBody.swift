import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The body of the response to a call whose caller reads it into types that the generated client does not know.
///
/// The generated client reads `records` into ``Record`` values. Typed records are read straight from the bytes; so the outermost
/// middleware keeps these, and hands an empty object to the generated client, which reads the header fields as ever.
final class CapturedBody: Sendable {
    private let captured = Mutex<ArraySlice<UInt8>>([])

    var bytes: ArraySlice<UInt8> {
        captured.withLock { $0 }
    }

    struct Middleware: ClientMiddleware {
        let capture: CapturedBody

        func intercept(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String,
            next: Next
        ) async throws -> (HTTPResponse, HTTPBody?) {
            let (response, responseBody) = try await next(request, body, baseURL)
            guard let responseBody else { return (response, responseBody) }
            let bytes = try await ArraySlice(collecting: responseBody, upTo: RequestPipeline.maximumResponseSize)
            capture.captured.withLock { $0 = bytes }
            return (response, HTTPBody("{}"))
        }
    }
}

/// A response whose body has come and is not read yet.
struct CapturedReply: Sendable {
    let operation: String
    let requestUUID: String?
    let bytes: ArraySlice<UInt8>

    /// Reads the body.
    ///
    /// - Parameter type: What to read it as.
    /// - Returns: The body.
    /// - Throws: An error of code `decoding` where the body is not such a value.
    func read<Body: JSONReadable>(_ type: Body.Type) throws(CloudKitError) -> Reply<Body> {
        do {
            let body = try JSONReader.withReader(over: bytes.span) { (reader) throws(JSONError) in
                try reader.read(Body.self)
            }
            return Reply(body, operation: operation, requestUUID: requestUUID)
        } catch {
            var failure = CloudKitError(error, operation: operation)
            failure.httpStatus = .ok
            failure.requestUUID = requestUUID
            throw failure
        }
    }
}

extension CallContext {
    /// Calls the generated client, and keeps the response's body from it.
    ///
    /// - Parameters:
    ///   - operation: The operation's name.
    ///   - body: Calls the client, and gives the request's uuid from the header fields.
    /// - Returns: The response.
    /// - Throws: What the client throws.
    func capturedReply(
        to operation: String,
        _ body: (Client) async throws -> String?
    ) async throws(CloudKitError) -> CapturedReply {
        let captured = CapturedBody()
        let requestUUID = try await call(operation, through: [CapturedBody.Middleware(capture: captured)], body)
        return CapturedReply(operation: operation, requestUUID: requestUUID, bytes: captured.bytes)
    }
}
