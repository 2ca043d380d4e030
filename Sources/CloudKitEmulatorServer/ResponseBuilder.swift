import CloudKitEmulator
import CloudKitModel
package import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Completes the responses to one request: adds the header fields of every response of the service, and turns failures
/// into responses.
struct ResponseBuilder {
    let request: HTTPRequest
    /// The page that sent the request.
    let origin: RequestOrigin
    /// The web authentication token for the caller's next request; `nil` until the token of this request is accepted.
    var nextWebAuthToken: String?
    /// The API token, container and environment of the request, for the address of the sign-in page.
    var applicant: (apiToken: String, container: String, environment: ContainerEnvironment)?
    private let uuid: String
    private let emulator: CloudKitEmulator
    private let configuration: CloudKitEmulatorServer.Configuration

    init(_ request: HTTPRequest, with server: CloudKitEmulatorServer) {
        self.request = request
        self.origin = RequestOrigin(of: request, allowing: server.configuration.allowedOrigins)
        self.uuid = server.emulator.identifiers.uuid()
        self.emulator = server.emulator
        self.configuration = server.configuration
    }

    /// Completes a response.
    func reply(_ response: HTTPResponse, body: HTTPBody?) -> (HTTPResponse, HTTPBody?) {
        var response = response
        response.headerFields[.date] = emulator.present.headerField
        response.headerFields[.requestUUID] = uuid
        response.headerFields[.cloudKitVersion] = "1.0"
        response.headerFields[.respondingInstance] = configuration.respondingInstance
        response.headerFields[.webAuthToken] = nextWebAuthToken
        if body != nil { response.headerFields[.contentType] = "application/json; charset=UTF-8" }
        if request.headerFields[.origin] != nil { response.headerFields[.vary] = "Origin" }
        if case .allowed(let origin) = origin {
            // Recorded, except for the field of the web authentication token, which is an addition: without it, a page
            // on another host could not read the token.
            response.headerFields[.accessControlAllowOrigin] = origin
            response.headerFields[.accessControlAllowCredentials] = "true"
            response.headerFields[.accessControlExposeHeaders] =
                "X-Apple-Request-UUID, X-Responding-Instance, Via, X-Apple-CloudKit-Web-Auth-Token"
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
        // An error dictionary holds text and numbers. It can be written as JSON unless a number is not finite.
        let bytes = (try? JSONWriter.bytes(of: error)) ?? Array(#"{"serverErrorCode":"INTERNAL_ERROR"}"#.utf8)
        return reply(response, body: HTTPBody(bytes))
    }

    /// Completes the response of a web page, which has none of the service's header fields.
    func reply(page response: HTTPResponse, body: HTTPBody?) -> (HTTPResponse, HTTPBody?) {
        log(response)
        return (response, body)
    }

    /// Makes the response to OPTIONS on a known path. Browsers send OPTIONS before their requests to other hosts.
    func preflight(allowing methods: [HTTPRequest.Method]) -> (HTTPResponse, HTTPBody?) {
        let methods = methods.map(\.rawValue).joined(separator: ", ")
        var response = HTTPResponse(status: .ok, headerFields: [.allow: methods])
        if case .allowed = origin {
            response.headerFields[.accessControlAllowMethods] = methods
            response.headerFields[.accessControlAllowHeaders] = request.headerFields[.accessControlRequestHeaders]
        }
        return reply(response, body: nil)
    }

    private var signInURL: String {
        if let url = configuration.signInURL { return url }
        let page = request.serverAddress + SignInPage.path
        guard let applicant else { return page }
        var audience: String?
        if case .allowed(let origin) = origin { audience = origin }
        let ticket = emulator.makeSignInTicket(
            apiToken: applicant.apiToken,
            for: applicant.container,
            in: applicant.environment,
            origin: audience
        )
        return "\(page)?oauth_token=\(ticket)"
    }

    /// The address of the asset host.
    var assetHostURL: String { configuration.assetHostURL ?? request.serverAddress }

    private func log(_ response: HTTPResponse) {
        // The query holds credentials.
        configuration.logger.debug(
            "\(request.method) \(request.path?.prefix { $0 != "?" } ?? "/")",
            metadata: ["status": "\(response.status.code)", "uuid": "\(uuid)"]
        )
    }
}

extension HTTPRequest {
    /// The address of the server, as the client knows it: scheme and host, without a slash at the end.
    package var serverAddress: String {
        let scheme = scheme.flatMap { $0.isEmpty ? nil : $0 } ?? "http"
        return "\(scheme)://\(authority ?? "localhost")"
    }
}

extension HTTPField.Name {
    package static let requestUUID = Self("X-Apple-Request-UUID")!
    static let cloudKitVersion = Self("X-Apple-CloudKit-Version")!
    static let respondingInstance = Self("X-Responding-Instance")!
    static let webAuthToken = Self("X-Apple-CloudKit-Web-Auth-Token")!
}

extension Date {
    /// The form of the header field `Date`: `Sun, 06 Nov 1994 08:49:37 GMT`. RFC 9110, section 5.6.7.
    var headerField: String {
        let seconds = Int(exactly: timeIntervalSince1970.rounded(.down)) ?? 0
        let (days, second) = (Int((Double(seconds) / 86_400).rounded(.down)), ((seconds % 86_400) + 86_400) % 86_400)
        // Years that begin in March, so that the leap day is their last, in eras of 400 years.
        let shifted = days + 719_468
        let era = Int((Double(shifted) / 146_097).rounded(.down))
        let day = shifted - era * 146_097
        let yearOfEra = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = (monthFromMarch + 2) % 12
        let year = yearOfEra + era * 400 + (month < 2 ? 1 : 0)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][((days % 7) + 7) % 7]
        let name = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ][month]
        let time = [second / 3600, second / 60 % 60, second % 60].map(two).joined(separator: ":")
        return "\(weekday), \(two(dayOfMonth)) \(name) \(year) \(time) GMT"
    }
}
