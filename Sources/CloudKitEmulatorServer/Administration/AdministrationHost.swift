import CloudKitEmulator
import CloudKitEmulatorAdministration
import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import StreamingJSON

/// The part of a server that answers the requests of the administration.
///
/// It is stricter than CloudKit Web Services: the secret comes first, no page of another origin gets in, and no response
/// has a header field that lets another origin read it.
struct AdministrationHost {
    let server: CloudKitEmulatorServer
    let administration: CloudKitEmulatorServer.Administration
    /// The request without its body.
    let request: HTTPRequest
    /// The address to which the request was sent.
    var address: String { request.serverAddress }

    /// The console's page, if the server has one.
    var page: CloudKitEmulatorServer.ServedPage? { server.configuration.page }

    /// Whether an operation is for everyone. None of these says anything that is private.
    private static func isOpen(_ operation: ServerOperation<AdministrationHost>?) -> Bool {
        let open = [Operations.CheckHealth.id, Operations.CheckPageSession.id, Operations.OpenPageSession.id]
        return operation.map { open.contains($0.id) } ?? false
    }

    /// The operations of the document with their handlers.
    static func operations() throws -> [ServerOperation<AdministrationHost>] {
        // Every response has the one type that the document gives it.
        let configuration = Configuration(jsonEncodingOptions: [.withoutEscapingSlashes], lenientReading: .anyAccept)
        return try AdministrationHandlers().operations(configuration: configuration)
    }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - body: Reads the body as a whole.
    ///   - operation: The operation at the path; `nil` where the document has no such path.
    ///   - route: The parameters of the path, and the methods that the path has where the request has another.
    /// - Returns: The response.
    /// - Throws: The error of a request whose client is gone.
    func respond(
        body: () async throws -> ArraySlice<UInt8>,
        operation: ServerOperation<AdministrationHost>?,
        at route: ServerRoutes.Match
    ) async throws -> (HTTPResponse, HTTPBody?) {
        do {
            try checkOrigin(of: request)
            guard
                Self.isOpen(operation) || administration.secret.isCarried(by: request.headerFields[.authorization])
                    || page?.access.isOpen(for: request) == true
            else {
                throw AdministrationFailure(
                    .unauthorized,
                    .unauthorized,
                    """
                    This needs the secret of the emulator's start in the field Authorization: Bearer and the secret, which is in the \
                    file administration-*.json of the emulator's data folder.
                    """
                )
            }
            if let allowed = route.allowedMethods { throw AdministrationFailure.methodNotAllowed(allowed) }
            if request.method != .get, page?.isReadOnly == true, page?.access.isOpen(for: request) == true,
                !Self.isOpen(operation)
            {
                throw AdministrationFailure(
                    .forbidden,
                    .readOnly,
                    "The page only reads: it was started with --read-only."
                )
            }
            guard let operation else {
                throw AdministrationFailure(.notFound, .notFound, "The administration has no such path.")
            }
            let bytes = try await body()
            var (response, body) = try await operation.respond(
                to: request,
                body: bytes.isEmpty ? nil : HTTPBody(bytes),
                metadata: ServerRequestMetadata(pathParameters: route.parameters),
                context: self
            )
            if operation.id == Operations.OpenPageSession.id, response.status == .noContent {
                response.headerFields[.setCookie] = page?.access.cookie(for: request)
            }
            return complete(response, body)
        } catch let error as UnreadableBody {
            throw error.underlyingError
        } catch let error as CancellationError {
            throw error
        } catch {
            try Task.checkCancellation()
            return reply(AdministrationFailure(error))
        }
    }

    /// Makes the response of a failure.
    func reply(_ failure: AdministrationFailure) -> (HTTPResponse, HTTPBody?) {
        if let error = failure.unexpected {
            server.configuration.logger.error("the administration failed", metadata: ["error": "\(error)"])
        }
        var response = HTTPResponse(status: failure.status)
        response.headerFields[.contentType] = "application/json; charset=utf-8"
        response.headerFields[.allow] = failure.allowedMethods
        if failure.status == .unauthorized { response.headerFields[.wwwAuthenticate] = "Bearer" }
        // A problem holds text and whole numbers, which JSON always has a form for.
        let bytes = try? JSONWriter.bytes(of: failure.problem)
        return complete(response, HTTPBody(bytes ?? Array(#"{"code":"internalError","message":""}"#.utf8)))
    }

    private func complete(_ response: HTTPResponse, _ body: HTTPBody?) -> (HTTPResponse, HTTPBody?) {
        var response = response
        if response.headerFields[.contentType] == "text/plain" {
            response.headerFields[.contentType] = "text/plain; charset=utf-8"
        }
        response.headerFields[.date] = server.emulator.present.headerField
        // Responses have credentials and names. No cache keeps them, and no browser guesses another type.
        response.headerFields[.cacheControl] = "no-store"
        response.headerFields[.xContentTypeOptions] = "nosniff"
        response.headerFields[.crossOriginResourcePolicy] = "same-origin"
        return (response, body)
    }

    /// Refuses the requests of pages that are not the emulator's own, whatever origins may use CloudKit Web Services.
    private func checkOrigin(of request: HTTPRequest) throws(AdministrationFailure) {
        let isForeign =
            if let origin = request.headerFields[.origin] {
                !request.goes(toOrigin: origin)
            } else {
                // Browsers say this of every request, also where they leave out the origin. Programs do not.
                request.headerFields[.secFetchSite].map { !["same-origin", "none"].contains($0) } ?? false
            }
        guard isForeign else { return }
        throw AdministrationFailure(
            .forbidden,
            .foreignPage,
            "No page of another origin may use the administration of the emulator."
        )
    }
}

extension HTTPField.Name {
    static let crossOriginResourcePolicy = Self("Cross-Origin-Resource-Policy")!
}
