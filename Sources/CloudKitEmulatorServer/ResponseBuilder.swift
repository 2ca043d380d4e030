import CloudKitEmulator
import CloudKitModel
import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import StreamingJSON

/// Completes the responses to one request: adds the header fields that every response of the service has, and turns failures into
/// responses.
struct ResponseBuilder {
    let request: HTTPRequest
    /// The web token for the caller's next request, once the present one was accepted.
    var nextWebAuthToken: String?
    /// The API token, container and environment of the request, for the address of the sign-in page.
    var applicant: (apiToken: String, container: String, environment: ContainerEnvironment)?
    private let uuid: String
    private let emulator: CloudKitEmulator
    private let configuration: CloudKitEmulatorServer.Configuration

    init(_ request: HTTPRequest, with server: CloudKitEmulatorServer) {
        self.request = request
        self.uuid = server.emulator.identifiers.uuid()
        self.emulator = server.emulator
        self.configuration = server.configuration
    }

    /// Completes a response.
    func reply(_ response: HTTPResponse, body: HTTPBody?) -> (HTTPResponse, HTTPBody?) {
        var response = response
        response.headerFields[.requestUUID] = uuid
        response.headerFields[.cloudKitVersion] = "1.0"
        response.headerFields[.respondingInstance] = configuration.respondingInstance
        response.headerFields[.webAuthToken] = nextWebAuthToken
        if body != nil { response.headerFields[.contentType] = "application/json; charset=UTF-8" }
        if let origin = request.headerFields[.origin] {
            // Recorded. The token's field is ours: without it a page could not read the token from another host.
            response.headerFields[.accessControlAllowOrigin] = origin
            response.headerFields[.accessControlAllowCredentials] = "true"
            response.headerFields[.accessControlExposeHeaders] =
                "X-Apple-Request-UUID, X-Responding-Instance, Via, X-Apple-CloudKit-Web-Auth-Token"
            response.headerFields[.vary] = "Origin"
        }
        log(response)
        return (response, body)
    }

    /// Makes the response of a failure.
    func reply(_ failure: RequestFailure) -> (HTTPResponse, HTTPBody?) {
        var error = failure.error
        error.uuid = uuid
        if error.serverErrorCode == .authenticationRequired, error.redirectURL == nil {
            error.redirectURL = signInURL
        }
        var response = HTTPResponse(status: failure.status)
        if let allowed = failure.allowedMethods { response.headerFields[.allow] = allowed }
        // An error dictionary is text and numbers; only a number that is not finite could keep it from being JSON.
        let bytes = (try? JSONWriter.bytes(of: error)) ?? Array(#"{"serverErrorCode":"INTERNAL_ERROR"}"#.utf8)
        return reply(response, body: HTTPBody(bytes))
    }

    /// Completes the response of a page for people, which has nothing of the service's own.
    func reply(page response: HTTPResponse, body: HTTPBody?) -> (HTTPResponse, HTTPBody?) {
        log(response)
        return (response, body)
    }

    /// What OPTIONS gets on a path that is known (observed live), and what browsers ask before they send.
    var preflightResponse: HTTPResponse {
        let methods = "GET, POST, PUT, DELETE"
        var response = HTTPResponse(status: .ok, headerFields: [.allow: methods])
        if request.headerFields[.origin] != nil {
            response.headerFields[.accessControlAllowMethods] = methods
            response.headerFields[.accessControlAllowHeaders] = request.headerFields[.accessControlRequestHeaders]
        }
        return response
    }

    private var signInURL: String {
        if let url = configuration.signInURL { return url }
        let page = serverAddress + SignInPage.path
        guard let applicant else { return page }
        let ticket = emulator.makeSignInTicket(
            apiToken: applicant.apiToken,
            for: applicant.container,
            in: applicant.environment
        )
        return "\(page)?oauth_token=\(ticket)"
    }

    /// Where files are uploaded to and downloaded from.
    var assetHostURL: String { configuration.assetHostURL ?? serverAddress }

    /// Where the client found this server: scheme and host, with no slash at the end.
    var serverAddress: String {
        let scheme = request.scheme.flatMap { $0.isEmpty ? nil : $0 } ?? "http"
        return "\(scheme)://\(request.authority ?? "localhost")"
    }

    private func log(_ response: HTTPResponse) {
        // The query holds credentials.
        configuration.logger.debug(
            "\(request.method) \(request.path?.prefix { $0 != "?" } ?? "/")",
            metadata: ["status": "\(response.status.code)", "uuid": "\(uuid)"]
        )
    }
}

extension HTTPField.Name {
    static let requestUUID = Self("X-Apple-Request-UUID")!
    static let cloudKitVersion = Self("X-Apple-CloudKit-Version")!
    static let respondingInstance = Self("X-Responding-Instance")!
    static let webAuthToken = Self("X-Apple-CloudKit-Web-Auth-Token")!
}
