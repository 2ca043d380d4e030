import CloudKitEmulator
import CloudKitModel
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

/// The page at `redirectURL`: a person chooses a user, and the web authentication token goes to the API token's
/// callback.
///
/// The service asks for an Apple Account, a password and a code. The emulator has none of these, so it lists its users
/// instead. The result is the same as the service's: a redirect to the callback with `ckWebAuthToken` and `ckSession`,
/// which hold the same token, or a message with both to the window that opened the page (Apple's archived page on web
/// authentication; CloudKit JS reads `ckSession`). When the person cancels, the error message is `accessError`, which
/// CloudKit JS knows. It is a guess that a redirect has it in the query as `errorMessage`.
struct SignInPage {
    static let path = "/sign-in"

    private let emulator: CloudKitEmulator

    init(_ emulator: CloudKitEmulator) {
        self.emulator = emulator
    }

    /// Shows the page, or handles its form.
    func respond(to request: HTTPRequest, form: ArraySlice<UInt8>) throws -> (HTTPResponse, HTTPBody?) {
        switch request.method {
        case .get, .head:
            let ticket = FormValues(query: request.path ?? "")["oauth_token"] ?? ""
            guard let applicant = try emulator.signInRequest(ofTicket: ticket) else { return outdated }
            let people = try emulator.listSignInCandidates()
            let page = SignInHTML.choice(of: people, container: applicant.container, ticket: ticket)
            return Self.page(page, isHead: request.method == .head)
        case .post:
            let values = FormValues(String(decoding: form, as: UTF8.self))
            let ticket = values["oauth_token"] ?? ""
            guard let applicant = try emulator.signInRequest(ofTicket: ticket) else { return outdated }
            return try finish(applicant, ticket: ticket, values)
        default:
            var response = HTTPResponse(status: .methodNotAllowed)
            response.headerFields[.allow] = "GET, HEAD, POST"
            return (response, nil)
        }
    }

    private func finish(
        _ applicant: SignInRequest,
        ticket: String,
        _ values: FormValues
    ) throws -> (HTTPResponse, HTTPBody?) {
        let choice = values["user"] ?? "new"
        guard try choice == "new" || choice == "cancel" || emulator.userExists(choice) else {
            return Self.page(
                SignInHTML.notice("There is no such person", "Go back and choose one of the list."),
                status: .badRequest
            )
        }
        guard try emulator.redeemSignInTicket(ticket) else { return outdated }
        if choice == "cancel" {
            return deliver([("errorMessage", "accessError")], to: applicant.callback, name: nil)
        }
        let user =
            choice == "new"
            ? try emulator.createUser(
                NameComponents(givenName: values["given_name"], familyName: values["family_name"]),
                emailAddress: values["email_address"]
            )
            : choice
        let token = try emulator.issueWebAuthToken(
            for: user,
            container: applicant.container,
            environment: applicant.environment,
            keepsSignedIn: values["keep_signed_in"] != nil
        )
        let name = try emulator.listSignInCandidates().first { $0.userRecordName == user }?.displayName
        return deliver([("ckWebAuthToken", token), ("ckSession", token)], to: applicant.callback, name: name ?? user)
    }

    /// Sends the result to the program.
    private func deliver(
        _ items: [(name: String, value: String)],
        to callback: SignInCallback,
        name: String?
    ) -> (HTTPResponse, HTTPBody?) {
        switch callback {
        case .redirect(let address):
            let query = items.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
            // A fragment stays at the end.
            let parts = address.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let mark = parts[0].contains("?") ? "&" : "?"
            var response = HTTPResponse(status: .seeOther)
            response.headerFields[.location] = "\(parts[0])\(mark)\(query)" + (parts.count > 1 ? "#\(parts[1])" : "")
            response.headerFields[.cacheControl] = "no-store"
            return (response, nil)
        case .postMessage:
            return Self.page(SignInHTML.message(items, name: name))
        }
    }

    private var outdated: (HTTPResponse, HTTPBody?) {
        Self.page(
            SignInHTML.notice(
                "This sign-in page is out of date",
                "Its address is good for one sign-in within 15 minutes. Go back to the program and ask it to sign in again."
            ),
            status: .badRequest
        )
    }

    private static func page(
        _ html: String,
        status: HTTPResponse.Status = .ok,
        isHead: Bool = false
    ) -> (HTTPResponse, HTTPBody?) {
        var response = HTTPResponse(status: status)
        response.headerFields[.contentType] = "text/html; charset=utf-8"
        response.headerFields[.cacheControl] = "no-store"
        response.headerFields[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
        response.headerFields[.xContentTypeOptions] = "nosniff"
        response.headerFields[.referrerPolicy] = "no-referrer"
        return (response, isHead ? nil : HTTPBody(html))
    }
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = Self("Referrer-Policy")!
}

/// The values of a form, or of a query. Empty values count as absent.
private struct FormValues {
    private var values: [String: String] = [:]

    init(_ text: String) {
        for item in text.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                PercentEncoding.decode(String($0.map { $0 == "+" ? " " : $0 }))
            }
            guard parts.count == 2, !parts[1].isEmpty else { continue }
            values[parts[0]] = parts[1]
        }
    }

    init(query target: String) {
        let parts = target.split(separator: "?", maxSplits: 1)
        self.init(parts.count == 2 ? String(parts[1]) : "")
    }

    subscript(name: String) -> String? { values[name] }
}

extension SignInCandidate {
    /// The name to show, if there is one.
    var displayName: String? {
        let name = [givenName, familyName].compactMap(\.self).joined(separator: " ")
        return name.isEmpty ? emailAddress : name
    }
}
